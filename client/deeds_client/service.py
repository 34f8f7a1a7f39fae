"""A deed service over HTTP. No URL, log record or error holds a secret."""

import json
import os
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

from deeds_client.errors import (
    CallError,
    InvalidInputError,
    NoAnswerError,
    ProblemError,
)
from deeds_client.values import (
    WRONG_FORM,
    Found,
    Info,
    Item,
    Offer,
    Output,
    check_amount,
    check_id,
)

Key = str | None
Outputs = Sequence[Output]
Metadata = Mapping[str, str] | None
Read = TypeVar("Read")
Reader = Callable[[Any], Read | None]

WEEK_S = 7 * 24 * 60 * 60
_BUSY = (429, 503)  # Nothing was done, and the same request may be sent again later.
_RETRY_AFTER_S_MAX = 30.0  # A longer wait is left to the caller.
_WAIT_S = (
    0.25  # Up to twice as long before the second request, and up to 8 s before any.
)
_STATES = {"unspent", "spent", "unknown"}
# True of the right answer to a change.
_IS_RIGHT: dict[str, Callable[[Any], Any]] = {
    "/v1/mint": lambda answer: check_id("deed", answer["itemId"]),
    "/v1/offers": Offer.from_answer,
    "/v1/swap": lambda answer: answer["success"] is True,
}


