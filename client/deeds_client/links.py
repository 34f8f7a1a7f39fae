"""Links to deeds and offers, as the page writes them, and read from any text.

What mail programs and messengers do to links is undone. No message quotes a text.
"""

import re
import unicodedata
from urllib.parse import quote, unquote

from deeds_client.errors import InvalidInputError
from deeds_client.values import BASE32, Output, is_strong

# Characters that are not seen; then ends of lines and marks of a quotation, which break links.
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_GAPS = re.compile(r"[\s>=]+")
_GAP = r"[\s>=]{0,24}"
_ID = rf"{_GAP}(?:\\?_|%5[Ff])((?:{_GAP}[{BASE32}]){{26}})"
_DEED = _GAP.join("deed") + _ID
# A link, or a raw output: there the item's id is behind the amount.
_START = re.compile(
    rf"({_GAP.join('claim')}{_GAP}(?:/|%2[Ff]){_GAP}{_DEED}{_GAP}[^\s#]{{0,300}}?(?:#|%23){_GAP})?"
    rf"(?:\+|%2[Bb])({_GAP}[1-9](?:{_GAP}[0-9]){{0,15}}){_GAP}\.(?(1)|{_GAP}{_DEED}{_GAP}\.)"
)
_FRONT_BEGINS = re.compile(r"[\s\"'`<>()]|(?=https?://)", re.IGNORECASE)
_HOST = re.compile(r"(?:[^\W_]|[.-])+(?::[0-9]+)?$")
_STRONG = re.compile(rf"(?:{_GAP}[{BASE32}]){{32}}")
# In a link that was written by hand, marks at the end are of the sentence around it.
_WORD = re.compile(r"(?:[^\W_]|%|[-._~!*+@$:/=]{1,32}(?=[^\W_]|%))+")
_UNIT = re.compile(r"&(?:amp;)?unit=([A-Za-z0-9%]{1,240})")
_OPENERS = {*"([{<«“„\"'`"}
_QUOTED = re.compile(r"(.*?)[])}>»”“\"'`](?!\w)")
_UNIT_LENGTH_MAX = 20


def claim_link(base_url: str, output: Output, unit: str = "") -> str:
    """Return the link that hands over an output; `unit` is the issuer's word for one."""
    named = f"&unit={_escape(unit)}" if unit else ""
    return f"{base_url}/claim/{output.item_id}#+{output.amount}.{_escape(output.secret)}{named}"


def offer_link(base_url: str, offer_id: str) -> str:
    """Return the link to the page of an offer."""
    return f"{base_url}/offer/{offer_id}"


def _escape(text: str) -> str:
    return re.sub("[-_.~]", lambda mark: f"%{ord(mark[0]):02X}", quote(text, safe=""))


def is_unit(text: str) -> bool:
    """Return whether a text is a word for one unit: a digit in it would pass for the amount's."""
    groups = {unicodedata.category(character)[0] for character in text}
    return text[:1].isalpha() and not groups & {"N", "C"} and len(text) <= _UNIT_LENGTH_MAX


def read_claims(text: str, base_url: str) -> list[tuple[Output, str]]:
    """Return the outputs of a text's links and raw outputs, each with the unit's word or "".

    Raise InvalidInputError if there are none, one cannot be read, or one is of another service.
    """
    claims = []
    for start, tail in _found(_START, text, base_url):
        link, page, amount, raw = (_GAPS.sub("", part or "") for part in start.groups())
        unit = _UNIT.search(tail) if link else None
        word = unquote(unit[1]) if unit else ""
        try:
            output = Output.parse(f"+{amount}.deed_{page or raw}.{_secret(start, tail)}")
        except InvalidInputError:
            raise InvalidInputError("This link is cut off. Ask for it again.") from None
        claims.append((output, word if is_unit(word) else ""))
    if not claims:
        raise InvalidInputError("There is no whole claim link in this text. Ask for it again.")
    return list(dict.fromkeys(claims))


def read_offer(text: str, base_url: str) -> str:
    """Return the id of the offer that a text names, alone or in a link to it."""
    if offer_id := read_id("offer", text, base_url):
        return offer_id
    raise InvalidInputError("There is no payment request or trade in this text.")


def read_id(kind: str, text: str, base_url: str) -> str | None:
    """Return the id of a "deed" or an "offer" that a text names, alone or in a link, or None."""
    found = _found(re.compile(f"(){_GAP.join(kind)}{_ID}"), text, base_url)
    ids = {f"{kind}_{_GAPS.sub('', match[2])}" for match, _ in found}
    if len(ids) > 1:
        raise InvalidInputError("This text names more than one. Paste one link.")
    return ids.pop() if ids else None


def _found(start: re.Pattern[str], text: str, base_url: str) -> list[tuple[re.Match[str], str]]:
    """Return what starts in a text, each with the text up to the next; its first group is of links.

    Raise InvalidInputError if the front of a link names another service than ours.
    """
    text, ours = _UNSEEN.sub("", text), base_url.split("/")[2]
    starts, tails, end = [], [], 0
    for match in start.finditer(text):
        before = text[end : match.start()]
        front = _FRONT_BEGINS.split(before)[-1] if match[1] is not None else ""
        _, scheme, address = unquote(front).rpartition("://")
        name, slash, _ = address.lstrip("/").partition("/")
        host = _HOST.fullmatch(name) if scheme else _HOST.search(name) if slash else None
        named = host[0] if host else "another service"
        if (scheme or host) and named.lower() != ours:
            raise InvalidInputError(f"This link belongs to {named}, not to {ours}.")
        starts.append(match)
        tails.append(before.removesuffix(front))
        end = match.end()
    return list(zip(starts, [*tails[1:], text[end:]], strict=False))


def _secret(start: re.Match[str], tail: str) -> str:
    strong = _STRONG.match(tail)
    if strong and is_strong(whole := _GAPS.sub("", strong[0])):
        return whole
    if start[1]:
        word = _WORD.match(tail)
        # No secret has surrogates: what is escaped and no text is refused.
        return unquote(word[0], errors="surrogateescape") if word else ""
    opener = start.string[start.start() - 1 : start.start()]
    line = tail.partition("\n")[0].rstrip()
    quoted = _QUOTED.match(line) if opener in _OPENERS else None
    return quoted[1] if quoted else line
