"""A client of the API, either in this process or over HTTP."""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from flask import Flask

# Tests of the service's behaviour import nothing else from it.
from app import StartError, create_app
from deeds.settings import read_settings
from tests.support.strong_secrets import make_strong_secret

# The answer to a swap or a completion, and two refusals.
SUCCESS = {"success": True}
REUSED = (422, "idempotency_key_reused", None)
UNAVAILABLE = (503, "ledger_unavailable", None)

# A commit may wait for a lock or a checkpoint, and the machine may be busy.
ANSWER_SECONDS_MAX = 30.0

# Services of tests use plain HTTP. By default each client of httpx would load all
# certificates of the machine, which takes 30 ms.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Api:
    """The requests of the contract.

    `mint`, `check`, `are_offered` and `offer_id` fail the test unless the status is
    200, and return a value of the answer. All others return any answer.
    """

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    @classmethod
    def of_app(cls, app: Flask, address: str = "127.0.0.1") -> "Api":
        """Return a client that calls the app from this address."""
        transport = httpx.WSGITransport(app=app, remote_addr=address)
        return cls(httpx.Client(transport=transport, base_url="http://localhost"))

    @classmethod
    def of_url(cls, url: str, tls: ssl.SSLContext = _NO_CERTIFICATES) -> "Api":
        """Return a client of a running service, which keeps its connections open."""
        return cls(
            httpx.Client(
                base_url=url,
                timeout=ANSWER_SECONDS_MAX,
                verify=tls,
                trust_env=False,
            )
        )

    def close(self) -> None:
        self.http.close()

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get(path, headers=headers)

    def post(self, path: str, body: Any, key: str | None = None) -> httpx.Response:
        """Send the body as JSON, or unchanged if it is text or bytes."""
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        # httpx cannot encode surrogates as JSON.
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.http.post(path, content=content, headers=headers)

    def send_mint(
        self, *outputs: str, key: str | None = None, metadata: Any = None
    ) -> httpx.Response:
        """Send a mint of outputs in the form `+5.secret`."""
        body: dict[str, Any] = {"outputs": outputs}
        if metadata is not None:
            body["metadata"] = metadata
        return self.post("/v1/mint", body, key)

    def mint(self, *outputs: str, **rest: Any) -> str:
        """Mint an item and return its id."""
        return str(good(self.send_mint(*outputs, **rest))["itemId"])

    def swap(
        self, inputs: Sequence[str], outputs: Sequence[str], key: str | None = None
    ) -> httpx.Response:
        return self.post("/v1/swap", _half(inputs, outputs), key)

    def send_check(self, *outputs: str) -> httpx.Response:
        return self.post("/v1/check", {"outputs": outputs})

    def check(self, *outputs: str) -> list[str]:
        """Return the state of each output."""
        states: list[str] = good(self.send_check(*outputs))["states"]
        return states

    def find(
        self, item_id: str, *secrets: str, path: str = "/v1/find"
    ) -> httpx.Response:
        return self.post(path, {"itemId": item_id, "secrets": secrets})

    def are_offered(self, *raws: str) -> list[bool]:
        """Return whether offers ever named the secrets of outputs of one item."""
        _, item_id, _ = raws[0].split(".")
        secrets = [raw.split(".")[2] for raw in raws]
        found = good(self.find(item_id, *secrets, path="/v1/offers/find"))
        offered: list[bool] = found["offered"]
        return offered

    def offer(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        key: str | None = None,
        **rest: Any,
    ) -> httpx.Response:
        return self.post("/v1/offers", _half(inputs, outputs) | rest, key)

    def offer_id(self, inputs: Sequence[str], outputs: Sequence[str]) -> str:
        """Make an offer and return its id."""
        return str(good(self.offer(inputs, outputs))["offerId"])

    def complete(
        self,
        offer_id: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        key: str | None = None,
    ) -> httpx.Response:
        path = f"/v1/offers/{offer_id}/complete"
        return self.post(path, _half(inputs, outputs), key)


def _half(inputs: Sequence[str], outputs: Sequence[str]) -> dict[str, Any]:
    """Return the body of a swap; a single raw output may stand for a list."""
    sides = {"inputs": inputs, "outputs": outputs}
    return {
        name: [side] if isinstance(side, str) else side for name, side in sides.items()
    }


def environ_of(database_url: str, **variables: str) -> dict[str, str]:
    """Return the environment of a service with the cheapest Argon2."""
    return {"DATABASE_URL": database_url, "DEEDS_ARGON2": "m=8,t=1,p=1"} | variables


@contextmanager
def opened(environ: Mapping[str, str], **arguments: Any) -> Iterator[Flask]:
    """Open the service with these variables in this process until the block ends.

    `arguments` are further ones of create_app.
    """
    app = create_app(read_settings(environ), **arguments)
    try:
        yield app
    finally:
        app.extensions["deeds"].close()


@contextmanager
def served(environ: Mapping[str, str]) -> Iterator[Api]:
    """Open the service as `opened` does, but yield a client."""
    with opened(environ) as app:
        yield Api.of_app(app)


def good(answer: httpx.Response) -> Any:
    """Return the JSON of an answer with status 200; fail on any other."""
    assert answer.status_code == 200, answer.text
    return answer.json()


def replayed(answer: httpx.Response) -> Any:
    """Return the JSON of a replayed answer; fail on any other."""
    assert answer.headers.get("Idempotency-Replayed") == "true", answer.text
    return good(answer)


def stop_line(start: Callable[..., Any], *arguments: Any, **variables: str) -> str:
    """Return the reason of a StartError, which must be one line."""
    with pytest.raises(StartError) as stopped:
        start(*arguments, **variables)
    assert "\n" not in stopped.value.reason
    return str(stopped.value.reason)


def refusal(answer: httpx.Response) -> tuple[int, str, int | None]:
    """Return the status, code and index of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    problem = answer.json()
    return answer.status_code, problem["code"], problem.get("index")


def fresh(amount: int, item_id: str) -> str:
    """Return a raw output with a new strong secret."""
    return f"+{amount}.{item_id}.{make_strong_secret()}"
