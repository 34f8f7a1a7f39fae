"""Calls an untrusted server, with bounded answers, retries and a deadline.

No URL, log record or error contains a secret.
"""

import json
import logging
import math
import os
import random
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import Any

import httpx

from deeds_client.errors import (
    CallError,
    InvalidInputError,
    NoAnswerError,
    ProblemError,
    plain,
)
from deeds_client.values import T, member, parse_json
from deeds_client.version import __version__

Parse = Callable[[Any], T]
Key = str | None

_ANSWER_BYTES_MAX = 4 * 2**20  # A service's default body limit is 1 MiB.
_BUSY = (429, 503)  # Nothing was done. Retry later.
_RETRY_AFTER_S_MAX = 30.0  # Longer waits are left to the caller.
_DAY_S = 24 * 60 * 60.0  # The longest Retry-After to report.
# The random wait is at most 2 * _WAIT_S before the second request, and grows to 8 s.
_WAIT_S = 0.25
_CODE = re.compile("[a-z][a-z0-9_]{0,63}")
_DETAIL_LENGTH_MAX = 500
# Removed from error texts, because a server may quote the request in its answer.
_SECRET = re.compile(r"\+[0-9]+\.\S+|[0-9A-Za-z]{32}")
_HEADERS = {
    # Avoids decompression bombs.
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": f"deeds-client/{__version__}",
}
# Raised by httpx for invalid options and variables.
_NOT_VALID = (httpx.InvalidURL, ImportError, OSError, ValueError)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
# The valid form of each environment variable, by its name in lower case.
_FORMS = {
    **dict.fromkeys(_PROXIES, "a proxy such as http://proxy.example.com:3128"),
    "no_proxy": "hosts separated by commas, and ::1 without brackets",
    "ssl_cert_file": "a file of certificates",
    "sslkeylogfile": "a file that can be written",
}

log = logging.getLogger("deeds_client")


@dataclass(repr=False)
class Calls:
    """Calls the server at `base_url`. The fields are the arguments of `Deeds`.

    Raise InvalidInputError if `base_url` is not a valid address.
    """

    base_url: str
    tries: int
    timeout: float
    deadline_s: float
    sleep: Callable[[float], object]
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.base_url = _parse_address(self.base_url)
        if self.tries < 1:
            raise InvalidInputError("`tries` must be at least 1.")
        # By process id: after a fork, two processes on one connection would read each
        # other's answers.
        self._clients: dict[int, httpx.Client] = {}

    def close(self) -> None:
        """Close the connections of this process."""
        client = self._clients.get(os.getpid())
        if client:
            client.close()

    def ask(self, path: str, parse: Parse[T], body: Any, key: Key) -> T:
        """Send a request, and return its answer parsed by `parse`.

        With a body it is a POST, else a GET. An answer for which `parse` raises
        InvalidInputError counts as lost. Raise ProblemError if the service refuses,
        NoAnswerError if no valid answer arrives, and InvalidInputError if an option or
        environment variable makes every request impossible.
        """
        deadline = _Deadline(time.monotonic() + self.deadline_s, self.timeout)
        is_lost = False
        for attempts in range(1, self.tries + 1):
            answer = self._exchange(path, body, key, deadline)
            about = (answer.status, answer.wait_s, key, self.base_url, attempts)
            why = _why_lost(answer, path, self.base_url)
            lost = NoAnswerError(*about, why=why)
            error: CallError = lost
            with suppress(InvalidInputError):
                document = parse_json(answer.content)
                if httpx.codes.is_success(answer.status):
                    return parse(document)
                error = ProblemError(*about, **_parse_problem(answer, document))
            if error is lost:
                is_lost = True
            elif answer.status not in _BUSY:
                raise error
            longest_s = _WAIT_S * 2 ** min(attempts, 5)
            wait_s = answer.wait_s + random.uniform(0, longest_s)  # noqa: S311
            is_too_long = (
                answer.wait_s > _RETRY_AFTER_S_MAX or wait_s > deadline.left_s()
            )
            if attempts == self.tries or is_too_long or why:
                break
            log.info(
                "%s: request %d: %s, sent again in %.1f s",
                path,
                attempts,
                answer.outcome,
                wait_s,
            )
            self.sleep(wait_s)
        # A refusal concerns the last request only. If an earlier answer was lost, that
        # request may have been carried out.
        raise lost if is_lost else error

    def _exchange(
        self, path: str, body: Any, key: Key, deadline: "_Deadline"
    ) -> "_Answer":
        """Send a request once. Return the answer, with status 0 if none arrived."""
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        headers = {**_HEADERS, "Idempotency-Key": key} if key else _HEADERS
        # For each wait. Any, because httpx declares a number.
        timeout: Any = deadline
        request = self._client().stream(
            method,
            path,
            content=data,
            headers=headers,
            timeout=httpx.Timeout(timeout, pool=deadline.left_s()),
            follow_redirects=False,
        )
        try:
            with request as response:
                content = _read(response)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            # httpx parses the target of a redirect even if it is not followed, and may
            # fail.
            is_untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
            return _Answer(type(error).__name__, 0, {}, b"", is_untrusted)
        except RuntimeError:
            raise InvalidInputError("The connections were closed.") from None
        if response.headers.get("Idempotency-Replayed") == "true":
            log.info("%s: answered as the first time", path)
        status = response.status_code
        return _Answer(str(status), status, response.headers, content)

    def _client(self) -> httpx.Client:
        """Return the client of this process, created on its first request.

        Offline commands need none. If two threads create one at once, the first wins.
        """
        pid = os.getpid()
        known = self._clients.get(pid)
        return known or self._clients.setdefault(
            pid, _make_client(self.base_url, self.options)
        )


