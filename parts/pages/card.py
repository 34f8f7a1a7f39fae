"""What a page shows of a deed.

All of it was written by strangers; templates escape it.
"""

import json
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from babel import localedata, negotiate_locale
from flask import request
from flask_babel import (
    force_locale,
    format_date,
    format_datetime,
    format_time,
    get_locale,
    gettext,
    ngettext,
)

from deeds.model import Item
from deeds.raw_output import ITEM_ID_PREFIX
from parts.pages.picture import uploaded_picture

# Image addresses that a browser may be given, because nothing in them runs there. Other
# addresses are shown as text.
_SHOWN = re.compile(r"(?:https?://|data:image/)\S+", re.IGNORECASE)

# Addresses of kinds of pictures that few apps show in previews, by their ends.
_UNSEEN = re.compile(r"[^?#]+\.(?:webp|avif|gif|svg)(?:[?#]|$)", re.IGNORECASE)

# What turns the direction of writing makes one name look like another; js/ui/card.js
# too leaves it out, and texts of which nothing is seen: U+115F and the like are letters
# without a shape.
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"

# Metadata may be as long as a body, and each pass over such a text takes milliseconds:
# texts are cut before anything else. A longer image is shown only if it is a picture
# within the metadata, in base64: to escape that makes it no longer.
TEXT_LENGTH_MAX = 5_000
_LONG_PICTURE = re.compile(
    r"data:image/[^&<>'\",]+;base64,[A-Za-z0-9+/=]+", re.IGNORECASE
)

# Previews cut texts off themselves, at about these lengths.
_TITLE_LENGTH_MAX = 100
_SUMMARY_LENGTH_MAX = 200

# Within a sentence of ours, a name must not end its own quotation marks. As in
# js/texts.
_QUOTES = re.compile('[“”„‟"«»]')
_QUOTED_LENGTH_MAX = 60

