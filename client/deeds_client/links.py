"""Links to claim deeds and to offers: written as the page writes them, and read from any text.

The secret is behind the `#`, which no browser sends. What mail programs, messengers and people do
to links is undone, most of what the page undoes (format/claim_link.js). No message quotes a text.
"""

import re
from contextlib import suppress
from urllib.parse import quote, unquote

import httpx

from deeds_client.errors import InvalidInputError
from deeds_client.values import BASE32, SECRET_LENGTH_MAX, Output, is_strong

_CUT_OFF = "This link is cut off. Ask for it again."
_PART_LENGTH_MAX = 4200
_UNIT_LENGTH_MAX = 20

_UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
# What breaks a link: ends of lines, marks of a quotation, and characters that are not seen.
_GAPS = re.compile(rf"[\s>={_UNSEEN}]+")
_GAP = rf"[\s>={_UNSEEN}]{{0,24}}"
_ID_END = rf"{_GAP}(?:\\?_|%5[Ff]){_GAP}(?:[{BASE32}]{_GAP}){{25}}[{BASE32}]"
_ITEM_ID, _OFFER_ID = (_GAP.join(kind) + _ID_END for kind in ("deed", "offer"))
_AMOUNT = rf"[1-9](?:{_GAP}[0-9]){{0,15}}{_GAP}\."
_HASH, _PLUS, _SLASH = "(?:#|%23)", r"(?:\+|%2[Bb])", "(?:/|%2[Ff])"
# A raw output, or a link. In links of early releases the id is behind the mark.
_START = re.compile(
    rf"(?:(?P<path>{_GAP.join('claim')}{_GAP}(?:{_SLASH}{_GAP}(?P<page>{_ITEM_ID}))?{_GAP}"
    rf"[^\s#]{{0,300}}?{_HASH}){_GAP})?"
    rf"{_PLUS}{_GAP}(?P<amount>{_AMOUNT})(?P<id>{_GAP}{_ITEM_ID}{_GAP}\.)?"
)
_PIECE = re.compile(r"\+[0-9]+\.deed|/claim|#\+[0-9]|DEED_")
_SCHEME = re.compile(r"(?=https?://)|(?<![a-z])(?=[a-z]{1,20}://)", re.IGNORECASE)
_WORD_ENDS = re.compile(rf"[\s\"'`<>()]|{_SCHEME.pattern}", re.IGNORECASE)
_HOST = re.compile(r"(?:[^\W_]|[.-])+(?::[0-9]+)?$")
_STRONG = re.compile(rf"(?:{_GAP}[{BASE32}]){{32}}")
# In a link that was written by hand, marks at the end are of the sentence around it.
_WORD = re.compile(r"(?:[^\W_]|%|[-._~!*+@$:/=]{1,32}(?=[^\W_]|%))+")
_UNIT = re.compile(r"[^\s\"<>]{0,300}?&(?:amp;)?unit=([A-Za-z0-9%]{1,240})")
_CLOSERS = dict(zip("([{<«„“「\"'`*_", ")]}>»“”」\"'`*_", strict=True))


def claim_link(base_url: str, output: Output, unit: str = "") -> str:
    """Return the link that hands over an output; `unit` is the issuer's word for one."""
    named = f"&unit={_escape(unit)}" if unit else ""
    return f"{base_url}/claim/{output.item_id}#+{output.amount}.{_escape(output.secret)}{named}"


def offer_link(base_url: str, offer_id: str) -> str:
    """Return the link to the page of an offer."""
    return f"{base_url}/offer/{offer_id}"


def read_claims(text: str, base_url: str) -> list[tuple[Output, str]]:
    """Return the outputs of a text's links and raw outputs, each with the unit's word or "".

    Raise InvalidInputError if there are none, one cannot be read, or one is of another service.
    """
    starts = [match for match in _START.finditer(text) if match["page"] or match["id"]]
    if not starts:
        is_cut_off = _PIECE.search(text)
        raise InvalidInputError(_CUT_OFF if is_cut_off else "There is no claim link in this text.")
    fronts = [_front(text, start.start()) if start["path"] else "" for start in starts]
    begins = [start.start() - len(front) for start, front in zip(starts, fronts, strict=True)]
    # The blank before a link belongs to neither.
    ends = [begin - text[begin - 1 : begin].isspace() for begin in begins[1:]]
    claims = []
    for start, front, end in zip(starts, fronts, [*ends, len(text)], strict=True):
        _check_host(front, base_url)
        opener = text[: start.start()][-1:]
        claims.append(_claim(start, text[start.end() : end], opener))
    return list(dict.fromkeys(claims))


