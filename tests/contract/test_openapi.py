"""The OpenAPI document: valid, complete, and in agreement with the code."""

import re

import pytest
from openapi_spec_validator import validate

from deeds.blueprints.problem_table import PROBLEMS
from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from tests.support.openapi import faults, operations, problem_codes, read_document

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
