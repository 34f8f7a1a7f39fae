"""A real gunicorn on a disk that is full or read-only: 503 for writers, and nothing lost."""

import resource
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from storage.engine import parse_database_url
from tests.faults.load import Load, assert_nothing_lost, line_of
from tests.support.applications import FULL, READ_ONLY, ROOMY
from tests.support.serving import children
from tests.support.waiting import wait_until

# Fewer than SQLite writes to its log before it starts the log again.
ANSWERS_COUNT = 50


@contextmanager
def limited_by(pragma, _log, pragmas, _workers):
    put(pragmas, pragma)
    yield
    put(pragmas, ROOMY)


def put(pragmas, text):
    """Replace the file as a whole: each transaction of the service reads it."""
    new = pragmas.with_suffix(".new")
    new.write_text(text)
    new.replace(pragmas)


@contextmanager
def log_that_cannot_grow(log, _pragmas, workers):
    """The kernel itself refuses each write past the end, as it does on a full disk."""
    limit_files(workers, log.stat().st_size)
    yield
    limit_files(workers, resource.RLIM_INFINITY)


def limit_files(workers, size):
    for worker in workers:
        _, hard = resource.prlimit(worker, resource.RLIMIT_FSIZE)
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (size, hard))


@pytest.mark.parametrize(
    "limit",
    [partial(limited_by, FULL), partial(limited_by, READ_ONLY), log_that_cannot_grow],
    ids=["full disk", "read-only file", "log that cannot grow"],
)
def test_a_disk_that_takes_nothing_refuses_writers_not_readers_and_serves_again(
    gunicorn_service, sqlite_url, tmp_path, seed, report, limit
):
    pragmas = tmp_path / "pragmas"
    pragmas.write_text(ROOMY)
    service = gunicorn_service(
        application="tests.support.applications:create_limited_app()",
        DATABASE_URL=sqlite_url,
        TEST_PRAGMAS=str(pragmas),
        WEB_CONCURRENCY="2",
    )
    wait_until(lambda: len(children(service.process.pid)) == 2)
    workers = children(service.process.pid)
    log = Path(f"{parse_database_url(sqlite_url).database}-wal")
    load = Load([lambda: service.port], seed)
    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        with limit(log, pragmas, workers):
            # Each looks meanwhile whether what was refused is wholly undone.
            wait_until(lambda: all(each.sender.unavailable_count > 1 for each in load.clients))
            item = next(each.wallet[0] for each in load.clients if each.wallet).split(".")[1]
            read = service.get_status(f"/v1/item/{item}")
        load.wait_for_answers(ANSWERS_COUNT)

    counts = assert_nothing_lost(load, lambda: service.port, sqlite_url)
    assert (counts["found done"], read) == (0, 200)
    assert children(service.process.pid) == workers
    report(line_of(counts))
