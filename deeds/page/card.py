"""What a page shows of a deed. All of it was written by strangers; templates escape it."""

import html
import json
import re
from dataclasses import dataclass

from deeds.domain.model import Item
from deeds.page.picture import uploaded_picture

# Image addresses that a browser may be given, because nothing in them runs there. Other addresses
# are shown as text.
_SHOWN = re.compile(r"(?:https?://|data:image/)\S+", re.IGNORECASE)

# Metadata may be as long as a body, and each pass over such a text takes milliseconds: texts are
# cut before anything else. A longer image is kept only if it is a picture within the metadata that
# escaping lengthens by no more than five times as much.
TEXT_LENGTH_MAX = 5_000

# Previews cut texts off themselves, at about these lengths.
_TITLE_LENGTH_MAX = 100
_SUMMARY_LENGTH_MAX = 200


@dataclass(frozen=True, slots=True)
class DeedCard:
    """A deed as people see it; what its metadata lacks is empty."""

    item_id: str
    total: int
    name: str = ""
    description: str = ""
    image: str = ""
    is_cut: bool = False

    @property
    def title(self) -> str:
        """Return what to call the deed, in one line."""
        return _one_line(self.name, _TITLE_LENGTH_MAX) or "A deed without a name"

    @property
    def units(self) -> str:
        """Return the total in words, its digits in groups."""
        # A narrow space, as in js/format/amounts.js: no language reads it as a decimal point.
        digits = f"{self.total:,}".replace(",", "\u202f")
        return f"{digits} {'unit' if self.total == 1 else 'units'}"

    @property
    def summary(self) -> str:
        """Return what a link to the deed says below its title."""
        return _one_line(self.description, _SUMMARY_LENGTH_MAX) or f"A deed of {self.units}."

    @property
    def shown_image(self) -> str:
        """Return the image if a browser can be asked to show it."""
        return self.image if _SHOWN.fullmatch(self.image) else ""

    def preview_image(self, origin: str) -> str:
        """Return where other services can fetch the image for a preview; `origin` may be empty."""
        if origin and uploaded_picture(self.image):
            return f"{origin}/item/{self.item_id}/picture"
        return "" if _is_data(self.image) else self.shown_image


def deed_card(item: Item) -> DeedCard:
    """Return the card of an item, whatever its metadata holds."""
    whole = _read(item.metadata)
    kept = {name: text[:TEXT_LENGTH_MAX] for name, text in whole.items()}
    if kept["image"] != whole["image"]:
        # An address that is cut is another address: all of it, or nothing.
        kept["image"] = whole["image"] if _is_long_picture(whole["image"]) else ""
    return DeedCard(item.id, item.total, **kept, is_cut=kept != whole)


def _read(metadata: str | None) -> dict[str, str]:
    try:
        about = json.loads(metadata or "{}")
    except (ValueError, RecursionError):
        about = {}
    members = about if isinstance(about, dict) else {}
    return {name: _text(members.get(name)) for name in ("name", "description", "image")}


def _text(value: object) -> str:
    return value if isinstance(value, str) and not value.isspace() else ""


def _is_data(image: str) -> bool:
    return image[:5].lower() == "data:"


def _is_long_picture(image: str) -> bool:
    return _is_data(image) and len(html.escape(image)) - len(image) <= 5 * TEXT_LENGTH_MAX


def _one_line(text: str, length_max: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length_max else f"{line[: length_max - 1].rstrip()}…"
