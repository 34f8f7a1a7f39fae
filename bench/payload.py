"""Endless requests of a client, as bytes, and the mints that they need.

Every output has one unit, so that swaps differ in their secrets only.
"""

import http.client
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from enum import StrEnum
from typing import Any

from deeds.raw_output import make_strong_secret

ANSWER_SECONDS_MAX = 60.0

# Makes the requests of one client, one at a time and in the client's process.
Requests = Callable[[], Iterator[bytes]]


class SecretKind(StrEnum):
    """How a secret is made, which decides how it is hashed."""

    ORDINARY = "ordinary"
    STRONG = "strong"

    def make(self) -> str:
        return (
            make_strong_secret()
            if self is SecretKind.STRONG
            else secrets.token_urlsafe(12)
        )


def swaps(
    raw_output: str, kind: SecretKind, address: str | None = None
) -> Iterator[bytes]:
    """Yield swaps without end; each spends the output of the one before."""
    item = raw_output[: raw_output.rindex(".") + 1]
    while True:
        created = item + kind.make()
        yield post("/v1/swap", {"inputs": [raw_output], "outputs": [created]}, address)
        raw_output = created


def post(path: str, body: Any, address: str | None = None) -> bytes:
    """Return a POST with the body as compact JSON, as if forwarded for `address`."""
    content = json.dumps(body, separators=(",", ":")).encode()
    forwarded = "" if address is None else f"X-Forwarded-For: {address}\r\n"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\n{forwarded}"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def mint_body(outputs_count: int, kind: SecretKind) -> dict[str, Any]:
    return {
        "outputs": [{"amount": 1, "secret": kind.make()} for _ in range(outputs_count)]
    }


def mint_item(
    port: int, outputs_count: int, kind: SecretKind, metadata: Any = None
) -> list[str]:
    """Mint an item of outputs of one unit each; return the raw outputs."""
    body = mint_body(outputs_count, kind) | {"metadata": metadata}
    [answer] = answers(port, "/v1/mint", [body])
    return list(answer["rawOutputs"])


def make_offers(port: int, raw_outputs: list[str]) -> list[str]:
    """Make a payment request for each of these outputs; return the offers' paths."""
    bodies = [{"inputs": [], "outputs": [raw_output]} for raw_output in raw_outputs]
    return [
        f"/v1/offers/{each['offerId']}" for each in answers(port, "/v1/offers", bodies)
    ]


def completions(port: int, count: int) -> list[bytes]:
    """Return completions of new offers; each pays with the output of the one before."""
    [first] = mint_item(port, 1, SecretKind.STRONG)
    raws = [
        first,
        *(f"+1.{item_id_of(first)}.{SecretKind.STRONG.make()}" for _ in range(count)),
    ]
    paths = make_offers(port, raws[1:])
    bodies = [{"inputs": [raw], "outputs": []} for raw in raws]
    return [
        post(f"{path}/complete", body)
        for path, body in zip(paths, bodies, strict=False)
    ]


def answers(port: int, path: str, bodies: list[Any]) -> Iterator[Any]:
    with closing(
        http.client.HTTPConnection("127.0.0.1", port, ANSWER_SECONDS_MAX)
    ) as connection:
        for body in bodies:
            connection.request(
                "POST", path, json.dumps(body), {"Content-Type": "application/json"}
            )
            yield json.load(connection.getresponse())


def item_id_of(raw_output: str) -> str:
    return raw_output.split(".")[1]
