"""Headers of every answer: CORS for /v1, and what keeps a browser from guessing."""

from flask import Flask, Response, request

# Any page may call the interface: it uses no cookies, and a secret is in the body or nowhere.
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "ETag, Idempotency-Replayed, Retry-After, X-Request-ID",
}
_PREFLIGHT = {
    "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Request-ID",
    "Access-Control-Max-Age": "86400",
}


def register_headers(app: Flask) -> None:
    """Make the app set its headers on every answer."""
    app.after_request(_set_headers)


def _set_headers(answer: Response) -> Response:
    answer.headers.setdefault("X-Content-Type-Options", "nosniff")
    answer.headers.setdefault("Referrer-Policy", "no-referrer")
    if request.path.startswith("/v1/"):
        answer.headers.update(_CORS)
        if request.method == "OPTIONS":
            # Flask's own answer: it has no body, so it has no type either.
            answer.headers.pop("Content-Type", None)
            answer.headers.update(_PREFLIGHT)
            answer.headers["Access-Control-Allow-Methods"] = answer.headers.get("Allow", "")
    return answer
