"""Headers of every answer: CORS for /v1, and what keeps a browser from harm."""

from http import HTTPStatus

from flask import Flask, Response, request

from deeds.blueprints.safe_headers import SAFE_HEADERS

# Any page may call the interface: it uses no cookies, and a secret is in the body or nowhere.
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "ETag, Idempotency-Replayed, Retry-After, X-Request-ID",
}
_INTERFACE = SAFE_HEADERS | _CORS
_PREFLIGHT = {
    "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Request-ID",
    "Access-Control-Max-Age": "86400",
}


def register_headers(app: Flask) -> None:
    """Make the app set its headers on every answer."""
    app.after_request(_set_headers)


def _set_headers(answer: Response) -> Response:
    # Flask's own answer: it has no body, so it has no type either.
    tells_methods = request.method == "OPTIONS" and answer.status_code == HTTPStatus.OK
    if tells_methods:
        answer.headers.pop("Content-Type", None)
    if not request.path.startswith("/v1/"):
        for name, value in SAFE_HEADERS.items():
            answer.headers.setdefault(name, value)
    else:
        # Nobody else sets these, and to look for each first costs more than all of them.
        answer.headers.extend(_INTERFACE)
        if tells_methods:
            answer.headers.update(_PREFLIGHT)
            answer.headers["Access-Control-Allow-Methods"] = answer.headers.get("Allow", "")
    return answer
