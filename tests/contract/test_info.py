"""GET /v1/info (contract part 2): what are the limits?"""

from dataclasses import replace

import pytest

from deeds.blueprints.v1 import VERSION
from deeds.domain.model import Argon2Cost

OPERATORS = {
    "ordinary_cost": Argon2Cost(16, 2, 1),
    "pepper": b"0123456789abcdef0123456789abcdef",
    "array_length_max": 7,
    "body_bytes_max": 1000,
}


@pytest.mark.parametrize(
    ("changed", "lengths", "cost", "peppered"),
    [({}, (256, 1048576), "m=8,t=1,p=1", False), (OPERATORS, (7, 1000), "m=16,t=2,p=1", True)],
)
def test_info_tells_version_limits_and_hash_policies(
    settings, open_app, changed, lengths, cost, peppered
):
    client = open_app(replace(settings, **changed)).test_client()

    answer = client.get("/v1/info")

    assert (answer.status_code, answer.content_type) == (200, "application/json")
    policy = {"algorithm": "argon2id", "peppered": peppered}
    assert answer.get_json() == {
        "version": VERSION,
        "interfaceVersion": "0.0.1",
        "limits": {
            "amountMax": 9007199254740991,
            "secretLengthMax": 32,
            "arrayLengthMax": lengths[0],
            "bodyBytesMax": lengths[1],
        },
        "hashPolicies": [
            {"name": "ordinary", "parameters": cost} | policy,
            {"name": "strong", "parameters": "m=8,t=1,p=1"} | policy,
        ],
        "idempotency": True,
    }
