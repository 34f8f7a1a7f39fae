"""The interface (contract 4.1 to 4.6): mint, swap, check, find, item, info."""

from typing import Any

from flask import Blueprint, Response, request

from deeds.blueprints.answers import FOREVER, json_answer, operation_answer
from deeds.blueprints.limits import ClientLimits, count_guesses
from deeds.blueprints.requests import client_of, read_idempotency_key, read_request
from deeds.hashing import STRONG_COST
from deeds.model import AMOUNT_MAX, SECRET_LENGTH_MAX
from deeds.service import DeedService
from deeds.settings import Settings
from schemas.requests import (
    CheckRequestSchema,
    FindRequestSchema,
    MintRequestSchema,
    SwapRequestSchema,
)

VERSION = "0.1.0"
INTERFACE_VERSION = "0.0.1"

# Names of these endpoints' limits in DEEDS_RATE_LIMITS.
LIMIT_NAMES = ("mint", "swap", "check", "item")


def service_info(settings: Settings) -> dict[str, Any]:
    """Return the body of GET /v1/info, without the additions of parts."""
    costs = {"ordinary": settings.ordinary_cost, "strong": STRONG_COST}
    return {
        "version": VERSION,
        "interfaceVersion": INTERFACE_VERSION,
        "limits": {
            "amountMax": AMOUNT_MAX,
            "secretLengthMax": SECRET_LENGTH_MAX,
            "arrayLengthMax": settings.array_length_max,
            "bodyBytesMax": settings.body_bytes_max,
        },
        "hashPolicies": [
            {
                "name": name,
                "algorithm": "argon2id",
                "parameters": str(cost),
                "peppered": settings.pepper is not None,
            }
            for name, cost in costs.items()
        ],
        "idempotency": True,
    }


def v1_blueprint(
    service: DeedService,
    limits: ClientLimits,
    array_length_max: int,
    info: dict[str, Any],
) -> Blueprint:
    """Return the blueprint; `info` is the body of GET /v1/info."""
    mint_request = MintRequestSchema(array_length_max=array_length_max)
    swap_request = SwapRequestSchema(array_length_max=array_length_max)
    blueprint = Blueprint("v1", __name__)
    _add_reads(blueprint, service, limits, array_length_max)

    @blueprint.post("/v1/mint")
    def mint() -> Response:
        client = client_of(request)
        limits.count("mint", client)
        body = read_request(request, mint_request)
        key = read_idempotency_key(request)
        # Secrets of a new item are not guesses. But a request with a key may replay an
        # earlier mint, and its secrets are then compared with that mint's.
        compared = body.outputs if key is not None else ()
        with limits.limit_guesses(client, count_guesses((), compared, key)):
            operation, outputs = service.mint(body, key, client)
        answer = {
            "itemId": outputs[0].item_id,
            "outputs": [
                {"amount": raw.amount, "secret": raw.secret, "itemId": raw.item_id}
                for raw in outputs
            ],
            "rawOutputs": [str(raw) for raw in outputs],
        }
        return operation_answer(operation, answer)

    @blueprint.post("/v1/swap")
    def swap() -> Response:
        client = client_of(request)
        limits.count("swap", client)
        body = read_request(request, swap_request)
        key = read_idempotency_key(request)
        with limits.limit_guesses(
            client, count_guesses(body.inputs, body.outputs, key)
        ):
            operation = service.swap(body, key, client)
        return operation_answer(operation, {"success": True})

    @blueprint.get("/v1/info", endpoint="info")
    def read_info() -> Response:
        return json_answer(info)

    return blueprint


def _add_reads(
    blueprint: Blueprint,
    service: DeedService,
    limits: ClientLimits,
    array_length_max: int,
) -> None:
    check_request = CheckRequestSchema(array_length_max=array_length_max)
    find_request = FindRequestSchema(array_length_max=array_length_max)

    @blueprint.post("/v1/check")
    def check() -> Response:
        client = client_of(request)
        limits.count("check", client)
        raws = read_request(request, check_request)
        with limits.limit_guesses(client, count_guesses(raws)):
            states = service.check(raws, client)
            # Unknown strong secrets do not count: a shop polls for its payment.
            pairs = zip(raws, states, strict=True)
            unknown = [raw for raw, state in pairs if state == "unknown"]
            limits.count_failures(client, count_guesses(unknown))
        return json_answer({"states": states})

    @blueprint.post("/v1/find")
    def find() -> Response:
        client = client_of(request)
        limits.count("check", client)
        body = read_request(request, find_request)
        # The secrets do not count as guesses, because only strong ones are accepted.
        outputs = [
            output and {"amount": output.amount, "state": output.state}
            for output in service.find(body, client)
        ]
        return json_answer({"outputs": outputs})

    @blueprint.get("/v1/item/<item_id>", endpoint="item")
    def read_item(item_id: str) -> Response:
        limits.count("item", client_of(request))
        item = service.item(item_id)
        body = {"id": item.id, "total": item.total, "metadata": item.metadata}
        answer = json_answer(body, cached=FOREVER)
        answer.add_etag()
        answer.make_conditional(request)
        return answer
