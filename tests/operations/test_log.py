"""The log.

Every request has one line, every line one shape, and none holds what was sent.
"""

import json
import logging
import os
import re
import signal
from collections import Counter
from dataclasses import replace

import pytest

from deeds.server.log import StderrHandler
from tests.support.applications import BREAKING
from tests.support.marker import MARK, assert_no_trace
from tests.support.racing import client_of_port
from tests.support.requests import mint, swap
from tests.support.serving import children, start_gunicorn
from tests.support.waiting import wait_until
from tests.support.watched import events
from tests.support.ways_to_fail import Ground, lose_the_database, meet_a_defect

JSON = {"DEEDS_LOG": "json", "DEEDS_ARGON2": "m=8,t=1,p=1", "WEB_CONCURRENCY": "2"}
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"

HARMLESS_IDS = ["1", KEY, "00-4bf92f3577b34da6a3ce929d0e0e4736-00", "a_b.c-d", "x" * 64]
HARMFUL_IDS = [
    *[
        "",
        "x" * 65,
        "two words",
        "-begins-with-a-dash",
        'quote"',
        "a\tb",
        "a,b",
        "é",
        "<b>",
    ],
    f"+5.deed_x.{MARK}",
]

MALFORMED = [
    f"{MARK}\r\n\r\n",
    f"POST /v1/mint HTTP/1.1\r\nHost: {MARK}\r\n{MARK}: x\r\nContent",
    f"POST /v1/mint HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{MARK}",
    f"GET /{MARK} HTTP/9.9\r\n\r\n",
]


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


@pytest.fixture
def ground(client, settings, open_app, monkeypatch):
    return Ground(client, f"deed_{26 * '0'}", settings, open_app, monkeypatch)


@pytest.fixture
def said(capfd):
    """A function that returns the events logged since it was called last."""
    return lambda: [
        each
        for each in events(capfd.readouterr().err)
        if each["event"] in {"request", "defect"}
    ]


def test_an_id_comes_back_unless_it_could_do_harm(client):
    def returned(request_id):
        [told] = client.get(
            "/v1/info", headers={"X-Request-ID": request_id}
        ).headers.getlist("X-Request-ID")
        return told

    assert list(map(returned, HARMLESS_IDS)) == HARMLESS_IDS
    made = [returned(each) for each in HARMFUL_IDS]
    assert [each for each in made if not re.fullmatch("[0-9a-f]{32}", each)] == []
    assert len(set(made)) == len(HARMFUL_IDS)


def test_writes_log_their_operation_and_whether_they_were_replayed(client, said):
    for _ in range(2):
        item_id = mint(client, "+5.a", key=KEY)
    raws = [f"+5.{item_id}.a"], [f"+5.{item_id}.b"]
    for _ in range(2):
        swap(client, *raws, f"swap-{KEY}")

    assert [
        (each["route"], each["operation_id"], each["replayed"]) for each in said()
    ] == [
        ("/v1/mint", 1, False),
        ("/v1/mint", 1, True),
        ("/v1/swap", 2, False),
        ("/v1/swap", 2, True),
    ]


def test_a_request_is_one_line_with_the_rule_of_its_route(client, said):
    paths = ["/v1/info", "/v1/item/deed_nobody?q=1", "/no/path"]
    for method, path in [*(("GET", path) for path in paths), ("MADEUP", "/v1/mint")]:
        client.open(path, method=method, headers={"X-Request-ID": "id-1"})

    line = {"event": "request", "level": "info", "request_id": "id-1"}
    names = ("route", "method", "status", "problem")
    assert said() == [
        line | dict(zip(names, values, strict=False))
        for values in (
            ("/v1/info", "GET", 200),
            ("/v1/item/<item_id>", "GET", 404, "item_not_found"),
            ("unmatched", "GET", 404, "not_found"),
            ("unmatched", "other", 405, "method_not_allowed"),
        )
    ]


