"""The operations of the OpenAPI document that have a body: mint, swap and check."""

from deeds.blueprints import openapi_examples as examples
from deeds.blueprints.openapi_links import MINT_LINKS, SWAP_LINKS
from deeds.blueprints.openapi_parts import (
    IDEMPOTENCY_KEY,
    NO_STORE_HEADER,
    REPLAYED_HEADER,
    Parts,
    answer,
    body,
)
from deeds.blueprints.openapi_problems import EVERYWHERE, OF_BODIES, OF_SECRETS, problem_responses
from schemas.check import CheckRequestSchema, CheckResponseSchema
from schemas.mint import MintRequestSchema, MintResponseSchema
from schemas.swap import SwapRequestSchema, SwapResponseSchema

# What changing the ledger may come to, and doing so under an Idempotency-Key.
_OF_CHANGES = (
    "invalid_idempotency_key",
    "idempotency_key_reused",
    "ledger_in_doubt",
    "ledger_rolled_back",
)


def mint(request: MintRequestSchema) -> Parts:
    """Return POST /v1/mint with requests of this shape."""
    headers = {"Cache-Control": NO_STORE_HEADER, "Idempotency-Replayed": REPLAYED_HEADER}
    minted = answer("The new item.", MintResponseSchema(), examples.MINT_ANSWERS, headers)
    problems = ("duplicate_secret", "total_too_large")
    return {
        "operationId": "mint",
        "tags": ["deeds"],
        "summary": "Mint an item",
        "description": "Creates an item whose units are bound to the secrets of the request.",
        "parameters": [IDEMPOTENCY_KEY],
        "requestBody": body(request, examples.MINT_REQUESTS),
        "responses": {
            "200": minted | {"links": MINT_LINKS},
            **problem_responses(*EVERYWHERE, *OF_BODIES, *_OF_CHANGES, *OF_SECRETS, *problems),
        },
    }


def swap(request: SwapRequestSchema) -> Parts:
    """Return POST /v1/swap with requests of this shape."""
    headers = {"Cache-Control": NO_STORE_HEADER, "Idempotency-Replayed": REPLAYED_HEADER}
    swapped = answer("The swap was made.", SwapResponseSchema(), examples.SWAP_ANSWERS, headers)
    problems = (
        "unbalanced",
        "duplicate_input",
        "duplicate_secret",
        "unknown_item",
        "unknown_input",
        "spent_input",
        "used_secret",
    )
    return {
        "operationId": "swap",
        "tags": ["deeds"],
        "summary": "Replace secrets by new ones",
        "description": "Hands over, splits, joins or trades units, all or nothing: the inputs are "
        "spent, the outputs take their place. For every item the amounts must be equal.",
        "parameters": [IDEMPOTENCY_KEY],
        "requestBody": body(request, examples.SWAP_REQUESTS),
        "responses": {
            "200": swapped | {"links": SWAP_LINKS},
            **problem_responses(*EVERYWHERE, *OF_BODIES, *_OF_CHANGES, *OF_SECRETS, *problems),
        },
    }


def check(request: CheckRequestSchema) -> Parts:
    """Return POST /v1/check with requests of this shape."""
    headers = {"Cache-Control": NO_STORE_HEADER}
    return {
        "operationId": "check",
        "tags": ["deeds"],
        "summary": "Ask whether outputs are spent",
        "description": "Tells of each output whether it can still be spent. Changes nothing.",
        "requestBody": body(request, examples.CHECK_REQUESTS),
        "responses": {
            "200": answer("The states.", CheckResponseSchema(), examples.CHECK_ANSWERS, headers),
            **problem_responses(*EVERYWHERE, *OF_BODIES, *OF_SECRETS),
        },
    }
