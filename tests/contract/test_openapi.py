"""GET /openapi.json: valid, complete, in agreement with what is answered, built late and once.

The answers to what fails are held against it in test_errors_shape.py.
"""

import json
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from openapi_spec_validator import validate

from deeds.blueprints import openapi
from deeds.blueprints.problem_table import PROBLEMS
from deeds.domain.errors import RawOutputError
from deeds.domain.model import AMOUNT_MAX, Argon2Cost
from deeds.domain.raw_output import is_item_id, make_item_id, parse_mint_output, parse_raw_output
from deeds.settings import Settings
from tests.support.openapi import (
    answer_faults,
    faults,
    operations,
    problem_codes,
    read_document,
)
from tests.support.requests import mint, post
from tests.support.serving import REPOSITORY

ITEM_ID = "deed_" + 26 * "0"
TEXTS = [
    f"+5.{ITEM_ID}.secret",
    f"+5.{ITEM_ID}..a.+b",
    f"+5.{ITEM_ID}.{32 * 'ß'}",
    f"+5.{ITEM_ID}.{33 * 'a'}",
    f"+5.{ITEM_ID}.line\nbreak",
    f"+5.{ITEM_ID}.",
    f"+5.{ITEM_ID}",
    "+5.deed_.secret",
    "+5.item.secret",
    "+5..secret",
    f"+5..{33 * 'a'}",
    "+5.secret",
    f"+5.{33 * 'a'}",
    "+5.a.b.c",
    "+5.+5.deed_",
    "+5.",
    "+5",
    f"5.{ITEM_ID}.secret",
    f"+05.{ITEM_ID}.secret",
    f"+-5.{ITEM_ID}.secret",
    f"+5.0.{ITEM_ID}.secret",
    f"+\N{ARABIC-INDIC DIGIT FIVE}.{ITEM_ID}.secret",
    "+1e3.secret",
    "",
]

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


def test_every_problem_is_described(document):
    described = {
        code
        for _, _, operation in operations(document)
        for status, response in operation["responses"].items()
        if status >= "400"
        for code in problem_codes(response)
    }

    assert described | OF_NO_OPERATION == set(PROBLEMS)
    assert all(f"`{code}`" in document["info"]["description"] for code in OF_NO_OPERATION)


def test_every_problem_stands_under_its_status_with_an_example(document):
    for _, _, operation in operations(document):
        for status, response in operation["responses"].items():
            if status < "400":
                continue
            codes = problem_codes(response)
            examples = response["content"]["application/problem+json"]["examples"]
            assert {str(int(PROBLEMS[code].status)) for code in codes} == {status}
            assert [example["value"]["code"] for example in examples.values()] == codes


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
    item_id = mint(client, "+5.live")
    sent = json.loads(json.dumps(body).replace("ITEM", item_id))

    answer = post(client, f"/v1/{operation_id}", sent)

    assert answer.status_code == 200
    assert answer_faults(document, operation_id, answer) == []


@pytest.mark.parametrize("metadata", [None, {"name": "é"}])
def test_items_are_as_described(client, document, metadata):
    minted = post(client, "/v1/mint", {"outputs": ["+5.a"], "metadata": metadata})
    path = f"/v1/item/{minted.get_json()['itemId']}"

    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})

    assert (first.status_code, again.status_code) == (200, 304)
    assert answer_faults(document, "readItem", first) == []
    assert answer_faults(document, "readItem", again) == []


def test_the_info_is_as_described_and_its_own_example(client, document):
    answer = client.get("/v1/info")

    described = document["paths"]["/v1/info"]["get"]["responses"]["200"]
    example = described["content"]["application/json"]["examples"]["this"]["value"]
    assert answer_faults(document, "readInfo", answer) == []
    assert answer.get_json() == example


def test_a_replayed_answer_is_as_described(client, document):
    answers = [post(client, "/v1/mint", {"outputs": ["+5.a"]}, "a key") for _ in range(2)]

    assert answers[1].headers["Idempotency-Replayed"] == "true"
    assert [answer_faults(document, "mint", each) for each in answers] == [[], []]


def test_the_document_is_sent_again_only_when_it_has_changed(client):
    first = client.get("/openapi.json")
    again = client.get("/openapi.json", headers={"If-None-Match": first.headers["ETag"]})

    assert (first.status_code, first.content_type) == (200, "application/json")
    assert first.headers["Cache-Control"] == "no-cache"
    assert (again.status_code, again.data) == (304, b"")


def test_the_document_is_built_once_however_many_ask_at_once(app, monkeypatch):
    threads_count = 8
    together = threading.Barrier(threads_count, timeout=30)
    builds = []
    build = openapi.build_document

    def counted(info):
        builds.append(info)
        return build(info)

    def ask(_):
        together.wait()
        return app.test_client().get("/openapi.json").data

    monkeypatch.setattr(openapi, "build_document", counted)
    with ThreadPoolExecutor(threads_count) as pool:
        texts = set(pool.map(ask, range(threads_count)))

    assert (len(builds), len(texts)) == (1, 1)


def test_a_start_does_not_load_what_builds_the_document(sqlite_url):
    script = "import sys, app; app.create_app(); sys.exit('apispec' in sys.modules)"

    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        env={"DATABASE_URL": sqlite_url},
        check=False,
    )

    assert ended.returncode == 0


def amounts_near_the_bounds():
    """Return amounts that differ from the largest in one digit, and powers of ten about it."""
    digits = str(AMOUNT_MAX)
    changed = {
        int(digits[:index] + digit + digits[index + 1 :])
        for index in range(len(digits))
        for digit in "0123456789"
    }
    return sorted(changed | {10**exponent for exponent in range(18)})


def parses(parse, text):
    try:
        parse(text)
    except RawOutputError:
        return False
    return True


@pytest.mark.parametrize("text", TEXTS)
def test_the_patterns_of_raw_and_mint_outputs_agree_with_the_parsers(document, text):
    schemas = document["components"]["schemas"]
    raw_output = schemas["CheckRequest"]["properties"]["outputs"]["items"]
    mint_output = schemas["MintRequest"]["properties"]["outputs"]["oneOf"][0]["items"]

    assert (faults(document, raw_output, text) == []) is parses(parse_raw_output, text)
    assert (faults(document, mint_output, text) == []) is parses(parse_mint_output, text)


def test_the_patterns_bound_amounts_as_the_parser_does(document):
    schemas = document["components"]["schemas"]
    raw_output = schemas["CheckRequest"]["properties"]["outputs"]["items"]
    mint_output = schemas["MintRequest"]["properties"]["outputs"]["oneOf"][0]["items"]

    amounts = amounts_near_the_bounds()

    allowed = [amount for amount in amounts if 1 <= amount <= AMOUNT_MAX]
    for schema, rest in ((raw_output, f".{ITEM_ID}.a"), (mint_output, ".a")):
        fit = [each for each in amounts if not faults(document, schema, f"+{each}{rest}")]
        assert fit == allowed


@pytest.mark.parametrize(
    "text", [make_item_id(), ITEM_ID, ITEM_ID + "0", ITEM_ID[:-1], "deed_" + 26 * "l", ITEM_ID[5:]]
)
def test_the_pattern_of_item_ids_agrees_with_the_code(document, text):
    schema = document["components"]["schemas"]["Item"]["properties"]["id"]

    assert (faults(document, schema, text) == []) is is_item_id(text)
