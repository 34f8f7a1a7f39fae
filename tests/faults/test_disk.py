"""A real gunicorn on a disk that takes no more: 503 for writers, and nothing lost."""

import resource
from pathlib import Path

from storage.engine import parse_database_url
from tests.faults.load import Load, assert_nothing_lost, line_of
from tests.support.serving import children
from tests.support.waiting import wait_until

# Fewer than SQLite writes to its log before it starts the log again.
ANSWERS_COUNT = 50


def limit_files(workers, size):
    """Let the kernel refuse each write past this size, as it does on a full disk."""
    for worker in workers:
        _, hard = resource.prlimit(worker, resource.RLIMIT_FSIZE)
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (size, hard))


def test_a_full_disk_refuses_writers_not_readers_and_serves_again(
    gunicorn_service, sqlite_url, seed, report
):
    service = gunicorn_service(DATABASE_URL=sqlite_url, WEB_CONCURRENCY="2")
    wait_until(lambda: len(children(service.process.pid)) == 2)
    workers = children(service.process.pid)
    log = Path(f"{parse_database_url(sqlite_url).database}-wal")
    load = Load([lambda: service.port], seed)
    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        limit_files(workers, log.stat().st_size)
        # Each looks meanwhile whether what was refused is wholly undone.
        wait_until(
            lambda: all(each.sender.unavailable_count > 1 for each in load.clients)
        )
        item = next(each.wallet[0] for each in load.clients if each.wallet).split(".")[
            1
        ]
        read = service.get_status(f"/v1/item/{item}")
        limit_files(workers, resource.RLIM_INFINITY)
        load.wait_for_answers(ANSWERS_COUNT)

    counts = assert_nothing_lost(load, lambda: service.port, sqlite_url)
    assert (counts["found done"], read) == (0, 200)
    assert children(service.process.pid) == workers
    report(line_of(counts))
