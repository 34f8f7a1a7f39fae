"""gunicorn's --preload: the application is loaded before the workers are forked.

The workers must not inherit a connection, a lock or a thread.
"""

from collections import Counter

import pytest

from tests.support.journal import BriefSender
from tests.support.ledger_view import LedgerView
from tests.support.load import Load
from tests.support.watched import nonzero_series

# Each request has its own connection, so that every worker gets some.
ANSWERS_COUNT = 500


@pytest.mark.slow
def test_preloaded_workers_lose_nothing_and_confuse_nothing(
    ledger_url, gunicorn_service, tmp_path, seed
):
    checkpoint = tmp_path / "checkpoint"
    service = gunicorn_service(
        DATABASE_URL=ledger_url,
        DEEDS_CHECKPOINT_FILE=str(checkpoint),
        DEEDS_METRICS="on",
        WEB_CONCURRENCY="4",
        GUNICORN_CMD_ARGS="--bind 127.0.0.1:0 --preload",
    )
    load = Load([lambda: service.port], seed, make_sender=BriefSender)

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
    load.assert_nothing_lost(ledger_url)
    counted = nonzero_series(service.get("/metrics").text, "deeds_operations_total")
    # A stop writes the operations of the last second to the checkpoint file.
    service.process.terminate()
    service.process.wait()

    paths = Counter(entry.path for entry in load.entries)
    for kind in ("mint", "swap"):
        name = f"deeds_operations_total{{kind={kind},outcome=done}}"
        assert counted[name] == paths[f"/v1/{kind}"]
    [(newest_id,)] = LedgerView(ledger_url).read("SELECT max(id) FROM operations")
    assert checkpoint.read_text().split()[1] == str(newest_id)
