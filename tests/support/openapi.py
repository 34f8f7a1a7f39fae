"""Holds requests and answers against the OpenAPI document."""

import re

from openapi_schema_validator import OAS31Validator


def faults(document, schema, value):
    """Return what is wrong with the value by a schema of the document."""
    # The components beside the schema are what its references name.
    validator = OAS31Validator({**schema, "components": document["components"]})
    return [
        f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)
    ]


def operations(document):
    """Yield path, method and description of each operation, with its responses."""
    shared = document["components"]["responses"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            responses = {
                status: shared[each["$ref"].split("/")[-1]] if "$ref" in each else each
                for status, each in operation["responses"].items()
            }
            yield path, method.upper(), operation | {"responses": responses}


def operation_of(document, request):
    """Return the operation that a request asks for, None where it is not one."""
    for template, method, operation in operations(document):
        pattern = re.sub(r"{\w+}", "[^/]+", template)
        if method == request.method and re.fullmatch(pattern, request.url.path):
            return operation
    return None


def answer_faults(document, answer):
    """Return what the document does not say of this answer to an operation."""
    responses = operation_of(document, answer.request)["responses"]
    described = responses.get(str(answer.status_code))
    if described is None:
        return [f"status {answer.status_code}"]
    found = []
    for name, reference in described["headers"].items():
        header = document["components"]["headers"][reference["$ref"].split("/")[-1]]
        value = answer.headers.get(name)
        if value is not None:
            is_number = header["schema"]["type"] == "integer"
            found += faults(
                document, header["schema"], int(value) if is_number else value
            )
        elif header.get("required"):
            found.append(f"no header {name}")
    if content := described.get("content"):
        # A reader ignores fields that it does not know, but we describe all we send.
        schema = content[answer.headers["Content-Type"]]["schema"]
        closed = {"allOf": [schema], "unevaluatedProperties": False}
        found += faults(document, closed, answer.json())
    elif answer.content:
        found.append("a body")
    return found
