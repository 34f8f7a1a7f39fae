"""POST /web/qr: renders texts as QR codes. It neither logs nor stores them."""

import io
import time
from threading import BoundedSemaphore, Lock

import segno
from flask import Blueprint, Response, request
from marshmallow import ValidationError

from deeds.blueprints.answers import json_answer
from deeds.blueprints.limits import ClientLimits
from deeds.blueprints.requests import client_of, read_request
from deeds.errors import InvalidRequestError, OverloadedError
from deeds.raw_output import parse_text
from schemas.requests import RequestSchema, TextsField

# A code takes 16 µs per byte, 2 ms for a claim link, while it holds the GIL. A pause of
# four times as long leaves four fifths of the time to other threads, so a batch takes
# up to a second. 64 claim links have 8,300 bytes; for longer ones, js/ui/link_view.js
# requests fewer at once.
TEXTS_MAX = 64
BYTES_MAX = 12_288
_PAUSE_FACTOR = 4

# Batches of all clients in this process: one is rendered, the others wait.
_BATCHES_AT_ONCE_MAX = 4

# Trying all eight masks takes six times as long, and nearly always selects this one for
# claim links.
_MASK = 2


def qr_texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts of a request; raise ValidationError if they are too long."""
    if sum(len(text.encode()) for text in texts) > BYTES_MAX:
        raise ValidationError(f"must have at most {BYTES_MAX} bytes in all", "texts")
    return texts


class QrRequestSchema(RequestSchema):
    """The body of a request for QR codes."""

    makes = staticmethod(qr_texts)

    texts = TextsField(parse_text)


def serve_qr_codes(blueprint: Blueprint, limits: ClientLimits) -> None:
    """Add the route to a blueprint."""
    schema = QrRequestSchema(array_length_max=TEXTS_MAX)
    places = BoundedSemaphore(_BATCHES_AT_ONCE_MAX)
    turn = Lock()

    @blueprint.post("/web/qr")
    def make_qr_codes() -> Response:
        limits.count("qr", client_of(request))
        texts = read_request(request, schema)
        if not places.acquire(blocking=False):
            raise OverloadedError("too many QR codes are being made")
        try:
            with turn:
                codes = [_make(text, place) for place, text in enumerate(texts)]
            return json_answer({"codes": codes})
        finally:
            places.release()


def _make(text: str, place: int) -> str:
    """Return a text's QR code as SVG, after a pause for other threads."""
    started_s = time.thread_time()
    try:
        code = segno.make_qr(text, error="m", mode="byte", encoding="utf-8", mask=_MASK)
    except segno.DataOverflowError:
        detail = f"texts[{place}]: has more bytes than fit into a QR code"
        raise InvalidRequestError(detail, index=place) from None
    # On white in every theme: many scanners do not read light on dark.
    svg = io.BytesIO()
    code.save(svg, "svg", xmldecl=False, nl=False, omitsize=True, light="#fff")
    time.sleep(_PAUSE_FACTOR * (time.thread_time() - started_s))
    return svg.getvalue().decode()
