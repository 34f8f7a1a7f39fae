"""Reads the OpenAPI document of an app and holds answers against it."""

import re

from openapi_schema_validator import OAS31Validator


def read_document(client):
    return client.get("/openapi.json").get_json()


def faults(document, schema, value):
    """Return what is wrong with the value by a schema of the document.

    Nothing if it fits.
    """
    # The components beside the schema are what its references name.
    validator = OAS31Validator({**schema, "components": document["components"]})
    return [
        f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)
    ]


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def operation_at(document, path):
    """Return the id of the operation that a path belongs to, if it belongs to one."""
    for template, _, operation in operations(document):
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
            return str(operation["operationId"])
    return None


def answer_faults(document, operation_id, answer):
    """Return what the document does not say of this answer to an operation."""
    [responses] = [
        operation["responses"]
        for _, _, operation in operations(document)
        if operation["operationId"] == operation_id
    ]
    described = responses.get(str(answer.status_code))
    if described is None:
        return [f"status {answer.status_code}"]
    return [
        *_header_faults(document, described, answer),
        *_body_faults(document, described.get("content", {}), answer),
    ]


def _header_faults(document, described, answer):
    headers = document["components"]["headers"]
    for name, reference in described["headers"].items():
        header = headers[reference["$ref"].rpartition("/")[2]]
        if name in answer.headers:
            is_number = header["schema"]["type"] == "integer"
            value = answer.headers[name]
            yield from faults(
                document, header["schema"], int(value) if is_number else value
            )
        elif header.get("required"):
            yield f"no header {name}"


def _body_faults(document, content, answer):
    if answer.data and answer.content_type not in content:
        return [f"content type {answer.content_type}"]
    if not content:
        return []
    # A reader takes fields that it does not know, but we describe all that we send.
    schema = content[answer.content_type]["schema"]
    return faults(
        document, {"allOf": [schema], "unevaluatedProperties": False}, answer.get_json()
    )
