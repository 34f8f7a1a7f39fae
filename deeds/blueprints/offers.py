"""Offers: POST /v1/offers, GET /v1/offers/{id} and POST /v1/offers/{id}/complete."""

from flask import Blueprint, Response, request

from deeds.blueprints.limits import ClientLimits, count_guesses
from deeds.blueprints.requests import read_idempotency_key, read_json
from deeds.blueprints.responses import json_answer
from deeds.blueprints.v1 import operation_answer
from deeds.domain.offers import OfferService
from schemas.answers import OfferSchema, SwapResponseSchema
from schemas.requests import CompletionRequestSchema, OfferRequestSchema, load

_OFFER = OfferSchema()
_SWAP_RESPONSE = SwapResponseSchema()


def offers_blueprint(
    offers: OfferService, limits: ClientLimits, *, array_length_max: int
) -> Blueprint:
    """Return the blueprint; `array_length_max` bounds the arrays of each half."""
    blueprint = Blueprint("offers", __name__, url_prefix="/v1/offers")
    offer_request = OfferRequestSchema(array_length_max=array_length_max)
    completion_request = CompletionRequestSchema(array_length_max=array_length_max)

    # Limits are by the names of endpoints: this one has its own, the others those of what they are.
    @blueprint.post("")
    def offer() -> Response:
        wanted = load(offer_request, read_json(request, array_length_max=array_length_max))
        key = read_idempotency_key(request)
        # Its outputs are strong, so they can be no guesses.
        with limits.judging(count_guesses(wanted.inputs, (), key)):
            offered = offers.make(wanted, key)
        return operation_answer(offered, _OFFER.dump(offered.offer))

    @blueprint.get("/<offer_id>")
    def read_offer(offer_id: str) -> Response:
        limits.count("item")
        return json_answer(_OFFER.dump(offers.read(offer_id)))

    @blueprint.post("/<offer_id>/complete")
    def complete_offer(offer_id: str) -> Response:
        limits.count("swap")
        wanted = load(completion_request, read_json(request, array_length_max=array_length_max))
        key = read_idempotency_key(request)
        with limits.judging(count_guesses(wanted.inputs, wanted.outputs, key)):
            completed = offers.complete(offer_id, wanted, key)
        return operation_answer(completed, _SWAP_RESPONSE.dump({}))

    return blueprint
