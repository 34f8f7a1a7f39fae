"""This interface in OpenAPI 3.1.

Endpoints, with examples, are described in openapi.json: no id or secret there is real.
Added here is what is defined elsewhere: the bodies, by the schemas that read and write
them, and the problems, by their table.
"""

import functools
import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from flask import Blueprint, Response

from deeds.blueprints.problems import MEDIA_TYPE, PROBLEMS
from deeds.blueprints.request_log import REQUEST_ID
from deeds.blueprints.responses import file_answer
from deeds.blueprints.v1 import INTERFACE_VERSION
from schemas import answers, requests

_OUTLINE = files("deeds.blueprints") / "openapi.json"

_INTRODUCTION = """\
Issues deeds: items divided into units, which belong to whoever knows their secret.

- **Mint** creates an item and binds its units to secrets.
- **Swap** replaces secrets by new ones: it hands over, splits, joins and trades.
- **Check** tells whether outputs are still unspent, **find** what secrets own.
- **Item** reads the total and the metadata of an item.
- **Offers** are halves of swaps that others complete: trades and payment requests.

Swap what you receive at once, to a secret that only you know.

A **strong secret**, which offers need, is 32 characters of lower-case Crockford base32
(`0123456789abcdefghjkmnpqrstvwxyz`): 26 with 130 random bits, then 6 with the first 30
bits of SHA-256 over `deeds strong secret v1:` and the 26.

Every error is a [problem](/problems) (RFC 9457) with a stable `code`. Any other path is
answered 404 `not_found`, any other method 405 `method_not_allowed` with the header
`Allow`.
"""

_REQUESTS = (
    requests.MintRequestSchema,
    requests.SwapRequestSchema,
    requests.CheckRequestSchema,
    requests.FindRequestSchema,
    requests.OfferRequestSchema,
    requests.CompletionRequestSchema,
)
_ANSWERS = (
    answers.MintResponseSchema,
    answers.SwapResponseSchema,
    answers.CheckResponseSchema,
    answers.FindResponseSchema,
    answers.ItemSchema,
    answers.OfferSchema,
)


def openapi_blueprint(array_length_max: int) -> Blueprint:
    """Return the blueprint of GET /openapi.json."""
    blueprint = Blueprint("openapi", __name__)

    @functools.cache
    def text() -> bytes:
        document = _build_document(array_length_max)
        return json.dumps(document, ensure_ascii=False).encode("utf-8")

    @blueprint.get("/openapi.json")
    def read_openapi() -> Response:
        return file_answer(text(), "application/json")

    return blueprint


def _build_document(array_length_max: int) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_OUTLINE.read_text(encoding="utf-8"))
    document["info"]["version"] = INTERFACE_VERSION
    document["info"]["description"] = _INTRODUCTION
    schemas = document["components"]["schemas"]
    schemas |= _body_schemas(array_length_max)
    schemas["Problem"]["properties"]["code"]["enum"] = list(PROBLEMS)
    for methods in document["paths"].values():
        for operation in methods.values():
            _complete_operation(operation)
    return document


def _complete_operation(operation: dict[str, Any]) -> None:
    """Add the problems that it names, and the id that every request has."""
    operation["responses"] |= _problem_responses(operation.pop("problems"))
    sent = {"$ref": "#/components/parameters/RequestId"}
    operation["parameters"] = [*operation.get("parameters", ()), sent]
    for response in operation["responses"].values():
        response["headers"][REQUEST_ID] = {"$ref": "#/components/headers/RequestId"}


def _body_schemas(array_length_max: int) -> dict[str, Any]:
    # Not before somebody asks: importing apispec would slow every start.
    from apispec import APISpec  # noqa: PLC0415
    from apispec.ext.marshmallow import MarshmallowPlugin, resolver  # noqa: PLC0415

    spec = APISpec("", "", "3.1.0", plugins=[MarshmallowPlugin()])
    # Under the name by which the mint's request finds it; the others have the names of
    # their classes, without "Schema".
    spec.components.schema("NewOutput", schema=requests.NewOutputSchema)
    for request in _REQUESTS:
        schema = request(array_length_max=array_length_max)
        spec.components.schema(resolver(request), schema=schema)
    for answer in _ANSWERS:
        spec.components.schema(resolver(answer), schema=answer)
    schemas: dict[str, Any] = spec.to_dict()["components"]["schemas"]
    return schemas


def _problem_responses(codes: Iterable[str]) -> dict[str, Any]:
    """Return the responses that tell of these problems, one for each status."""
    meanings: dict[int, dict[str, str]] = {}
    for code in codes:
        problem = PROBLEMS[code]
        meanings.setdefault(problem.status, {})[code] = problem.meaning
    return {
        str(status): _problem_response(status, of_status)
        for status, of_status in meanings.items()
    }


def _problem_response(status: int, meanings: dict[str, str]) -> dict[str, Any]:
    headers = {"Cache-Control": {"$ref": "#/components/headers/NotKept"}}
    if status in {429, 503}:
        headers["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
    schema = {
        "allOf": [{"$ref": "#/components/schemas/Problem"}],
        "properties": {"status": {"const": status}, "code": {"enum": list(meanings)}},
    }
    lines = [f"- `{code}`: {meaning}" for code, meaning in meanings.items()]
    return {
        "description": "\n".join(lines),
        "headers": headers,
        "content": {MEDIA_TYPE: {"schema": schema}},
    }
