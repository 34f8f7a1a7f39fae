"""GET /openapi.json: this interface in OpenAPI 3.1, made from the schemas and the problem table."""

import functools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from itertools import groupby
from operator import attrgetter
from typing import Any

from flask import Blueprint, Response
from marshmallow import Schema, fields

from deeds.blueprints import openapi_examples as examples
from deeds.blueprints.problem_table import PROBLEMS, Problem
from deeds.blueprints.problems import MEDIA_TYPE
from deeds.blueprints.responses import FOREVER, NO_STORE, file_answer
from deeds.domain.model import AMOUNT_MAX, SECRET_LENGTH_MAX
from deeds.domain.raw_output import check_secret
from schemas import answers, requests

Parts = dict[str, Any]


def _header(description: str, **schema: Any) -> Parts:
    schema = {"type": "string"} | schema
    return {"description": description, "required": True, "schema": schema}


# Headers of answers that are not cached, of those to a mint or swap, and of an item.
_NOT_KEPT = {"Cache-Control": _header("The answer must not be kept.", const=NO_STORE)}
_CHANGED = _NOT_KEPT | {
    "Idempotency-Replayed": {
        "description": "Present where this is the answer of an earlier request with the same key.",
        "schema": {"type": "string", "const": "true"},
    }
}
_KEPT = {
    "Cache-Control": _header("An item never changes.", const=FOREVER),
    "ETag": _header("Names the answer's bytes, for If-None-Match.", pattern='^"[0-9a-f]{40}"$'),
}
_RETRY_AFTER = _header("Seconds to wait before the next try.", type="integer", minimum=1)

# The problems of any request; of reading a body, of changing the ledger, of reading it and of
# looking up secrets in it; of a swap.
_ANY = ("bad_request", "uri_too_long", "expectation_failed", "headers_too_large", "internal")
_BODY = ("body_unreadable", "wrong_media_type", "invalid_json", "invalid_request", "body_too_large")
_CHANGE = (
    "invalid_idempotency_key",
    "idempotency_key_reused",
    "ledger_in_doubt",
    "ledger_rolled_back",
)
_READ = ("overloaded", "ledger_unavailable", "too_many_requests")
_SECRETS = (*_READ, "scheme_unavailable", "too_many_failures")
_SWAP = (
    "unbalanced",
    "duplicate_input",
    "duplicate_secret",
    "unknown_item",
    "unknown_input",
    "spent_input",
    "used_secret",
)

_ITEM_ID_PATTERN = "^deed_[0-9a-hjkmnp-tv-z]{26}$"


def _whole_numbers(most: int) -> str:
    """Return a pattern of the whole numbers from 1 to `most`, as the amounts of raw outputs."""
    digits = str(most)
    forms = [f"[1-9][0-9]{{0,{len(digits) - 2}}}"]  # Those with fewer digits,
    for index, digit in enumerate(digits):  # those that are less from this digit on,
        lowest = 1 if index == 0 else 0
        if int(digit) > lowest:
            rest = f"[0-9]{{{len(digits) - index - 1}}}"
            forms.append(f"{digits[:index]}[{lowest}-{int(digit) - 1}]{rest}")
    return "|".join([*forms, digits])  # and the greatest.


# In a request any id may follow the prefix: one that no item can have is just unknown.
_AMOUNT = rf"^\+(?:{_whole_numbers(AMOUNT_MAX)})\."
_SECRET = rf"[\s\S]{{1,{SECRET_LENGTH_MAX}}}$"
_PLACEHOLDER = r"(?:deed_[^.]*)?\."
_RAW_OUTPUT = {
    "type": "string",
    "pattern": rf"{_AMOUNT}deed_[^.]*\.{_SECRET}",
    "description": f"+amount.itemId.secret, with an amount of at most {AMOUNT_MAX}.",
}
_MINT_OUTPUT = {
    "type": "string",
    # Where a placeholder can be read, it is one and no part of the secret.
    "pattern": rf"{_AMOUNT}(?:{_PLACEHOLDER}|(?!{_PLACEHOLDER})){_SECRET}",
    "description": f"+amount.secret, with an amount of at most {AMOUNT_MAX}. An item id between "
    "the two may be empty, or start with deed_ and is ignored: the item does not exist yet.",
}

