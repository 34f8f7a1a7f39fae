"""A Deeds service over HTTP. No URL, log record or error contains a secret.

The service is not trusted: an answer of the wrong form counts as no answer.
"""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Self
from urllib.parse import quote

import httpx

from deeds_client.calls import Calls, Key, Parse
from deeds_client.errors import CallError, InvalidInputError, ProblemError
from deeds_client.records import milliseconds, moment
from deeds_client.values import (
    CheckState,
    Found,
    Info,
    Item,
    Offer,
    OfferState,
    Output,
    Secret,
    T,
    Units,
    exactly,
    member,
    mint_body,
    parse_amount,
    parse_id,
    parse_mint_token,
    swap_body,
)

Outputs = Sequence[Output]
Metadata = Mapping[str, str] | None

_MINT = "/v1/mint"
WEEK_S = 7 * 24 * 60 * 60


def is_same_service(home: str, base_url: str) -> bool:
    """Return whether `base_url` is `home`, or `home` with https instead of http."""
    return base_url in (home, home.replace("http:", "https:", 1))


class Deeds:
    """A client of the Deeds service at `base_url`, http or https.

    Threads and forked processes may share it. `with` closes it.

    A call sends at most `tries` requests. `timeout` bounds each wait for the network
    and `deadline_s` the whole call, in seconds, rounded up to whole ones; `check` and
    `find` send batches, and `deadline_s` bounds each. `options` are passed to
    httpx.Client. `mint_token` is sent with mints only.

    Lost answers, 429 and 5xx are retried after a random wait, never before Retry-After.
    Each call raises ProblemError if the service refuses, NoAnswerError without a valid
    answer, and InvalidInputError before anything is sent. The first two have the `key`
    of a change.
    """

    def __init__(
        self,
        base_url: str,
        *,
        tries: int = 5,
        timeout: float = 30.0,
        deadline_s: float = 120.0,
        sleep: Callable[[float], object] = time.sleep,
        mint_token: str | None = None,
        **options: Any,
    ):
        options = {"auth": self._authorize, **options}
        self.mint_token = parse_mint_token(mint_token) if mint_token else None
        self._calls = Calls(base_url, tries, timeout, deadline_s, sleep, options)
        self.base_url = self._calls.base_url
        self._info: Info | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._calls.close()

    def mint(
        self,
        outputs: Sequence[int | Output],
        *,
        metadata: Metadata = None,
        key: Key = None,
    ) -> list[Output]:
        """Mint an item of these amounts, each from 1 to AMOUNT_MAX; return its outputs.

        To retry with an error's key, pass the error's `outputs`.
        """
        new = [
            Output.fresh(output) if isinstance(output, int) else output
            for output in outputs
        ]
        try:
            item_id = self.send(_MINT, mint_body(new, metadata), key)
        except CallError as error:
            error.outputs = tuple(new)
            raise
        return [Output(output.amount, item_id, output.secret) for output in new]

    def swap(self, inputs: Outputs, outputs: Outputs, *, key: Key = None) -> None:
        """Spend the inputs and create the outputs, with the same units of each item."""
        self.send("/v1/swap", swap_body(inputs, outputs), key)

    def make_offer(
        self,
        inputs: Outputs,
        outputs: Outputs,
        *,
        expires_in: int = WEEK_S,
        key: Key = None,
    ) -> Offer:
        """Offer the inputs for the outputs, for `expires_in` seconds."""
        body = swap_body(inputs, outputs, expires_in)
        offer: Offer = self.send("/v1/offers", body, key)
        return offer

    def complete(
        self, offer_id: str, inputs: Outputs, outputs: Outputs, key: Key = None
    ) -> None:
        """Complete an offer with the other half of its swap."""
        path = f"/v1/offers/{parse_id('offer', offer_id)}/complete"
        self.send(path, swap_body(inputs, outputs), key)

    def send(self, path: str, body: Mapping[str, Any], key: Key = None) -> Any:
        """Send a change. Return the id of a minted item, a new Offer, or None.

        It is carried out once per `key`. Without one, a new key is made.
        """
        parse = _ANSWERS.get(path, _check_success)
        return self._ask(path, parse, body, key or str(uuid.uuid4()))

    def check(self, outputs: Outputs) -> list[CheckState]:
        """Return for each output whether it is unspent, spent or unknown."""
        raw_outputs = [output.raw for output in outputs]
        parse = partial(exactly, CheckState)
        return self._ask_each("/v1/check", {}, "outputs", raw_outputs, "states", parse)

    def find(self, item_id: str, secrets: Sequence[Secret[str]]) -> list[Found | None]:
        """Return the output of each strong secret, or None if the item never had it."""
        about, values = {"itemId": item_id}, [secret.reveal() for secret in secrets]
        return self._ask_each(
            "/v1/find", about, "secrets", values, "outputs", _parse_found
        )

    def find_offered(self, item_id: str, secrets: Sequence[Secret[str]]) -> list[bool]:
        """Return for each strong secret whether an offer ever named it as an output."""
        about, values = {"itemId": item_id}, [secret.reveal() for secret in secrets]
        parse = partial(exactly, bool)
        return self._ask_each(
            "/v1/offers/find", about, "secrets", values, "offered", parse
        )

    def item(self, item_id: str) -> Item:
        """Return a registry item, which never changes."""
        path = f"/v1/item/{quote(parse_id('deed', item_id), safe='')}"
        return self._ask(path, partial(_parse_item, item_id))

    def offer(self, offer_id: str) -> Offer:
        """Return an offer as it is now."""
        return self._ask(f"/v1/offers/{parse_id('offer', offer_id)}", _parse_offer)

    def info(self) -> Info:
        """Return the service's limits, which are cached.

        Raise InvalidInputError if another kind of server answers.
        """
        info = self._info  # Another thread may clear it meanwhile.
        if info:
            return info
        try:
            info = self._ask("/v1/info", _parse_info)
        except CallError as error:
            if error.why or error.status not in range(200, 429):
                raise
        if not info:
            raise InvalidInputError(f"There is no deed service at {self.base_url}.")
        self._info = info
        return info

    def _authorize(self, request: httpx.Request) -> httpx.Request:
        # Redirects are not followed, so the token goes to this service only.
        if self.mint_token and request.url.path.endswith(_MINT):
            token = self.mint_token.reveal()
            request.headers["Authorization"] = f"Bearer {token}"
        return request

    def _ask(self, path: str, parse: Parse[T], body: Any = None, key: Key = None) -> T:
        try:
            return self._calls.ask(path, parse, body, key)
        except ProblemError:
            # The service may have restarted with other limits.
            self._info = None
            raise

    def _ask_each(
        self,
        path: str,
        about: Mapping[str, str],
        name: str,
        values: Sequence[str],
        answer_name: str,
        parse: Parse[T],
    ) -> list[T]:
        """Query all values, in batches of at most the service's array length.

        `name` and `answer_name` are the arrays of a request and of its answer.
        """
        answers: list[T] = []
        size = self.info().array_length_max
        for start in range(0, len(values), size):
            batch = values[start : start + size]
            parse_all = partial(_parse_list, answer_name, len(batch), parse)
            answers += self._ask(path, parse_all, {**about, name: batch})
        return answers


