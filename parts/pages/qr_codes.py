"""POST /web/qr: texts to QR codes, which are in no address, no log and not kept."""

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
from deeds.raw_output import check_text
from schemas.requests import RequestSchema, TextsField

# A code takes 16 µs for each byte, 2 ms for a claim link, and no other thread runs. A
# pause of four times as long leaves the others four fifths: a batch takes a second at
# most. 64 claim links have 8,300 bytes; js/ui/link_view.js asks for fewer at once where
# they are longer.
TEXTS_MAX = 64
BYTES_MAX = 12_288
_PAUSE_FACTOR = 4

# Batches in this process, of any clients: one is made while the others wait.
_BATCHES_AT_ONCE_MAX = 4

# To try all eight masks takes six times as long, and of claim links finds this one
# nearly always.
_MASK = 2


def check_size(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts; raise ValidationError where they have too many bytes."""
    if sum(len(text.encode()) for text in texts) > BYTES_MAX:
        raise ValidationError(f"must have at most {BYTES_MAX} bytes in all", "texts")
    return texts


class QrRequestSchema(RequestSchema):
    """The body of a request for QR codes."""

    makes = staticmethod(check_size)

    texts = TextsField(check_text)


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
    """Return the code of a text, after a pause for other threads."""
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
