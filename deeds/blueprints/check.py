"""POST /v1/check (contract part 2): is it still mine?"""

from flask import Blueprint, Response, request

from deeds.blueprints.answers import json_answer
from deeds.blueprints.bodies import read_json
from deeds.blueprints.failure_limit import FailureLimit, count_guesses
from deeds.domain.model import OutputState
from deeds.domain.service import DeedService
from schemas.check import CheckRequestSchema, CheckResponseSchema
from schemas.loading import load


def check_blueprint(
    service: DeedService, failures: FailureLimit, *, array_length_max: int
) -> Blueprint:
    """Return the blueprint; `array_length_max` bounds the request's outputs."""
    blueprint = Blueprint("check", __name__)
    request_schema = CheckRequestSchema(array_length_max=array_length_max)
    response_schema = CheckResponseSchema()

    @blueprint.post("/v1/check")
    def check() -> Response:
        wanted = load(request_schema, read_json(request, array_length_max=array_length_max))
        with failures.judging(count_guesses(wanted.outputs)) as judgement:
            states = service.check(wanted)
            judgement.failed_secrets_count = states.count(OutputState.UNKNOWN)
        return json_answer(response_schema.dump({"states": states}))

    return blueprint
