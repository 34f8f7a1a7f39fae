"""Reads the OpenAPI document of an app and holds answers against it."""

import re
from collections.abc import Iterator
from typing import Any

from flask.testing import FlaskClient
from openapi_schema_validator import OAS31Validator
from werkzeug.wrappers import Response

Parts = dict[str, Any]


def read_document(client: FlaskClient) -> Parts:
    """Return the document that the service answers with."""
    document: Parts = client.get("/openapi.json").get_json()
    return document


def faults(document: Parts, schema: Parts, value: Any) -> list[str]:
    """Return what is wrong with the value by a schema of the document; nothing if it fits."""
    # The components beside the schema are what its references name.
    validator = OAS31Validator({**schema, "components": document["components"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def operations(document: Parts) -> Iterator[tuple[str, str, Parts]]:
    """Yield path, method and operation of each operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def operation_at(document: Parts, path: str) -> str | None:
    """Return the id of the operation that a path belongs to, if it belongs to one."""
    for template, _, operation in operations(document):
        if re.fullmatch(re.sub(r"{\w+}", ".+", template), path):
            return str(operation["operationId"])
    return None


def problem_codes(response: Parts) -> list[str]:
    """Return the codes that a response of the document may have."""
    media_types = response["content"]
    codes: list[str] = media_types["application/problem+json"]["schema"]["properties"]["code"][
        "enum"
    ]
    return codes


def answer_faults(document: Parts, operation_id: str, answer: Response) -> list[str]:
    """Return what the document does not say of this answer to an operation."""
    operation = next(
        each for _, _, each in operations(document) if each["operationId"] == operation_id
    )
    described = operation["responses"].get(str(answer.status_code))
    if described is None:
        return [f"status {answer.status_code}"]
    return [
        *_header_faults(document, described, answer),
        *_body_faults(document, described, answer),
    ]


def _header_faults(document: Parts, described: Parts, answer: Response) -> Iterator[str]:
    for name, header in described["headers"].items():
        value: Any = answer.headers.get(name)
        if value is None:
            if header.get("required"):
                yield f"no header {name}"
        else:
            if header["schema"]["type"] == "integer":
                value = int(value)
            yield from faults(document, header["schema"], value)


def _body_faults(document: Parts, described: Parts, answer: Response) -> Iterator[str]:
    content = described.get("content", {})
    if not content:
        yield from ["a body"] if answer.data else []
    elif answer.content_type not in content:
        yield f"content type {answer.content_type}"
    else:
        # A reader takes fields that it does not know, but we describe all that we send.
        complete = {
            "allOf": [content[answer.content_type]["schema"]],
            "unevaluatedProperties": False,
        }
        yield from faults(document, complete, answer.get_json())
