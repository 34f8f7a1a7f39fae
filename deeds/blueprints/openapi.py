"""This interface in OpenAPI 3.1, made from the schemas and the table of problems."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from marshmallow import Schema, fields

from deeds.blueprints import openapi_examples as examples
from deeds.blueprints.problems import MEDIA_TYPE, PROBLEMS
from deeds.blueprints.responses import FOREVER, NO_STORE
from deeds.domain.model import AMOUNT_MAX, SECRET_LENGTH_MAX
from deeds.domain.raw_output import check_secret, check_text
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
    "ETag": _header(
        "Names the answer's bytes, for If-None-Match.", pattern='^"[0-9a-f]{40}"$'
    ),
}
_RETRY_AFTER = _header(
    "Seconds to wait before the next try.", type="integer", minimum=1
)

# The problems of any request; of reading a body, of changing the ledger, of reading it
# and of looking up secrets in it; of a swap and of either half of one.
_ANY = ("bad_request", "headers_too_large", "internal")
_BODY = (
    "body_unreadable",
    "wrong_media_type",
    "invalid_json",
    "invalid_request",
    "body_too_large",
)
_KEY = ("invalid_idempotency_key", "idempotency_key_reused")
_CHANGE = (*_KEY, "ledger_in_doubt", "ledger_rolled_back", "duplicate_secret")
_READ = ("overloaded", "ledger_unavailable", "too_many_requests")
_SECRETS = (*_BODY, *_READ, "scheme_unavailable", "too_many_failures")
_SWAPPED = (
    "duplicate_input",
    "unknown_item",
    "unknown_input",
    "spent_input",
    "used_secret",
)
# An id that holds an encoded slash makes another path of it, where nothing is served.
_OF_ITEM = ("item_not_found", "not_found")
_OF_OFFER = ("unknown_offer", "not_found")

_ITEM_ID = {
    "type": "string",
    "pattern": "^deed_[0-9a-hjkmnp-tv-z]{26}$",
    "examples": [examples.ITEM_ID],
}

_OFFER_ID = {
    "type": "string",
    "pattern": "^offer_[0-9a-hjkmnp-tv-z]{26}$",
    "examples": [examples.OFFER_ID],
}

# In a request any id may follow the prefix: one that no item can have is just unknown.
_AMOUNT = rf"^\+[1-9][0-9]{{0,{len(str(AMOUNT_MAX)) - 1}}}\."
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

# What the types of fields do not say, by the type or by what a text is parsed with.
_DESCRIBED: dict[Any, Parts] = {
    answers.ItemIdField: _ITEM_ID,
    answers.OfferIdField: _OFFER_ID,
    answers.RawOutputTextsField: {"type": "array", "items": _RAW_OUTPUT},
    check_text: {"type": "string"},
    fields.Constant: {"const": True},
    fields.DateTime: {"type": "string", "format": "date-time", "pattern": "Z$"},
    check_secret: {"type": "string", "minLength": 1, "maxLength": SECRET_LENGTH_MAX},
    requests.check_image: {"type": "string", "format": "uri"},
}


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
        info={
            "description": examples.DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        servers=[{"url": "/"}],
        # There is no login: knowing a secret is owning the units bound to it.
        security=[],
    )
    converter: Any = plugin.converter  # Any: apispec types it in part only.
    converter.add_attribute_function(_describe_field)
    for operation in _posts(info["limits"]["arrayLengthMax"]):
        spec.path(f"/v1/{operation['operationId']}", operations={"post": operation})
    for path, operation in _gets(info).items():
        spec.path(path, operations={"get": operation})
    for path, methods in _offers(info["limits"]["arrayLengthMax"]).items():
        spec.path(path, operations=methods)
    return spec.to_dict()


def _describe_field(converter: Any, field: fields.Field[Any], **_rest: Any) -> Parts:
    if isinstance(field, requests.NewOutputsField):
        array = _array(field) | {"uniqueItems": True}
        item = converter.resolve_nested_schema(requests.NewOutputSchema)
        strings = {"title": "strings", "items": _MINT_OUTPUT}
        return {"oneOf": [array | strings, array | {"title": "objects", "items": item}]}
    if isinstance(field, requests.RawOutputsField):
        return _array(field) | {"items": _RAW_OUTPUT}
    return _DESCRIBED.get(getattr(field, "parse", type(field)), {})


def _array(field: requests.RawOutputsField) -> Parts:
    return {"type": "array", "minItems": field.length_min, "maxItems": field.length_max}


def _posts(array_length_max: int) -> Iterator[Parts]:
    bound = {"array_length_max": array_length_max}
    yield _operation(
        "mint",
        "Mint an item",
        _answer(answers.MintResponseSchema(), examples.MINT_ANSWERS, _CHANGED),
        (*_SECRETS, *_CHANGE, "total_too_large"),
        description="Creates an item whose units are bound to the secrets of the request.",
        parameters=[examples.IDEMPOTENCY_KEY],
        requestBody=_body(requests.MintRequestSchema(**bound), examples.MINT_REQUESTS),
    )
    yield _operation(
        "swap",
        "Replace secrets by new ones",
        _answer(answers.SwapResponseSchema(), examples.SWAP_ANSWERS, _CHANGED),
        (*_SECRETS, *_CHANGE, *_SWAPPED, "unbalanced"),
        description="Hands over, splits, joins or trades units, all or nothing: the inputs are "
        "spent, the outputs take their place. For every item the amounts must be equal.",
        parameters=[examples.IDEMPOTENCY_KEY],
        requestBody=_body(requests.SwapRequestSchema(**bound), examples.SWAP_REQUESTS),
    )
    yield _operation(
        "check",
        "Ask whether outputs are spent",
        _answer(answers.CheckResponseSchema(), examples.CHECK_ANSWERS),
        _SECRETS,
        description="Tells of each output whether it can still be spent. Changes nothing.",
        requestBody=_body(
            requests.CheckRequestSchema(**bound), examples.CHECK_REQUESTS
        ),
    )


def _gets(info: Mapping[str, Any]) -> dict[str, Parts]:
    item = _operation(
        "readItem",
        "Read an item",
        _answer(answers.ItemSchema(), examples.ITEM_ANSWERS, _KEPT),
        (*_READ, *_OF_ITEM),
        description="Tells the total of an item and its metadata. Both never change.",
        parameters=[{"name": "id", "in": "path", "required": True, "schema": _ITEM_ID}],
    )
    item["responses"]["304"] = {"description": "It has not changed.", "headers": _KEPT}
    shown = {"this": {"summary": "This service", "value": info}}
    answer = _answer(answers.InfoSchema(), shown)
    limits = _operation("readInfo", "Read what this service is and its limits", answer)
    return {"/v1/item/{id}": item, "/v1/info": limits}


def _offers(array_length_max: int) -> dict[str, dict[str, Parts]]:
    bound = {"array_length_max": array_length_max}
    making = _operation(
        "makeOffer",
        "Offer half a swap",
        _answer(answers.OfferSchema(), examples.OFFER_ANSWERS, _CHANGED),
        (
            *_SECRETS,
            *_CHANGE,
            *_SWAPPED,
            "total_too_large",
            "not_an_offer",
            "weak_secret",
        ),
        description="Writes down what the maker gives and gets, and moves nothing. Somebody else "
        "completes it with the other half: a trade, or a payment request where nothing is given.",
        parameters=[examples.IDEMPOTENCY_KEY],
        requestBody=_body(
            requests.OfferRequestSchema(**bound), examples.OFFER_REQUESTS
        ),
    )
    made = {"parameters": {"id": "$response.body#/offerId"}}
    making["responses"]["200"]["links"] = {
        name: {"operationId": name, **made} for name in ("readOffer", "completeOffer")
    }
    offer_id = {"name": "id", "in": "path", "required": True, "schema": _OFFER_ID}
    reading = _operation(
        "readOffer",
        "Read an offer",
        _answer(answers.OfferSchema(), examples.OFFER_ANSWERS),
        (*_READ, *_OF_OFFER),
        description="Tells what an offer gives and wants, and what has become of it.",
        parameters=[offer_id],
    )
    completion = _operation(
        "completeOffer",
        "Complete an offer",
        _answer(answers.SwapResponseSchema(), examples.SWAP_ANSWERS, _CHANGED),
        (*_SECRETS, *_CHANGE, *_SWAPPED, "unbalanced", *_OF_OFFER, "offer_not_open"),
        description="Swaps the halves of the maker and the completer as one, all or nothing.",
        parameters=[offer_id, examples.IDEMPOTENCY_KEY],
        requestBody=_body(
            requests.CompletionRequestSchema(**bound), examples.COMPLETION_REQUESTS
        ),
    )
    return {
        "/v1/offers": {"post": making},
        "/v1/offers/{id}": {"get": reading},
        "/v1/offers/{id}/complete": {"post": completion},
    }


def _operation(
    operation_id: str,
    summary: str,
    answer: Parts,
    problems: Sequence[str] = (),
    **rest: Any,
) -> Parts:
    """Return an operation with its good answer, its problems, and those of any request."""
    responses = {"200": answer} | _problem_responses((*_ANY, *problems))
    named = {"operationId": operation_id, "summary": summary, "tags": ["deeds"]}
    return {**named, "responses": responses, **rest}


def _answer(schema: Schema, shown: Parts, headers: Parts = _NOT_KEPT) -> Parts:
    return _json(schema, shown, description="OK", headers=headers)


def _body(schema: Schema, shown: Parts) -> Parts:
    return _json(schema, shown, required=True)


def _json(schema: Schema, shown: Parts, **rest: Any) -> Parts:
    return {
        **rest,
        "content": {"application/json": {"schema": schema, "examples": shown}},
    }


def _problem_responses(codes: Sequence[str]) -> Parts:
    """Return the responses of an operation that answers these problems, one for each status."""
    by_status = attrgetter("status")
    problems = sorted((PROBLEMS[code] for code in codes), key=by_status)
    responses = {}
    for status, those in groupby(problems, key=by_status):
        meanings = {each.code: each.meaning for each in those}
        properties = {
            "status": {"const": int(status)},
            "code": {"enum": list(meanings)},
        }
        schema = {"allOf": [answers.ProblemSchema], "properties": properties}
        responses[str(int(status))] = {
            "description": "\n".join(
                f"- `{code}`: {text}" for code, text in meanings.items()
            ),
            "headers": _NOT_KEPT
            | ({"Retry-After": _RETRY_AFTER} if status in {429, 503} else {}),
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
    return responses
