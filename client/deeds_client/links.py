"""Links to deeds and offers: written as the page does, read from any text."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from deeds_client.errors import InvalidInputError
from deeds_client.values import BASE32, Output

_TO_ESCAPE = str.maketrans({mark: f"%{ord(mark):02X}" for mark in "-_.~"})
_DEED = rf"deed_[{BASE32}]{{26}}"
_RAW = rf"\+[0-9]+\.{_DEED}\."
# A raw output alone on its line: the secret is the rest of the line.
_ALONE = rf"(?<![^\r\n])[ \t]*{_RAW}[^\r\n]{{1,32}}+(?=[ \t]*(?![^\r\n]))"
_MARKS = re.escape(".,;:!?。*\"'`()[]{}<>„“”«»\xad\u200b\u2060\ufeff")
# A secret in a link: a strong secret, or percent-encoded letters and digits.
# Punctuation followed by more letters means that a person typed the link, so its end is
# unknown and nothing matches.
_SECRET = (
    rf"[{BASE32}]{{32}}(?![A-Za-z0-9])|(?:[A-Za-z0-9]|%[0-9A-Fa-f]{{2}})++"
    r"(?![-._~!*+@$:/=]*[A-Za-z0-9%\xc0-\u052f])"
)
# A link, else a raw output, else the start of one that was cut off. Some messengers
# turn the + into a space, and some drop it.
_CLAIM = (
    rf"claim/({_DEED})(?:\?[^\s#]{{0,300}})?(?:[#\uff03]|%23|&#35;|&num;)"
    rf"(?:[+\uff0b \xa0]|%2[Bb]|%20|&#43;|&plus;)?([0-9]+)\.({_SECRET})"
    rf"|({_ALONE}|{_RAW}\S{{1,32}}?(?=[{_MARKS}]*+(?:(?!\S)|(?<=[(<])https?://)))"
    r"|(?:claim/|\+[0-9]+\.)deed_"
)
# Everything but the host of an address. A default port or a final dot does not change
# the host.
_AROUND_HOST = (
    r"^[^/]*$|^(?:.*://|[\W_]*\w+:(?=[^\W\d]))?[\W_]*|\.?(?::443|:80)?(?:/.*|$)"
)
# A link in a parameter of another link, percent-encoded once more.
_WRAPPED = (
    rf"(?<==)https?(?::|%3[Aa])[\w.:/%-]+{_DEED}%(?:25)*23%(?:25)*2[Bb][0-9]+\."
    r"(?:[A-Za-z0-9]|%25)++(?!%(?!(?:25)*26))[\w.%-]*"
)


@dataclass(frozen=True, slots=True)
class Sent:
    """An output and the link that hands it over."""

    output: Output
    base_url: str

    @property
    def link(self) -> str:
        """The claim link. Anybody who has it can claim the units."""
        return claim_link(self.base_url, self.output)


def claim_link(base_url: str, output: Output) -> str:
    """Return the claim link of an output. It contains the secret."""
    secret = quote(output.secret.reveal(), safe="").translate(_TO_ESCAPE)
    return f"{base_url}/claim/{output.item_id}#+{output.amount}.{secret}"


def offer_link(base_url: str, offer_id: str) -> str:
    """Return the link to the page of an offer."""
    return f"{base_url}/offer/{offer_id}"


def read_claims(text: str, base_url: str) -> list[Output]:
    """Return the outputs of all links and raw outputs in a text.

    Raise InvalidInputError if there are none, if a link is cut off, or if it belongs to
    another service than `base_url`.
    """
    outputs = []
    for _ in range(2):  # A mail program may wrap a link that is wrapped already.
        text = re.sub(_WRAPPED, lambda link: unquote(link[0]), text)
    for item_id, amount, secret, raw in _find_all(_CLAIM, text, base_url):
        if not item_id and not raw:
            raise InvalidInputError("This link is cut off. Ask for it again.")
        # Escapes that are not UTF-8 become surrogates, which `Output.parse` refuses.
        unescaped = unquote(secret, errors="surrogateescape")
        outputs.append(Output.parse(raw.lstrip() or f"+{amount}.{item_id}.{unescaped}"))
    if not outputs:
        raise InvalidInputError(
            "There is no whole claim link in this text. Ask for it again."
        )
    return list(dict.fromkeys(outputs))


def read_offer(text: str, base_url: str) -> str:
    """Return the first offer id in a text, alone or in a link.

    Raise InvalidInputError if there is none.
    """
    matches = _find_all(rf"(offer_[{BASE32}]{{26}})", text, base_url)
    if not matches:
        raise InvalidInputError("There is no payment request or trade in this text.")
    return matches[0][0]


def _find_all(pattern: str, text: str, base_url: str) -> list[tuple[str, ...]]:
    """Return the groups of each match.

    Raise InvalidInputError if a match belongs to another service.
    """
    cleaned = re.sub(rf"{_ALONE}|\S+", _clean, text)
    our_host = _host_of(base_url)
    matches, end = [], 0
    for match in re.finditer(pattern, cleaned):
        host = _host_of(re.split(r"\s", cleaned[end : match.start()])[-1])
        if host not in ("", our_host):
            raise InvalidInputError(f"This link belongs to {host}, not to {our_host}.")
        matches.append(match.groups(""))
        end = match.end()
    return matches


def _host_of(address: str) -> str:
    """Return the host of an address or of the front of a link; "" if it has none."""
    return re.sub(_AROUND_HOST, "", address.lower())


def _clean(word: re.Match[str]) -> str:
    """Return a word without backslashes and invisible characters, which apps insert.

    In a raw output they are kept, because they may belong to the secret.
    """
    if re.search(_RAW, word[0]):
        return word[0]
    return "".join(sign for sign in word[0] if sign.isprintable() and sign != "\\")
