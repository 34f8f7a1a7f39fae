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

from tests.support.fuzz_checks import TALLY
from tests.support.reporting import add_line
from tests.support.serving import REPOSITORY

# Requests that are made up for each operation. Some 400 requests in all; a soak repeats them.
EXAMPLES = 20

# What must have been met, or nothing was tried: operation, status and code. Nothing of this is left
# to chance.
MET = {
    "mint 200",
    "mint 400 invalid_request",
    "mint 400 wrong_media_type",
    "mint 400 invalid_idempotency_key",
    "mint 405 method_not_allowed",
    "mint 422 idempotency_key_reused",
    "swap 400 invalid_request",
    "swap 400 unbalanced",
    "check 200",
    "check 400 invalid_request",
    "readItem 404 item_not_found",
    "readItem 405 method_not_allowed",
    "readInfo 200",
}


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


def run_schemathesis(service, directory):
    """Run all its phases once, which must find nothing; return how often what was answered."""
    tally, report = directory / "tally.json", directory / "report.json"
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{service.url}/openapi.json"),
        # tests/support/fuzz_checks.py has a sharper one.
        *("--exclude-checks", "positive_data_acceptance"),
        *("--phases", "examples,coverage,fuzzing"),
        *("--max-examples", str(EXAMPLES)),
        *("--continue-on-failure", "--no-color", "--warnings", "off"),
        *("--generation-database", "none"),
        *("--report", "json", "--report-json-path", str(report)),
    ]
    ours = {
        "PYTHONPATH": str(REPOSITORY),
        "SCHEMATHESIS_HOOKS": "tests.support.fuzz_checks",
        TALLY: str(tally),
    }
    ran = subprocess.run(
        command, cwd=directory, env=os.environ | ours, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads(report.read_text())
    assert found["stop_reason"] == "completed"
    # The document has no links to follow.
    skipped = {name for name, phase in found["phases"].items() if phase["status"] != "success"}
    assert skipped == {"stateful"}
    return Counter(json.loads(tally.read_text()))


@pytest.mark.soak(share=5)
def test_the_running_service_is_what_its_document_says(
    request, gunicorn_service, database_url, ledger, tmp_path, soak_seconds
):
    service = gunicorn_service(
        DATABASE_URL=database_url,
        DEEDS_ARGON2="m=8,t=1,p=1",
        DEEDS_RATE_LIMITS="failures=off",  # Most of what is made up fails, on purpose.
        WEB_CONCURRENCY="1",
    )
    deadline = time.monotonic() + soak_seconds

    tally = run_schemathesis(service, tmp_path)
    while time.monotonic() < deadline:
        tally += run_schemathesis(service, tmp_path)

    add_line(request.node, f"{sum(tally.values())} requests, no failure")
    assert MET - tally.keys() == set()
    assert service.get_status("/v1/info") == 200
    assert "defect" not in service.log_text()
