"""The findings of `deeds doctor --url` on TLS, the proxy and the running service.

Requests the service at its public address, as a client does, and changes nothing there.
"""

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from threading import Thread
from time import time
from typing import Any
from urllib.parse import urlsplit

import click

from deeds.blueprints.v1 import VERSION, service_info
from deeds.part import Finding
from deeds.settings import Settings

# Time limit of one request: DNS, the connection, TLS and the response.
ANSWER_SECONDS_MAX = 5.0
_ANSWER_BYTES_MAX = 65_536
# On many networks a larger body takes longer than ANSWER_SECONDS_MAX.
_BODY_BYTES_MAX = 8 * 2**20

HTTP_PORT = 80

# A certificate should have been renewed if less than this share of its lifetime and
# fewer days are left. ACME clients renew it when a third is left.
_LIFETIME_SHARE_MIN = 1 / 6
_DAYS_MIN = 14

_DAY_S = 86_400
_FORM = "must look like https://deeds.example.org"
_WORD = re.compile(r"[\w.+-]{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PublicUrl:
    """Where clients reach the service."""

    is_https: bool
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """The response to a request, and the server's certificate."""

    status: int
    headers: Message
    body: bytes
    certificate: Mapping[str, Any]

    def json(self) -> Mapping[str, Any]:
        """Return the body as a JSON object, an empty one if it is not one."""
        with suppress(ValueError, RecursionError):
            value = json.loads(self.body)
            if isinstance(value, dict):
                return value
        return {}


def read_url(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> PublicUrl | None:
    """Parse the option --url; raise BadParameter without quoting it."""
    if text is None:
        return None
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise click.BadParameter(_FORM) from None
    if url.scheme not in {"http", "https"} or not url.hostname:
        raise click.BadParameter(_FORM)
    # The service does not support a path before its own, or a password.
    if "@" in url.netloc or url.path.strip("/") or url.query or url.fragment:
        raise click.BadParameter(_FORM)
    is_https = url.scheme == "https"
    return PublicUrl(is_https, url.hostname, port or (443 if is_https else HTTP_PORT))


def examine_url(url: PublicUrl | None, settings: Settings | None) -> Iterator[Finding]:
    """Yield findings on the path from clients to the service.

    `settings` are those that the service should have, None if they are not known.
    """
    if url is None:
        yield Finding(
            "unknown",
            "proxy",
            "name the public address: --url https://deeds.example.org",
        )
        return
    try:
        health = _ask(url, "/healthz")
    except ssl.SSLCertVerificationError as error:
        yield Finding("wrong", "TLS", f"{error.verify_message}; get a new certificate")
        return
    except (OSError, HTTPException, UnicodeError) as error:
        yield Finding(
            "wrong",
            "proxy",
            f"no answer from {url.host}, port {url.port} ({_reason(error)}); see DNS,"
            " the firewall, and whether the proxy runs",
        )
        return
    yield _examine_certificate(url, health)
    if url.is_https:
        yield _examine_http(url)
    if health.json() != {"status": "alive"}:
        yield Finding(
            "wrong",
            "service",
            f"the proxy answers {health.status} to /healthz; is the service running at"
            " the address and port that the proxy passes requests to?",
        )
        return
    yield from _examine_answers(url, settings)


def _examine_answers(url: PublicUrl, settings: Settings | None) -> Iterator[Finding]:
    """Yield findings on a service that answers at the URL."""
    try:
        yield _examine_metrics(url)
        if settings is not None:
            yield _examine_service(url, settings)
            yield _examine_bodies(url, settings.body_bytes_max)
    except (OSError, HTTPException) as error:
        yield Finding("unknown", "proxy", f"no answer: {_reason(error)}")
    if settings is None:
        text = "not compared with the settings, because a line above is wrong"
        yield Finding("unknown", "service", text)
    else:
        yield _examine_clients(url, settings.trusted_proxies)


def _examine_certificate(url: PublicUrl, answer: _Answer) -> Finding:
    if not url.is_https:
        if _is_loopback(url.host):
            return Finding("unknown", "TLS", "name the address that begins with https")
        return Finding(
            "wrong",
            "TLS",
            "secrets cross the network in the clear; put a proxy with TLS before the"
            " service (docs/deployment.md)",
        )
    begin_s = ssl.cert_time_to_seconds(answer.certificate["notBefore"])
    end_s = ssl.cert_time_to_seconds(answer.certificate["notAfter"])
    days = (end_s - time()) / _DAY_S
    text = f"the certificate is valid for {days:.0f} days"
    if days < min(_DAYS_MIN, (end_s - begin_s) / _DAY_S * _LIFETIME_SHARE_MIN):
        return Finding("wrong", "TLS", f"{text}; why was it not renewed?")
    if "Strict-Transport-Security" not in answer.headers:
        text += "; Strict-Transport-Security would keep browsers from http"
    return Finding("ok", "TLS", text)


def _examine_http(url: PublicUrl) -> Finding:
    """Check that the service does not respond without TLS."""
    plain = PublicUrl(is_https=False, host=url.host, port=HTTP_PORT)
    try:
        answer = _ask(plain, "/healthz")
    except (OSError, HTTPException):
        return Finding("ok", "http", f"port {HTTP_PORT} does not answer")
    if answer.json() == {"status": "alive"}:
        return Finding(
            "wrong",
            "http",
            f"port {HTTP_PORT} serves without TLS; let the proxy redirect to https",
        )
    if answer.headers.get("Location", "").startswith("https://"):
        return Finding("ok", "http", f"port {HTTP_PORT} redirects to https")
    return Finding("ok", "http", f"port {HTTP_PORT} answers {answer.status}")


def _examine_service(url: PublicUrl, settings: Settings) -> Finding:
    """Compare the service at the URL with this code and its settings."""
    readiness = _ask(url, "/readyz")
    if readiness.status != HTTPStatus.OK:
        code = _word(readiness.json().get("code"))
        return Finding(
            "wrong",
            "service",
            f"/readyz answers {readiness.status} {code}; see its log",
        )
    info = _ask(url, "/v1/info").json()
    if info.get("version") != VERSION:
        version = _word(info.get("version"))
        return Finding(
            "wrong",
            "service",
            f"it has version {version}, and this is {VERSION}; restart it",
        )
    differences = [
        name
        for name, value in service_info(settings).items()
        if not _matches(info.get(name), value)
    ]
    if differences:
        return Finding(
            "wrong",
            "service",
            f"its settings are not those of this command ({', '.join(differences)} in"
            " /v1/info); restart it, or name its settings by --env-file",
        )
    return Finding("ok", "service", f"ready, version {VERSION}")


def _matches(actual: Any, expected: Any) -> bool:
    """Return whether a value of /v1/info matches the core's; parts may add to it."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        return expected.items() <= actual.items()
    return bool(actual == expected)


def _examine_bodies(url: PublicUrl, size: int) -> Finding:
    """Check that the proxy forwards a body of the maximum size in bytes."""
    if size > _BODY_BYTES_MAX:
        return Finding("unknown", "proxy", f"bodies of {size} bytes are not tried")
    body = b"{" + b" " * (size - 2) + b"}"
    answer = _ask(url, "/v1/check", body)
    code = answer.json().get("code")
    if code == "invalid_request":
        return Finding("ok", "proxy", f"it passes bodies of {size} bytes on")
    if answer.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        text = f"a body of {size} bytes is answered {answer.status} {_word(code)}"
        return Finding("unknown", "proxy", text)
    return Finding(
        "wrong",
        "proxy",
        f"it refuses a body of {size} bytes; set its limit (client_max_body_size of"
        " nginx) to that, or lower DEEDS_MAX_BODY_BYTES",
    )


def _examine_metrics(url: PublicUrl) -> Finding:
    # Any metric will do: some do not appear before they are counted.
    if b"# TYPE deeds_" in _ask(url, "/metrics").body:
        return Finding(
            "wrong", "metrics", "everybody can read them; block /metrics at the proxy"
        )
    return Finding("ok", "metrics", "not public")


def _examine_clients(url: PublicUrl, trusted_proxies: int) -> Finding:
    """Check DEEDS_TRUSTED_PROXIES, as far as that is possible from outside."""
    if not trusted_proxies and url.is_https:
        # The service itself speaks no TLS.
        return Finding(
            "wrong",
            "clients",
            "DEEDS_TRUSTED_PROXIES is 0, and a proxy is there: all clients count as"
            " one; set it to the number of proxies that a request passes",
        )
    return Finding(
        "unknown",
        "clients",
        f"whether DEEDS_TRUSTED_PROXIES={trusted_proxies} is right cannot be seen from"
        " here; if it is too small, the service's log has proxy_not_trusted; for a test"
        " see docs/deployment.md",
    )


def _ask(url: PublicUrl, path: str, body: bytes | None = None) -> _Answer:
    """Return the response to a GET, or to a POST if there is a body.

    Raises OSError, HTTPException or UnicodeError. A thread sends the request, because
    DNS look-ups have no timeout.
    """
    answers: SimpleQueue[_Answer | Exception] = SimpleQueue()

    def run() -> None:
        try:
            answers.put(_exchange(url, path, body))
        except (OSError, HTTPException, UnicodeError) as error:
            answers.put(error)

    Thread(target=run, daemon=True).start()
    try:
        answer = answers.get(timeout=ANSWER_SECONDS_MAX)
    except Empty:
        raise TimeoutError(f"nothing within {ANSWER_SECONDS_MAX:.0f} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _exchange(url: PublicUrl, path: str, body: bytes | None) -> _Answer:
    connection_class = HTTPSConnection if url.is_https else HTTPConnection
    connection = connection_class(url.host, url.port, timeout=ANSWER_SECONDS_MAX)
    try:
        connection.connect()
        certificate: Mapping[str, Any] = {}
        if isinstance(connection.sock, ssl.SSLSocket):
            certificate = connection.sock.getpeercert() or {}
        headers = {"Content-Type": "application/json", "User-Agent": "deeds-doctor"}
        # A proxy may refuse a body and close before it has received all of it.
        with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            connection.request("GET" if body is None else "POST", path, body, headers)
        response = connection.getresponse()
        content = response.read(_ANSWER_BYTES_MAX)
        return _Answer(response.status, response.headers, content, certificate)
    finally:
        connection.close()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _word(value: object) -> str:
    """Return the value if it is a single word, else "unknown"."""
    is_word = isinstance(value, str) and _WORD.fullmatch(value)
    return str(value) if is_word else "unknown"
