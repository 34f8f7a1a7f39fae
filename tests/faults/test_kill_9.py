"""The service or its workers are killed, at random under load and at a commit."""

import os
import signal
import time
from collections import Counter
from contextlib import closing
from uuid import uuid4

import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.faults.journal import CUT_OFF, Sender
from tests.faults.load import Load, assert_nothing_lost, line_of, operations, soak
from tests.support.applications import AFTER_COMMIT, BEFORE_COMMIT
from tests.support.serving import children

KILLS_COUNT = 6


@pytest.mark.soak(share=12)
def test_a_killed_service_loses_and_doubles_nothing(
    database_url, make_service, seed, report, soak_seconds
):
    service = make_service(database_url)

    def kill_again_and_again(load, rng):
        for number in range(KILLS_COUNT):
            # One kill in three comes while the service starts.
            if number % 3 == 2:
                time.sleep(rng.uniform(0, 1.0))
            else:
                service.wait_until_up()
                load.wait_for_answers(rng.randint(1, 100))
                # Somewhere in the next few requests.
                time.sleep(rng.uniform(0, 0.01))
            service.kill()
            service.begin_start()
        service.wait_until_up()
        load.wait_for_answers(1)
        return Counter({"kills": KILLS_COUNT})

    service.begin_start()
    counts = soak(
        [service.find_port],
        database_url,
        kill_again_and_again,
        seed=seed,
        seconds=soak_seconds,
    )

    report(line_of(counts))


def test_killed_workers_lose_and_double_nothing(
    database_url, make_service, seed, report
):
    service = make_service(database_url)
    service.start()
    load = Load([service.find_port], seed, looks_up=False)
    with load.running():
        for _ in range(4):
            load.wait_for_answers(60)
            for worker in children(service.process.pid):
                os.kill(worker, signal.SIGKILL)

    report(line_of(assert_nothing_lost(load, service.find_port, database_url)))


def carry_out(sender, failpoint, moment, request, raws=()):
    """Send a request that kills the process, and twice more to the next one.

    Return the answer, and the states of the raw outputs in between.
    """
    failpoint.write_text(moment)
    with pytest.raises(CUT_OFF):
        sender.send(*request)
    assert not failpoint.exists()
    found = sender.check(raws)
    first, again = sender.send(*request), sender.send(*request)
    assert first.answer == again.answer
    assert (first.is_replay, again.is_replay) == (moment == AFTER_COMMIT, True)
    return first.answer, found


@pytest.mark.parametrize("moment", [BEFORE_COMMIT, AFTER_COMMIT])
def test_a_request_cut_off_at_its_commit_is_carried_out_once(
    database_url, make_service, tmp_path, moment
):
    failpoint = tmp_path / "failpoint"
    application = "tests.support.applications:create_failing_app()"
    service = make_service(
        database_url, application, workers=1, FAILPOINT_FILE=str(failpoint)
    )
    service.start()
    with closing(Sender(service.find_port)) as sender:
        mint = ("/v1/mint", {"outputs": [f"+5.{make_strong_secret()}"]}, str(uuid4()))
        minted, _ = carry_out(sender, failpoint, moment, mint)
        item, inputs = minted["itemId"], minted["rawOutputs"]

        outputs = [f"+{amount}.{item}.{make_strong_secret()}" for amount in (2, 3)]
        swap = ("/v1/swap", {"inputs": inputs, "outputs": outputs}, str(uuid4()))
        _, swapped = carry_out(sender, failpoint, moment, swap, inputs + outputs)

        merged = [f"+5.{item}.{make_strong_secret()}"]
        making = (
            "/v1/offers",
            {"inputs": outputs[:1], "outputs": merged},
            str(uuid4()),
        )
        made, offered = carry_out(sender, failpoint, moment, making, outputs + merged)
        path = f"/v1/offers/{made['offerId']}/complete"
        completion = (path, {"inputs": outputs[1:], "outputs": []}, str(uuid4()))
        _, completed = carry_out(
            sender, failpoint, moment, completion, outputs + merged
        )

        assert sender.check([*inputs, *outputs, *merged]) == ["spent"] * 3 + ["unspent"]
        service.kill()
        service.start()
        again = [sender.send_until_answered(*each)[0] for each in (making, completion)]
    answers = [made | {"state": "completed"}, {"success": True}]
    assert [(each.answer, each.is_replay) for each in again] == [
        (each, True) for each in answers
    ]
    is_done = moment == AFTER_COMMIT
    assert swapped == (
        ["spent"] + ["unspent"] * 2 if is_done else ["unspent"] + ["unknown"] * 2
    )
    assert offered == ["unspent"] * 2 + ["unknown"]
    assert completed == (["spent"] * 2 + ["unspent"] if is_done else offered)
    kinds = [("mint", 0, 1), ("swap", 1, 2), ("offer", 1, 1), ("swap", 2, 1)]
    assert operations(database_url) == kinds
