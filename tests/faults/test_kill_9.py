"""The service or its workers are killed, at random under load and at a commit."""

import json
import time
from contextlib import closing
from uuid import uuid4

import pytest

from tests.faults.journal import CUT_OFF
from tests.faults.load import (
    Load,
    line_of,
    operations,
    rounds,
    slow_on_sqlite,
)
from tests.faults.mortal_service import MortalService
from tests.support.api import Api, good
from tests.support.applications import AFTER_COMMIT, BEFORE_COMMIT
from tests.support.marker import STRONG


@slow_on_sqlite
@pytest.mark.soak(share=12)
def test_a_killed_service_loses_and_doubles_nothing(
    database_url, make_service, seed, report, soak_seconds
):
    service = make_service(database_url)
    load = Load([service.find_port], seed)
    kills_count = 0

    with load.running():
        for rng in rounds(seed, soak_seconds):
            for is_up in (True, False, True):
                if is_up:
                    service.wait_until_up()
                    load.wait_for_answers(rng.randint(1, 100))
                # Somewhere in the next few requests, or in the start.
                time.sleep(rng.uniform(0, 0.01 if is_up else 1.0))
                service.kill()
                kills_count += 1
                service.start(waits=False)
            service.wait_until_up()
            load.wait_for_answers(1)

    counts = load.assert_nothing_lost(database_url)
    report(f"kills {kills_count}, {line_of(counts)}")


@pytest.fixture(
    scope="module",
    params=[pytest.param("sqlite", marks=pytest.mark.slow), "postgresql"],
)
def failing_service(request, tmp_path_factory):
    """A service of one process, which dies at the moment in the file `failpoint`."""
    directory = tmp_path_factory.mktemp("failing")
    url = f"sqlite:///{directory / 'deeds.sqlite3'}"
    if request.param == "postgresql":
        postgres = request.getfixturevalue("postgres")
        url = postgres.create_migrated_database()
    application = "tests.support.applications:create_failing_app()"
    settings = {"workers": 1, "FAILPOINT_FILE": str(directory / "failpoint")}
    with closing(MortalService(directory, url, application, **settings)) as service:
        service.start()
        yield service
    if request.param == "postgresql":
        postgres.drop_database(url)


OUTPUTS = ["+2.ITEM.a", "+3.ITEM.b", f"+5.ITEM.{STRONG}"]
BEFORE = ["unspent", "unspent", "unknown"]
SWAPPED = ["spent", "spent", "unspent"]
# One of each kind, the operation that it is, and the outputs' states after it. The
# offer that is completed is of the first output for the last.
REQUESTS = {
    "mint": ("/v1/mint", {"outputs": ["+5.a"]}, ("mint", 0, 1), BEFORE),
    "swap": (
        "/v1/swap",
        {"inputs": OUTPUTS[:2], "outputs": OUTPUTS[2:]},
        ("swap", 2, 1),
        SWAPPED,
    ),
    "offer": (
        "/v1/offers",
        {"inputs": OUTPUTS[:1], "outputs": OUTPUTS[2:]},
        ("offer", 1, 1),
        BEFORE,
    ),
    "completion": (
        "/v1/offers/OFFER/complete",
        {"inputs": OUTPUTS[1:2], "outputs": []},
        ("swap", 2, 1),
        SWAPPED,
    ),
}


@pytest.mark.parametrize("moment", [BEFORE_COMMIT, AFTER_COMMIT])
@pytest.mark.parametrize("kind", REQUESTS)
def test_a_request_cut_off_at_its_commit_is_carried_out_once(
    failing_service, kind, moment
):
    failpoint = failing_service.log.with_name("failpoint")
    with closing(Api.of_url(failing_service.url)) as api:
        item_id = api.mint("+2.a", "+3.b")
        texts = json.dumps([OUTPUTS, *REQUESTS[kind]]).replace("ITEM", item_id)
        outputs, path, body, operation, after = json.loads(texts)
        offer_id = api.offer_id(outputs[:1], outputs[2:])
        request = (path.replace("OFFER", offer_id), body, str(uuid4()))
        before = operations(failing_service.database_url)

        failpoint.write_text(moment)
        with pytest.raises(CUT_OFF):
            api.post(*request)
        found = api.check(*outputs)
        first, again = api.post(*request), api.post(*request)

        assert found == (after if moment == AFTER_COMMIT else BEFORE)
        assert ("Idempotency-Replayed" in first.headers) == (moment == AFTER_COMMIT)
        assert "Idempotency-Replayed" in again.headers
        assert good(first) == good(again)
        assert api.check(*outputs) == after
        made = operations(failing_service.database_url)
        assert made == [*before, tuple(operation)]
