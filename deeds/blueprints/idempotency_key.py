"""The Idempotency-Key header of requests and the mark of replayed answers."""

from flask import Request

from deeds.domain.idempotency import parse_idempotency_key


def read_idempotency_key(request: Request) -> str | None:
    """Return the request's key, or None where it has none.

    Raises:
        InvalidIdempotencyKeyError: the header holds no key.
    """
    header = request.headers.get("Idempotency-Key")
    return None if header is None else parse_idempotency_key(header)


def replay_headers(*, replayed: bool) -> dict[str, str]:
    """Return the headers that tell a replayed answer from a first one."""
    return {"Idempotency-Replayed": "true"} if replayed else {}
