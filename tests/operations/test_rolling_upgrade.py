"""An upgrade without an outage: a migration under load, old and new code beside each other."""

import json
import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from deeds.domain.raw_output import make_strong_secret
from storage.schema import HEAD_REVISION
from tests.faults.test_killed_workers import CUT_OFF, Holder, children
from tests.support.breaking_app import BREAKING
from tests.support.migrating import migrate_by, newer_revision, set_revision, write_newer_code
from tests.support.racing import client_of_port
from tests.support.reporting import add_line
from tests.support.serving import running_service
from tests.support.waiting import wait_until

HOLDERS_COUNT = 6
SWAPS_EACH = 8
SETTINGS = {"DEEDS_LOG": "json", "WEB_CONCURRENCY": "2"}
PATIENT = "--bind 127.0.0.1:0 --worker-class tests.support.applications.PatientWorker"

# A worker that cannot start is tried again so often at most.
RETRY_SECONDS = 5


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, sqlite_url):
    """The URL of a database of this test alone, whose revision it may change."""
    if request.param == "sqlite":
        return sqlite_url
    return request.getfixturevalue("fresh_postgres_url")()


def newer(directory, *, permits_old):
    """Write the next release; its revision permits our code or does not."""
    (directory / "newer").mkdir()
    return write_newer_code(directory / "newer", newer_revision(permits_old=permits_old))


class Load:
    """Holders who swap without end by any of some services; an answer but 200 fails the test."""

    def __init__(self, service):
        self.ports = [service.port]
        self.cut_off_count = 0
        secrets = [make_strong_secret() for _ in range(HOLDERS_COUNT)]
        status, minted = self.send("/v1/mint", {"outputs": [f"+5.{each}" for each in secrets]})
        assert status == 200
        self.item = minted["itemId"]
        self.holders = [Holder(self, self.item, each) for each in secrets]

    def send(self, path, body, key=None):
        """Send to one of the services, and count connections that broke off."""
        try:
            with client_of_port(random.choice(self.ports)) as send:
                return send(path, body, key)
        except CUT_OFF:
            self.cut_off_count += 1
            raise

    @contextmanager
    def running(self):
        stop = threading.Event()
        with ThreadPoolExecutor(max_workers=HOLDERS_COUNT) as pool:
            futures = [pool.submit(holder.swap_until, stop) for holder in self.holders]
            try:
                yield
            except BaseException:
                self.ports.clear()  # Ends those who would try for ever.
                raise
            finally:
                stop.set()
            for future in futures:
                future.result()

    def go_on(self):
        """Wait until each holder has swapped some more."""
        goals = [holder.swaps_count + SWAPS_EACH for holder in self.holders]
        wait_until(
            lambda: all(
                holder.swaps_count >= goal for holder, goal in zip(self.holders, goals, strict=True)
            )
        )


def end_worker(service, pid, how):
    """End a worker, and wait until it has gone and another one was begun."""
    os.kill(pid, how)
    wait_until(lambda: len(now := children(service.process.pid)) == 2 and pid not in now)


def replace_workers(service, how, load):
    """End one worker after the other, while the load goes on with what takes their place."""
    for pid in children(service.process.pid):
        end_worker(service, pid, how)
        load.go_on()


def lines_of(service):
    # The last one may be half there.
    return [json.loads(line) for line in service.log_text().split("\n")[:-1]]


def cannot_start(service):
    """Return the lines about workers that cannot start."""
    return [line for line in lines_of(service) if line["event"] == "cannot_start"]


