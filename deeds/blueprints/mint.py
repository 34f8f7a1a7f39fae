"""POST /v1/mint (contract 4.1)."""

from flask import Blueprint, Response, request

from deeds.blueprints.answers import json_answer
from deeds.blueprints.bodies import read_json
from deeds.blueprints.failure_limit import FailureLimit, count_guesses
from deeds.blueprints.idempotency_key import read_idempotency_key, replay_headers
from deeds.blueprints.request_notes import note_operation
from deeds.domain.service import DeedService
from schemas.loading import load
from schemas.mint import MintRequestSchema, MintResponseSchema


def mint_blueprint(
    service: DeedService, failures: FailureLimit, *, array_length_max: int
) -> Blueprint:
    """Return the blueprint; `array_length_max` bounds the request's outputs."""
    blueprint = Blueprint("mint", __name__)
    request_schema = MintRequestSchema(array_length_max=array_length_max)
    response_schema = MintResponseSchema()

    @blueprint.post("/v1/mint")
    def mint() -> Response:
        wanted = load(request_schema, read_json(request, array_length_max=array_length_max))
        key = read_idempotency_key(request)
        # Secrets of a new item can be no guesses: only a repeated mint is compared with another.
        compared = wanted.outputs if key is not None else ()
        with failures.judging(count_guesses((), compared, key)):
            minted = service.mint(wanted, key)
        note_operation(minted.operation_id, is_replayed=minted.replayed)
        return json_answer(
            response_schema.dump(minted), headers=replay_headers(replayed=minted.replayed)
        )

    return blueprint
