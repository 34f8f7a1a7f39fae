"""The log of a service, from its start to its stop: every line of one shape, none with a secret."""

import json
import logging
import os
import re
import signal
from collections import Counter

import pytest

from deeds.server.log import StderrHandler
from tests.support.breaking_app import BREAKING
from tests.support.marker import MARK
from tests.support.racing import client_of_port
from tests.support.serving import children, start_gunicorn
from tests.support.waiting import wait_until
from tests.support.watched import events

JSON = {"DEEDS_LOG": "json", "DEEDS_ARGON2": "m=8,t=1,p=1", "WEB_CONCURRENCY": "2"}

MALFORMED = [
    f"{MARK}\r\n\r\n",
    f"POST /v1/mint HTTP/1.1\r\nHost: {MARK}\r\n{MARK}: x\r\nContent",
    f"POST /v1/mint HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{MARK}",
    f"GET /{MARK} HTTP/9.9\r\n\r\n",
]


def signal_and_wait(service, pid, how, ending):
    """Send a signal to a process, and wait until others serve in the place of these workers."""
    os.kill(pid, how)

    def are_replaced():
        now = children(service.process.pid)
        return len(now) == 2 and not set(ending) & set(now)

    wait_until(are_replaced)


def count_lines(log):
    """Return how many lines there are of each event and level; each must have the shape of all."""
    said = [json.loads(line) for line in log.splitlines()]
    assert [each for each in said if not {"event", "level", "time"} <= each.keys()] == []
    return Counter((each["event"], each["level"]) for each in said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gunicorn.error", {"event": "server"}),
        ("sqlalchemy.pool", {"event": "library", "logger": "sqlalchemy.pool"}),
    ],
)
def test_a_line_of_others_has_its_text_as_message_and_quotes_no_exception(name, said):
    with pytest.raises(ValueError, match="deed") as caught:
        int(f"deed {MARK}")
    record = logging.LogRecord(
        name, logging.WARNING, __file__, 1, "%s is %s", ("worker", 5), caught._excinfo
    )

    line = StderrHandler(is_console=False).format(record)

    [told] = events(line)
    assert re.fullmatch(r"\S*tests/operations/test_log\.py:\d+", told.pop("places"))
    assert told == said | {"level": "warning", "message": "worker is 5", "error": "ValueError"}
    assert MARK not in line


def test_every_line_is_json_that_quotes_nothing_whatever_happens_to_the_service(
    gunicorn_service, fresh_postgres_url
):
    url = fresh_postgres_url()
    settings = {"DEEDS_RATE_LIMITS": "failures=2/day", "DEEDS_LOG_LEVEL": "debug"}
    service = gunicorn_service(DATABASE_URL=url, **settings, **JSON)
    master = service.process.pid
    wait_until(lambda: len(children(master)) == 2)

    answers = [service.send_bytes(each.encode()).decode() for each in MALFORMED]
    victim = min(children(master))
    signal_and_wait(service, victim, signal.SIGKILL, [victim])
    signal_and_wait(service, master, signal.SIGHUP, children(master))
    with client_of_port(service.port) as send:
        assert send("/v1/mint", {"outputs": ["+5.a"]})[0] == 200
        wrong = [f"+5.deed_{'0' * 25}{number}.{MARK}" for number in range(2)]
        assert send("/v1/check", {"outputs": wrong})[0] == 200
    assert service.get_status("/healthz") == 200
    os.kill(master, signal.SIGTERM)
    assert service.process.wait(timeout=30) == 0

    counts = count_lines(service.log_text())
    assert {event for event, _ in counts} == {"server", "request", "mark_off", "client_refused"}
    assert counts["mark_off", "warning"] == counts["client_refused", "warning"] == 1
    assert MARK not in service.log_text()
    # What is refused before the application sees it has the id of its answer.
    [refused, *_] = [each for each in events(service.log_text()) if each.get("problem")]
    assert (refused["route"], refused["method"], refused["status"]) == ("unmatched", "other", 400)
    assert f"x-request-id: {refused['request_id']}\r\n" in answers[0].lower()


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
    ("broken", "said"),
    [
        ("a thread", ("defect", "error")),
        ("a finalizer", ("defect", "error")),
        ("a warning", ("library", "warning")),
    ],
)
def test_what_python_would_print_is_json_and_quotes_nothing(tmp_path, sqlite_url, broken, said):
    log = tmp_path / "service.log"
    settings = JSON | {"DATABASE_URL": sqlite_url, "BREAKS": broken}

    with start_gunicorn(log, settings, BREAKING) as process:
        wait_until(lambda: said in count_lines(log.read_text()))
        os.kill(process.pid, signal.SIGTERM)
        process.wait(timeout=30)

    assert count_lines(log.read_text())[said] >= 1
    assert MARK not in log.read_text()


def test_a_defect_of_the_start_ends_the_service_and_is_json_that_quotes_nothing(
    tmp_path, sqlite_url
):
    log = tmp_path / "service.log"
    settings = JSON | {"DATABASE_URL": sqlite_url, "BREAKS": "the start"}

    with start_gunicorn(log, settings, BREAKING) as process:
        code = process.wait(timeout=30)

    said = events(log.read_text())
    assert (code == 0, {each["event"] for each in said}) == (False, {"server"})
    assert "ValueError" in {each.get("error") for each in said}
    assert MARK not in log.read_text()
