"""Requests that are made up.

By Schemathesis from the OpenAPI document, and from almost good bytes.

Schemathesis holds the running service against the document, with all its checks. What
it is told is in tests/support/fuzz_checks.py.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.support.mutating import near_bytes
from tests.support.reporting import add_line
from tests.support.requests import ask_for, mint
from tests.support.serving import REPOSITORY

# What must have been met, or nothing was tried. Nothing of this is left to chance.
MET = {
    "POST /v1/mint 200",
    "POST /v1/mint 400 invalid_request",
    "POST /v1/mint 400 wrong_media_type",
    "POST /v1/mint 400 invalid_idempotency_key",
    "POST /v1/mint 422 idempotency_key_reused",
    "POST /v1/swap 400 invalid_request",
    "POST /v1/swap 400 unbalanced",
    "POST /v1/check 200",
    "POST /v1/check 400 invalid_request",
    "POST /v1/offers 200",
    "GET /v1/offers/<offer_id> 200",
    "POST /v1/offers/<offer_id>/complete 404 unknown_offer",
    "GET /v1/item/<item_id> 404 item_not_found",
    "GET /v1/info 200",
    "PUT unmatched 405 method_not_allowed",
}


def run_schemathesis(service, directory):
    """Run all its phases, links followed too; they must find nothing."""
    command = [
        *(
            sys.executable,
            "-m",
            "schemathesis.cli",
            "run",
            f"{service.url}/openapi.json",
        ),
        # tests/support/fuzz_checks.py has a sharper one.
        *("--exclude-checks", "positive_data_acceptance"),
        # For each operation. Some 300 requests in all; a soak repeats them.
        *("--max-examples", "20"),
        *("--continue-on-failure", "--no-color", "--warnings", "off"),
        *("--generation-database", "none"),
    ]
    hooks = {
        "PYTHONPATH": str(REPOSITORY),
        "SCHEMATHESIS_HOOKS": "tests.support.fuzz_checks",
    }
    ran = subprocess.run(
        command,
        cwd=directory,
        env=os.environ | hooks,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.soak(share=5)
def test_the_running_service_is_what_its_document_says(
    request, gunicorn_service, database_url, tmp_path, soak_seconds
):
    service = gunicorn_service(
        DATABASE_URL=database_url,
        DEEDS_ARGON2="m=8,t=1,p=1",
        DEEDS_RATE_LIMITS="failures=off",  # Most of what is made up fails, on purpose.
        WEB_CONCURRENCY="1",
    )
    deadline = time.monotonic() + soak_seconds

    run_schemathesis(service, tmp_path)
    while time.monotonic() < deadline:
        run_schemathesis(service, tmp_path)

    lines = [json.loads(line) for line in service.log_text().splitlines()]
    answers = Counter(
        " ".join(
            str(each[name])
            for name in ("method", "route", "status", "problem")
            if name in each
        )
        for each in lines
        if each["event"] == "request"
    )
    add_line(request.node, f"{answers.total()} requests, no failure")
    assert MET - answers.keys() == set()
    assert [each for each in answers if " 5" in each] == []


BODIES = {
    "/v1/mint": [
        (
            b'{"outputs":["+5.a","+3.b"],'
            b'"metadata":{"name":"N","image":"https://a.example/b"}}'
        ),
        (
            b'{"outputs":[{"amount":5,"secret":"a"},'
            b'{"amount":9007199254740986,"secret":"b"}]}'
        ),
        (
            b'{"metadata":null,'
            b'"outputs":["+1.\\u00e9","+2..\\ud83d\\ude00","+3.deed_x.a"]}'
        ),
    ],
    "/v1/swap": [b'{"inputs":["+5.ITEM.a"],"outputs":["+2.ITEM.c","+3.ITEM.d"]}'],
    "/v1/check": [b'{"outputs":["+5.ITEM.a","+3.ITEM.b","+1.deed_x.a"]}'],
    "/v1/offers": [
        b'{"inputs":[],"outputs":["+8.ITEM.cwyr410zm24qrywh2zbe8aev1xd1c5pm"]}'
    ],
    "/v1/offers/OFFER/complete": [b'{"outputs":["+4.ITEM.c"],"inputs":["+5.ITEM.a"]}'],
}


@pytest.mark.soak(share=0.3)
@pytest.mark.parametrize("path", BODIES)
# One service serves all examples.
@examples(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_a_body_of_almost_the_right_bytes_is_done_or_refused(
    client, ledger, path, data
):
    item_id = mint(client, "+5.a", "+3.b").encode()
    body = data.draw(near_bytes(BODIES[path])).replace(b"ITEM", item_id)
    path = path.replace("OFFER", ask_for(client, item_id.decode()))

    answer = client.post(path, data=body, content_type="application/json")

    said = json.loads(answer.data)
    if answer.status_code == 200:
        assert answer.content_type == "application/json"
    else:
        assert 400 <= answer.status_code <= 499
        assert answer.content_type == "application/problem+json"
        assert said["status"] == answer.status_code
