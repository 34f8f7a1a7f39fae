"""The links of the OpenAPI document lead from each answer to requests that are answered."""

import re

import pytest

from tests.support.openapi import operations, read_document
from tests.support.requests import mint, post


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


def test_the_links_of_a_mint_can_be_followed(client):
    sent = {"outputs": ["+5.a", "+3.b"]}
    minted = post(client, "/v1/mint", sent).get_json()

    answers = follow_links(client, "/v1/mint", sent, minted)

    # The first output is spent by then: the link to the swap is followed first.
    assert answers == {
        "swap": {"success": True},
        "check": {"states": ["spent", "unspent"]},
        "readItem": {"id": minted["itemId"], "total": 8, "metadata": None},
    }


def test_the_links_of_a_swap_can_be_followed(client):
    item_id = mint(client, "+5.a")
    sent = {"inputs": [f"+5.{item_id}.a"], "outputs": [f"+2.{item_id}.b", f"+3.{item_id}.c"]}
    swapped = post(client, "/v1/swap", sent).get_json()

    answers = follow_links(client, "/v1/swap", sent, swapped)

    assert answers == {"check": {"states": ["unspent", "unspent"]}}


def follow_links(client, path, sent, received):
    """Follow the links of a good answer in their order; return what each is answered."""
    document = read_document(client)
    links = document["paths"][path]["post"]["responses"]["200"]["links"]
    exchange = {"$request.body#": sent, "$response.body#": received}
    return {
        name: follow(client, document, evaluated(link, exchange)) for name, link in links.items()
    }


def follow(client, document, link):
    path, method = next(
        (path, method)
        for path, method, operation in operations(document)
        if operation["operationId"] == link["operationId"]
    )
    path = path.format(**link.get("parameters", {}))
    return client.open(path, method=method, json=link.get("requestBody")).get_json()


def evaluated(part, exchange):
    """Return a part of a link with its runtime expressions replaced by what they point to."""
    if isinstance(part, dict):
        return {key: evaluated(value, exchange) for key, value in part.items()}
    if isinstance(part, list):
        return [evaluated(value, exchange) for value in part]
    if part.startswith("$"):
        return pointed_to(part, exchange)
    return re.sub(r"{(.*?)}", lambda found: str(pointed_to(found[1], exchange)), part)


def pointed_to(expression, exchange):
    """Return what `$response.body#/a/0` points to (OpenAPI 3.1, 4.8.20.4)."""
    body, *steps = expression.split("/")
    value = exchange[body]
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value