def read_offer(text: str, base_url: str) -> str:
    """Return the id of the offer that a text names, alone or in a link to it."""
    offer_id = _read_id(_OFFER_ID, text, base_url)
    if offer_id is None:
        raise InvalidInputError("There is no payment request or trade in this text.")
    return offer_id


def read_item(text: str, base_url: str) -> str | None:
    """Return the id of the item that a text names, alone or in a link to any page, or None."""
    return _read_id(_ITEM_ID, text, base_url)


def _read_id(pattern: str, text: str, base_url: str) -> str | None:
    ids = set()
    for match in re.finditer(pattern, text):
        _check_host(_front(text, match.start()), base_url)
        ids.add(_clean(match[0]))
    if len(ids) > 1:
        raise InvalidInputError("This text names more than one. Paste one link.")
    return ids.pop() if ids else None


def _front(text: str, end: int) -> str:
    """Return the part of a word that stands before a place of the text."""
    return _WORD_ENDS.split(text[max(0, end - _PART_LENGTH_MAX) : end])[-1]


def _check_host(front: str, base_url: str) -> None:
    """Raise InvalidInputError if the front of a link names another service than ours."""
    address = _SCHEME.split(_GAPS.sub("", unquote(front)))[-1]
    if not _SCHEME.match(address):
        name, slash, _ = address.partition("/")
        host = _HOST.search(name) if slash else None
        address = f"https://{host[0]}" if host else base_url
    named, ours = "another service", httpx.URL(base_url).netloc.decode()
    with suppress(httpx.InvalidURL):
        named = httpx.URL(address).netloc.decode() or named
    if named != ours:
        raise InvalidInputError(f"This link belongs to {named}, not to {ours}.")


def _claim(start: re.Match[str], tail: str, opener: str) -> tuple[Output, str]:
    """Return what the start of a link or raw output and the text behind it mean."""
    ids = [_clean(each) for each in start.group("page", "id") if each]
    if ids[0] != ids[-1]:
        raise InvalidInputError("This link names two deeds. Ask for another.")
    if start["path"] and "%" in start[0].replace("%5", ""):
        # The link was escaped as a whole.
        tail = re.sub("%26([a-z_]+)%3[Dd]", r"&\1=", tail).replace("%25", "%")
    secret, rest = _secret(tail[:_PART_LENGTH_MAX], opener, is_link=bool(start["path"]))
    unit = _UNIT.match(rest)
    with suppress(InvalidInputError):
        output = Output.parse(f"+{_clean(start['amount'])}.{ids[0]}.{secret}")
        return output, _unit_word(_unescape(unit[1])) if unit else ""
    raise InvalidInputError(_CUT_OFF)


def _secret(tail: str, opener: str, *, is_link: bool) -> tuple[str, str]:
    """Return the secret at the beginning of a text, and the text behind it."""
    strong = _STRONG.match(tail)
    if strong and is_strong(whole := _GAPS.sub("", strong[0])):
        return whole, tail[strong.end() :]
    if is_link:
        seen = re.sub(f"[{_UNSEEN}]", "", tail)
        word = _WORD.match(seen)
        return (_unescape(word[0]), seen[word.end() :]) if word else ("", "")
    line = re.split("[\r\n]", tail, maxsplit=1)[0]
    closer = re.escape(_CLOSERS.get(opener, "\n"))
    if quoted := re.match(rf"(.*?){closer}(?!\w)", line):
        return quoted[1], ""
    # A blank at its end is a part of it, unless it is too long with that.
    return (line if len(line) <= SECRET_LENGTH_MAX else line.rstrip()), ""


def _unit_word(text: str) -> str:
    """Return a text if it can be the word for a unit: nothing in it passes for an amount."""
    is_word = text[:1].isalpha() and text.isprintable() and len(text) <= _UNIT_LENGTH_MAX
    return text if is_word and not any(each.isnumeric() for each in text) else ""


def _clean(part: str) -> str:
    """Return a part of a link without what came between its characters, or a dot at its end."""
    return re.sub("%5[Ff]", "_", _GAPS.sub("", part)).replace("\\", "").rstrip(".")


def _escape(text: str) -> str:
    return re.sub("[-_.~]", lambda mark: f"%{ord(mark[0]):02X}", quote(text, safe=""))


def _unescape(text: str) -> str:
    """Undo `_escape`; a percent sign that escapes nothing stays as it is."""

    def unescaped(run: re.Match[str]) -> str:
        with suppress(UnicodeDecodeError):
            return unquote(run[0], errors="strict")
        return run[0]

    return re.sub("(?:%[0-9A-Fa-f]{2})+", unescaped, text)
