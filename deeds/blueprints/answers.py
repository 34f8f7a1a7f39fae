"""Makes answers: compact JSON in UTF-8, never cached unless said otherwise."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from flask import Response

NO_STORE = "no-store"

# Made once: json.dumps would make one for every answer.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_answer(
    body: Any,
    status: int = HTTPStatus.OK,
    *,
    media_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an answer with the body as compact JSON text."""
    answer = Response(_encode(body).encode("utf-8"), status, content_type=media_type)
    answer.headers["Cache-Control"] = NO_STORE
    answer.headers.update(headers or {})
    return answer
