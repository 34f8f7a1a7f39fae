"""A deed service over HTTP. A change returns once, or raises with the key to go on with.

Secrets travel in bodies alone: no URL, log record or error holds one, and no error holds a request.
"""

import json
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

from deeds_client import values
from deeds_client.errors import InvalidInputError, NoAnswerError, ProblemError, WrongServiceError
from deeds_client.values import Info, Item, Minted, NewOutput, Offer, Output

Value = TypeVar("Value")
Outputs = Sequence[Output]

# Too many requests, and too busy: nothing was done, and the same request may be sent again later.
RETRIED = (429, 503)
# A service that asks for a longer wait is left to the caller.
RETRY_AFTER_S_MAX = 30.0
# Up to half a second before the second request, and up to twice as long before each further one.
_WAIT_S, _WAIT_S_MAX = 0.5, 8.0
# An item with 1 MiB of metadata has at most 6 MiB, each character escaped.
_ANSWER_BYTES_MAX = 16 * 2**20
_ITEMS_COUNT_MAX = 256
# Proxies that the environment names are for other machines.
_LOOPBACK = ("localhost", "*.localhost", "127.0.0.1", "[::1]")

_jitter = random.SystemRandom()


class Deeds:
    """The deed service at `base_url`. Threads may share it; `with` or `close` closes it.

    A request may take `timeout_s` to connect and to send, and as long for its answer. Lost answers,
    429 and 5xx are sent again, `tries` requests in all, after random waits that are never shorter
    than Retry-After. `transport` is what sends and `sleep` what waits.

    Each call raises ProblemError if the service refused, NoAnswerError if nothing of its own came,
    both with the `key` of a change, and InvalidInputError before anything is sent.
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout_s: float = 30.0,
        tries: int = 5,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = _checked_url(base_url)
        self._timeout_s, self._tries, self._sleep = timeout_s, tries, sleep
        try:
            self._http = httpx.Client(
                timeout=timeout_s,
                transport=transport,
                mounts={f"all://{host}": None for host in _LOOPBACK},
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
                follow_redirects=False,
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            text = "The proxy that the environment names (HTTPS_PROXY, ALL_PROXY) cannot be used."
            raise WrongServiceError(text) from None
        self._known_item = lru_cache(_ITEMS_COUNT_MAX)(self._ask_item)
        self._known_info = lru_cache(1)(self._ask_info)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def mint(
        self,
        outputs: Sequence[int | NewOutput],
        *,
        name: str | None = None,
        description: str | None = None,
        image: str | None = None,
        key: str | None = None,
    ) -> Minted:
        """Create an item of these amounts. To go on with a key, pass each NewOutput again."""
        new = [NewOutput(each) if isinstance(each, int) else each for each in outputs]
        body: dict[str, Any] = {
            "outputs": [{"amount": each.amount, "secret": each.secret} for each in new]
        }
        fields = {"name": name, "description": description, "image": image}
        if metadata := {field: text for field, text in fields.items() if text is not None}:
            body["metadata"] = metadata
        item_id = self.send("/v1/mint", body, key)["itemId"]
        return Minted(item_id, tuple(Output(each.amount, item_id, each.secret) for each in new))

    def swap(self, inputs: Outputs, outputs: Outputs, *, key: str | None = None) -> None:
        """Replace the inputs by the outputs, of as many units of each item."""
        self.send("/v1/swap", _halves(inputs, outputs), key)

    def make_offer(
        self,
        inputs: Outputs,
        outputs: Outputs,
        *,
        expires_in: int | None = None,
        key: str | None = None,
    ) -> Offer:
        """Offer the inputs for the outputs, for `expires_in` seconds or the service's default."""
        terms = {} if expires_in is None else {"expiresIn": expires_in}
        return Offer.from_answer(self.send("/v1/offers", _halves(inputs, outputs) | terms, key))

    def complete(
        self, offer_id: str, inputs: Outputs, outputs: Outputs, *, key: str | None = None
    ) -> None:
        """Complete an offer with the other half of its swap."""
        self.send(f"{_offer_path(offer_id)}/complete", _halves(inputs, outputs), key)

    def send(self, path: str, body: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        """Send a change, under a new key unless one is given, and return its answer.

        The same body under the same key is done once, however often it is sent.
        """
        key = str(uuid.uuid4()) if key is None else key
        if not (key.isascii() and key.isprintable()):
            raise InvalidInputError("An Idempotency-Key has 1 to 255 printable ASCII characters.")
        return self._ask(path, partial(_read_change, path, body), body, key)

    def check(self, outputs: Outputs) -> list[str]:
        """Return for each output whether it is "unspent", "spent" or "unknown"."""
        states: list[str] = []
        size = self.info().array_length_max if outputs else 1
        for start in range(0, len(outputs), size):
            raws = [each.raw for each in outputs[start : start + size]]
            states += self._ask("/v1/check", partial(_read_states, raws), {"outputs": raws})
        return states

    def item(self, item_id: str) -> Item:
        """Return a registry item, which never changes: the latest ones are remembered."""
        return self._known_item(values.check_item_id(item_id))

    def offer(self, offer_id: str) -> Offer:
        """Return an offer as it is now."""
        return self._ask(_offer_path(offer_id), partial(_read_offer, offer_id))

    def info(self) -> Info:
        """Return the service's limits, asked once; raise WrongServiceError if it has none."""
        return self._known_info()

    def _ask_item(self, item_id: str) -> Item:
        return self._ask(f"/v1/item/{quote(item_id, safe='')}", partial(_read_item, item_id))

    def _ask_info(self) -> Info:
        try:
            return self._ask("/v1/info", Info.from_answer)
        except (ProblemError, NoAnswerError) as error:
            if error.status in (0, *RETRIED) or httpx.codes.is_server_error(error.status):
                raise
        raise WrongServiceError(f"There is no deed service at {self.base_url}.")

    def _ask(
        self, path: str, read: Callable[[Any], Value], body: Any = None, key: str | None = None
    ) -> Value:
        """Return what `read` makes of the answer; with a body it is a POST."""
        is_lost, attempts = False, 0
        while True:
            attempts += 1
            outcome = self._ask_once(path, read, body, key)
            if not isinstance(outcome, ProblemError | NoAnswerError):
                return outcome
            outcome.key, outcome.attempts = key, attempts
            is_lost = is_lost or isinstance(outcome, NoAnswerError)
            is_refused = isinstance(outcome, ProblemError) and outcome.status not in RETRIED
            after_s = outcome.retry_after_s or 0.0
            if is_refused or attempts >= self._tries or after_s > RETRY_AFTER_S_MAX:
                break
            wait_s = min(_WAIT_S_MAX, _WAIT_S * 2 ** (attempts - 1))
            self._sleep(after_s + _jitter.uniform(0, wait_s))
        # That nothing was done is said of the last request alone: a lost one may have done it.
        if is_lost and not is_refused:
            raise NoAnswerError(key, attempts, outcome.status, outcome.retry_after_s)
        raise outcome

    def _ask_once(
        self, path: str, read: Callable[[Any], Value], body: Any, key: str | None
    ) -> Value | ProblemError | NoAnswerError:
        """Return what `read` makes of the answer, or what went wrong.

        An error of httpx is never passed on: it holds the request, with its secrets.
        """
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
        headers = {} if key is None else {"Idempotency-Key": key}
        failure = NoAnswerError()
        with suppress(httpx.HTTPError, RecursionError, *values.WRONG_FORM):
            url = self.base_url + path
            with self._http.stream(method, url, content=content, headers=headers) as response:
                text = self._text(response)
            failure.status = response.status_code
            failure.retry_after_s = _seconds(response.headers.get("Retry-After", ""))
            if failure.status == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
                # What stands before the service refuses large bodies in its own words.
                return ProblemError("body_too_large", failure.status, "Body too large")
            answer = json.loads(text)
            return read(answer) if failure.status == httpx.codes.OK else _problem(answer, failure)
        return failure

    def _text(self, response: httpx.Response) -> bytes:
        """Return the body, or raise httpx.ReadTimeout if it is too long or takes too long."""
        received, until_s = bytearray(), time.monotonic() + self._timeout_s
        for chunk in response.iter_bytes():
            received += chunk
            if time.monotonic() > until_s or len(received) > _ANSWER_BYTES_MAX:
                raise httpx.ReadTimeout("")
        return bytes(received)


def _checked_url(text: str) -> str:
    """Return the address of a service without a slash at its end, or raise WrongServiceError."""
    with suppress(httpx.InvalidURL):
        url = httpx.URL(text.strip())
        # A host that had to be escaped is none.
        is_whole = url.scheme in ("http", "https") and url.host and b"%" not in url.netloc
        if is_whole and not (url.userinfo or "?" in text or "#" in text):
            return str(url).rstrip("/")
    raise WrongServiceError("The address of a service looks like https://deeds.example.com.")


def _offer_path(offer_id: str) -> str:
    if not values.is_offer_id(offer_id):
        raise InvalidInputError("An offer's id is offer_ and 26 letters and digits.")
    return f"/v1/offers/{offer_id}"


def _halves(inputs: Outputs, outputs: Outputs) -> dict[str, Any]:
    return {"inputs": [each.raw for each in inputs], "outputs": [each.raw for each in outputs]}


def _seconds(retry_after: str) -> float | None:
    """Return the seconds until then of a Retry-After, or None if it is neither number nor date."""
    with suppress(ValueError):
        if retry_after.isdigit():
            return float(retry_after)
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    return None


def _problem(answer: Any, failure: NoAnswerError) -> ProblemError | NoAnswerError:
    """Return the problem that the service answered; `failure` if a change may have been made."""
    code, index = answer["code"], answer.get("index")
    is_undone = httpx.codes.is_client_error(failure.status) or failure.status in RETRIED
    if not is_undone or not isinstance(code, str) or code == "ledger_in_doubt":
        return failure
    return ProblemError(
        code,
        failure.status,
        title=str(answer.get("title", "")),
        detail=str(answer.get("detail", "")),
        index=index if isinstance(index, int) else None,
        retry_after_s=failure.retry_after_s,
    )


# What reads an answer raises one of WRONG_FORM if it has another form.


def _read_change(path: str, body: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    if path == "/v1/offers":
        Offer.from_answer(answer)
    elif path == "/v1/mint":
        values.check_item_id(answer["itemId"])
        made, asked = (
            [(each["amount"], each["secret"]) for each in outputs]
            for outputs in (answer["outputs"], body["outputs"])
        )
        _require(made == asked)
    else:
        _require(answer["success"] is True)
    return dict(answer)


def _read_item(item_id: str, answer: Any) -> Item:
    _require(answer["id"] == item_id)
    return Item(item_id, answer["total"], answer.get("metadata"))


def _read_offer(offer_id: str, answer: Any) -> Offer:
    _require(answer["offerId"] == offer_id)
    return Offer.from_answer(answer)


def _read_states(asked: Sequence[str], answer: Any) -> list[str]:
    states = list(answer["states"])
    _require(len(states) == len(asked) and {"unspent", "spent", "unknown"}.issuperset(states))
    return states


def _require(is_right: object) -> None:
    if not is_right:
        raise ValueError
