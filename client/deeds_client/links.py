"""Links to deeds and offers, as the page writes them, and read from any text."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from deeds_client.errors import InvalidInputError
from deeds_client.values import BASE32, Output

_TO_ESCAPE = str.maketrans({mark: f"%{ord(mark):02X}" for mark in "-_.~"})
_DEED = rf"deed_[{BASE32}]{{26}}"
_RAW = rf"\+[0-9]+\.{_DEED}\."
# A raw output that has its line for itself: the secret is the rest of the line.
_ALONE = rf"(?<![^\r\n])[ \t]*{_RAW}[^\r\n]{{1,32}}+(?=[ \t]*(?![^\r\n]))"
_MARKS = re.escape(".,;:!?。*\"'`()[]{}<>„“”«»\xad\u200b\u2060\ufeff")
# A secret ends where its alphabet does, and one of 32 letters and digits has no more.
# Signs within a word are of a link that a person wrote, whose end nobody knows.
_SECRET = (
    rf"[{BASE32}]{{32}}(?![A-Za-z0-9])|(?:[A-Za-z0-9]|%[0-9A-Fa-f]{{2}})++"
    r"(?![-._~!*+@$:/=]*[A-Za-z0-9%\xc0-\u052f])"
)
# A link, else a raw output, else the beginning of one.
# Some messengers take the + for a blank, and some lose it.
_CLAIM = (
    rf"claim/({_DEED})(?:\?[^\s#]{{0,300}})?(?:[#\uff03]|%23|&#35;|&num;)"
    rf"(?:[+\uff0b \xa0]|%2[Bb]|%20|&#43;|&plus;)?([0-9]+)\.({_SECRET})"
    rf"|({_ALONE}|{_RAW}\S{{1,32}}?(?=[{_MARKS}]*+(?:(?!\S)|(?<=[(<])https?://)))"
    r"|(?:claim/|\+[0-9]+\.)deed_"
)
# All but the host of an address. A port or a dot may name the same host.
_AROUND_HOST = (
    r"^[^/]*$|^(?:.*://|[\W_]*\w+:(?=[^\W\d]))?[\W_]*|\.?(?::443|:80)?(?:/.*|$)"
)
# A link that is a parameter of another one, escaped once more, its secret too.
_WRAPPED = (
    rf"(?<==)https?(?::|%3[Aa])[\w.:/%-]+{_DEED}%(?:25)*23%(?:25)*2[Bb][0-9]+\."
    r"(?:[A-Za-z0-9]|%25)++(?!%(?!(?:25)*26))[\w.%-]*"
)


@dataclass(frozen=True, slots=True)
class Sent:
    """Units in a link that is to be handed over."""

    output: Output
    base_url: str

    @property
    def link(self) -> str:
        """The claim link, with the secret: whoever has it has the units."""
        return claim_link(self.base_url, self.output)


def claim_link(base_url: str, output: Output) -> str:
    """Return the link that hands over an output."""
    secret = quote(output.secret.reveal(), safe="").translate(_TO_ESCAPE)
    return f"{base_url}/claim/{output.item_id}#+{output.amount}.{secret}"


def offer_link(base_url: str, offer_id: str) -> str:
    """Return the link to the page of an offer."""
    return f"{base_url}/offer/{offer_id}"


def is_same_service(home: str, base_url: str) -> bool:
    """Return whether an address is that of `home`, which may have moved to https."""
    return base_url in (home, home.replace("http:", "https:", 1))


def read_claims(text: str, base_url: str) -> list[Output]:
    """Return the outputs of a text's links and raw outputs.

    Raise InvalidInputError without any.
    """
    outputs = []
    for _ in range(2):  # A mail program may wrap what a website has wrapped.
        text = re.sub(_WRAPPED, lambda link: unquote(link[0]), text)
    for item_id, amount, secret, raw in _found(_CLAIM, text, base_url):
        if not item_id and not raw:
            raise InvalidInputError("This link is cut off. Ask for it again.")
        # What is escaped but is no text gets surrogates, which no output has.
        unescaped = unquote(secret, errors="surrogateescape")
        outputs.append(Output.parse(raw.lstrip() or f"+{amount}.{item_id}.{unescaped}"))
    if not outputs:
        raise InvalidInputError(
            "There is no whole claim link in this text. Ask for it again."
        )
    return list(dict.fromkeys(outputs))


def read_offer(text: str, base_url: str) -> str:
    """Return the first id of an offer in a text, alone or in a link to it."""
    found = _found(rf"(offer_[{BASE32}]{{26}})", text, base_url)
    if not found:
        raise InvalidInputError("There is no payment request or trade in this text.")
    return found[0][0]


def _found(pattern: str, text: str, base_url: str) -> list[tuple[str, ...]]:
    """Return the groups of what is found.

    Raise InvalidInputError if another service's link is.
    """
    seen = re.sub(rf"{_ALONE}|\S+", _clean, text)
    found, end = [], 0
    for match in re.finditer(pattern, seen):
        front = re.split(r"\s", seen[end : match.start()])[-1]
        host, ours = (
            re.sub(_AROUND_HOST, "", each.lower()) for each in (front, base_url)
        )
        if host not in ("", ours):
            raise InvalidInputError(f"This link belongs to {host}, not to {ours}.")
        found.append(match.groups(""))
        end = match.end()
    return found


def _clean(word: re.Match[str]) -> str:
    """Return a word without what apps put into links: backslashes and unseen marks.

    Those of a raw output are its secret's.
    """
    if re.search(_RAW, word[0]):
        return word[0]
    return "".join(each for each in word[0] if each.isprintable() and each != "\\")
