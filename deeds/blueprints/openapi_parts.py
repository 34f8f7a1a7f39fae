"""Pieces that operations of the OpenAPI document share: bodies, answers and headers."""

from typing import Any

from marshmallow import Schema

from deeds.blueprints.answers import NO_STORE
from deeds.blueprints.item import FOREVER
from deeds.domain.model import IDEMPOTENCY_KEY_LENGTH_MAX

Parts = dict[str, Any]

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes the request safe to repeat: with the same key the same request is done "
    "once and answered alike every time, for as long as the ledger lives. Use a new random UUID "
    "for each operation, bare or in double quotes.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": IDEMPOTENCY_KEY_LENGTH_MAX,
        "pattern": "^[!-~](?:[ -~]*[!-~])?$",
        "examples": ["8e03978e-40d5-43e8-bc93-6894a57f9324"],
    },
}

IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "An ETag of an earlier answer: while it fits, the answer is 304.",
    "schema": {"type": "string", "examples": ['"a79ab0ec3dcc17e87faa0fe6780f55a8704b4fb0"']},
}

NO_STORE_HEADER = {
    "description": "The answer must not be kept.",
    "required": True,
    "schema": {"type": "string", "const": NO_STORE},
}

FOREVER_HEADER = {
    "description": "An item never changes.",
    "required": True,
    "schema": {"type": "string", "const": FOREVER},
}

ETAG_HEADER = {
    "description": "Names the answer's bytes, for If-None-Match.",
    "required": True,
    "schema": {"type": "string", "pattern": '^"[0-9a-f]{40}"$'},
}

REPLAYED_HEADER = {
    "description": "Present where this is the answer of an earlier request with the same key.",
    "schema": {"type": "string", "const": "true"},
}

RETRY_AFTER_HEADER = {
    "description": "Seconds to wait before the next try.",
    "required": True,
    "schema": {"type": "integer", "minimum": 1},
}


def body(schema: Schema, shown: Parts) -> Parts:
    """Return a required JSON body of this shape, with the examples `shown`."""
    return {
        "required": True,
        "content": {"application/json": {"schema": schema, "examples": shown}},
    }


def answer(description: str, schema: Schema, shown: Parts, headers: Parts) -> Parts:
    """Return a JSON answer of this shape, with the examples `shown`."""
    return {
        "description": description,
        "headers": headers,
        "content": {"application/json": {"schema": schema, "examples": shown}},
    }
