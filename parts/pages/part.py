"""What pages have for others: nothing. Without them the interface is whole."""

from deeds.part import Part
from parts.pages.pages import register

PART = Part("pages", register, limit_names=("qr",))
