"""What the operator's part has for others."""

from deeds.part import Part
from parts.operator.commands import operator_commands
from parts.operator.tables import check_start

PART = Part("operator", commands=operator_commands, check_start=check_start)
