"""Where people reach the service: the scheme and host that the links of a page start with."""

from flask import Request


def public_origin(request: Request, trusted_proxies: int) -> str | None:
    """Return for example `https://deeds.example.org`; None where the request names no host.

    TLS mostly ends at a proxy, which says so in X-Forwarded-Proto. Of that header only the entries
    count that proxies of ours can have written; an inner one may have replaced the outer one's.
    """
    # Empty where Host holds what no host name can.
    host = request.host
    if not host:
        return None
    scheme = "https" if _came_by_tls(request, trusted_proxies) else request.scheme
    return f"{scheme}://{host}"


def _came_by_tls(request: Request, trusted_proxies: int) -> bool:
    if not trusted_proxies:
        return False
    entries = request.headers.get("X-Forwarded-Proto", "").split(",")
    return any(entry.strip().lower() == "https" for entry in entries[-trusted_proxies:])
