"""POST /v1/offers, GET /v1/offers/{id}, POST …/{id}/complete, POST /v1/offers/find."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.routing import BaseConverter

from deeds.blueprints.answers import json_answer, operation_answer
from deeds.blueprints.limits import ClientLimits, count_guesses
from deeds.blueprints.requests import client_of, read_idempotency_key, read_request
from deeds.model import Output, SwapRequest
from deeds.raw_output import parse_raw_output
from deeds.rules import units
from parts.offers.ledger import EXPIRES_IN_S_MAX, EXPIRES_IN_S_MIN, Offer
from parts.offers.service import OfferRequest, OfferService
from schemas.requests import FindRequestSchema, RequestSchema, TextsField, WholeField


class OfferRequestSchema(RequestSchema):
    """The body of a request to make an offer: what the maker gives and gets."""

    makes = OfferRequest

    inputs = TextsField(parse_raw_output, length_min=0)
    outputs = TextsField(parse_raw_output)
    expires_in_s = WholeField(EXPIRES_IN_S_MIN, EXPIRES_IN_S_MAX, data_key="expiresIn")


class CompletionRequestSchema(RequestSchema):
    """The body of a completion: the other half of the swap."""

    makes = SwapRequest

    inputs = TextsField(parse_raw_output)
    outputs = TextsField(parse_raw_output, length_min=0)


class OfferIdConverter(BaseConverter):
    """Matches any segment but "find", so that GET /v1/offers/find gets a 405."""

    regex = r"(?!find\Z)[^/]+"


def offers_blueprint(
    offers: OfferService, limits: ClientLimits, array_length_max: int
) -> Blueprint:
    """Return the blueprint with all endpoints of offers."""
    offer_request = OfferRequestSchema(array_length_max=array_length_max)
    completion_request = CompletionRequestSchema(array_length_max=array_length_max)
    find_request = FindRequestSchema(array_length_max=array_length_max)
    blueprint = Blueprint("offers", __name__)

    @blueprint.post("/v1/offers")
    def offer() -> Response:
        client = client_of(request)
        limits.count("offer", client)
        body = read_request(request, offer_request)
        key = read_idempotency_key(request)
        # The outputs must have strong secrets, which are not guesses.
        with limits.limit_guesses(client, count_guesses(body.inputs, (), key)):
            operation, offer = offers.make(body, key, client)
        return operation_answer(operation, _body(offer))

    @blueprint.get("/v1/offers/<offer:offer_id>")
    def read_offer(offer_id: str) -> Response:
        limits.count("item", client_of(request))
        return json_answer(_body(offers.read(offer_id)))

    @blueprint.post("/v1/offers/find")
    def find_offered() -> Response:
        client = client_of(request)
        limits.count("check", client)
        body = read_request(request, find_request)
        # The secrets do not count as guesses, because only strong ones are accepted.
        return json_answer({"offered": offers.find(body, client)})

    @blueprint.post("/v1/offers/<offer_id>/complete")
    def complete(offer_id: str) -> Response:
        client = client_of(request)
        limits.count("swap", client)
        body = read_request(request, completion_request)
        key = read_idempotency_key(request)
        with limits.limit_guesses(
            client, count_guesses(body.inputs, body.outputs, key)
        ):
            operation = offers.complete(offer_id, body, key, client)
        return operation_answer(operation, {"success": True})

    return blueprint


def _body(offer: Offer) -> dict[str, Any]:
    """Return the public data of an offer."""
    expires_at = datetime.fromtimestamp(offer.expires_at_s, UTC)
    return {
        "offerId": offer.id,
        "state": offer.state,
        "gives": _surplus(offer.inputs, offer.outputs),
        "wants": _surplus(offer.outputs, offer.inputs),
        "expiresAt": f"{expires_at:%Y-%m-%dT%H:%M:%SZ}",
    }


def _surplus(half: Iterable[Output], other: Iterable[Output]) -> list[dict[str, Any]]:
    """Return by item how many units more are in `half`, in order of item id."""
    amounts = units(half) - units(other)
    return [
        {"itemId": item_id, "amount": amount}
        for item_id, amount in sorted(amounts.items())
    ]