def _parse_info(answer: Any) -> Info:
    limits = member(answer, "limits", dict)
    size = parse_amount(member(limits, "arrayLengthMax", int))
    needs_token = answer.get("minting") == "token"
    return Info(member(answer, "version", str), size, needs_token)


def _parse_item(item_id: str, answer: Any) -> Item:
    total = member(answer, "total", int)
    metadata = answer.get("metadata")
    return Item(item_id, total, None if metadata is None else exactly(str, metadata))


def _parse_offer(answer: Any) -> Offer:
    """Parse an offer. Raise InvalidInputError if the answer has another form."""
    wants = _parse_units(member(answer, "wants", list))
    if not wants:
        raise InvalidInputError("An offer must want something.")
    return Offer(
        parse_id("offer", member(answer, "offerId", str)),
        member(answer, "state", OfferState),
        _parse_units(member(answer, "gives", list)),
        wants,
        _parse_time(member(answer, "expiresAt", str)),
    )


def _parse_units(side: list[Any]) -> tuple[Units, ...]:
    return tuple(
        Units(
            parse_id("deed", member(units, "itemId", str)),
            parse_amount(member(units, "amount", int)),
        )
        for units in side
    )


def _parse_time(text: str) -> datetime:
    try:
        return moment(milliseconds(datetime.fromisoformat(text)))
    except (ValueError, TypeError):
        # TypeError: the time has no zone.
        raise InvalidInputError("This is not a time with a zone.") from None


def _parse_found(entry: Any) -> Found | None:
    if entry is None:
        return None
    amount = parse_amount(member(entry, "amount", int))
    state = member(entry, "state", CheckState)
    if state == CheckState.UNKNOWN:
        raise InvalidInputError("An output that is found is known.")
    return Found(amount, state == CheckState.SPENT)


def _parse_list(name: str, count: int, parse: Parse[T], answer: Any) -> list[T]:
    entries = member(answer, name, list)
    if len(entries) != count:
        raise InvalidInputError(f"“{name}” has the wrong length.")
    return list(map(parse, entries))


def _parse_minted(answer: Any) -> str:
    return parse_id("deed", member(answer, "itemId", str))


def _check_success(answer: Any) -> None:
    if not member(answer, "success", bool):
        raise InvalidInputError("“success” is not true.")


# Parsers of the answers to changes, by path. All others have `success`.
_ANSWERS: dict[str, Parse[object]] = {
    _MINT: _parse_minted,
    "/v1/offers": _parse_offer,
}
