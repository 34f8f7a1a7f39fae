"""GET /openapi.json.

Valid, complete, and in agreement with what is answered and what is taken.

The answers to what fails are held against it in test_answers.py.
"""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from openapi_spec_validator import validate

from deeds.blueprints.problems import PROBLEMS
from deeds.blueprints.v1 import INTERFACE_VERSION, VERSION
from deeds.domain.model import Argon2Cost
from tests.support.openapi import answer_faults, faults, operations, read_document
from tests.support.requests import mint, post
from tests.support.serving import REPOSITORY

# Answers to what is no operation: the document's introduction names them.
OF_NO_OPERATION = {"not_found", "method_not_allowed"}

# One kind of database will do here.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def document(client):
    return read_document(client)


def found_everywhere(part, key):
    """Yield each value that stands under this key, however deep."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name == key:
                yield value
            yield from found_everywhere(value, key)
    elif isinstance(part, list):
        for value in part:
            yield from found_everywhere(value, key)


def test_the_document_is_valid_and_describes_exactly_the_routes_of_the_interface(
    app, document
):
    routes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", "{}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/v1/")
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }

    validate(document)
    described = {
        (re.sub(r"{\w+}", "{}", path), method)
        for path, method, _ in operations(document)
    }

    assert document["openapi"] == "3.1.0"
    assert described == routes


def test_every_problem_is_described_under_its_status(document):
    described = set()
    for _, _, operation in operations(document):
        for status, response in operation["responses"].items():
            if status >= "400":
                schema = response["content"]["application/problem+json"]["schema"]
                codes = schema["properties"]["code"]["enum"]
                assert {str(PROBLEMS[code].status) for code in codes} == {status}
                described.update(codes)

    assert described | OF_NO_OPERATION == set(PROBLEMS)
    assert all(
        f"`{code}`" in document["info"]["description"] for code in OF_NO_OPERATION
    )


def test_every_example_fits_its_schema(document):
    contents = found_everywhere(document["paths"], "content")
    media_types = [
        media_type for content in contents for media_type in content.values()
    ]

    found = [
        (example["value"], faults(document, media_type["schema"], example["value"]))
        for media_type in media_types
        for example in media_type.get("examples", {}).values()
    ]

    assert len(found) > 8
    assert [each for each in found if each[1]] == []


# In every form that the document has a pattern for; Schemathesis looks for what they
# let through.
GOOD = [
    (
        "mint",
        {
            "outputs": ["+1.\n", f"+2..{32 * 'b'}", f"+3.deed_.{32 * '.'}"],
            "metadata": {"name": "é"},
        },
    ),
    (
        "mint",
        {
            "outputs": [{"amount": 9007199254740991, "secret": 32 * "ß"}],
            "metadata": None,
        },
    ),
    ("mint", {"outputs": [f"+9007199254740991.{32 * 'ß'}"]}),
    (
        "swap",
        {"inputs": ["+5.ITEM.live"], "outputs": ["+2.ITEM.a.deed_.b", "+3.ITEM.b"]},
    ),
    ("check", {"outputs": ["+5.ITEM.live", "+9007199254740991.deed_.never"]}),
]


@pytest.mark.parametrize(("operation_id", "body"), GOOD)
def test_good_requests_and_their_answers_are_as_described(
    client, document, operation_id, body
):
    sent = json.loads(json.dumps(body).replace("ITEM", mint(client, "+5.live")))
    operation = document["paths"][f"/v1/{operation_id}"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]

    answers = [post(client, f"/v1/{operation_id}", sent, "a key") for _ in range(2)]

    assert faults(document, schema, sent) == []
    assert ("Idempotency-Replayed" in answers[1].headers) == (operation_id != "check")
    for answer in answers:
        assert answer.status_code == 200
        assert answer_faults(document, operation_id, answer) == []
    if operation_id == "mint":
        path = f"/v1/item/{answers[0].get_json()['itemId']}"
        read = client.get(path)
        known = client.get(path, headers={"If-None-Match": read.headers["ETag"]})
        assert (read.status_code, known.status_code) == (200, 304)
        assert answer_faults(document, "readItem", read) == []
        assert answer_faults(document, "readItem", known) == []


@pytest.mark.parametrize(
    ("lengths", "cost", "pepper"),
    [
        ((256, 1048576), Argon2Cost(8, 1, 1), None),
        ((7, 1000), Argon2Cost(16, 2, 1), b"0123456789abcdef0123456789abcdef"),
    ],
)
def test_info_tells_the_versions_limits_and_hash_policies(
    settings, open_app, lengths, cost, pepper
):
    changed = {
        "array_length_max": lengths[0],
        "body_bytes_max": lengths[1],
        "pepper": pepper,
    }
    client = open_app(replace(settings, ordinary_cost=cost, **changed)).test_client()
    document = read_document(client)

    answer = client.get("/v1/info")

    policy = {"algorithm": "argon2id", "peppered": pepper is not None}
    assert answer.get_json() == {
        "version": VERSION,
        "interfaceVersion": INTERFACE_VERSION,
        "limits": {
            "amountMax": 9007199254740991,
            "secretLengthMax": 32,
            "arrayLengthMax": lengths[0],
            "bodyBytesMax": lengths[1],
            "offerExpiresInMin": 60,
            "offerExpiresInMax": 2592000,
        },
        "hashPolicies": [
            {"name": "ordinary", "parameters": str(cost)} | policy,
            {"name": "strong", "parameters": "m=8,t=1,p=1"} | policy,
        ],
        "idempotency": True,
    }
    assert answer_faults(document, "readInfo", answer) == []
    # Outputs of mints, inputs and outputs of swaps and of both halves of offers,
    # check's outputs, find's secrets.
    assert (
        list(found_everywhere(document["components"], "maxItems")) == [lengths[0]] * 9
    )


def test_a_start_does_not_load_what_builds_the_document(database_url):
    script = "import sys, app; app.create_app(); sys.exit('apispec' in sys.modules)"
    environment = {"DATABASE_URL": database_url}

    subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, env=environment, check=True
    )
