"""An upgrade without an outage: a migration under load, old beside new code."""

import json
import random
import signal
import time
from datetime import datetime, timedelta

import pytest

from storage.schema import CORE
from tests.support.applications import BREAKING, HASTY, PATIENT, HastyWorker
from tests.support.commanding import replace_workers
from tests.support.journal import BriefSender
from tests.support.load import Load, line_of
from tests.support.migrating import (
    NEXT,
    migrate_by,
    set_version,
    upgrade_line,
    write_newer_code,
)
from tests.support.serving import running_service
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

ANSWERS_COUNT = 20
SETTINGS = {"DEEDS_LOG": "json", "WEB_CONCURRENCY": "2"}
HASTY_SETTINGS = SETTINGS | {"GUNICORN_CMD_ARGS": HASTY}


@pytest.fixture
def database_url(ledger_url):
    """A database for one test only, which may change its version."""
    return ledger_url


def lines_of(service, **fields):
    """Return the lines of the log with these fields."""
    # The last line may be incomplete.
    lines = [json.loads(line) for line in service.log_text().split("\n")[:-1]]
    return [line for line in lines if fields.items() <= line.items()]


class CalmSender(BriefSender):
    """Pauses before each request, to leave the CPU to a service that starts."""

    def send(self, *request):
        time.sleep(0.25)
        return super().send(*request)


def load_on(ports):
    """Return clients that send each request to any of the ports."""
    return Load(
        [lambda: random.choice(ports)],
        seed=random.randrange(2**32),
        looks_up=False,
        make_sender=CalmSender,
    )


def test_old_and_new_code_serve_side_by_side_and_no_request_fails(
    database_url, gunicorn_service, tmp_path, report
):
    settings = SETTINGS | {"DATABASE_URL": database_url}
    newer = write_newer_code(tmp_path / "newer", permits_old=True)
    old = gunicorn_service(**settings)
    ports = [old.port]
    load = load_on(ports)

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        output = migrate_by(newer, database_url)
        with running_service(tmp_path, sources=newer, **settings) as new:
            ports.append(new.port)
            load.wait_for_answers(ANSWERS_COUNT)
            for worker in old.workers:
                replace_workers(old, worker, signal.SIGTERM)
                load.wait_for_answers(ANSWERS_COUNT)
            fates_before_the_kill = set(load.fates)
            replace_workers(old, old.workers[0], signal.SIGKILL)
            load.wait_for_answers(ANSWERS_COUNT)
            ready = [each.get("/readyz").status_code for each in (old, new)]
            ports.remove(new.port)
        load.wait_for_answers(ANSWERS_COUNT)

    assert output == upgrade_line(CORE.newest, NEXT, CORE.newest)
    assert ready == [200, 200]
    assert lines_of(old, event="cannot_start") == []
    assert fates_before_the_kill == {"acknowledged"}
    # Other errors make the load fail.
    assert [fate for fate in load.fates if fate.startswith("503")] == []
    counts = load.assert_nothing_lost(database_url)
    report(line_of(counts))


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_old_code_refuses_a_version_that_does_not_permit_it_without_haste(
    database_url, gunicorn_service, tmp_path, ledger
):
    """The remaining worker goes on serving; the dead one is replaced now and then."""
    service = gunicorn_service(DATABASE_URL=database_url, **HASTY_SETTINGS)
    load = load_on([service.port])

    newer = write_newer_code(tmp_path / "newer", permits_old=False)
    migrate_by(newer, database_url)
    first, second = service.workers
    with load.running():
        replace_workers(service, first, signal.SIGTERM)
        wait_until(lambda: len(lines_of(service, event="cannot_start")) == 2)
        ready = service.get("/readyz").status_code
        load.wait_for_answers(ANSWERS_COUNT)
        set_version(database_url, CORE.newest, CORE.newest)
        replace_workers(service, second, signal.SIGTERM)
        load.wait_for_answers(ANSWERS_COUNT)

    message = (
        f"deeds: the tables of core have version {NEXT}, which code of version"
        f" {CORE.newest} must not serve; run newer code"
    )
    refused = lines_of(service, event="cannot_start")
    first_at, next_at, *_ = (datetime.fromisoformat(line["time"]) for line in refused)
    assert ready == 503
    assert set(load.fates) == {"acknowledged"}
    assert {line["message"] for line in refused} == {message}
    assert next_at - first_at >= timedelta(seconds=HastyWorker.retry_seconds)
    assert lines_of(service, level="error") == refused


def test_a_stop_does_not_wait_for_a_worker_that_waits_for_its_next_try(
    sqlite_url, gunicorn_service, tmp_path
):
    # gunicorn would kill it after five minutes.
    patient = {"GUNICORN_CMD_ARGS": f"{PATIENT} --graceful-timeout 300"}
    service = gunicorn_service(DATABASE_URL=sqlite_url, **patient, **SETTINGS)
    newer = write_newer_code(tmp_path / "newer", permits_old=False)
    migrate_by(newer, sqlite_url)
    replace_workers(service, service.workers[0], signal.SIGTERM)
    wait_until(lambda: lines_of(service, event="cannot_start"))

    service.process.terminate()

    assert service.process.wait(timeout=60) == 0


def test_a_later_worker_that_meets_a_defect_does_not_end_those_that_serve(
    gunicorn_service, tmp_path
):
    trigger = tmp_path / "broken"
    breaks = {"BREAKS": "a later start", "TRIGGER": str(trigger)}

    service = gunicorn_service(application=BREAKING, **breaks, **HASTY_SETTINGS)
    # The first two workers must not break, because that ends the master.
    wait_until(lambda: len(list(tmp_path.glob("unbroken-*"))) == 2)

    trigger.touch()
    replace_workers(service, service.workers[0], signal.SIGTERM)
    wait_until(lambda: lines_of(service, level="error"))
    trigger.unlink()
    before = service.workers
    answers = [service.get("/readyz").status_code for _ in range(10)]
    wait_until(lambda: service.workers != before)

    assert answers == [200] * 10
    [broken] = lines_of(service, level="error")
    assert broken["error"] == "ValueError"
