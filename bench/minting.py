"""Mints what the clients of a load will own, over HTTP like anyone else."""

import http.client
import json
from collections.abc import Mapping
from typing import Any

from bench.payload import Deed, SecretKind, mint_body

ANSWER_SECONDS_MAX = 60.0


def call(port: int, method: str, path: str, body: Any = None) -> Any:
    """Send one request and return the JSON of its answer, which must be 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS_MAX)
    try:
        content = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path} was answered {answer.status}: {text}")
        return json.loads(text)
    finally:
        connection.close()


def mint_item(
    port: int, outputs_count: int, kind: SecretKind, metadata: Mapping[str, str] | None = None
) -> list[Deed]:
    """Mint an item of so many outputs of one unit and return them."""
    body, made = mint_body(outputs_count, kind)
    minted = call(port, "POST", "/v1/mint", body | {"metadata": metadata})
    return [Deed(minted["itemId"], secret) for secret in made]


def mint_items(port: int, items_count: int, kind: SecretKind) -> list[Deed]:
    """Mint so many items of one output and return them."""
    return [deed for _ in range(items_count) for deed in mint_item(port, 1, kind)]