def test_a_defect_is_an_error_with_its_places_under_the_id_of_its_request(ground, said):
    meet_a_defect(ground)

    defect, request = said()
    assert (defect["level"], defect["error"]) == ("error", "ZeroDivisionError")
    assert "deeds/domain/service.py:" in defect["places"]
    assert (request["level"], request["problem"]) == ("error", "internal")
    assert defect["request_id"] == request["request_id"]


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["debug", "info", "warning", "error", "error"]),
        ("info", ["info", "warning", "error", "error"]),
        ("warning", ["warning", "error", "error"]),
        ("error", ["error", "error"]),
    ],
)
def test_what_is_below_the_level_is_left_out(
    settings, open_app, ground, said, level, written
):
    client = open_app(replace(settings, log_level=level)).test_client()

    client.get("/healthz")
    client.get("/v1/info")
    lose_the_database(replace(ground, client=client))
    meet_a_defect(replace(ground, client=client))

    assert [each["level"] for each in said()] == written


def test_no_request_fails_because_its_line_cannot_be_written(client):
    saved = os.dup(2)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        os.dup2(full, 2)
        answer = client.get("/v1/info")
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(full)

    assert answer.status_code == 200


def signal_and_wait(service, pid, how, ending):
    """Send a signal to a process, and wait until it has replaced these workers."""
    os.kill(pid, how)

    def are_replaced():
        now = children(service.process.pid)
        return len(now) == 2 and not set(ending) & set(now)

    wait_until(are_replaced)


def count_lines(log):
    """Return how many lines there are of each event and level.

    Each must have the shape of all.
    """
    said = [json.loads(line) for line in log.splitlines()]
    assert [
        each for each in said if not {"event", "level", "time"} <= each.keys()
    ] == []
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
    assert told == said | {
        "level": "warning",
        "message": "worker is 5",
        "error": "ValueError",
    }
    assert MARK not in line


def test_every_line_is_json_that_quotes_nothing_whatever_happens(
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
        assert send("/v1/mint", {"outputs": [f"+5.{MARK}"]}, MARK)[0] == 200
        wrong = [f"+5.deed_{'0' * 25}{number}.{MARK}" for number in range(2)]
        assert send("/v1/check", {"outputs": wrong})[0] == 200
    assert service.get_status("/healthz") == 200
    os.kill(master, signal.SIGTERM)
    assert service.process.wait(timeout=30) == 0

    counts = count_lines(service.log_text())
    assert {event for event, _ in counts} == {
        "server",
        "request",
        "checkpoint_off",
        "client_refused",
    }
    assert (
        counts["checkpoint_off", "warning"] == counts["client_refused", "warning"] == 1
    )
    assert_no_trace(service.log_text().encode())
    # What is refused before the application sees it has the id of its answer.
    [refused, *_] = [each for each in events(service.log_text()) if each.get("problem")]
    assert (refused["route"], refused["method"], refused["status"]) == (
        "unmatched",
        "other",
        400,
    )
    assert f"x-request-id: {refused['request_id']}\r\n" in answers[0].lower()


def test_a_start_that_fails_says_why_as_json(tmp_path):
    log = tmp_path / "service.log"

    with start_gunicorn(
        log, JSON | {"DATABASE_URL": "mysql://localhost/deeds"}
    ) as process:
        assert process.wait(timeout=30) == 1

    [stopped] = [each for each in events(log.read_text()) if each["event"] != "server"]
    assert stopped == {
        "event": "cannot_start",
        "level": "error",
        "message": "deeds cannot start: DATABASE_URL must name an SQLite file or a"
        " PostgreSQL "
        "database",
    }


def test_what_python_would_print_is_json_and_quotes_nothing(tmp_path, sqlite_url):
    log = tmp_path / "service.log"
    settings = JSON | {
        "DATABASE_URL": sqlite_url,
        "BREAKS": "a thread, a finalizer, a warning",
    }

    with start_gunicorn(log, settings, BREAKING) as process:
        wait_until(lambda: count_lines(log.read_text())["library", "warning"] == 2)
        os.kill(process.pid, signal.SIGTERM)
        process.wait(timeout=30)

    assert count_lines(log.read_text())["defect", "error"] == 4
    assert MARK not in log.read_text()


def test_a_defect_of_the_start_is_json_that_quotes_nothing(tmp_path, sqlite_url):
    log = tmp_path / "service.log"
    settings = JSON | {"DATABASE_URL": sqlite_url, "BREAKS": "the start"}

    with start_gunicorn(log, settings, BREAKING) as process:
        code = process.wait(timeout=30)

    said = events(log.read_text())
    assert (code == 0, {each["event"] for each in said}) == (False, {"server"})
    assert "ValueError" in {each.get("error") for each in said}
    assert MARK not in log.read_text()
