"""What `deeds dev` has for others: a command, and nothing that a service loads."""

from deeds.part import Part
from parts.dev.command import dev

PART = Part("dev", commands=(dev,))
