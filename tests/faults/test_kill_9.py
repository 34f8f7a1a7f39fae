"""The service is killed, at random under load and at a commit."""

import time
from contextlib import closing
from uuid import uuid4

import pytest

from tests.support.api import SUCCESS, Api, replayed
from tests.support.applications import AFTER_COMMIT, BEFORE_COMMIT, FAILING
from tests.support.journal import UnansweredError
from tests.support.load import Load, line_of, operations, rounds
from tests.support.marker import STRONG
from tests.support.mortal_service import MortalService


@pytest.mark.slow
@pytest.mark.soak(share=12)
def test_a_killed_service_loses_and_doubles_nothing(
    database_url, make_service, seed, report, soak_seconds
):
    service = make_service(database_url)
    load = Load([service.find_port], seed)
    kills_count = 0

    with load.running():
        for rng in rounds(seed, soak_seconds):
            for is_up in (True, False):
                if is_up:
                    service.wait_until_up()
                    load.wait_for_answers(rng.randint(1, 100))
                # The kill may come during a request, or during the start.
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
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)],
)
def failing_service(request, tmp_path_factory):
    """A service of one process, which dies at the moment in the file `failpoint`."""
    directory = tmp_path_factory.mktemp("failing")
    url = f"sqlite:///{directory / 'deeds.sqlite3'}"
    if request.param == "postgresql":
        postgres = request.getfixturevalue("postgres")
        url = postgres.create_migrated_database()
    settings = {"workers": 1, "FAILPOINT_FILE": str(directory / "failpoint")}
    with closing(MortalService(directory, url, FAILING, **settings)) as service:
        service.start()
        yield service
    if request.param == "postgresql":
        postgres.drop_database(url)


def test_a_request_that_is_cut_off_at_its_commit_is_carried_out_once(failing_service):
    before = operations(failing_service.database_url)
    with closing(Api.of_url(failing_service.url)) as api:

        def send_cut_off(moment, *request):
            failing_service.log.with_name("failpoint").write_text(moment)
            with pytest.raises(UnansweredError):
                api.post(*request)

        mint = ("/v1/mint", {"outputs": ["+2.a", "+3.b"]}, str(uuid4()))
        send_cut_off(AFTER_COMMIT, *mint)
        item = replayed(api.post(*mint))["itemId"]

        outputs = [f"+2.{item}.a", f"+3.{item}.b", f"+5.{item}.{STRONG}"]
        offer = api.offer_id(outputs[:1], outputs[2:])
        half = {"inputs": outputs[1:2], "outputs": []}
        completion = (f"/v1/offers/{offer}/complete", half, str(uuid4()))
        send_cut_off(BEFORE_COMMIT, *completion)
        undone = api.check(*outputs)
        send_cut_off(AFTER_COMMIT, *completion)
        done = api.check(*outputs)
        assert replayed(api.post(*completion)) == SUCCESS

    assert undone == ["unspent", "unspent", "unknown"]
    assert done == ["spent", "spent", "unspent"]
    added = [("mint", 0, 2), ("offer", 1, 1), ("swap", 2, 1)]
    assert operations(failing_service.database_url) == [*before, *added]
