"""What the operator's part has for others."""

from deeds.part import Part
from parts.operator.commands import operator_commands

PART = Part("operator", commands=operator_commands)
