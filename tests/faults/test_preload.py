"""gunicorn's --preload: the application is loaded before the workers are forked.

No connection, lock or thread of the start may be carried into them.
"""

import json
from contextlib import closing

import pytest

from tests.support.api import SUCCESS, Api, fresh, good
from tests.support.ledger_view import LedgerView
from tests.support.racing import at_once, mint_strong
from tests.support.serving import running_service, start_gunicorn
from tests.support.waiting import wait_until
from tests.support.watched import moved

CLIENTS_COUNT = 8
# Of each client; each is a mint and a swap.
ROUNDS_COUNT = 125
WORKERS_COUNT = 4
OPERATIONS_COUNT = 2 * CLIENTS_COUNT * ROUNDS_COUNT

PRELOADED = "--bind 127.0.0.1:0 --preload"


def mint_and_swap(url):
    """Mint and swap as one client; return what is spent by then, and what is live."""
    spent, live = [], []
    for _ in range(ROUNDS_COUNT):
        # A connection of its own each time, so that every worker is met.
        with closing(Api.of_url(url)) as api:
            item, [minted] = mint_strong(api, 5)
            swapped = fresh(5, item)
            assert good(api.swap(minted, swapped)) == SUCCESS
        spent.append(minted)
        live.append(swapped)
    return spent, live


@pytest.mark.slow
def test_preloaded_workers_lose_nothing_and_confuse_nothing(ledger_url, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    settings = {
        "DATABASE_URL": ledger_url,
        "DEEDS_CHECKPOINT_FILE": str(checkpoint),
        "DEEDS_METRICS": "on",
        "WEB_CONCURRENCY": str(WORKERS_COUNT),
    }
    preloaded = {"GUNICORN_CMD_ARGS": PRELOADED}
    with running_service(tmp_path, **settings, **preloaded) as service:
        clients = [lambda: mint_and_swap(service.url)] * CLIENTS_COUNT
        acknowledged = at_once(clients)
        metrics = service.get("/metrics").text
        # As it is told to stop; then the last second is in the checkpoint file.
        service.process.terminate()
        service.process.wait()

    counted = moved(metrics, "deeds_operations_total")
    for kind in ("mint", "swap"):
        name = f"deeds_operations_total{{kind={kind},outcome=done}}"
        assert counted[name] == OPERATIONS_COUNT / 2
    assert int(checkpoint.read_text().split()[1]) == OPERATIONS_COUNT
    LedgerView(ledger_url).assert_sound()
    with (
        running_service(tmp_path, **settings) as again,
        closing(Api.of_url(again.url)) as api,
    ):
        for spent, live in acknowledged:
            assert set(api.check(*spent)) == {"spent"}
            assert set(api.check(*live)) == {"unspent"}


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_preloaded_start_that_cannot_work_ends_in_one_line_of_the_log(tmp_path, form):
    log = tmp_path / "log"
    settings = {
        "DATABASE_URL": f"sqlite:///{tmp_path}/deeds.db",
        "DEEDS_LOG": form,
        "DEEDS_PEPPER": "short",
        "GUNICORN_CMD_ARGS": PRELOADED,
    }

    with start_gunicorn(log, settings) as process:
        wait_until(lambda: process.poll() is not None)

    [line] = log.read_text().splitlines()
    if form == "json":
        event = json.loads(line)
        assert (event["event"], event["level"]) == ("cannot_start", "error")
        line = event["message"]
    assert line.startswith("deeds: DEEDS_PEPPER must have at least 32 characters")
    assert process.returncode == 1
