"""What a page shows of a deed. All of it was written by strangers; templates escape it."""

import json
import re
from dataclasses import dataclass
from functools import cached_property

from deeds.domain.model import Item

# Image addresses that a browser may be given, because nothing in them runs there; other addresses
# are shown as text. Then those that other services may fetch for a preview, and pictures within
# the metadata.
_SHOWN = re.compile(r"(?:https?://|data:image/)\S", re.IGNORECASE)
_LINKED = re.compile(r"https?://\S", re.IGNORECASE)
_WITHIN = re.compile(r"data:image/", re.IGNORECASE)

# Metadata may be as long as a body, and each pass over such a text takes milliseconds: texts are
# cut before anything else. A longer image is kept only if it is a picture within the metadata, and
# no more of its characters than this must be escaped, which makes five or six of each.
TEXT_LENGTH_MAX = 5_000
_ESCAPED = "&'\"<>"

# Groups digits, as js/format/amounts.js does: no language reads it as a decimal point.
_NARROW_SPACE = "\u202f"

# Previews cut texts off themselves, at about these lengths.
_TITLE_LENGTH_MAX = 100
_SUMMARY_LENGTH_MAX = 200


# Without slots, so that what a template asks for twice is computed once.
@dataclass(frozen=True)
class DeedCard:
    """A deed as people see it; None is what its metadata lacks."""

    item_id: str
    total: int
    name: str | None = None
    description: str | None = None
    image: str | None = None
    is_cut: bool = False

    @cached_property
    def title(self) -> str:
        """Return what to call the deed, in one line."""
        return _one_line(self.name or "", _TITLE_LENGTH_MAX) or "A deed without a name"

    @property
    def units(self) -> str:
        """Return the total in words, its digits in groups."""
        digits = f"{self.total:,}".replace(",", _NARROW_SPACE)
        return f"{digits} {'unit' if self.total == 1 else 'units'}"

    @cached_property
    def summary(self) -> str:
        """Return what a link to the deed says below its title."""
        about = _one_line(self.description or "", _SUMMARY_LENGTH_MAX)
        return about or f"A deed of {self.units}."

    @cached_property
    def shown_image(self) -> str | None:
        """Return the image where a browser can be asked to show it."""
        return _matching(_SHOWN, self.image)

    @cached_property
    def linked_image(self) -> str | None:
        """Return the image where it is on the web."""
        return _matching(_LINKED, self.image)


def deed_card(item: Item) -> DeedCard:
    """Return the card of an item, whatever its metadata holds."""
    about = _read(item.metadata)
    whole = {name: about.get(name, "") for name in ("name", "description", "image")}
    kept = {name: text[:TEXT_LENGTH_MAX] for name, text in whole.items()}
    if kept["image"] != whole["image"]:
        # An address that is cut is another address: all of it, or nothing.
        kept["image"] = whole["image"] if _is_long_picture(whole["image"]) else ""
    texts = {name: text for name, text in kept.items() if text and not text.isspace()}
    return DeedCard(item.id, item.total, **texts, is_cut=kept != whole)


def _read(metadata: str | None) -> dict[str, str]:
    try:
        about = json.loads(metadata or "{}")
    except (ValueError, RecursionError):
        return {}
    members = about.items() if isinstance(about, dict) else ()
    return {name: value for name, value in members if isinstance(value, str)}


def _is_long_picture(image: str) -> bool:
    escaped_count = sum(image.count(each) for each in _ESCAPED)
    return _WITHIN.match(image) is not None and escaped_count <= TEXT_LENGTH_MAX


def _one_line(text: str, length_max: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length_max else f"{line[: length_max - 1].rstrip()}…"


def _matching(form: re.Pattern[str], image: str | None) -> str | None:
    # Split, because a pattern takes seven times as long to find no blank in 1 MiB.
    return image if image and form.match(image) and image.split(maxsplit=1) == [image] else None
