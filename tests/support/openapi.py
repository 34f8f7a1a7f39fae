"""Reads the OpenAPI document of an app and holds answers against it."""

import re

from openapi_schema_validator import OAS31Validator


def read_document(client):
    return client.get("/openapi.json").get_json()


def faults(document, schema, value):
    """Return what is wrong with the value by a schema of the document; nothing if it fits."""
    # The components beside the schema are what its references name.
    validator = OAS31Validator({**schema, "components": document["components"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def operation_at(document, path):
    """Return the id of the operation that a path belongs to, if it belongs to one."""
    for template, _, operation in operations(document):
        if re.fullmatch(re.sub(r"{\w+}", ".+", template), path):
            return str(operation["operationId"])
    return None


def problem_codes(response):
    media_types = response["content"]
    return media_types["application/problem+json"]["schema"]["properties"]["code"]["enum"]


def answer_faults(document, operation_id, answer):
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


def _header_faults(document, described, answer):
    for name, header in described["headers"].items():
        value = answer.headers.get(name)
        if value is None:
            if header.get("required"):
                yield f"no header {name}"
        else:
            if header["schema"]["type"] == "integer":
                value = int(value)
            yield from faults(document, header["schema"], value)


def _body_faults(document, described, answer):
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
