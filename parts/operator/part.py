"""What the operator's part has for others."""

from deeds.part import Part
from parts.operator.commands import COMMANDS
from parts.operator.tables import check_start

PART = Part("operator", commands=COMMANDS, check_start=check_start)
