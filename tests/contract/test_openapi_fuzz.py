"""Schemathesis holds the running service against its own OpenAPI document, with all its checks.

It sends the examples, the edges of every schema and requests that it makes up, good and bad. What
it is told is in tests/support/fuzz_checks.py.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.support.reporting import add_line
from tests.support.serving import REPOSITORY

# Requests that are made up for each operation. Some 300 requests in all; a soak repeats them.
EXAMPLES = 20

# What must have been met, or nothing was tried: route, status and code. Nothing of this is left to
# chance.
MET = {
    "/v1/mint 200",
    "/v1/mint 400 invalid_request",
    "/v1/mint 400 wrong_media_type",
    "/v1/mint 400 invalid_idempotency_key",
    "/v1/mint 422 idempotency_key_reused",
    "/v1/swap 400 invalid_request",
    "/v1/swap 400 unbalanced",
    "/v1/check 200",
    "/v1/check 400 invalid_request",
    "/v1/item/<item_id> 404 item_not_found",
    "/v1/info 200",
    "unmatched 405 method_not_allowed",
}


def run_schemathesis(service, directory):
    """Run all its phases but for links, of which the document has none; they must find nothing."""
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{service.url}/openapi.json"),
        # tests/support/fuzz_checks.py has a sharper one.
        *("--exclude-checks", "positive_data_acceptance"),
        *("--phases", "examples,coverage,fuzzing"),
        *("--max-examples", str(EXAMPLES)),
        *("--continue-on-failure", "--no-color", "--warnings", "off"),
        *("--generation-database", "none"),
    ]
    hooks = {"PYTHONPATH": str(REPOSITORY), "SCHEMATHESIS_HOOKS": "tests.support.fuzz_checks"}
    ran = subprocess.run(
        command, cwd=directory, env=os.environ | hooks, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def answers_of(service):
    """Return how often each route was answered with each status and code."""
    lines = [json.loads(line) for line in service.log_text().splitlines()]
    said = [each for each in lines if each["event"] == "request"]
    return Counter(
        f"{each['route']} {each['status']} {each.get('problem', '')}".rstrip() for each in said
    )


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

    answers = answers_of(service)
    add_line(request.node, f"{answers.total()} requests, no failure")
    assert MET - answers.keys() == set()
    assert [each for each in answers if " 5" in each] == []
