"""The image of an item's metadata: a URI that a page may show (contract part 2)."""

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields

# Only single characters are repeated without bound, never groups: Python remembers each round of a
# group, 190 bytes for each byte of a long image. So a % stands among the characters, and what must
# follow it is looked at on its own.
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

# RFC 3986 appendix A, without the fragment: section 4.3 calls that form an absolute URI.
_CHARACTERS = r"A-Za-z0-9\-._~!$&'()*+,;=:@%"
_PATH = rf"[{_CHARACTERS}/]*"
_QUERY = rf"(?:\?[{_CHARACTERS}/?]*)?"
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]+)"
_USERINFO = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:%]*@)?"
_AUTHORITY = rf"//{_USERINFO}{_HOST}(?::[0-9]*)?"
_WEB = re.compile(rf"https?:{_AUTHORITY}(?:/{_PATH})?{_QUERY}", re.IGNORECASE)
_STORE = re.compile(
    rf"(?:ipfs|ar):(?:{_AUTHORITY}(?:/{_PATH})?|[{_CHARACTERS}]{_PATH}){_QUERY}", re.IGNORECASE
)

# RFC 2397: data:[<mediatype>][;base64],<data>, here with a media type that is image/*. One has one
# parameter at most in practice.
_TOKEN = r"[A-Za-z0-9!#$&^_.+\-]+"
_DATA = re.compile(
    rf"data:image/{_TOKEN}(?:;{_TOKEN}={_TOKEN}){{0,16}}(?:;base64)?,{_PATH}{_QUERY}",
    re.IGNORECASE,
)


class ImageField(fields.Field[str]):
    """An absolute http, https, ipfs or ar URI, or a data URI of an image."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> str:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        if _BAD_ESCAPE.search(value) or not any(
            form.fullmatch(value) for form in (_WEB, _STORE, _DATA)
        ):
            raise ValidationError(
                "must be an absolute URI with scheme http, https, ipfs or ar, "
                "or a data: URI with a media type image/*"
            )
        return value
