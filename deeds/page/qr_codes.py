"""POST /web/qr: texts to QR codes.

The texts are in no address and no log, and are not kept.
"""

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

import segno
from flask import Blueprint, Response, request
from marshmallow import Schema, ValidationError, fields, validate

from deeds.blueprints.limits import ClientLimits
from deeds.blueprints.requests import client_of, read_json
from deeds.blueprints.responses import json_answer
from deeds.domain.errors import (
    InvalidRequestError,
    OverloadedError,
    TooManyRequestsError,
)
from deeds.domain.raw_output import check_text
from schemas.requests import TextField, load

# A code takes 16 µs for each byte, 2 ms for a claim link, and no other thread runs. A
# pause of four times as long leaves the others four fifths: a batch takes a second at
# most. 64 claim links have 8,300 bytes; js/ui/link_view.js asks for fewer at once where
# they are longer.
TEXTS_MAX = 64
BYTES_MAX = 12_288
_PAUSE_FACTOR = 4
_COUNT = validate.Length(1, TEXTS_MAX, error="must have {min} to {max} elements")

# Batches in this process, each of another client: others find a place while one prints.
_BATCHES_AT_ONCE_MAX = 4

# Code points of a text. A claim link has 120, or up to 750 with secret and unit in
# another script.
_LENGTH = validate.Length(1, 1024, error="must have {min} to {max} characters")

# To try all eight masks takes six times as long, and of claim links finds this one
# nearly always.
_MASK = 2


def serve_qr_codes(blueprint: Blueprint, limits: ClientLimits) -> None:
    """Add the route to a blueprint."""
    texts = fields.List(
        TextField(check_text, validate=_LENGTH),
        required=True,
        error_messages={"invalid": "must be an array"},
        validate=[_COUNT, _check_size],
    )
    schema = Schema.from_dict({"texts": texts})()
    places = _Places()

    @blueprint.post("/web/qr", endpoint="qr")
    def make_qr_codes() -> Response:
        texts: list[str] = load(schema, read_json(request, array_length_max=TEXTS_MAX))[
            "texts"
        ]
        with places.one_of(client_of(request)):
            # The request was counted as one code.
            with suppress(TooManyRequestsError):
                limits.count("qr", len(texts) - 1)
            codes = []
            for place, text in enumerate(texts):
                begun_s = time.thread_time()
                codes.append(_make(text, place))
                places.pause(time.thread_time() - begun_s)
            return json_answer({"codes": codes})


def _check_size(texts: list[str]) -> None:
    if sum(len(text.encode()) for text in texts) > BYTES_MAX:
        raise ValidationError(f"must have at most {BYTES_MAX} bytes in all")


class _Places:
    """Who is served at the moment, each client once, and when others have had their time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._clients: set[str] = set()
        self._free_s = 0.0

    @contextmanager
    def one_of(self, client: str) -> Iterator[None]:
        """Take a place until the block ends.

        Raise OverloadedError at once if there is none.
        """
        with self._lock:
            if client in self._clients or len(self._clients) >= _BATCHES_AT_ONCE_MAX:
                raise OverloadedError("too many QR codes are being made")
            self._clients.add(client)
        try:
            yield
        finally:
            with self._lock:
                self._clients.remove(client)

    def pause(self, used_s: float) -> None:
        """Sleep in proportion to what was used, after the pauses of all who were here before."""
        with self._lock:
            now_s = time.monotonic()
            self._free_s = max(self._free_s, now_s) + _PAUSE_FACTOR * used_s
            pause_s = self._free_s - now_s
        time.sleep(pause_s)


def _make(text: str, place: int) -> str:
    try:
        code = segno.make_qr(text, error="m", mode="byte", encoding="utf-8", mask=_MASK)
    except segno.DataOverflowError:
        detail = f"texts[{place}]: has more bytes than fit into a QR code"
        raise InvalidRequestError(detail, index=place) from None
    # On white in every theme: many scanners do not read light on dark.
    written = io.BytesIO()
    look = {"light": "#fff", "svgclass": None, "lineclass": None}
    code.save(written, "svg", xmldecl=False, nl=False, omitsize=True, **look)
    return written.getvalue().decode()