class _NoCookies(CookieJar):
    """Ignores cookies: the service sets none, and some make a CookieJar warn."""

    def extract_cookies(self, *_: object) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Deadline:
    """The deadline of a call, passed to httpx as a timeout.

    A number would bound each wait alone, so a server that sends a byte a second would
    never exceed it. But httpcore calls `socket.settimeout` before each wait, which
    accepts an object with `__index__`: this one returns the time left.
    """

    ends_at: float  # By the monotonic clock.
    timeout_s: float

    def left_s(self) -> float:
        return self.ends_at - time.monotonic()

    def __index__(self) -> int:
        left_s = self.left_s()
        if left_s <= 0:
            raise TimeoutError
        return math.ceil(min(left_s, self.timeout_s))


@dataclass(frozen=True)
class _Answer:
    """The result of a request. Without a complete answer the status is 0."""

    outcome: str  # The status or an error's name, for the log.
    status: int
    headers: Mapping[str, str]
    content: bytes
    is_untrusted: bool = False  # The server's certificate is not trusted.

    @property
    def wait_s(self) -> float:
        """The seconds of Retry-After, at most a day; 0 if it is a date or missing."""
        text = self.headers.get("Retry-After", "")
        return min(float(text), _DAY_S) if text.isdecimal() else 0.0


def _read(response: httpx.Response) -> bytes:
    """Return the body, or b"" if it is compressed or too large."""
    content = bytearray()
    if response.headers.get("Content-Encoding", "identity") != "identity":
        return b""
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > _ANSWER_BYTES_MAX:
            return b""
    return bytes(content)


def _parse_address(text: str) -> str:
    try:
        url = httpx.URL(text.strip())
        is_whole = url.scheme in ("http", "https") and url.host and not url.userinfo
    except (httpx.InvalidURL, ValueError):
        is_whole = False
    if not is_whole or "?" in text or "#" in text:
        raise InvalidInputError(
            "A service's address looks like https://deeds.example.com, without ? or #."
        )
    return str(url).rstrip("/")


def _why_lost(answer: _Answer, path: str, base_url: str) -> str:
    """Return why an answer was lost, if that is known and permanent, else ""."""
    if answer.is_untrusted:
        return f"The certificate of {base_url} is not trusted: see SSL_CERT_FILE."
    # Only report a redirect to https on the same host: another host may be a captive
    # portal.
    host = re.escape(httpx.URL(base_url).host)
    https = rf"(https://{host}(?::[0-9]+)?(?:/[\w/-]*)?){re.escape(path)}"
    moved_to = re.fullmatch(https, answer.headers.get("Location", ""))
    if not moved_to or moved_to[1] == base_url:
        return ""
    return f"{base_url} redirects to {_clean(moved_to[1])}: use that address."


def _parse_problem(answer: _Answer, document: Any) -> dict[str, Any]:
    """Return the fields of a ProblemError from a refusal.

    Raise InvalidInputError if this is not a refusal by the service.
    """
    is_client_error = httpx.codes.is_client_error(answer.status)
    is_refusal = is_client_error or answer.status in _BUSY
    code = member(document, "code", str)
    # Proxies at this address may send codes too, but cannot know whether a change was
    # made.
    media_type = answer.headers.get("Content-Type", "")
    is_ours = is_refusal and media_type.startswith("application/problem+json")
    if not is_ours or not _CODE.fullmatch(code) or code == "ledger_in_doubt":
        raise InvalidInputError("This is not a refusal.")
    index = document.get("index")
    return {
        "code": code,
        "title": _clean(member(document, "title", str)),
        "detail": _clean(member(document, "detail", str), _DETAIL_LENGTH_MAX),
        "index": index if type(index) is int and index >= 0 else None,
        "is_final": document.get("isFinal") is True and is_client_error,
    }


def _clean(text: str, length_max: int = 200) -> str:
    return plain(_SECRET.sub("…", text), length_max)


def _make_client(base_url: str, options: Mapping[str, Any]) -> httpx.Client:
    """Return an httpx client with these options.

    Raise InvalidInputError if an option or an environment variable is invalid.
    """
    try:
        return httpx.Client(base_url=base_url, cookies=_NoCookies(), **options)
    except _NOT_VALID as error:
        name = _name_of_variable(error)
    # httpx's message may contain a proxy's password, so it is not quoted.
    if not name:
        raise InvalidInputError("httpx cannot work with these options or settings.")
    raise InvalidInputError(f"{name} must be {_FORMS[name.lower()]}.")


def _name_of_variable(error: Exception) -> str:
    """Return the name of the invalid environment variable, or "" if it is unknown."""
    # If two names differ in case only, the one in lower case counts.
    names = {name.lower(): name for name in sorted(os.environ)}
    if isinstance(error, OSError):
        # Python does not name the file if certificates are invalid.
        return names.get("sslkeylogfile" if error.filename else "ssl_cert_file", "")
    for kind in _PROXIES:
        if kind in names and not _is_proxy(os.environ[names[kind]]):
            return names[kind]
    return names.get("no_proxy", "")


def _is_proxy(address: str) -> bool:
    whole = address if "://" in address else f"http://{address}"
    try:
        httpx.Client(proxy=whole, trust_env=False, verify=False).close()  # noqa: S501
    except _NOT_VALID:
        return False
    return True
