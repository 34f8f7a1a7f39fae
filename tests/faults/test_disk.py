"""A real gunicorn on a disk that takes no more: 503 for writers, and nothing lost."""

import resource
from pathlib import Path

from tests.faults.load import CLIENTS_COUNT, Load, line_of
from tests.support.databases import sqlite_path

# Fewer than SQLite writes to its log before it starts the log again.
ANSWERS_COUNT = 50


def test_a_full_disk_refuses_writers_not_readers_and_serves_again(
    gunicorn_service, sqlite_url, seed, report
):
    service = gunicorn_service(DATABASE_URL=sqlite_url, WEB_CONCURRENCY="2")
    workers = service.workers
    _, hard = workers[0].rlimit(resource.RLIMIT_FSIZE)
    log = Path(f"{sqlite_path(sqlite_url)}-wal")
    load = Load([lambda: service.port], seed)

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        item_id = load.entries[0].outputs[0].split(".")[1]
        # The kernel refuses each write past this size, as it does on a full disk.
        for worker in workers:
            worker.rlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
        # Each looks meanwhile whether what was refused is wholly undone.
        load.wait_for_answers(3 * CLIENTS_COUNT, "503 ledger_unavailable")
        read = service.get(f"/v1/item/{item_id}")
        for worker in workers:
            worker.rlimit(resource.RLIMIT_FSIZE, (hard, hard))
        load.wait_for_answers(ANSWERS_COUNT)

    counts = load.assert_nothing_lost(sqlite_url)
    assert (counts["found done"], read.status_code) == (0, 200)
    assert service.workers == workers
    report(line_of(counts))
