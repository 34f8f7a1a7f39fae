"""POST /web/qr: a text, mostly a claim link with its secret, as a QR code (segno).

By POST, so that the text is in no address and no log; the answer must not be cached.
"""

import io
from threading import BoundedSemaphore

import segno
from flask import Blueprint, Response, request

from deeds.blueprints.requests import read_json
from deeds.blueprints.responses import NO_STORE
from deeds.domain.errors import InvalidRequestError, OverloadedError
from schemas.requests import QrRequestSchema, load

# A code takes 40 to 160 ms of Python, during which the other threads get on more slowly. More
# than so many at once are refused, so that nobody can fill a process with them.
_AT_ONCE_MAX = 2

# Modules around the code that stay empty, by ISO/IEC 18004.
_QUIET_ZONE = 4


def qr_blueprint() -> Blueprint:
    """Return the blueprint."""
    blueprint = Blueprint("qr", __name__)
    schema = QrRequestSchema()
    places = BoundedSemaphore(_AT_ONCE_MAX)

    @blueprint.post("/web/qr", endpoint="qr")
    def make_qr() -> Response:
        text = load(schema, read_json(request, array_length_max=0)).text
        if not places.acquire(blocking=False):
            raise OverloadedError("too many QR codes are being made")
        try:
            content = _svg(text)
        finally:
            places.release()
        answer = Response(content, content_type="image/svg+xml")
        answer.headers["Cache-Control"] = NO_STORE
        return answer

    return blueprint


def _svg(text: str) -> bytes:
    try:
        code = segno.make_qr(text, error="m", encoding="utf-8")
    except segno.DataOverflowError:
        raise InvalidRequestError("text: has more bytes than fit into a QR code") from None
    written = io.BytesIO()
    # Dark on light in every theme: many scanners do not read the inverse.
    colours = {"dark": "#000", "light": "#fff"}
    code.save(written, "svg", border=_QUIET_ZONE, omitsize=True, xmldecl=False, nl=False, **colours)
    return written.getvalue()
