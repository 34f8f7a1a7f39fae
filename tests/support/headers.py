"""What the headers of an answer have to be."""

import re

HTML = "text/html; charset=utf-8"
SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
POLICY = "default-src 'none'; frame-ancestors 'none'"
CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "ETag, Idempotency-Replayed, Retry-After, X-Request-ID",
}


def assert_safe(headers):
    """Assert that the headers hold what every answer has; return the rest."""
    rest = dict(headers)
    assert {name: rest.pop(name, None) for name in SAFE} == SAFE
    assert re.fullmatch("[0-9a-f]{32}|id-1", rest.pop("X-Request-ID"))
    policy = rest.pop("Content-Security-Policy")
    if rest.get("Content-Type") == HTML:
        assert policy.startswith(CLOSED)
        assert "unsafe" not in policy
    else:
        assert policy == POLICY
    return rest
