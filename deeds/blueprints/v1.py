"""The interface.

Mint, swap, check, item and info (contract part 2), and offers (part 3).
"""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, request

from deeds.blueprints.limits import ClientLimits, count_guesses
from deeds.blueprints.request_log import notes
from deeds.blueprints.requests import read_idempotency_key, read_json
from deeds.blueprints.responses import FOREVER, json_answer
from deeds.domain.model import (
    AMOUNT_MAX,
    OFFER_EXPIRES_IN_S,
    SECRET_LENGTH_MAX,
    Done,
    OutputState,
    SecretClass,
)
from deeds.domain.offers import OfferService
from deeds.domain.schemes import HashSchemes
from deeds.domain.service import DeedService
from deeds.settings import Settings
from schemas.answers import (
    CheckResponseSchema,
    ItemSchema,
    MintResponseSchema,
    OfferSchema,
    SwapResponseSchema,
)
from schemas.requests import (
    CheckRequestSchema,
    CompletionRequestSchema,
    MintRequestSchema,
    OfferRequestSchema,
    SwapRequestSchema,
    load,
)

VERSION = "0.1.0"
INTERFACE_VERSION = "0.0.1"

_MINT_RESPONSE = MintResponseSchema()
_SWAP_RESPONSE = SwapResponseSchema()
_CHECK_RESPONSE = CheckResponseSchema()
_ITEM = ItemSchema()
_OFFER = OfferSchema()


def service_info(settings: Settings, schemes: HashSchemes) -> dict[str, Any]:
    """Return what GET /v1/info tells, as `schemas.answers.InfoSchema` describes it."""
    current = {each.value: schemes.current[each].spec for each in SecretClass}
    return {
        "version": VERSION,
        "interfaceVersion": INTERFACE_VERSION,
        "limits": {
            "amountMax": AMOUNT_MAX,
            "secretLengthMax": SECRET_LENGTH_MAX,
            "arrayLengthMax": settings.array_length_max,
            "bodyBytesMax": settings.body_bytes_max,
            "offerExpiresInMin": OFFER_EXPIRES_IN_S[0],
            "offerExpiresInMax": OFFER_EXPIRES_IN_S[1],
        },
        "hashPolicies": [
            {
                "name": name,
                "algorithm": "argon2id",
                "parameters": str(spec.cost),
                "peppered": bool(spec.pepper_fingerprint),
            }
            for name, spec in current.items()
        ],
        "idempotency": True,
    }


def v1_blueprint(
    service: DeedService,
    offers: OfferService,
    limits: ClientLimits,
    info: Mapping[str, Any],
) -> Blueprint:
    """Return the blueprint; `info` is what GET /v1/info tells."""
    blueprint = Blueprint("v1", __name__, url_prefix="/v1")
    array_length_max = info["limits"]["arrayLengthMax"]
    _add_operations(blueprint, service, limits, array_length_max)
    _add_offers(blueprint, offers, limits, array_length_max)

    @blueprint.get("/item/<item_id>")
    def item(item_id: str) -> Response:
        body = _ITEM.dump(service.item(item_id))
        answer = json_answer(body, headers={"Cache-Control": FOREVER})
        answer.add_etag()
        answer.make_conditional(request)
        return answer

    @blueprint.get("/info", endpoint="info")
    def read_info() -> Response:
        return json_answer(info)

    return blueprint


def _add_operations(
    blueprint: Blueprint,
    service: DeedService,
    limits: ClientLimits,
    array_length_max: int,
) -> None:
    mint_request = MintRequestSchema(array_length_max=array_length_max)
    swap_request = SwapRequestSchema(array_length_max=array_length_max)
    check_request = CheckRequestSchema(array_length_max=array_length_max)

    @blueprint.post("/mint")
    def mint() -> Response:
        wanted = load(
            mint_request, read_json(request, array_length_max=array_length_max)
        )
        key = read_idempotency_key(request)
        # Secrets of a new item can be no guesses: only a repeated mint is compared with
        # another.
        compared = wanted.outputs if key is not None else ()
        with limits.judging(count_guesses((), compared, key)):
            minted = service.mint(wanted, key)
        return _operation_answer(minted, _MINT_RESPONSE.dump(minted.answer))

    @blueprint.post("/swap")
    def swap() -> Response:
        wanted = load(
            swap_request, read_json(request, array_length_max=array_length_max)
        )
        key = read_idempotency_key(request)
        with limits.judging(count_guesses(wanted.inputs, wanted.outputs, key)):
            swapped = service.swap(wanted, key)
        return _operation_answer(swapped, _SWAP_RESPONSE.dump({}))

    @blueprint.post("/check")
    def check() -> Response:
        wanted = load(
            check_request, read_json(request, array_length_max=array_length_max)
        )
        with limits.judging(count_guesses(wanted)):
            states = service.check(wanted)
            # A strong secret is no guess: a shop asks again and again for what it is
            # not paid yet.
            known = zip(wanted, states, strict=True)
            unknown = [
                output for output, state in known if state is OutputState.UNKNOWN
            ]
            limits.count_failures(count_guesses(unknown))
        return json_answer(_CHECK_RESPONSE.dump({"states": states}))


def _add_offers(
    blueprint: Blueprint,
    offers: OfferService,
    limits: ClientLimits,
    array_length_max: int,
) -> None:
    offer_request = OfferRequestSchema(array_length_max=array_length_max)
    completion_request = CompletionRequestSchema(array_length_max=array_length_max)

    # Limits are by the names of endpoints: this one has its own, the others those of
    # what they are.
    @blueprint.post("/offers")
    def offer() -> Response:
        wanted = load(
            offer_request, read_json(request, array_length_max=array_length_max)
        )
        key = read_idempotency_key(request)
        # Its outputs are strong, so they can be no guesses.
        with limits.judging(count_guesses(wanted.inputs, (), key)):
            offered = offers.make(wanted, key)
        return _operation_answer(offered, _OFFER.dump(offered.answer))

    @blueprint.get("/offers/<offer_id>")
    def read_offer(offer_id: str) -> Response:
        limits.count("item")
        return json_answer(_OFFER.dump(offers.read(offer_id)))

    @blueprint.post("/offers/<offer_id>/complete")
    def complete_offer(offer_id: str) -> Response:
        limits.count("swap")
        wanted = load(
            completion_request, read_json(request, array_length_max=array_length_max)
        )
        key = read_idempotency_key(request)
        with limits.judging(count_guesses(wanted.inputs, wanted.outputs, key)):
            completed = offers.complete(offer_id, wanted, key)
        return _operation_answer(completed, _SWAP_RESPONSE.dump({}))


def _operation_answer(done: Done[Any], body: Any) -> Response:
    """Return the answer to a request that changed the ledger, or that repeated one."""
    noted = notes()
    noted.operation_id, noted.is_replayed = done.operation_id, done.replayed
    return json_answer(
        body, headers={"Idempotency-Replayed": "true"} if done.replayed else None
    )
