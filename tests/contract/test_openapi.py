"""GET /openapi.json: valid, complete, in agreement with what is answered, built late and once.

The answers to what fails are held against it in test_errors_shape.py.
"""

import json
import re
import subprocess
import sys

import pytest
from openapi_spec_validator import validate

from deeds.blueprints.problems import PROBLEMS
from deeds.domain.errors import RawOutputError
from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import is_item_id, make_item_id, parse_mint_output, parse_raw_output
from deeds.settings import Settings
from tests.support.openapi import answer_faults, faults, operations, problem_codes, read_document
from tests.support.requests import mint, post
from tests.support.serving import REPOSITORY

ITEM_ID = "deed_" + 26 * "0"
ITEM_IDS = [make_item_id(), ITEM_ID, ITEM_ID + "0", ITEM_ID[:-1], ITEM_ID[5:], "deed_" + 26 * "l"]

# After the amount of 5.
ENDS = [f".{ITEM_ID}.secret", f".{ITEM_ID}.{32 * 'ß'}", f".{ITEM_ID}.{33 * 'a'}"]
ENDS += [f".{ITEM_ID}.line\nbreak", f".{ITEM_ID}.", f".{ITEM_ID}", f".0.{ITEM_ID}.secret"]
ENDS += [".deed_.secret", f"..{33 * 'a'}", ".secret", f".{33 * 'a'}", ".a.b.c", ".+5.deed_", ""]

AMOUNTS = ["5", "+05", "+\N{ARABIC-INDIC DIGIT FIVE}", "+1e3"]
TEXTS = [*ITEM_IDS, *(f"+5{end}" for end in ENDS), *(f"{each}.{ITEM_ID}.a" for each in AMOUNTS), ""]

# Answers to what is no operation: the document's introduction names them.
OF_NO_OPERATION = {"not_found", "method_not_allowed"}


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


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


def test_the_document_is_valid_openapi_3_1(document):
    validate(document)

    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == "0.0.1"


def test_the_document_describes_exactly_the_routes_of_the_interface(app, document):
    routes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", "{}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/v1/")
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }

    described = {(re.sub(r"{\w+}", "{}", path), method) for path, method, _ in operations(document)}

    assert described == routes


def test_every_problem_is_described_under_its_status_with_an_example(document):
    described = set()
    for _, _, operation in operations(document):
        for status, response in operation["responses"].items():
            if status < "400":
                continue
            codes = problem_codes(response)
            examples = response["content"]["application/problem+json"]["examples"]
            assert {str(int(PROBLEMS[code].status)) for code in codes} == {status}
            assert [example["value"]["code"] for example in examples.values()] == codes
            described.update(codes)

    assert described | OF_NO_OPERATION == set(PROBLEMS)
    assert all(f"`{code}`" in document["info"]["description"] for code in OF_NO_OPERATION)


def test_every_example_fits_its_schema(document):
    described = list(found_everywhere(document["paths"], "content"))
    media_types = [each for content in described for each in content.values()]
    media_types += [
        {"schema": parameter["schema"], "examples": parameter["examples"]}
        for parameters in found_everywhere(document["paths"], "parameters")
        if isinstance(parameters, list)
        for parameter in parameters
        if "examples" in parameter
    ]

    found = [
        (example["value"], faults(document, media_type["schema"], example["value"]))
        for media_type in media_types
        for example in media_type["examples"].values()
    ]

    assert len(found) > 2 * len(PROBLEMS)
    assert [each for each in found if each[1]] == []


def test_requests_with_unknown_keys_do_not_fit(document):
    bodies = [
        operation["requestBody"]["content"]["application/json"]
        for _, _, operation in operations(document)
        if "requestBody" in operation
    ]

    for body in bodies:
        for example in body["examples"].values():
            assert faults(document, body["schema"], {**example["value"], "metdata": None})


def test_the_bound_of_arrays_follows_the_setting(sqlite_url, open_app):
    app = open_app(Settings(sqlite_url, ordinary_cost=Argon2Cost(8, 1, 1), array_length_max=3))

    document = read_document(app.test_client())

    # Mint's two forms, swap's inputs and outputs, check's outputs.
    assert list(found_everywhere(document["components"], "maxItems")) == [3, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("operation_id", "body"),
    [
        ("mint", {"outputs": ["+1.a", "+2.b.c"], "metadata": {"name": "é"}}),
        ("mint", {"outputs": [{"amount": 9007199254740991, "secret": "a"}], "metadata": None}),
        ("swap", {"inputs": ["+5.ITEM.live"], "outputs": ["+2.ITEM.a", "+3.ITEM.b"]}),
        ("check", {"outputs": ["+5.ITEM.live", "+5.ITEM.never"]}),
    ],
)
def test_answers_to_good_requests_are_as_described(client, document, operation_id, body):
    sent = json.loads(json.dumps(body).replace("ITEM", mint(client, "+5.live")))

    first, again = (post(client, f"/v1/{operation_id}", sent, "a key") for _ in range(2))

    assert (first.status_code, again.status_code) == (200, 200)
    assert ("Idempotency-Replayed" in again.headers) == (operation_id != "check")
    assert answer_faults(document, operation_id, first) == []
    assert answer_faults(document, operation_id, again) == []
    if operation_id == "mint":
        path = f"/v1/item/{first.get_json()['itemId']}"
        read = client.get(path)
        known = client.get(path, headers={"If-None-Match": read.headers["ETag"]})
        assert (read.status_code, known.status_code) == (200, 304)
        assert answer_faults(document, "readItem", read) == []
        assert answer_faults(document, "readItem", known) == []


def test_the_info_is_as_described_and_its_own_example(client, document):
    answer = client.get("/v1/info")

    described = document["paths"]["/v1/info"]["get"]["responses"]["200"]
    example = described["content"]["application/json"]["examples"]["this"]["value"]
    assert answer_faults(document, "readInfo", answer) == []
    assert answer.get_json() == example


def test_a_start_does_not_load_what_builds_the_document(sqlite_url):
    script = "import sys, app; app.create_app(); sys.exit('apispec' in sys.modules)"

    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        env={"DATABASE_URL": sqlite_url},
        check=False,
    )

    assert ended.returncode == 0


def accepts(parse, text):
    try:
        return parse(text) is not False
    except RawOutputError:
        return False


@pytest.fixture
def patterns(document):
    """What the document says of a raw output, of a string of a mint and of an item id."""
    schemas = document["components"]["schemas"]
    return {
        parse_raw_output: schemas["CheckRequest"]["properties"]["outputs"]["items"],
        parse_mint_output: schemas["MintRequest"]["properties"]["outputs"]["oneOf"][0]["items"],
        is_item_id: schemas["Item"]["properties"]["id"],
    }


@pytest.mark.parametrize("parse", [parse_raw_output, parse_mint_output, is_item_id])
def test_the_patterns_agree_with_the_parsers(document, patterns, parse):
    fit = [text for text in TEXTS if not faults(document, patterns[parse], text)]

    assert fit == [text for text in TEXTS if accepts(parse, text)]
    assert fit
