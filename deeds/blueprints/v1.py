"""The interface (contract, all parts): mint, swap, check, find, item, info, offers."""

from typing import Any

from flask import Blueprint, Response, request
from marshmallow import Schema

from deeds.blueprints.endpoints import (
    CHECK,
    COMPLETION,
    FIND,
    INFO,
    ITEM,
    MINT,
    OFFER,
    OFFERS,
    SWAP,
)
from deeds.blueprints.limits import ClientLimits, count_guesses
from deeds.blueprints.request_log import notes
from deeds.blueprints.requests import client_of, read_idempotency_key, read_request
from deeds.blueprints.responses import FOREVER, json_answer
from deeds.domain.hashing import STRONG_COST
from deeds.domain.model import (
    AMOUNT_MAX,
    OFFER_EXPIRES_IN_S,
    SECRET_LENGTH_MAX,
    Done,
    OutputState,
    SecretClass,
)
from deeds.domain.offers import OfferService
from deeds.domain.service import DeedService
from deeds.settings import Settings
from schemas.answers import (
    CheckResponseSchema,
    FindResponseSchema,
    ItemSchema,
    MintResponseSchema,
    OfferSchema,
    SwapResponseSchema,
)
from schemas.requests import (
    CheckRequestSchema,
    CompletionRequestSchema,
    FindRequestSchema,
    MintRequestSchema,
    OfferRequestSchema,
    SwapRequestSchema,
)

VERSION = "0.1.0"
INTERFACE_VERSION = "0.0.1"

_MINT_RESPONSE = MintResponseSchema()
_SWAP_RESPONSE = SwapResponseSchema()
_CHECK_RESPONSE = CheckResponseSchema()
_FIND_RESPONSE = FindResponseSchema()
_ITEM = ItemSchema()
_OFFER = OfferSchema()


def v1_blueprint(
    service: DeedService,
    offers: OfferService,
    limits: ClientLimits,
    settings: Settings,
) -> Blueprint:
    """Return the blueprint of all endpoints of the interface."""
    array_length_max = settings.array_length_max
    find_request = FindRequestSchema(array_length_max=array_length_max)
    info = _service_info(settings)
    blueprint = Blueprint("v1", __name__)
    _add_operations(blueprint, service, limits, array_length_max)
    _add_offers(blueprint, offers, limits, array_length_max)

    @blueprint.post(FIND.path)
    def find() -> Response:
        # Strong secrets are no guesses.
        wanted = read_request(request, find_request)
        found = service.find(wanted, client_of(request))
        return json_answer(_FIND_RESPONSE.dump({"outputs": found}))

    @blueprint.get(ITEM.path)
    def item(item_id: str) -> Response:
        answer = json_answer(_ITEM.dump(service.item(item_id)))
        answer.headers["Cache-Control"] = FOREVER
        answer.add_etag()
        answer.make_conditional(request)
        return answer

    @blueprint.get(INFO.path)
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

    @blueprint.post(MINT.path)
    def mint() -> Response:
        client = client_of(request)
        wanted = read_request(request, mint_request)
        key = read_idempotency_key(request)
        # Secrets of a new item can be no guesses: only a repeated mint is compared with
        # another.
        compared = wanted.outputs if key is not None else ()
        with limits.judging(client, count_guesses((), compared, key)):
            minted = service.mint(wanted, key, client)
        return _operation_answer(minted, _MINT_RESPONSE)

    @blueprint.post(SWAP.path)
    def swap() -> Response:
        client = client_of(request)
        wanted = read_request(request, swap_request)
        key = read_idempotency_key(request)
        with limits.judging(client, count_guesses(wanted.inputs, wanted.outputs, key)):
            swapped = service.swap(wanted, key, client)
        return _operation_answer(swapped, _SWAP_RESPONSE)

    @blueprint.post(CHECK.path)
    def check() -> Response:
        client = client_of(request)
        wanted = read_request(request, check_request)
        with limits.judging(client, count_guesses(wanted)):
            states = service.check(wanted, client)
            # A strong secret is no guess: a shop asks again and again for what it is
            # not paid yet.
            known = zip(wanted, states, strict=True)
            unknown = [
                output for output, state in known if state is OutputState.UNKNOWN
            ]
            limits.count_failures(client, count_guesses(unknown))
        return json_answer(_CHECK_RESPONSE.dump({"states": states}))


def _add_offers(
    blueprint: Blueprint,
    offers: OfferService,
    limits: ClientLimits,
    array_length_max: int,
) -> None:
    offer_request = OfferRequestSchema(array_length_max=array_length_max)
    completion_request = CompletionRequestSchema(array_length_max=array_length_max)

    @blueprint.post(OFFERS.path)
    def offer() -> Response:
        client = client_of(request)
        wanted = read_request(request, offer_request)
        key = read_idempotency_key(request)
        # Its outputs are strong, so they can be no guesses.
        with limits.judging(client, count_guesses(wanted.inputs, (), key)):
            offered = offers.make(wanted, key, client)
        return _operation_answer(offered, _OFFER)

    @blueprint.get(OFFER.path)
    def read_offer(offer_id: str) -> Response:
        return json_answer(_OFFER.dump(offers.read(offer_id)))

    @blueprint.post(COMPLETION.path)
    def complete_offer(offer_id: str) -> Response:
        client = client_of(request)
        wanted = read_request(request, completion_request)
        key = read_idempotency_key(request)
        with limits.judging(client, count_guesses(wanted.inputs, wanted.outputs, key)):
            completed = offers.complete(offer_id, wanted, key, client)
        return _operation_answer(completed, _SWAP_RESPONSE)


def _operation_answer(done: Done[Any], schema: Schema) -> Response:
    """Return the answer to a request that changed the ledger, or that repeated one."""
    noted = notes()
    noted.operation_id = done.operation_id
    noted.is_replayed = done.replayed
    answer = json_answer(schema.dump(done.answer))
    if done.replayed:
        answer.headers["Idempotency-Replayed"] = "true"
    return answer


def _service_info(settings: Settings) -> dict[str, Any]:
    costs = {
        SecretClass.ORDINARY: settings.ordinary_cost,
        SecretClass.STRONG: STRONG_COST,
    }
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
                "name": secret_class.value,
                "algorithm": "argon2id",
                "parameters": str(cost),
                "peppered": settings.pepper is not None,
            }
            for secret_class, cost in costs.items()
        ],
        "idempotency": True,
    }