# What the last paragraph of a description may say, one fact a line; js/format/about.js
# has an example, and reads the same.
_TIME = (
    "[12][0-9]{3}(?:-[0-9]{2}){2} [0-9]{2}:[0-9]{2} [+-](?:0[0-9]|1[0-4]):[0-5][0-9]"
)
# What JavaScript's `trim` removes: Python's `strip` knows other blanks.
_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
# Nothing in them is invisible, or changes how the letter before it looks.
_UNIT = (
    r"(?=[^\W\d_])"
    rf"[^\n/{_BLANK_LETTERS}\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f"
    r"\U000e0100-\U000e01ef]{1,20}"
)
_FACT = re.compile(
    rf"^(Place|(?:Date|Valid until)(?=: {_TIME}$)|"
    rf"Unit(?=: {_UNIT}(?:/{_UNIT})?$)): (.+)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class DeedCard:
    """A deed as people see it; what its metadata lacks is empty."""

    item_id: str
    total: int
    name: str = ""
    description: str = ""
    image: str = ""
    is_cut: bool = False
    date: datetime | None = None
    place: str = ""
    valid_until: datetime | None = None
    unit: str = ""

    @property
    def title(self) -> str:
        """Return what to call the deed, in one line."""
        return _one_line(self.name, _TITLE_LENGTH_MAX) or gettext(
            "A deed without a name"
        )

    @property
    def units(self) -> str:
        """Return the total in words."""
        return units_text(self.total, self.unit)

    @property
    def is_expired(self) -> bool:
        """Return whether it is no longer good for anything."""
        return self.valid_until is not None and self.valid_until < datetime.now(UTC)

    @property
    def quoted(self) -> str:
        """Return a short title in quotation marks, which has none itself."""
        name = _QUOTES.sub("\N{RIGHT SINGLE QUOTATION MARK}", self.title)
        short = _one_line(name, _QUOTED_LENGTH_MAX)
        return str(gettext("“%(name)s”", name=short))

    def part(self, amount: int) -> str:
        """Return an amount of its units in words."""
        units = units_text(amount, self.unit)
        return str(gettext("%(units)s of %(name)s", units=units, name=self.quoted))

    @property
    def summary(self) -> str:
        """Return what a link to the deed says below its title.

        Date and place come first: messengers cut off what follows.
        """
        own = " · ".join(filter(None, [self._when, self.place, self.description]))
        return _one_line(own, _SUMMARY_LENGTH_MAX) or gettext(
            "A deed of %(units)s.", units=self.units
        )

    @property
    def _when(self) -> str:
        """Return the date in short, by the clock of its place."""
        if self.date is None:
            return ""
        # Translators: how dates and times are written, in letters of Unicode TR 35.
        pattern = gettext("EEE d MMM y, HH:mm")
        return str(format_datetime(self.date, pattern, rebase=False))

    @property
    def shown_image(self) -> str:
        """Return the image if a browser can be asked to show it."""
        return self.image if _SHOWN.fullmatch(self.image) else ""

    @property
    def mark(self) -> str:
        """Return two short ends of the id, which tell the deed from others of its name.

        js/ui/card.js makes the same, and draws a picture from the letters between.
        """
        letters = self.item_id.removeprefix(ITEM_ID_PREFIX)
        return f"{letters[:4]}·{letters[-4:]}"

    def preview_image(self, origin: str) -> str:
        """Return where other services can fetch the image for a preview.

        `origin` may be empty. A kind that apps do not show in previews is left out.
        """
        kind, _ = uploaded_picture(self.image) or ("", b"")
        if origin and kind in {"png", "jpeg"}:
            return f"{origin}/item/{self.item_id}/picture"
        is_address = self.shown_image[:4].lower() == "http"
        return self.image if is_address and not _UNSEEN.match(self.image) else ""


def clock_text(time: datetime, style: str) -> str:
    """Return a time as the person writes it, like LOCALE of js/format/gettext.js.

    `style` is that of the date, "full" or "medium".
    """
    language = str(get_locale())
    accepted = [each.replace("-", "_") for each in request.accept_languages.values()]
    spoken = [each for each in accepted if each.partition("_")[0] == language]
    # The header may say anything.
    known = negotiate_locale(spoken, localedata.locale_identifiers())
    with force_locale(known or language):
        date = format_date(time, style, rebase=False)
        return f"{date}, {format_time(time, 'short', rebase=False)}"


def deed_card(item: Item) -> DeedCard:
    """Return the card of an item, whatever the texts of its metadata are."""
    metadata: dict[str, str] = json.loads(item.metadata or "{}")
    name = metadata.get("name", "")[:TEXT_LENGTH_MAX]
    description = metadata.get("description", "")[:TEXT_LENGTH_MAX]
    image = metadata.get("image", "")
    if len(image) > TEXT_LENGTH_MAX and not _LONG_PICTURE.fullmatch(image):
        # An address that is cut is another address: all of it, or nothing.
        image = ""
    length = sum(map(len, metadata.values()))
    is_cut = len(name) + len(description) + len(image) < length
    text = _text(description)
    about = {"description": text} | _about(text)
    return DeedCard(
        item.id, item.total, name=_text(name), image=image, is_cut=is_cut, **about
    )


def units_text(amount: int, unit: str = "") -> str:
    """Return an amount in words, its digits in groups.

    `unit` is the word for one, or for one and several, "ticket/tickets".
    """
    # A narrow space, as in js/format/amounts.js: no language reads it as a decimal
    # point.
    digits = f"{amount:,}".replace(",", "\u202f")
    if not unit:
        return str(
            ngettext("%(digits)s unit", "%(digits)s units", amount, digits=digits)
        )
    one, _, several = unit.partition("/")
    word = one if amount == 1 else several or f"\N{MULTIPLICATION SIGN} {one}"
    return f"{digits} {word}"


def _about(description: str) -> dict[str, Any]:
    """Return what the facts of a description say, by the fields of a card."""
    whole = description.strip(_BLANKS)
    lines = "\n".join(line.strip(_BLANKS) for line in whole.split("\n"))
    text, _, last = lines.rpartition("\n\n")
    facts: dict[str, Any] = dict(_FACT.findall(last))
    kinds = {unicodedata.category(each)[0] for each in facts.get("Unit", "")}
    if len(facts) <= last.count("\n") or kinds & {"N", "C"}:
        return {}
    try:
        for name in facts.keys() & {"Date", "Valid until"}:
            facts[name] = datetime.strptime(facts[name], "%Y-%m-%d %H:%M %z")
    except ValueError:
        # There is no such day or hour.
        return {}
    fields = {name.lower().replace(" ", "_"): fact for name, fact in facts.items()}
    return fields | {"description": text.strip(_BLANKS)}


def _text(text: str) -> str:
    plain = _TURNS.sub("", text)
    letters = (each for each in plain if unicodedata.category(each)[0] not in "CMZ")
    return plain if any(each not in _BLANK_LETTERS for each in letters) else ""


def _one_line(text: str, length_max: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length_max else f"{line[: length_max - 1].rstrip()}…"
