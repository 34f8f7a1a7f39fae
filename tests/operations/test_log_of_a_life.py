"""Every line of a service's log, from its start to its stop, is one JSON object of one shape."""

import json
import os
import signal
from collections import Counter

import pytest

from tests.faults.test_killed_workers import children
from tests.support.breaking_app import BREAKING
from tests.support.marker import MARK
from tests.support.racing import client_of_port
from tests.support.serving import start_gunicorn
from tests.support.waiting import wait_until
from tests.support.watched import events

JSON = {"DEEDS_LOG": "json", "DEEDS_ARGON2": "m=8,t=1,p=1", "WEB_CONCURRENCY": "2"}


def send(service, path, body):
    with client_of_port(service.port) as post:
        return post(path, body)[0]


def workers(service):
    return set(children(service.process.pid))


def kill_a_worker(service):
    before = workers(service)
    os.kill(before.copy().pop(), signal.SIGKILL)
    wait_until(lambda: len(workers(service)) == 2 and workers(service) != before)


def restart_workers(service):
    before = workers(service)
    os.kill(service.process.pid, signal.SIGHUP)
    wait_until(lambda: len(workers(service)) == 2 and not workers(service) & before)


def stop(service):
    os.kill(service.process.pid, signal.SIGTERM)
    assert service.process.wait(timeout=30) == 0


def count_lines(log):
    """Return how many lines there are of each event and level; each must have the shape of all."""
    said = [json.loads(line) for line in log.splitlines()]
    assert [each for each in said if not {"event", "level", "time"} <= each.keys()] == []
    return Counter((each["event"], each["level"]) for each in said)


def test_every_line_is_json_whatever_happens_to_the_service(gunicorn_service, fresh_postgres_url):
    url = fresh_postgres_url()
    service = gunicorn_service(DATABASE_URL=url, DEEDS_RATE_LIMITS="failures=2/day", **JSON)
    wait_until(lambda: len(workers(service)) == 2)

    service.send_bytes(b"GARBAGE\r\n\r\n")
    kill_a_worker(service)
    restart_workers(service)
    assert send(service, "/v1/mint", {"outputs": ["+5.a"]}) == 200
    wrong = [f"+5.deed_{'0' * 25}{number}.{MARK}" for number in range(2)]
    assert send(service, "/v1/check", {"outputs": wrong}) == 200
    stop(service)

    counts = count_lines(service.log_text())
    named = {event for event, _ in counts}
    assert named == {"server", "request", "mark_off", "client_refused"}
    assert counts["mark_off", "warning"] == counts["client_refused", "warning"] == 1
    assert MARK not in service.log_text()


def test_a_mark_that_is_new_and_one_that_cannot_be_kept_are_events(
    gunicorn_service, fresh_postgres_url, tmp_path
):
    mark = tmp_path / "mark"
    settings = {"DATABASE_URL": fresh_postgres_url(), "DEEDS_MARK_FILE": str(mark), **JSON}
    service = gunicorn_service(**settings)
    send(service, "/v1/mint", {"outputs": ["+5.a"]})
    stop(service)
    mark.unlink()

    service = gunicorn_service(**settings)
    wait_until(lambda: len(workers(service)) == 2)
    mark.unlink()
    mark.mkdir()
    send(service, "/v1/mint", {"outputs": ["+5.a"]})
    wait_until(lambda: '"event":"mark_unwritten"' in service.log_text())
    # A worker that finds it so does not start; there is a service again once it can.
    kill_a_worker(service)
    wait_until(lambda: '"event":"cannot_start"' in service.log_text())
    mark.rmdir()
    wait_until(mark.is_file)
    stop(service)

    counts = count_lines(service.log_text())
    assert {event for event, _ in counts} >= {"mark_new", "mark_unwritten", "cannot_start"}
    assert counts["mark_unwritten", "warning"] == 1


def test_a_start_that_fails_says_why_as_json(tmp_path):
    log = tmp_path / "service.log"

    with start_gunicorn(log, JSON | {"DATABASE_URL": "mysql://localhost/deeds"}) as process:
        assert process.wait(timeout=30) == 1

    [stopped] = [each for each in events(log.read_text()) if each["event"] != "server"]
    assert stopped == {
        "event": "cannot_start",
        "level": "error",
        "message": "deeds cannot start: DATABASE_URL must name an SQLite file or a PostgreSQL "
        "database",
    }


@pytest.mark.parametrize(
    ("broken", "event", "level"),
    [
        ("a thread", "defect", "error"),
        ("a finalizer", "defect", "error"),
        ("a warning", "library", "warning"),
    ],
)
def test_what_python_would_print_is_json_and_quotes_nothing(
    tmp_path, sqlite_url, broken, event, level
):
    log = tmp_path / "service.log"
    settings = JSON | {"DATABASE_URL": sqlite_url, "BREAKS": broken}

    with start_gunicorn(log, settings, BREAKING) as process:
        wait_until(lambda: f'"event":"{event}","level":"{level}"' in shown(log))
        os.kill(process.pid, signal.SIGTERM)
        process.wait(timeout=30)

    assert count_lines(log.read_text())[event, level] >= 1
    assert MARK not in log.read_text()


@pytest.mark.parametrize("broken", ["the start", "the start, during the stop"])
def test_a_defect_of_the_start_ends_the_service_and_is_json_that_quotes_nothing(
    tmp_path, sqlite_url, broken
):
    log = tmp_path / "service.log"
    meeting = str(tmp_path / "meeting")
    settings = JSON | {"DATABASE_URL": sqlite_url, "BREAKS": broken, "MEETING": meeting}

    with start_gunicorn(log, settings, BREAKING) as process:
        code = process.wait(timeout=30)

    said = events(log.read_text())
    assert (code, {each["event"] for each in said}) == (3, {"server"})
    assert said[-1]["message"] == "Reason: Worker failed to boot."
    assert "ValueError" in {each.get("error") for each in said}
    assert MARK not in log.read_text()


def shown(log):
    """Return event and level of each line, as they are beside each other."""
    said = [json.loads(line) for line in log.read_text().splitlines()]
    return "\n".join(f'"event":"{each["event"]}","level":"{each["level"]}"' for each in said)