def test_old_and_new_code_serve_side_by_side_and_no_request_fails(
    database_url, gunicorn_service, tmp_path, ledger, request
):
    sources = newer(tmp_path, permits_old=True)
    old = gunicorn_service(DATABASE_URL=database_url, **SETTINGS)
    load = Load(old)

    with load.running():
        load.go_on()
        said = migrate_by(sources, database_url)
        replace_workers(old, signal.SIGTERM, load)
        settings = SETTINGS | {"DATABASE_URL": database_url}
        with running_service(tmp_path, sources=sources, **settings) as new:
            load.ports.append(new.port)
            load.go_on()
            replace_workers(old, signal.SIGTERM, load)
            assert load.cut_off_count == 0
            replace_workers(old, signal.SIGKILL, load)
            ready = [each.get_status("/readyz") for each in (old, new)]
            load.ports.remove(new.port)
        load.go_on()

    assert said == (
        f"upgraded the database from revision {HEAD_REVISION} to "
        f"{newer_revision(permits_old=True)}\n"
    )
    assert ready == [200, 200]
    assert cannot_start(old) == []
    assert ledger.live(load.item) == [5] * HOLDERS_COUNT
    swaps_count = sum(holder.swaps_count for holder in load.holders)
    add_line(request.node, f"swaps {swaps_count}, cut off {load.cut_off_count}, failed 0")


def test_old_code_refuses_a_revision_that_does_not_permit_it_without_haste(
    database_url, gunicorn_service, tmp_path, ledger
):
    """The worker that is left serves on; the place of the dead one is tried every 5 s."""
    service = gunicorn_service(DATABASE_URL=database_url, **SETTINGS)
    load = Load(service)

    migrate_by(newer(tmp_path, permits_old=False), database_url)
    first, second = children(service.process.pid)
    with load.running():
        end_worker(service, first, signal.SIGTERM)
        wait_until(lambda: len(cannot_start(service)) == 3)
        ready = service.get_status("/readyz")
        load.go_on()
        set_revision(ledger.engine, HEAD_REVISION)
        end_worker(service, second, signal.SIGTERM)
        load.go_on()

    refusal = (
        "deeds cannot start: the database is at revision "
        f"{newer_revision(permits_old=False)} and the code at {HEAD_REVISION}; run newer code"
    )
    said = cannot_start(service)
    times = [datetime.fromisoformat(line["time"]) for line in said]
    assert ready == 503
    assert load.cut_off_count == 0
    assert {line["message"] for line in said} == {refusal}
    assert min(b - a for a, b in pairwise(times)) >= timedelta(seconds=RETRY_SECONDS)
    assert [line for line in lines_of(service) if line["level"] == "error"] == said


def test_a_stop_does_not_wait_for_a_worker_that_waits_for_its_next_try(
    sqlite_url, gunicorn_service, tmp_path
):
    service = gunicorn_service(DATABASE_URL=sqlite_url, GUNICORN_CMD_ARGS=PATIENT, **SETTINGS)
    migrate_by(newer(tmp_path, permits_old=False), sqlite_url)
    end_worker(service, children(service.process.pid)[0], signal.SIGTERM)
    wait_until(lambda: cannot_start(service))

    os.kill(service.process.pid, signal.SIGTERM)

    # gunicorn would kill it after 30 s.
    assert service.process.wait(timeout=20) == 0


def test_a_later_worker_that_meets_a_defect_does_not_end_those_that_serve(sqlite_url, tmp_path):
    trigger = tmp_path / "broken"
    breaking = {"BREAKS": "a later start", "TRIGGER": str(trigger), "DATABASE_URL": sqlite_url}
    with running_service(tmp_path, application=BREAKING, **breaking, **SETTINGS) as service:
        # Of the first two workers none may break: that ends the master.
        wait_until(lambda: len(list(tmp_path.glob("unbroken-*"))) == 2)
        trigger.touch()
        end_worker(service, children(service.process.pid)[0], signal.SIGTERM)
        wait_until(lambda: [line for line in lines_of(service) if line["level"] == "error"])
        trigger.unlink()
        before = children(service.process.pid)
        answers = [service.get_status("/readyz") for _ in range(10)]
        wait_until(lambda: children(service.process.pid) != before)

    assert answers == [200] * 10
    [broken] = [line for line in lines_of(service) if line["level"] == "error"]
    assert broken["error"] == "ValueError"
