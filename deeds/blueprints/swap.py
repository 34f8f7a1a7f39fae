"""POST /v1/swap (contract 4.2)."""

from flask import Blueprint, Response, request

from deeds.blueprints.answers import json_answer
from deeds.blueprints.bodies import read_json
from deeds.blueprints.failure_limit import FailureLimit, count_guesses
from deeds.blueprints.idempotency_key import read_idempotency_key, replay_headers
from deeds.blueprints.request_notes import note_operation
from deeds.domain.service import DeedService
from schemas.loading import load
from schemas.swap import SwapRequestSchema, SwapResponseSchema


def swap_blueprint(
    service: DeedService, failures: FailureLimit, *, array_length_max: int
) -> Blueprint:
    """Return the blueprint; `array_length_max` bounds the request's inputs and outputs each."""
    blueprint = Blueprint("swap", __name__)
    request_schema = SwapRequestSchema(array_length_max=array_length_max)
    response_schema = SwapResponseSchema()

    @blueprint.post("/v1/swap")
    def swap() -> Response:
        wanted = load(request_schema, read_json(request, array_length_max=array_length_max))
        key = read_idempotency_key(request)
        with failures.judging(count_guesses(wanted.inputs, wanted.outputs, key)):
            swapped = service.swap(wanted, key)
        note_operation(swapped.operation_id, is_replayed=swapped.replayed)
        return json_answer(
            response_schema.dump({}), headers=replay_headers(replayed=swapped.replayed)
        )

    return blueprint
