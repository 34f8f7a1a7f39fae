"""The requests that a client sends, made whole before the clock starts.

A list of them is built in the load process itself, from one of the small classes below. Every
output has one unit, so that a swap says nothing but secrets.
"""

import json
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle, islice, pairwise
from typing import Any, Protocol

from deeds.domain.strong_secret import make_strong_secret

# 12 random bytes are 16 characters of URL-safe base64.
_ORDINARY_SECRET_BYTES = 12


class SecretKind(StrEnum):
    """How a secret is made, which decides how it is hashed."""

    ORDINARY = "ordinary"
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Deed:
    """One unit of an item and the secret that owns it."""

    item_id: str
    secret: str = field(repr=False)

    @property
    def raw_output(self) -> str:
        """Return the output string (contract 2.1)."""
        return f"+1.{self.item_id}.{self.secret}"


class Requests(Protocol):
    """What one client will send."""

    def build(self) -> list[bytes]:
        """Return the requests, in order, as bytes of HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class SwapChain:
    """`count` swaps of one deed: each spends the secret that the one before it created."""

    deed: Deed
    kind: SecretKind
    count: int
    client: str | None = None

    def build(self) -> list[bytes]:
        """Return the swaps."""
        deeds = [self.deed]
        deeds += [Deed(self.deed.item_id, make_secret(self.kind)) for _ in range(self.count)]
        outputs = [deed.raw_output for deed in deeds]
        return [
            post("/v1/swap", {"inputs": [spent], "outputs": [created]}, self.client)
            for spent, created in pairwise(outputs)
        ]


@dataclass(frozen=True, slots=True)
class Mints:
    """`count` mints of `outputs_count` outputs each."""

    outputs_count: int
    kind: SecretKind
    count: int

    def build(self) -> list[bytes]:
        """Return the mints."""
        return [
            post("/v1/mint", mint_body(self.outputs_count, self.kind)[0]) for _ in range(self.count)
        ]


@dataclass(frozen=True, slots=True)
class Repeated:
    """`count` requests: the given ones over and over."""

    requests: tuple[bytes, ...]
    count: int

    def build(self) -> list[bytes]:
        """Return the requests."""
        return list(islice(cycle(self.requests), self.count))


def mint_body(outputs_count: int, kind: SecretKind) -> tuple[dict[str, Any], list[str]]:
    """Return the body of a mint of outputs of one unit, and their secrets in order."""
    made = [make_secret(kind) for _ in range(outputs_count)]
    return {"outputs": [{"amount": 1, "secret": secret} for secret in made]}, made


def make_secret(kind: SecretKind) -> str:
    """Return a fresh secret."""
    if kind is SecretKind.STRONG:
        return make_strong_secret()
    return secrets.token_urlsafe(_ORDINARY_SECRET_BYTES)


def post(path: str, body: Any, client: str | None = None) -> bytes:
    """Return a POST of the body as compact JSON; `client` is named as a proxy names it."""
    content = json.dumps(body, separators=(",", ":")).encode()
    forwarded = "" if client is None else f"X-Forwarded-For: {client}\r\n"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n{forwarded}\r\n"
    )
    return head.encode() + content


def get(path: str) -> bytes:
    """Return a GET."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