_TYPES: dict[type[fields.Field[Any]], Parts] = {
    requests.AmountField: {"type": "integer", "minimum": 1, "maximum": AMOUNT_MAX},
    answers.ItemIdField: {"type": "string", "pattern": _ITEM_ID_PATTERN},
    answers.RawOutputTextsField: {"type": "array", "items": _RAW_OUTPUT},
}
_TEXTS: dict[Callable[[str], Any], Parts] = {
    check_secret: {"type": "string", "minLength": 1, "maxLength": SECRET_LENGTH_MAX},
    requests.check_image: {"type": "string", "format": "uri"},
}


def openapi_blueprint(info: Mapping[str, Any]) -> Blueprint:
    """Return the blueprint; `info` is what GET /v1/info tells."""
    blueprint = Blueprint("openapi", __name__)
    building = threading.Lock()

    @functools.cache
    def text() -> bytes:
        return json.dumps(build_document(info), ensure_ascii=False).encode("utf-8")

    @blueprint.get("/openapi.json")
    def read_document() -> Response:
        with building:
            document = text()
        return file_answer(document, "application/json")

    return blueprint


def build_document(info: Mapping[str, Any]) -> Parts:
    """Return the document of a service that tells `info` at GET /v1/info."""
    # Not before somebody asks: importing apispec would slow every start.
    from apispec import APISpec  # noqa: PLC0415
    from apispec.ext.marshmallow import MarshmallowPlugin  # noqa: PLC0415

    plugin = MarshmallowPlugin()
    spec = APISpec(
        title="Deed Mint, Swap and Registry Service",
        version=info["interfaceVersion"],
        openapi_version="3.1.0",
        plugins=[plugin],
        info={"description": examples.DESCRIPTION, "license": {"name": "MIT", "identifier": "MIT"}},
        servers=[{"url": "/"}],
        tags=examples.TAGS,
        # There is no login: knowing a secret is owning the units bound to it.
        security=[],
    )
    converter: Any = plugin.converter  # Any: apispec types it in part only.
    converter.add_attribute_function(_describe_field)
    bounds = {"array_length_max": info["limits"]["arrayLengthMax"]}
    spec.path("/v1/mint", operations={"post": _mint(requests.MintRequestSchema(**bounds))})
    spec.path("/v1/swap", operations={"post": _swap(requests.SwapRequestSchema(**bounds))})
    spec.path("/v1/check", operations={"post": _check(requests.CheckRequestSchema(**bounds))})
    spec.path("/v1/item/{id}", operations={"get": _item()})
    spec.path("/v1/info", operations={"get": _info(info)})
    return spec.to_dict()


def _describe_field(converter: Any, field: fields.Field[Any], **_rest: Any) -> Parts:
    if isinstance(field, requests.NewOutputsField):
        array = _array(field) | {"uniqueItems": True}
        item = converter.resolve_nested_schema(requests.NewOutputSchema)
        strings = {"title": "strings", "items": _MINT_OUTPUT}
        return {"oneOf": [array | strings, array | {"title": "objects", "items": item}]}
    if isinstance(field, requests.RawOutputsField):
        return _array(field) | {"items": _RAW_OUTPUT}
    if isinstance(field, fields.Constant):
        return {"const": field.constant}
    if isinstance(field, requests.TextField):
        return _TEXTS.get(field.parse, {"type": "string"})
    return _TYPES.get(type(field), {})


def _array(field: requests.RawOutputsField) -> Parts:
    return {"type": "array", "minItems": 1, "maxItems": field.length_max}


def _mint(shape: Schema) -> Parts:
    minted = _answer("The new item.", answers.MintResponseSchema(), examples.MINT_ANSWERS, _CHANGED)
    return _operation(
        "mint",
        "Mint an item",
        {"200": minted | {"links": examples.MINT_LINKS}},
        (*_BODY, *_CHANGE, *_SECRETS, "duplicate_secret", "total_too_large"),
        tags=["deeds"],
        description="Creates an item whose units are bound to the secrets of the request.",
        parameters=[examples.IDEMPOTENCY_KEY],
        requestBody={"required": True} | _json(shape, examples.MINT_REQUESTS),
    )


