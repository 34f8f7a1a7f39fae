"""Short ways to send the requests of the contract through Flask's test client."""

import json
from collections.abc import Sequence
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse


def post(client: FlaskClient, path: str, body: Any, key: str | None = None) -> TestResponse:
    """Send the body as JSON, with an Idempotency-Key if one is given."""
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(
        path, data=json.dumps(body), content_type="application/json", headers=headers
    )


def mint(client: FlaskClient, *outputs: str, key: str | None = None) -> str:
    """Mint an item with these outputs, in the form `+5.secret`, and return its id."""
    answer = post(client, "/v1/mint", {"outputs": list(outputs)}, key)
    assert answer.status_code == 200, answer.text
    return str(answer.get_json()["itemId"])


def swap(
    client: FlaskClient, inputs: Sequence[str], outputs: Sequence[str], key: str | None = None
) -> TestResponse:
    """Ask for a swap and return its answer."""
    return post(client, "/v1/swap", {"inputs": list(inputs), "outputs": list(outputs)}, key)


def check(client: FlaskClient, *outputs: str) -> list[str]:
    """Return the state of each output."""
    answer = post(client, "/v1/check", {"outputs": list(outputs)})
    assert answer.status_code == 200, answer.text
    states: list[str] = answer.get_json()["states"]
    return states


def refusal(answer: TestResponse) -> tuple[int, str, int | None]:
    """Return what a refusal says: status, code and the index of the element at fault."""
    problem = answer.get_json()
    assert answer.mimetype == "application/problem+json", answer.text
    return answer.status_code, problem["code"], problem.get("index")
