"""Links to deeds and offers, as the page writes them, and read from any text."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from deeds_client.errors import InvalidInputError
from deeds_client.values import BASE32, Output

_TO_ESCAPE = str.maketrans({mark: f"%{ord(mark):02X}" for mark in "-_.~"})
_ESCAPED = "(?:[A-Za-z0-9]|%[0-9A-Fa-f]{2})+"
_DEED = rf"deed_[{BASE32}]{{26}}"
_RAW = rf"\+[0-9]+\.{_DEED}\."
_MARKS = ".,;:!?。*\"'`()[]{}<>„“”«»\xad\u200b\u2060\ufeff"
_END = rf"[{re.escape(_MARKS)}]*(?!\S)"
# A link, else a raw output, else the beginning of one. Marks around it are of the text.
# Some messengers take the + for a blank, and some lose it.
_CLAIM = (
    rf"claim/({_DEED})(?:\?[^\s#]*)?(?:#|%23)(?:\+|%2[Bb]|%20|[ \xa0])?([0-9]+)\."
    rf"({_ESCAPED})(?:&(?:amp;)?unit={_ESCAPED})?[_~|]*{_END}"
    rf"|({_RAW}\S{{1,32}}?){_END}|(?:claim/|\+[0-9]+\.)deed_"
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
    for item_id, amount, secret, raw in _found(_CLAIM, text, base_url):
        if not item_id and not raw:
            raise InvalidInputError("This link is cut off. Ask for it again.")
        # What is escaped but is no text gets surrogates, which no output has.
        unescaped = unquote(secret, errors="surrogateescape")
        outputs.append(Output.parse(raw or f"+{amount}.{item_id}.{unescaped}"))
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
    # Markdown and mail programs put a link right behind its own text.
    apart = re.sub(r"(?<=[(<])(?=https?://)", " ", text)
    seen = re.sub(r"\S+", _clean, apart)
    found = re.findall(rf"(?<!\S)(\S*?)(?:{pattern})", seen)
    ours = base_url.split("/")[2]
    for front, *_ in found:
        host = front.rpartition("://")[2].lstrip(f"/{_MARKS}").partition("/")[0]
        if "/" in front and host.lower() != ours:
            raise InvalidInputError(f"This link belongs to {host}, not to {ours}.")
    return [groups for _, *groups in found]


def _clean(word: re.Match[str]) -> str:
    """Return a word without what apps put into links: backslashes and unseen marks.

    Those of a raw output are its secret's.
    """
    if re.search(_RAW, word[0]):
        return word[0]
    return "".join(each for each in word[0] if each.isprintable() and each != "\\")