def _swap(shape: Schema) -> Parts:
    schema = answers.SwapResponseSchema()
    swapped = _answer("The swap was made.", schema, examples.SWAP_ANSWERS, _CHANGED)
    return _operation(
        "swap",
        "Replace secrets by new ones",
        {"200": swapped | {"links": examples.SWAP_LINKS}},
        (*_BODY, *_CHANGE, *_SECRETS, *_SWAP),
        tags=["deeds"],
        description="Hands over, splits, joins or trades units, all or nothing: the inputs are "
        "spent, the outputs take their place. For every item the amounts must be equal.",
        parameters=[examples.IDEMPOTENCY_KEY],
        requestBody={"required": True} | _json(shape, examples.SWAP_REQUESTS),
    )


def _check(shape: Schema) -> Parts:
    schema = answers.CheckResponseSchema()
    return _operation(
        "check",
        "Ask whether outputs are spent",
        {"200": _answer("The states.", schema, examples.CHECK_ANSWERS, _NOT_KEPT)},
        (*_BODY, *_SECRETS),
        tags=["deeds"],
        description="Tells of each output whether it can still be spent. Changes nothing.",
        requestBody={"required": True} | _json(shape, examples.CHECK_REQUESTS),
    )


def _item() -> Parts:
    item_id = {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "The item's id.",
        "schema": {"type": "string", "pattern": _ITEM_ID_PATTERN},
        "examples": {"item": {"value": examples.ITEM_ID}},
    }
    item = _answer("The item.", answers.ItemSchema(), examples.ITEM_ANSWERS, _KEPT)
    unchanged = {"description": "The answer of that ETag still holds.", "headers": _KEPT}
    return _operation(
        "readItem",
        "Read an item",
        {"200": item, "304": unchanged},
        # An id that holds an encoded slash makes another path of it, where nothing is served.
        (*_READ, "item_not_found", "not_found"),
        tags=["registry"],
        description="Tells the total of an item and its metadata. Both never change.",
        parameters=[item_id, examples.IF_NONE_MATCH],
    )


def _info(info: Mapping[str, Any]) -> Parts:
    schema = answers.InfoSchema()
    shown = {"this": {"summary": "This service", "value": info}}
    return _operation(
        "readInfo",
        "Read what this service is and its limits",
        {"200": _answer("Versions, limits and policies.", schema, shown, _NOT_KEPT)},
        tags=["registry"],
    )


def _operation(
    operation_id: str, summary: str, good: Parts, problems: Sequence[str] = (), **rest: Any
) -> Parts:
    """Return an operation with its good answers, the problems of it, and those of any request."""
    responses = good | _problem_responses((*_ANY, *problems))
    return {"operationId": operation_id, "summary": summary, "responses": responses, **rest}


def _answer(description: str, schema: Schema, shown: Parts, headers: Parts) -> Parts:
    return {"description": description, "headers": headers} | _json(schema, shown)


def _json(schema: Schema, shown: Parts) -> Parts:
    return {"content": {"application/json": {"schema": schema, "examples": shown}}}


def _problem_responses(codes: Sequence[str]) -> Parts:
    """Return the responses of an operation that answers these problems, one for each status."""
    by_status = attrgetter("status")
    problems = sorted((PROBLEMS[code] for code in codes), key=by_status)
    return {
        str(int(status)): _problem_response(status, list(those))
        for status, those in groupby(problems, key=by_status)
    }


def _problem_response(status: HTTPStatus, problems: list[Problem]) -> Parts:
    is_retried = status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
    codes = {"enum": [each.code for each in problems]}
    schema = {
        "allOf": [answers.ProblemSchema],
        "properties": {"status": {"const": int(status)}, "code": codes},
    }
    shown = {each.code: {"summary": each.title, "value": _example(each)} for each in problems}
    return {
        "description": "\n".join(f"- `{each.code}`: {each.meaning}" for each in problems),
        "headers": _NOT_KEPT | ({"Retry-After": _RETRY_AFTER} if is_retried else {}),
        "content": {MEDIA_TYPE: {"schema": schema, "examples": shown}},
    }


def _example(problem: Problem) -> Parts:
    # The meaning speaks of the index wherever the answer always has one.
    return problem.body(problem.meaning, 0 if "index" in problem.meaning else None)
