"""Every path of the OpenAPI document and its operation."""

from collections.abc import Mapping
from typing import Any

from deeds.blueprints import openapi_examples as examples
from deeds.blueprints import openapi_posts as posts
from deeds.blueprints.openapi_fields import ITEM_ID_PATTERN
from deeds.blueprints.openapi_parts import (
    ETAG_HEADER,
    FOREVER_HEADER,
    IF_NONE_MATCH,
    NO_STORE_HEADER,
    Parts,
    answer,
)
from deeds.blueprints.openapi_problems import EVERYWHERE, OF_READS, problem_responses
from schemas.check import CheckRequestSchema
from schemas.info import InfoSchema
from schemas.item import ItemSchema
from schemas.mint import MintRequestSchema
from schemas.swap import SwapRequestSchema


def operations(info: Mapping[str, Any]) -> dict[str, Parts]:
    """Return the operations of each path; `info` is what GET /v1/info tells."""
    array_length_max = info["limits"]["array_length_max"]
    return {
        "/v1/mint": {"post": posts.mint(MintRequestSchema(array_length_max=array_length_max))},
        "/v1/swap": {"post": posts.swap(SwapRequestSchema(array_length_max=array_length_max))},
        "/v1/check": {"post": posts.check(CheckRequestSchema(array_length_max=array_length_max))},
        "/v1/item/{id}": {"get": _item()},
        "/v1/info": {"get": _info(info)},
    }


def _item() -> Parts:
    headers = {"Cache-Control": FOREVER_HEADER, "ETag": ETAG_HEADER}
    item_id = {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "The item's id.",
        "schema": {"type": "string", "pattern": ITEM_ID_PATTERN},
        "examples": {"item": {"value": examples.ITEM_ID}},
    }
    # An id that holds an encoded slash makes another path of it, where nothing is served.
    problems = ("item_not_found", "not_found")
    return {
        "operationId": "readItem",
        "tags": ["registry"],
        "summary": "Read an item",
        "description": "Tells the total of an item and its metadata. Both never change.",
        "parameters": [item_id, IF_NONE_MATCH],
        "responses": {
            "200": answer("The item.", ItemSchema(), examples.ITEM_ANSWERS, headers),
            "304": {"description": "The answer of that ETag still holds.", "headers": headers},
            **problem_responses(*EVERYWHERE, *OF_READS, *problems),
        },
    }


def _info(info: Mapping[str, Any]) -> Parts:
    shown = {"this": {"summary": "This service", "value": InfoSchema().dump(info)}}
    headers = {"Cache-Control": NO_STORE_HEADER}
    return {
        "operationId": "readInfo",
        "tags": ["registry"],
        "summary": "Read what this service is and its limits",
        "responses": {
            "200": answer("Versions, limits and policies.", InfoSchema(), shown, headers),
            **problem_responses(*EVERYWHERE),
        },
    }
