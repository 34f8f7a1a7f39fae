"""GET /openapi.json.

Valid, complete, and in agreement with what is answered and what is taken.

The answers to what fails are held against it in test_answers.py.
"""

import json
import re

import pytest
from marshmallow.validate import Range
from openapi_spec_validator import validate

from parts.offers import blueprint as offers
from schemas import requests
from tests.support.openapi import answer_faults, faults, operations
from tests.support.problems import PROBLEMS
from tests.support.sources import found_in, read_setup
from tests.support.strong_secrets import make_strong_secret

STRONG = make_strong_secret()


@pytest.fixture(scope="module")
def document(shared_api):
    return shared_api.get("/openapi.json").json()


def found_everywhere(part, key):
    """Yield each value that stands under this key, however deep."""
    if isinstance(part, dict):
        yield from [part[key]] if key in part else []
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from found_everywhere(each, key)


def test_the_document_is_valid(document):
    validate(document)

    assert document["openapi"] == "3.1.0"
    assert document["info"]["contact"]
    # Generators of clients require what has one.
    assert not list(found_everywhere(document["components"], "default"))


def routes(app):
    """Return path and method of each route of the interface."""
    return {
        (re.sub(r"<[\w:]+>", "{id}", rule.rule), method)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/v1/")
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }


def test_the_document_describes_exactly_the_routes_of_the_interface(
    shared_app, document
):
    described = {(path, method) for path, method, _ in operations(document)}

    assert described == routes(shared_app)


def test_version_limits_and_codes_are_those_of_the_service(shared_api, document):
    info = shared_api.get("/v1/info").json()

    schemas = document["components"]["schemas"]
    assert document["info"]["version"] == info["interfaceVersion"]
    assert schemas["Limits"]["required"] == sorted(info["limits"])
    codes = schemas["Problem"]["properties"]["code"]["enum"]
    assert sorted(codes) == sorted(PROBLEMS)


def test_the_contract_has_a_section_for_each_path(document):
    headings = found_in("docs/contract.md", r"^### 4\.[0-9]+ `[A-Z]+ (.+)`$")

    assert set(headings) == set(document["paths"])


def test_every_problem_is_described_under_its_status_with_its_meaning(document):
    described = set()

    for _, _, operation in operations(document):
        for status, response in operation["responses"].items():
            if status < "400":
                continue
            codes = next(found_everywhere(response["content"], "enum"))
            described |= {(code, int(status)) for code in codes}
            lines = [f"- `{code}`: {PROBLEMS[code].meaning}" for code in codes]
            assert response["description"] == "\n".join(lines)
            assert [*found_everywhere(response["content"], "const")] == [int(status)]
            assert ("Retry-After" in response["headers"]) == (status in {"429", "503"})

    problems = {(code, each.status) for code, each in PROBLEMS.items()}
    assert problems - described == {("method_not_allowed", 405)}
    assert described <= problems


