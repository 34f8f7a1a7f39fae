"""An upgrade without an outage.

A migration under load, old and new code beside each other.
"""

import json
import os
import random
import signal
import time
from datetime import datetime, timedelta

import pytest

from storage.schema import HEAD_REVISION
from tests.faults.journal import Sender
from tests.faults.load import Load, assert_nothing_lost, line_of
from tests.support.applications import BREAKING, HastyWorker
from tests.support.migrating import (
    migrate_by,
    newer_revision,
    set_revision,
    write_newer_code,
)
from tests.support.reporting import add_line
from tests.support.serving import children, running_service
from tests.support.waiting import wait_until

ANSWERS_COUNT = 50
HASTY = "--bind 127.0.0.1:0 --worker-class tests.support.applications.HastyWorker"
SETTINGS = {"DEEDS_LOG": "json", "WEB_CONCURRENCY": "2"}


@pytest.fixture
def database_url(ledger_url):
    """That of this test alone, which may change its revision."""
    return ledger_url


def newer(directory, *, permits_old):
    """Write the next release; its revision permits our code or does not."""
    (directory / "newer").mkdir()
    return write_newer_code(
        directory / "newer", newer_revision(permits_old=permits_old)
    )


def end_worker(service, pid, how):
    """End a worker, and wait until it has gone and another one was begun."""
    os.kill(pid, how)
    wait_until(
        lambda: len(now := children(service.process.pid)) == 2 and pid not in now
    )


def replace_workers(service, how, load):
    """End one worker after the other under the load."""
    for pid in children(service.process.pid):
        end_worker(service, pid, how)
        load.wait_for_answers(ANSWERS_COUNT)


def lines_of(service):
    # The last one may be half there.
    return [json.loads(line) for line in service.log_text().split("\n")[:-1]]


def cannot_start(service):
    """Return the lines about workers that cannot start."""
    return [line for line in lines_of(service) if line["event"] == "cannot_start"]


class CalmSender(Sender):
    """Opens a connection for each request, and leaves time to what is starting."""

    def send(self, *request):
        time.sleep(0.05)
        try:
            return super().send(*request)
        finally:
            self.close()


def load_on(ports):
    """Return clients that send each request to any of the ports."""
    seed = random.randrange(2**32)
    return Load(
        [lambda: random.choice(ports)], seed, looks_up=False, make_sender=CalmSender
    )


def test_old_and_new_code_serve_side_by_side_and_no_request_fails(
    database_url, gunicorn_service, tmp_path, request
):
    sources = newer(tmp_path, permits_old=True)
    old = gunicorn_service(DATABASE_URL=database_url, **SETTINGS)
    load = load_on(ports := [old.port])

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        said = migrate_by(sources, database_url)
        replace_workers(old, signal.SIGTERM, load)
        settings = SETTINGS | {"DATABASE_URL": database_url}
        with running_service(tmp_path, sources=sources, **settings) as new:
            ports.append(new.port)
            load.wait_for_answers(ANSWERS_COUNT)
            replace_workers(old, signal.SIGTERM, load)
            assert load.unanswered_count() == 0
            replace_workers(old, signal.SIGKILL, load)
            ready = [each.get_status("/readyz") for each in (old, new)]
            ports.remove(new.port)
        load.wait_for_answers(ANSWERS_COUNT)

    assert said == (
        f"upgraded the database from revision {HEAD_REVISION} to "
        f"{newer_revision(permits_old=True)}\n"
    )
    assert ready == [200, 200]
    assert cannot_start(old) == []
    # Any other answer but 200 fails the load itself.
    assert load.unavailable_count() == 0
    add_line(
        request.node, line_of(assert_nothing_lost(load, lambda: old.port, database_url))
    )


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_old_code_refuses_a_revision_that_does_not_permit_it_without_haste(
    database_url, gunicorn_service, tmp_path, ledger
):
    """The worker that is left serves on.

    The place of the dead one is tried now and then.
    """
    service = gunicorn_service(
        DATABASE_URL=database_url, GUNICORN_CMD_ARGS=HASTY, **SETTINGS
    )
    load = load_on([service.port])

    migrate_by(newer(tmp_path, permits_old=False), database_url)
    first, second = children(service.process.pid)
    with load.running():
        end_worker(service, first, signal.SIGTERM)
        wait_until(lambda: len(cannot_start(service)) == 2)
        ready = service.get_status("/readyz")
        load.wait_for_answers(ANSWERS_COUNT)
        set_revision(ledger.engine, HEAD_REVISION)
        end_worker(service, second, signal.SIGTERM)
        load.wait_for_answers(ANSWERS_COUNT)

    refusal = (
        "deeds cannot start: the database is at revision "
        f"{newer_revision(permits_old=False)} and the code at {HEAD_REVISION};"
        " run newer code"
    )
    said = cannot_start(service)
    begun, again, *_ = (datetime.fromisoformat(line["time"]) for line in said)
    assert ready == 503
    assert load.unanswered_count() == 0
    assert {line["message"] for line in said} == {refusal}
    assert again - begun >= timedelta(seconds=HastyWorker.retry_seconds)
    assert [line for line in lines_of(service) if line["level"] == "error"] == said


def test_a_stop_does_not_wait_for_a_worker_that_waits_for_its_next_try(
    sqlite_url, gunicorn_service, tmp_path
):
    patient = (
        "--bind 127.0.0.1:0 --worker-class tests.support.applications.PatientWorker"
    )
    service = gunicorn_service(
        DATABASE_URL=sqlite_url, GUNICORN_CMD_ARGS=patient, **SETTINGS
    )
    migrate_by(newer(tmp_path, permits_old=False), sqlite_url)
    end_worker(service, children(service.process.pid)[0], signal.SIGTERM)
    wait_until(lambda: cannot_start(service))

    os.kill(service.process.pid, signal.SIGTERM)

    # gunicorn would kill it after 30 s.
    assert service.process.wait(timeout=20) == 0


def test_a_later_worker_that_meets_a_defect_does_not_end_those_that_serve(
    sqlite_url, tmp_path
):
    trigger = tmp_path / "broken"
    settings = {
        "BREAKS": "a later start",
        "TRIGGER": str(trigger),
        "DATABASE_URL": sqlite_url,
    }
    settings |= SETTINGS | {"GUNICORN_CMD_ARGS": HASTY}
    with running_service(tmp_path, application=BREAKING, **settings) as service:
        # Of the first two workers none may break: that ends the master.
        wait_until(lambda: len(list(tmp_path.glob("unbroken-*"))) == 2)
        trigger.touch()
        end_worker(service, children(service.process.pid)[0], signal.SIGTERM)
        wait_until(
            lambda: [line for line in lines_of(service) if line["level"] == "error"]
        )
        trigger.unlink()
        before = children(service.process.pid)
        answers = [service.get_status("/readyz") for _ in range(10)]
        wait_until(lambda: children(service.process.pid) != before)

    assert answers == [200] * 10
    [broken] = [line for line in lines_of(service) if line["level"] == "error"]
    assert broken["error"] == "ValueError"