class Deeds:
    """The deed service at `base_url`.

    Threads may share it, and forks; `with` closes it.

    `tries` bounds the requests of a call; `options` are those of httpx.Client. Lost
    answers, 429 and 5xx are retried after a random wait, and never before Retry-After.
    Each call raises ProblemError if the service refused, NoAnswerError if nothing of
    its own came, both with the `key` of a change, and InvalidInputError before anything
    is sent.
    """

    def __init__(
        self, base_url: str, *, tries: int = 5, sleep: Any = time.sleep, **options: Any
    ):
        url = httpx.URL()
        with suppress(httpx.InvalidURL):
            url = httpx.URL(base_url.strip())
        if url.scheme not in ("http", "https") or not url.host or url.userinfo:
            raise InvalidInputError(
                "A service's address looks like https://deeds.example.com."
            )
        self.base_url, self._tries, self._sleep = str(url).rstrip("/"), tries, sleep
        options = {"base_url": self.base_url, "timeout": 30.0, **options}
        # By process: on the connections of its parent each would read the other's
        # answers.
        self._http = cache(lambda _pid: httpx.Client(**options))
        self._http(os.getpid())
        self._info: Info | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http(os.getpid()).close()

    def mint(
        self,
        outputs: Sequence[int | Output],
        *,
        metadata: Metadata = None,
        key: Key = None,
    ) -> list[Output]:
        """Create an item of these amounts.

        To go on with an error's key, pass its `outputs`.
        """
        new = [
            Output.fresh(each) if isinstance(each, int) else each for each in outputs
        ]
        asked = [{"amount": each.amount, "secret": each.secret} for each in new]
        body = {"outputs": asked} | ({"metadata": metadata} if metadata else {})
        try:
            item_id = self.send("/v1/mint", body, key)["itemId"]
        except CallError as error:
            error.outputs = tuple(new)
            raise
        return [Output(each.amount, item_id, each.secret) for each in new]

    def swap(self, inputs: Outputs, outputs: Outputs, *, key: Key = None) -> None:
        """Replace the inputs by the outputs, of as many units of each item."""
        self.send("/v1/swap", _halves(inputs, outputs), key)

    def make_offer(
        self,
        inputs: Outputs,
        outputs: Outputs,
        *,
        expires_in: int = WEEK_S,
        key: Key = None,
    ) -> Offer:
        """Offer the inputs for the outputs, for so many seconds."""
        body = _halves(inputs, outputs) | {"expiresIn": expires_in}
        return Offer.from_answer(self.send("/v1/offers", body, key))

    def complete(
        self, offer_id: str, inputs: Outputs, outputs: Outputs, key: Key = None
    ) -> None:
        """Complete an offer with the other half of its swap."""
        path = f"/v1/offers/{check_id('offer', offer_id)}/complete"
        self.send(path, _halves(inputs, outputs), key)

    def send(self, path: str, body: Mapping[str, Any], key: Key = None) -> Any:
        """Send a change and return its answer. Under one key it is done once."""
        is_right = _IS_RIGHT.get(path, _IS_RIGHT["/v1/swap"])
        return self._ask(
            path, lambda it: is_right(it) and it, body, key or str(uuid.uuid4())
        )

    def check(self, outputs: Outputs) -> list[str]:
        """Return for each output whether it is "unspent", "spent" or "unknown"."""
        states: list[str] = []
        size = self.info().array_length_max
        for start in range(0, len(outputs), size):
            raws = [each.raw for each in outputs[start : start + size]]

            def read(answer: Any, count: int = len(raws)) -> Any:
                found = answer["states"]
                return {*found} <= _STATES and len(found) == count and found

            states += self._ask("/v1/check", read, {"outputs": raws})
        return states

    def find(self, item_id: str, secrets: Sequence[str]) -> list[Found | None]:
        """Return the output of each strong secret, None where the item has had none."""
        found: list[Found | None] = []
        size = self.info().array_length_max
        for start in range(0, len(secrets), size):
            asked = secrets[start : start + size]

            def read(answer: Any, count: int = len(asked)) -> Any:
                outputs = [*map(_found, answer["outputs"])]
                return len(outputs) == count and outputs

            found += self._ask("/v1/find", read, {"itemId": item_id, "secrets": asked})
        return found

    def item(self, item_id: str) -> Item:
        """Return a registry item, which never changes."""
        path = f"/v1/item/{quote(check_id('deed', item_id), safe='')}"
        return self._ask(path, lambda it: Item(item_id, it["total"], it["metadata"]))

    def offer(self, offer_id: str) -> Offer:
        """Return an offer as it is now."""
        return self._ask(f"/v1/offers/{check_id('offer', offer_id)}", Offer.from_answer)

    def info(self) -> Info:
        """Return the service's limits, asked once.

        Raise InvalidInputError if it has none.
        """
        found = None  # What it is by now, another thread may forget.
        try:
            found = self._info = self._info or self._ask(
                "/v1/info",
                lambda it: Info(
                    it["version"], check_amount(it["limits"]["arrayLengthMax"])
                ),
            )
        except CallError as error:
            if error.status not in range(200, 429):
                raise
        if found is None:
            raise InvalidInputError(f"There is no deed service at {self.base_url}.")
        return found

    def _ask(
        self, path: str, read: Reader[Read], body: Any = None, key: Key = None
    ) -> Read:
        """Return what `read` makes of the answer, if anything.

        With a body it is a POST.
        """
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
        headers = {"Content-Type": "application/json"} | (
            {"Idempotency-Key": key} if key else {}
        )
        http, is_lost = self._http(os.getpid()), False
        for attempts in range(1, self._tries + 1):
            response, told = httpx.Response(0), {}
            with suppress(httpx.HTTPError, *WRONG_FORM):
                response = http.request(method, path, content=content, headers=headers)
                answer = json.loads(response.content)
                if response.is_success and (found := read(answer)):
                    return found
                told = _refusal(response, answer)
            retry_after = response.headers.get("Retry-After", "")
            wait_s = float(retry_after) if retry_after.isdecimal() else 0.0
            about = (response.status_code, wait_s, key, self.base_url, attempts)
            if told and response.status_code not in _BUSY:
                # The service may have been started again, with other limits.
                self._info = None
                raise ProblemError(*about, **told)
            is_lost = is_lost or not told
            if wait_s > _RETRY_AFTER_S_MAX or attempts == self._tries:
                break
            longest_s = _WAIT_S * 2 ** min(attempts, 5)
            self._sleep(wait_s + random.uniform(0, longest_s))  # noqa: S311
        # That nothing was done is said of the last request alone.
        raise NoAnswerError(*about) if is_lost else ProblemError(*about, **told)


def _refusal(response: httpx.Response, answer: Any) -> dict[str, Any]:
    """Return what the service says of a request that it refused, else nothing."""
    is_undone = response.is_client_error or response.status_code in _BUSY
    # Others that answer at this address may have codes too, and know nothing of a
    # change.
    is_ours = response.headers["Content-Type"].startswith("application/problem+json")
    if (
        is_undone
        and is_ours
        and answer["code"].islower()
        and answer["code"] != "ledger_in_doubt"
    ):
        told = {name: answer.get(name) for name in ("code", "title", "detail", "index")}
        is_final = response.is_client_error and answer.get("isFinal") is True
        return told | {"is_final": is_final}
    return {}


def _found(answer: Mapping[str, Any] | None) -> Found | None:
    if answer is None:
        return None
    is_spent = {"unspent": False, "spent": True}[answer["state"]]
    return Found(check_amount(answer["amount"]), is_spent)


def _halves(inputs: Outputs, outputs: Outputs) -> dict[str, Any]:
    return {
        "inputs": [each.raw for each in inputs],
        "outputs": [each.raw for each in outputs],
    }