BODIES = {
    each.__name__.removesuffix("Schema"): each
    for module in (requests, offers)
    for each in vars(module).values()
    if isinstance(each, type)
    and issubclass(each, requests.RequestSchema)
    and each is not requests.RequestSchema
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_described_as_its_schema_takes_it(document, name):
    described = document["components"]["schemas"][name]
    fields = BODIES[name](array_length_max=256).fields

    properties = described["properties"]
    names = {each.data_key or key: each for key, each in fields.items()}
    assert list(properties) == list(names)
    assert described.get("required", []) == sorted(
        key for key, each in names.items() if each.required
    )
    assert described["additionalProperties"] is False
    for key, each in names.items():
        if isinstance(each, requests.ArrayField):
            bounds = properties[key]["minItems"], properties[key]["maxItems"]
            assert bounds == (each.length_min, each.length_max)
        for validator in each.validators:
            if isinstance(validator, Range):
                bounds = properties[key]["minimum"], properties[key]["maximum"]
                assert bounds == (validator.min, validator.max)


def test_every_operation_has_a_description_a_described_tag_and_the_request_id(document):
    tags = {tag["name"] for tag in document["tags"] if tag["description"]}

    for _, _, operation in operations(document):
        assert operation["description"]
        assert tags.issuperset(operation["tags"])
        for response in operation["responses"].values():
            assert "X-Request-ID" in response["headers"]


def test_every_example_fits_its_schema(document):
    found = [
        (example["value"], faults(document, media_type["schema"], example["value"]))
        for content in found_everywhere(document["paths"], "content")
        for media_type in content.values()
        for example in media_type.get("examples", {}).values()
    ]

    assert len(found) > 8
    assert [each for each in found if each[1]] == []


# In every form that the document has a pattern for; Schemathesis looks for what they
# let through. ITEM stands for an item with 5 live units.
GOOD = [
    ("/v1/mint", r'{"outputs":["+1.\n","+2..bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]}'),
    (
        "/v1/mint",
        '{"outputs":["+3.deed_................................."],"metadata":{}}',
    ),
    (
        "/v1/mint",
        '{"outputs":[{"amount":9007199254740991,"secret":"é"}],"metadata":null}',
    ),
    ("/v1/mint", '{"outputs":["+9007199254740991.ßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßß"]}'),
    (
        "/v1/swap",
        '{"inputs":["+5.ITEM.live"],"outputs":["+2.ITEM.a.deed_.b","+3.ITEM.b"]}',
    ),
    ("/v1/check", '{"outputs":["+5.ITEM.live","+9007199254740991.deed_.never"]}'),
    ("/v1/find", '{"itemId":"ITEM","secrets":["STRONG"]}'),
    ("/v1/offers/find", '{"itemId":"ITEM","secrets":["STRONG"]}'),
    ("/v1/offers", '{"inputs":[],"outputs":["+5.ITEM.STRONG"]}'),
]


@pytest.mark.parametrize(("path", "text"), GOOD)
def test_good_requests_and_their_answers_are_as_described(
    shared_api, document, path, text
):
    item_id = shared_api.mint("+5.live")
    text = text.replace("ITEM", item_id).replace("STRONG", STRONG)
    sent = json.loads(text)
    operation = document["paths"][path]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    is_replayed = "Idempotency-Replayed" in operation["responses"]["200"]["headers"]

    answers = [shared_api.post(path, sent, item_id) for _ in range(2)]

    assert faults(document, schema, sent) == []
    assert [each.status_code for each in answers] == [200, 200]
    assert [answer_faults(document, each) for each in answers] == [[], []]
    assert ("Idempotency-Replayed" in answers[1].headers) == is_replayed


def test_an_item_is_answered_as_described(shared_api, document):
    path = f"/v1/item/{shared_api.mint('+5.a')}"

    read = shared_api.get(path)
    known = shared_api.http.get(path, headers={"If-None-Match": read.headers["ETag"]})

    assert (read.status_code, known.status_code) == (200, 304)
    assert answer_faults(document, read) == []
    assert answer_faults(document, known) == []


@pytest.mark.parametrize("pepper", ["", "0123456789abcdef0123456789abcdef"])
def test_info_tells_the_versions_limits_and_hash_policies(open_api, pepper):
    api = open_api(
        DEEDS_MAX_ARRAY="7",
        DEEDS_MAX_BODY_BYTES="1000",
        DEEDS_ARGON2="m=16,t=2,p=1",
        DEEDS_PEPPER=pepper,
    )

    answer = api.get("/v1/info")

    document = api.get("/openapi.json").json()
    assert answer_faults(document, answer) == []
    policy = {"algorithm": "argon2id", "peppered": bool(pepper)}
    assert answer.json() == {
        "version": read_setup()["metadata"]["version"],
        "interfaceVersion": "0.0.1",
        "limits": {
            "amountMax": 9007199254740991,
            "secretLengthMax": 32,
            "arrayLengthMax": 7,
            "bodyBytesMax": 1000,
            "offerExpiresInMin": 60,
            "offerExpiresInMax": 2592000,
        },
        "hashPolicies": [
            {"name": "ordinary", "parameters": "m=16,t=2,p=1"} | policy,
            {"name": "strong", "parameters": "m=8,t=1,p=1"} | policy,
        ],
        "idempotency": True,
        "minting": "open",
    }
    # Outputs of mints, inputs and outputs of swaps and of both halves of offers,
    # check's outputs, find's secrets.
    bounds = list(found_everywhere(document["components"], "maxItems"))
    assert bounds == [7] * 9
