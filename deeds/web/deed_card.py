"""What a page shows of a deed. All of it was written by strangers; templates escape it.

Must import of the project only values.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from deeds.values import Item

# What a browser may be given as the address of a picture: nothing in it runs there. Whatever else
# the metadata may name is shown as text.
_SHOWN = re.compile(r"(?:https?://|data:image/)[^\s]+", re.IGNORECASE)

# What other services may be told to fetch for a preview.
_LINKED = re.compile(r"https?://[^\s]+", re.IGNORECASE)

# Parts digits in groups, as js/amounts.js does: no language reads it as a decimal point.
_NARROW_SPACE = "\u202f"

# Previews cut texts off themselves, at about these lengths.
_TITLE_LENGTH_MAX = 100
_SUMMARY_LENGTH_MAX = 200


@dataclass(frozen=True, slots=True)
class DeedCard:
    """A deed as people see it; None is what its metadata lacks."""

    item_id: str
    total: int
    name: str | None = None
    description: str | None = None
    image: str | None = None

    @property
    def title(self) -> str:
        """Return what to call the deed, in one line."""
        return _one_line(self.name or "", _TITLE_LENGTH_MAX) or "A deed without a name"

    @property
    def units(self) -> str:
        """Return the total in words, its digits in groups."""
        digits = f"{self.total:,}".replace(",", _NARROW_SPACE)
        return f"{digits} {'unit' if self.total == 1 else 'units'}"

    @property
    def summary(self) -> str:
        """Return what a link to the deed says below its title."""
        about = _one_line(self.description or "", _SUMMARY_LENGTH_MAX)
        return about or f"A deed of {self.units}."

    @property
    def shown_image(self) -> str | None:
        """Return the image where a browser can be asked to show it."""
        return _matching(_SHOWN, self.image)

    @property
    def linked_image(self) -> str | None:
        """Return the image where it is on the web."""
        return _matching(_LINKED, self.image)


def deed_card(item: Item) -> DeedCard:
    """Return the card of an item, whatever its metadata holds."""
    about = _read(item.metadata)
    texts = {name: _text(about.get(name)) for name in ("name", "description", "image")}
    return DeedCard(item.id, item.total, **texts)


def _read(metadata: str | None) -> dict[str, Any]:
    try:
        about = json.loads(metadata or "{}")
    except (ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _one_line(text: str, length_max: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length_max else f"{line[: length_max - 1].rstrip()}…"


def _matching(form: re.Pattern[str], image: str | None) -> str | None:
    return image if image is not None and form.fullmatch(image) else None
