"""Checks requests and answers against the OpenAPI document."""

import re

from openapi_schema_validator import OAS31Validator


def faults(document, schema, value):
    """Return the errors of a value under a schema of the document."""
    # The references in the schema point to the components.
    validator = OAS31Validator({**schema, "components": document["components"]})
    return [
        f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)
    ]


def operations(document):
    """Yield path, method and description of each operation, with resolved responses."""
    shared = document["components"]["responses"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            responses = {
                status: shared[each["$ref"].split("/")[-1]] if "$ref" in each else each
                for status, each in operation["responses"].items()
            }
            yield path, method.upper(), operation | {"responses": responses}


def operation_of(document, request):
    """Return the operation of a request, or None."""
    for template, method, operation in operations(document):
        pattern = re.sub(r"{\w+}", "[^/]+", template)
        if method == request.method and re.fullmatch(pattern, request.url.path):
            return operation
    return None


def answer_faults(document, answer):
    """Return how an answer to an operation differs from the document."""
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
        # Readers ignore unknown fields, but the document must describe all that are
        # sent.
        schema = content[answer.headers["Content-Type"]]["schema"]
        closed = {"allOf": [schema], "unevaluatedProperties": False}
        found += faults(document, closed, answer.json())
    elif answer.content:
        found.append("a body")
    return found
