"""The picture that was uploaded with a deed, from its data: URI, for link previews.

Only picture formats without scripts are served. Addresses are never followed or
redirected to, because anybody can mint them.
"""

import base64
import binascii
import re

from flask import Response

from deeds.blueprints.answers import FOREVER
from parts.pages.answers import file_answer

# The mint page reduces uploaded pictures to this size; it never makes larger ones.
PICTURE_BYTES_MAX = 48 * 1024
_BASE64_LENGTH_MAX = PICTURE_BYTES_MAX // 3 * 4

_UPLOADED = re.compile(
    r"data:image/(png|jpeg|gif|webp);base64,"
    rf"([A-Za-z0-9+/]{{1,{_BASE64_LENGTH_MAX}}}={{0,2}})",
    re.IGNORECASE,
)

# The first bytes of each format.
_BEGINNINGS = {
    "png": b"\x89PNG\r\n\x1a\n",
    "jpeg": b"\xff\xd8\xff",
    "gif": b"GIF8",
    "webp": b"RIFF",
}

# Sandboxed: if a browser renders the picture as something else, it has no origin and
# loads nothing. Other sites may show it.
_HEADERS = {
    "Cache-Control": FOREVER,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


def uploaded_picture(image: str) -> tuple[str, bytes] | None:
    """Return kind and content of the picture in a deed's image.

    The kind is `png`, `jpeg`, `gif` or `webp`. Returns None if the image is an address
    or invalid.
    """
    match = _UPLOADED.fullmatch(image)
    if match is None:
        return None
    kind = match[1].lower()
    try:
        content = base64.b64decode(match[2], validate=True)
    except binascii.Error:
        return None
    return (kind, content) if content.startswith(_BEGINNINGS[kind]) else None


def picture_answer(kind: str, content: bytes) -> Response:
    """Return a response with the picture."""
    answer = file_answer(content, f"image/{kind}")
    answer.headers.update(_HEADERS)
    answer.headers["Content-Disposition"] = f'inline; filename="picture.{kind}"'
    return answer
