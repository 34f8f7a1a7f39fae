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
from babel.dates import format_skeleton, format_time
from flask import request
from flask_babel import get_locale, gettext, ngettext

from deeds.model import Item
from deeds.raw_output import BASE32_ALPHABET, ITEM_ID_PREFIX
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

# Letters of these look alike, and no word of any language mixes them.
_ALPHABETS = {"LATIN", "GREEK", "CYRILLIC"}
_WORD = re.compile(r"[^\W\d_]+")

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


# The petal of a 0 rises from the left, that of a 1 falls to the right.
_PETALS = {
    "0": "M{} {}a1 1 0 0 0-1 1 1 1 0 0 0 1-1",
    "1": "M{} {}a1 1 0 0 1 1 1 1 1 0 0 1-1-1",
}


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
    def is_mixed(self) -> bool:
        """Return whether a word of the name mixes alphabets that look alike.

        js/format/about.js says the same.
        """
        words = _WORD.findall(unicodedata.normalize("NFC", self.name))
        return any(len(_ALPHABETS & _alphabets(word)) > 1 for word in words)

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
        date = clock_text(self.date) if self.date else ""
        own = " · ".join(filter(None, [date, self.place, self.description]))
        return _one_line(own, _SUMMARY_LENGTH_MAX) or gettext(
            "%(units)s in all.", units=self.units
        )

    @property
    def shown_image(self) -> str:
        """Return the image if a browser can be asked to show it."""
        return self.image if _SHOWN.fullmatch(self.image) else ""

    @property
    def mark(self) -> str:
        """Return two short ends of the id, which tell the deed from others of its name.

        js/ui/card.js makes the same.
        """
        letters = self.item_id.removeprefix(ITEM_ID_PREFIX)
        return f"{letters[:4]}·{letters[-4:]}"

    @property
    def pattern(self) -> list[tuple[str, str]]:
        """Return what is drawn where there is no picture, and small beside the mark.

        Colours and shapes of three paths: the ground, dark petals for the bits that are
        0 of the eight letters behind the mark's first, a column for each, and light
        ones. js/ui/card.js draws the same.
        """
        letters = self.item_id.removeprefix(ITEM_ID_PREFIX)[4:12]
        values = [BASE32_ALPHABET.index(letter) for letter in letters]
        petals = {"0": "", "1": ""}
        for x, value in enumerate(values):
            for y, bit in enumerate(f"{value:05b}"):
                petals[bit] += _PETALS[bit].format(x + 1 - int(bit), y)
        hue = 11.25 * values[0]
        light_hue = (hue + 40 + 20 * (values[1] % 8)) % 360
        return [
            (f"oklch(0.4 0.085 {hue:g})", "M0 0h8v5H0z"),
            (f"oklch(0.55 0.105 {hue:g})", petals["0"]),
            (f"oklch(0.82 0.115 {light_hue:g})", petals["1"]),
        ]

    def preview_image(self, origin: str) -> str:
        """Return where other services can fetch the image for a preview.

        `origin` may be empty. A kind that apps do not show in previews is left out.
        """
        kind, _ = uploaded_picture(self.image) or ("", b"")
        if origin and kind in {"png", "jpeg"}:
            return f"{origin}/item/{self.item_id}/picture"
        is_address = self.shown_image[:4].lower() == "http"
        return self.image if is_address and not _UNSEEN.match(self.image) else ""


def _alphabets(word: str) -> set[str]:
    names = (unicodedata.name(letter, "?") for letter in word)
    return {name.removeprefix("FULLWIDTH ").split()[0] for name in names}


def clock_text(time: datetime) -> str:
    """Return a time as the person writes it, with its year where that is not this one.

    js/format/about.js writes the same, in the language of LOCALE.
    """
    language = str(get_locale())
    accepted = [each.replace("-", "_") for each in request.accept_languages.values()]
    spoken = [each for each in accepted if each.partition("_")[0] == language]
    # The header may say anything.
    known = negotiate_locale(spoken, localedata.locale_identifiers()) or language
    is_this_year = time.year == datetime.now(time.tzinfo).year
    skeleton = "MMMEd" if is_this_year else "yMMMEd"
    # As its own clocks show it.
    there = time.replace(tzinfo=None)
    date = format_skeleton(skeleton, there, locale=known)
    # A day stays in one line, and no line begins with the dot.
    day = f"{date} ".replace(" ", "\N{NO-BREAK SPACE}")
    return f"{day}· {format_time(there, 'short', locale=known)}"


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
