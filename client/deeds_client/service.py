"""A deed service over HTTP. No URL, log record or error holds a secret."""

import json
import os
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

from deeds_client.errors import CallError, NoAnswerError, ProblemError, WrongServiceError
from deeds_client.values import WRONG_FORM, Info, Item, Offer, Output, check_amount, check_id

Outputs = Sequence[Output]
Metadata = Mapping[str, str] | None
Read = TypeVar("Read")
Reader = Callable[[Any], Read | None]

WEEK_S = 7 * 24 * 60 * 60
_STATES = {"unspent", "spent", "unknown"}
_BUSY = (429, 503)  # Nothing was done, and the same request may be sent again later.
_RETRY_AFTER_S_MAX = 30.0  # A longer wait is left to the caller.
_WAIT_S, _WAIT_S_MAX = 0.5, 8.0  # Before the second request, and before any.


class Deeds:
    """The deed service at `base_url`. Threads may share it, and forks; `with` closes it.

    `tries` bounds the requests of a call; `options` are those of httpx.Client. Lost answers, 429
    and 5xx are retried after a random wait, and never before Retry-After. Each call raises
    ProblemError if the service refused, NoAnswerError if nothing of its own came, both with the
    `key` of a change, and InvalidInputError before anything is sent.
    """

    def __init__(
        self, base_url: str, *, tries: int = 5, sleep: Any = time.sleep, **options: Any
    ) -> None:
        self.base_url = _checked_url(base_url)
        self._tries, self._sleep = tries, sleep
        self._connect = partial(httpx.Client, **{"timeout": 30.0, **options})
        self._http, self._pid = self._connect(), os.getpid()
        self._info: Info | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def mint(
        self, outputs: Sequence[int | Output], *, metadata: Metadata = None, key: str | None = None
    ) -> list[Output]:
        """Create an item of these amounts; `metadata` may have name, description and image.

        To go on with the key of an error, pass its `outputs` again.
        """
        new = [Output.fresh(each) if isinstance(each, int) else each for each in outputs]
        asked = [{"amount": each.amount, "secret": each.secret} for each in new]
        body = {"outputs": asked} | ({"metadata": metadata} if metadata else {})
        try:
            item_id = self.send("/v1/mint", body, key)["itemId"]
        except CallError as error:
            error.outputs = tuple(new)
            raise
        return [Output(each.amount, item_id, each.secret) for each in new]

    def swap(self, inputs: Outputs, outputs: Outputs, *, key: str | None = None) -> None:
        """Replace the inputs by the outputs, of as many units of each item."""
        self.send("/v1/swap", _halves(inputs, outputs), key)

    def make_offer(
        self, inputs: Outputs, outputs: Outputs, *, expires_in: int = WEEK_S, key: str | None = None
    ) -> Offer:
        """Offer the inputs for the outputs, for so many seconds."""
        body = _halves(inputs, outputs) | {"expiresIn": expires_in}
        return Offer.from_answer(self.send("/v1/offers", body, key))

    def complete(
        self, offer_id: str, inputs: Outputs, outputs: Outputs, *, key: str | None = None
    ) -> None:
        """Complete an offer with the other half of its swap."""
        path = f"/v1/offers/{check_id('offer', offer_id)}/complete"
        self.send(path, _halves(inputs, outputs), key)

    def send(self, path: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        """Send a change and return its answer. Under one key it is done once."""

        def read(answer: Any) -> Any:
            if path == "/v1/mint":
                return check_id("deed", answer["itemId"]) and answer
            is_right = path == "/v1/offers" and Offer.from_answer(answer)
            return (is_right or answer["success"] is True) and answer

        return self._ask(path, read, body, str(uuid.uuid4()) if key is None else key)

    def check(self, outputs: Outputs) -> list[str]:
        """Return for each output whether it is "unspent", "spent" or "unknown"."""
        states: list[str] = []
        size = self.info().array_length_max
        for start in range(0, len(outputs), size):
            raws = [each.raw for each in outputs[start : start + size]]

            def read(answer: Any, count: int = len(raws)) -> list[str] | None:
                found = answer["states"]
                return found if {*found} <= _STATES and len(found) == count else None

            states += self._ask("/v1/check", read, {"outputs": raws})
        return states

    def item(self, item_id: str) -> Item:
        """Return a registry item, which never changes."""
        path = f"/v1/item/{quote(check_id('deed', item_id), safe='')}"
        return self._ask(path, lambda it: Item(item_id, it["total"], it["metadata"]))

    def offer(self, offer_id: str) -> Offer:
        """Return an offer as it is now."""
        return self._ask(f"/v1/offers/{check_id('offer', offer_id)}", Offer.from_answer)

    def info(self) -> Info:
        """Return the service's limits, asked once; raise WrongServiceError if it has none."""

        def read(answer: Any) -> Info:
            return Info(answer["version"], check_amount(answer["limits"]["arrayLengthMax"]))

        try:
            self._info = self._info or self._ask("/v1/info", read)
        except CallError as error:
            if error.status in (0, *_BUSY) or httpx.codes.is_server_error(error.status):
                raise
        if self._info is None:
            raise WrongServiceError(f"There is no deed service at {self.base_url}.")
        return self._info

    def _ask(self, path: str, read: Reader[Read], body: Any = None, key: str | None = None) -> Read:
        """Return what `read` makes of the answer, if anything. With a body it is a POST."""
        is_lost = False
        for attempts in range(1, self._tries + 1):
            found = self._ask_once(path, read, body, key)
            if not isinstance(found, CallError):
                right: Read = found
                return right
            found.key, found.base_url, found.attempts = key, self.base_url, attempts
            if isinstance(found, ProblemError) and found.status not in _BUSY:
                # The service may have been started again, with other limits.
                self._info = None
                raise found
            is_lost = is_lost or isinstance(found, NoAnswerError)
            if found.retry_after_s > _RETRY_AFTER_S_MAX or attempts == self._tries:
                break
            wait_s = min(_WAIT_S_MAX, _WAIT_S * 2 ** (attempts - 1))
            self._sleep(found.retry_after_s + random.uniform(0, wait_s))  # noqa: S311
        # That nothing was done is said of the last request alone.
        lost = NoAnswerError(found.status, found.retry_after_s, key, self.base_url, attempts)
        raise lost if is_lost else found

    def _ask_once(self, path: str, read: Reader[Any], body: Any, key: str | None) -> Any:
        """Return what `read` makes of the answer, or an error that holds nothing of the request."""
        if self._pid != os.getpid():
            # On the connections of the parent each would read the other's answers.
            self._http, self._pid = self._connect(), os.getpid()
        failure = NoAnswerError()
        headers = {"Content-Type": "application/json"}
        headers |= {} if key is None else {"Idempotency-Key": key}
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
        with suppress(httpx.HTTPError, *WRONG_FORM):
            url = self.base_url + path
            response = self._http.request(method, url, content=content, headers=headers)
            status = failure.status = response.status_code
            if response.headers.get("Retry-After", "").isdigit():
                failure.retry_after_s = float(response.headers["Retry-After"])
            answer = json.loads(response.content)
            if status == httpx.codes.OK:
                return read(answer) or failure
            # Others that answer at this address may have codes too, and know nothing of a change.
            kind = response.headers.get("Content-Type", "").partition(";")[0]
            is_undone = httpx.codes.is_client_error(status) or status in _BUSY
            is_told = is_undone and kind == "application/problem+json"
            if is_told and answer["code"].islower() and answer["code"] != "ledger_in_doubt":
                told = {name: answer.get(name) for name in ("code", "title", "detail", "index")}
                return ProblemError(status, failure.retry_after_s, **told)
        return failure


def _checked_url(text: str) -> str:
    """Return the address of a service without a slash at its end, or raise WrongServiceError."""
    with suppress(httpx.InvalidURL):
        url = httpx.URL(text.strip())
        if url.scheme in ("http", "https") and url.host and not url.userinfo:
            return str(url).rstrip("/")
    raise WrongServiceError("The address of a service looks like https://deeds.example.com.")


def _halves(inputs: Outputs, outputs: Outputs) -> dict[str, Any]:
    return {"inputs": [each.raw for each in inputs], "outputs": [each.raw for each in outputs]}
