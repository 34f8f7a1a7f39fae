"""GET /v1/info (contract part 2): what are the limits?"""

from dataclasses import replace

from deeds.domain.model import Argon2Cost
from deeds.version import VERSION


def test_info_tells_version_limits_and_hash_policies(client):
    answer = client.get("/v1/info")

    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.get_json() == {
        "version": VERSION,
        "interfaceVersion": "0.0.1",
        "limits": {
            "amountMax": 9007199254740991,
            "secretLengthMax": 32,
            "arrayLengthMax": 256,
            "bodyBytesMax": 1048576,
        },
        "hashPolicies": [
            {
                "name": "ordinary",
                "algorithm": "argon2id",
                "parameters": "m=8,t=1,p=1",
                "peppered": False,
            },
            {
                "name": "strong",
                "algorithm": "argon2id",
                "parameters": "m=8,t=1,p=1",
                "peppered": False,
            },
        ],
        "idempotency": True,
    }


def test_info_tells_the_settings_of_the_operator(settings, open_app):
    changed = replace(
        settings,
        ordinary_cost=Argon2Cost(16, 2, 1),
        pepper=b"0123456789abcdef0123456789abcdef",
        array_length_max=7,
        body_bytes_max=1000,
    )

    info = open_app(changed).test_client().get("/v1/info").get_json()

    assert info["limits"]["arrayLengthMax"] == 7
    assert info["limits"]["bodyBytesMax"] == 1000
    assert [
        (policy["name"], policy["parameters"], policy["peppered"])
        for policy in info["hashPolicies"]
    ] == [("ordinary", "m=16,t=2,p=1", True), ("strong", "m=8,t=1,p=1", True)]
    assert "0123456789abcdef" not in str(info)
    assert settings.database_url not in str(info)
