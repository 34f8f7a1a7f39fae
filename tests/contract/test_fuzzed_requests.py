"""Requests that are made up.

By Schemathesis from the OpenAPI document, and from almost good bytes.

Schemathesis holds the running service against the document, with all its checks. What
it is told is in tests/contract/fuzz_checks.py.
"""

import json
import sys

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.contract.mutating import BYTE_PIECES, near_misses
from tests.support.api import fresh
from tests.support.commanding import printed_by
from tests.support.databases import on_sqlite
from tests.support.serving import REPOSITORY, clean_environment
from tests.support.waiting import wait_until

# What must have been met, or nothing was tried. Nothing of this is left to chance.
MET = {
    ("POST", "/v1/mint", 200, None),
    ("POST", "/v1/mint", 400, "invalid_request"),
    ("POST", "/v1/mint", 422, "idempotency_key_reused"),
    ("POST", "/v1/swap", 400, "unbalanced"),
    ("POST", "/v1/check", 200, None),
    ("POST", "/v1/offers", 200, None),
    ("POST", "/v1/offers/find", 400, "unknown_item"),
    ("GET", "/v1/offers/<offer:offer_id>", 200, None),
    ("POST", "/v1/offers/<offer_id>/complete", 404, "unknown_offer"),
    ("GET", "/v1/item/<item_id>", 404, "item_not_found"),
    ("PUT", "unmatched", 405, "method_not_allowed"),
}

# All phases, links followed too; a soak repeats them.
SCHEMATHESIS = [sys.executable, "-m", "schemathesis.cli", "run", "--max-examples", "10"]
# tests/contract/fuzz_checks.py has a sharper one.
SCHEMATHESIS += ["--exclude-checks", "positive_data_acceptance"]
SCHEMATHESIS += ["--continue-on-failure", "--no-color", "--warnings", "off"]
SCHEMATHESIS += ["--generation-database", "none"]


@pytest.fixture
def service(gunicorn_service, database_url):
    return gunicorn_service(
        DATABASE_URL=database_url,
        DEEDS_ARGON2="m=8,t=1,p=1",
        DEEDS_RATE_LIMITS="failures=off",  # Most of what is made up fails, on purpose.
    )


@pytest.mark.slow
@pytest.mark.soak(share=5)
@pytest.mark.usefixtures("ledger")
@on_sqlite
def test_the_running_service_is_what_its_document_says(service, tmp_path):
    hooks = {
        "PYTHONPATH": str(REPOSITORY),
        "SCHEMATHESIS_HOOKS": "tests.contract.fuzz_checks",
    }

    command = [*SCHEMATHESIS, f"{service.url}/openapi.json"]
    printed_by(*command, cwd=tmp_path, env=clean_environment(hooks))

    def answers():
        lines = [json.loads(line) for line in service.log_text().splitlines()]
        return {
            (each["method"], each["route"], each["status"], each.get("problem"))
            for each in lines
            if each["event"] == "request"
        }

    # A request is written to the log a moment after its answer.
    wait_until(lambda: answers() >= MET)
    assert [answer for answer in answers() if answer[2] >= 500] == []


BODIES = {
    "/v1/mint": [
        b'{"outputs":["+5.a","+3.b"],"metadata":{"name":"N","image":"ar:x"}}',
        b'{"outputs":[{"amount":5,"secret":"a"},{"secret":"b","amount":90071992547}]}',
        b'{"metadata":null,"outputs":["+1.\\u00e9","+2..\\ud83d\\ude00","+3.deed_.a"]}',
    ],
    "/v1/swap": [b'{"inputs":["+5.ITEM.a"],"outputs":["+2.ITEM.c","+3.ITEM.d"]}'],
    "/v1/check": [b'{"outputs":["+5.ITEM.a","+3.ITEM.b","+1.deed_x.a"]}'],
    "/v1/offers": [
        b'{"inputs":[],"outputs":["+8.ITEM.cwyr410zm24qrywh2zbe8aev1xd1c5pm"]}'
    ],
    "/v1/offers/OFFER/complete": [b'{"outputs":["+4.ITEM.c"],"inputs":["+5.ITEM.a"]}'],
}


@pytest.mark.slow
@pytest.mark.soak(share=0.3)
@pytest.mark.usefixtures("ledger")
@on_sqlite
@pytest.mark.parametrize("path", BODIES)
# One service serves all examples.
@examples(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_body_of_almost_the_right_bytes_is_done_or_refused(api, path, data):
    item_id = api.mint("+5.a", "+3.b")
    offer_id = api.offer_id([], fresh(1, item_id))
    body = data.draw(near_misses(st.sampled_from(BODIES[path]), BYTE_PIECES))

    body = body.replace(b"ITEM", item_id.encode())

    answer = api.post(path.replace("OFFER", offer_id), body)

    if answer.status_code == 200:
        assert answer.headers["Content-Type"] == "application/json"
    else:
        assert 400 <= answer.status_code <= 499
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
