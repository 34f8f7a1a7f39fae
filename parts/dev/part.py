"""The dev part: a command, and nothing that the service loads."""

from deeds.part import Part
from parts.dev.command import dev

PART = Part("dev", commands=(dev,))
