"""Cards: deeds as pages show them.

Strangers wrote the texts of deeds, so templates escape them.
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

# Addresses that are safe in the `src` of an <img>, where they cannot run scripts. Other
# addresses are shown as text.
_SHOWN = re.compile(r"(?:https?://|data:image/)\S+", re.IGNORECASE)

# Addresses of picture formats that few apps show in previews, by suffix.
_UNSEEN = re.compile(r"[^?#]+\.(?:webp|avif|gif|svg)(?:[?#]|$)", re.IGNORECASE)

# Characters that change the direction of writing are removed, because they can make one
# name look like another. Texts of invisible characters only count as empty: U+115F and
# the like are letters without a shape. js/ui/card.js does the same.
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"

# Metadata may be as long as a body, and each pass over such a text takes milliseconds,
# so texts are truncated first. A longer image is shown only if it is a data: URI in
# base64, which does not grow when it is escaped.
TEXT_LENGTH_MAX = 5_000
_LONG_PICTURE = re.compile(
    r"data:image/[^&<>'\",]+;base64,[A-Za-z0-9+/=]+", re.IGNORECASE
)

# Apps truncate the texts of previews at about these lengths anyway.
_TITLE_LENGTH_MAX = 100
_SUMMARY_LENGTH_MAX = 200

# Quotation marks, which could close those around a name in our texts. As in
# js/texts.js.
_QUOTES = re.compile('[“”„‟"«»]')
_QUOTED_LENGTH_MAX = 60

# Alphabets with letters that look alike; no word of any language mixes them.
_ALPHABETS = {"LATIN", "GREEK", "CYRILLIC"}
_WORD = re.compile(r"[^\W\d_]+")
# Unicode categories of accents and of invisible characters.
_MARKS = {"Mn", "Mc", "Me", "Cf"}

# The facts that the last paragraph of a description may state, one on each line.
# js/format/about.js parses the same, and has an example.
_TIME = (
    "[12][0-9]{3}(?:-[0-9]{2}){2} [0-9]{2}:[0-9]{2} [+-](?:0[0-9]|1[0-4]):[0-5][0-9]"
)
# What JavaScript's `trim` removes; Python's `strip` removes other characters.
_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
# A unit has no characters that are invisible or alter the letter before them. _is_word
# has further conditions.
_UNIT = (
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
    """A deed as shown on pages. Fields that its metadata lacks are empty."""

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
        """Return the name in one line, or a text for a deed without a name."""
        return _one_line(self.name, _TITLE_LENGTH_MAX) or gettext(
            "A deed without a name"
        )

    @property
    def is_mixed(self) -> bool:
        """Return whether a word of the name mixes alphabets that look alike.

        Accents and invisible characters do not end a word. Must agree with
        js/format/about.js.
        """
        letters = (
            each
            for each in unicodedata.normalize("NFD", self.name)
            if unicodedata.category(each) not in _MARKS
        )
        words = _WORD.findall("".join(letters))
        return any(len(_ALPHABETS & _alphabets(word)) > 1 for word in words)

    @property
    def units(self) -> str:
        """Return the total in words."""
        return units_text(self.total, self.unit)

    @property
    def is_expired(self) -> bool:
        """Return whether the date "Valid until" has passed."""
        return self.valid_until is not None and self.valid_until < datetime.now(UTC)

    @property
    def quoted(self) -> str:
        """Return a short title in quotation marks, without any in the title."""
        name = _QUOTES.sub("\N{RIGHT SINGLE QUOTATION MARK}", self.title)
        short = _one_line(name, _QUOTED_LENGTH_MAX)
        return str(gettext("“%(name)s”", name=short))

    def part(self, amount: int) -> str:
        """Return an amount of its units in words."""
        units = units_text(amount, self.unit)
        return str(gettext("%(units)s of %(name)s", units=units, name=self.quoted))

    @property
    def summary(self) -> str:
        """Return the text below the title in previews of links.

        Date and place come first, because messengers truncate the text.
        """
        date = clock_text(self.date) if self.date else ""
        own = " · ".join(filter(None, [date, self.place, self.description]))
        return _one_line(own, _SUMMARY_LENGTH_MAX) or gettext(
            "%(units)s in all.", units=self.units
        )

    @property
    def shown_image(self) -> str:
        """Return the image if it is safe as the source of an image, else ""."""
        return self.image if _SHOWN.fullmatch(self.image) else ""

    @property
    def mark(self) -> str:
        """Return both ends of the id, which distinguish deeds of the same name.

        Must agree with js/ui/card.js.
        """
        letters = self.item_id.removeprefix(ITEM_ID_PREFIX)
        return f"{letters[:4]}·{letters[-4:]}"

    @property
    def pattern(self) -> list[tuple[str, str]]:
        """Return the pattern to draw in place of a picture, and small beside the mark.

        It has three SVG paths, each with its colour: the background, dark petals for
        the bits that are 0, and light petals for those that are 1. Letters 5 to 12 of
        the id are the columns, each of five bits. Must agree with js/ui/card.js.
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
        """Return the address of the image for previews by other services, or "".

        `origin` may be empty. Formats that few apps show in previews are left out.
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
    """Return a time in the user's locale, with its year unless it is the current one.

    Must agree with js/format/about.js.
    """
    language = str(get_locale())
    accepted = [each.replace("-", "_") for each in request.accept_languages.values()]
    spoken = [each for each in accepted if each.partition("_")[0] == language]
    # The header may have unknown locales.
    known = negotiate_locale(spoken, localedata.locale_identifiers()) or language
    is_this_year = time.year == datetime.now(time.tzinfo).year
    skeleton = "MMMEd" if is_this_year else "yMMMEd"
    # Format it in the time zone that the deed states, not in that of the user.
    there = time.replace(tzinfo=None)
    date = format_skeleton(skeleton, there, locale=known)
    # No-break spaces keep the date in one line, and keep the dot from beginning one.
    day = f"{date} ".replace(" ", "\N{NO-BREAK SPACE}")
    return f"{day}· {format_time(there, 'short', locale=known)}"


def deed_card(item: Item) -> DeedCard:
    """Return the card of an item. Any metadata is accepted."""
    metadata: dict[str, str] = json.loads(item.metadata or "{}")
    name = metadata.get("name", "")[:TEXT_LENGTH_MAX]
    description = metadata.get("description", "")[:TEXT_LENGTH_MAX]
    image = metadata.get("image", "")
    if len(image) > TEXT_LENGTH_MAX and not _LONG_PICTURE.fullmatch(image):
        # Omit it: a truncated address would be another address.
        image = ""
    length = sum(map(len, metadata.values()))
    is_cut = len(name) + len(description) + len(image) < length
    text = _text(description)
    about = {"description": text} | _about(text)
    return DeedCard(
        item.id, item.total, name=_text(name), image=image, is_cut=is_cut, **about
    )


def units_text(amount: int, unit: str = "") -> str:
    """Return an amount in words, with grouped digits.

    `unit` is the word for one, or for one and several, "ticket/tickets". Must agree
    with js/format/amounts.js.
    """
    # A narrow space, which no language reads as a decimal point.
    digits = f"{amount:,}".replace(",", "\u202f")
    if not unit:
        return str(
            ngettext("%(digits)s unit", "%(digits)s units", amount, digits=digits)
        )
    one, _, several = unit.partition("/")
    # A currency sign has no plural, and we cannot form plurals in every language.
    is_sign = unicodedata.category(one[0]) == "Sc"
    plural = one if is_sign else f"\N{MULTIPLICATION SIGN} {one}"
    return f"{digits} {one if amount == 1 else several or plural}"


def _about(description: str) -> dict[str, Any]:
    """Return the facts of a description as fields of a card; {} if any is invalid."""
    whole = description.strip(_BLANKS)
    lines = "\n".join(line.strip(_BLANKS) for line in whole.split("\n"))
    text, _, last = lines.rpartition("\n\n")
    facts: dict[str, Any] = dict(_FACT.findall(last))
    words = facts["Unit"].split("/") if "Unit" in facts else []
    if len(facts) <= last.count("\n") or not all(map(_is_word, words)):
        return {}
    try:
        for name in facts.keys() & {"Date", "Valid until"}:
            facts[name] = datetime.strptime(facts[name], "%Y-%m-%d %H:%M %z")
    except ValueError:
        # The date or the time does not exist.
        return {}
    fields = {name.lower().replace(" ", "_"): fact for name, fact in facts.items()}
    return fields | {"description": text.strip(_BLANKS)}


def _is_word(text: str) -> bool:
    """Return whether a text is a word or begins with a currency sign.

    A digit could be read as part of the amount. Must agree with js/format/amounts.js.
    """
    kinds = [unicodedata.category(letter) for letter in text]
    is_begun = kinds[0] == "Sc" or kinds[0].startswith("L")
    return is_begun and not any(kind[0] in "NC" for kind in kinds)


def _text(text: str) -> str:
    plain = _TURNS.sub("", text)
    letters = (each for each in plain if unicodedata.category(each)[0] not in "CMZ")
    return plain if any(each not in _BLANK_LETTERS for each in letters) else ""


def _one_line(text: str, length_max: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length_max else f"{line[: length_max - 1].rstrip()}…"
