"""The log: one line for each request, one form, and nothing that a client sent."""

import json
import logging
import os
import re
import signal

import pytest

from storage.repository import Repository
from tests.support.api import good
from tests.support.applications import BREAKING
from tests.support.commanding import replace_workers
from tests.support.ledger_view import LedgerView
from tests.support.marker import KEY, MARK, NOWHERE, assert_no_trace
from tests.support.serving import start_gunicorn
from tests.support.waiting import wait_until
from tests.support.watched import events

JSON = {"DEEDS_LOG": "json", "DEEDS_ARGON2": "m=8,t=1,p=1"}

# The levels of the lines of one test, in the order in which it causes them.
LEVELS = ["debug", "info", "warning", "error", "error"]

MALFORMED = [
    f"{MARK}\r\n\r\n",
    f"POST /v1/mint HTTP/1.1\r\nHost: {MARK}\r\n{MARK}: x\r\nContent",
    f"POST /v1/mint HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{MARK}",
    f"GET /{MARK} HTTP/9.9\r\n\r\n",
]


@pytest.fixture
def database_url(sqlite_url):
    """These tests do not depend on the kind of database."""
    return sqlite_url


@pytest.fixture
def read_log(capfd):
    """A function that returns the events that were logged since it was last called."""
    return lambda: events(capfd.readouterr().err)


@pytest.mark.parametrize("request_id", [KEY, "a_b.c-d", "x" * 64])
def test_a_harmless_id_comes_back(api, request_id):
    answer = api.get("/v1/info", **{"X-Request-ID": request_id})

    assert answer.headers.get_list("X-Request-ID") == [request_id]


@pytest.mark.parametrize(
    "request_id", ["", "x" * 65, "a,b", "é", f"+5.deed_x.{MARK}", f"-{KEY}"]
)
def test_a_new_id_replaces_a_harmful_one(client, request_id):
    answer = client.get("/v1/info", headers={"X-Request-ID": request_id})

    [new_id] = answer.headers.getlist("X-Request-ID")
    assert re.fullmatch("[0-9a-f]{32}", new_id)


def test_writes_log_their_operation_and_whether_they_were_replayed(api, read_log):
    for _ in range(2):
        item = api.mint("+5.a", key=KEY)
    for _ in range(2):
        api.swap(f"+5.{item}.a", f"+5.{item}.b", f"swap-{KEY}")

    lines = read_log()
    routes = [each["route"] for each in lines]
    assert routes == ["/v1/mint"] * 2 + ["/v1/swap"] * 2
    assert [each["operation_id"] for each in lines] == [1, 1, 2, 2]
    assert [each["replayed"] for each in lines] == [False, True] * 2


def test_a_request_is_one_line(api, read_log):
    api.get("/v1/item/deed_nobody?q=1", **{"X-Request-ID": "id-1"})

    assert read_log() == [
        {
            "event": "request",
            "level": "info",
            "request_id": "id-1",
            "route": "/v1/item/<item_id>",
            "method": "GET",
            "status": 404,
            "problem": "item_not_found",
        }
    ]


def test_a_line_quotes_no_path_and_no_method(api, read_log):
    api.http.request("MADEUP", "/no/path")

    [line] = read_log()
    assert (line["method"], line["route"]) == ("other", "unmatched")


def test_a_defect_has_its_places_and_the_id_of_its_request(api, monkeypatch, read_log):
    monkeypatch.delattr(Repository, "read_item")

    api.get(f"/v1/item/{NOWHERE}")

    defect, request = read_log()
    assert (defect["level"], defect["error"]) == ("error", "AttributeError")
    assert "deeds/service.py:" in defect["places"]
    assert (request["level"], request["problem"]) == ("error", "internal")
    assert defect["request_id"] == request["request_id"]


@pytest.mark.parametrize("level", ["debug", "error"])
def test_what_is_below_the_level_is_left_out(
    open_api, database_url, monkeypatch, read_log, level
):
    api = open_api(DEEDS_LOG_LEVEL=level)
    later = "UPDATE schema_version SET version = 99, serves_from = 99"
    LedgerView(database_url).execute(later)
    monkeypatch.delattr(Repository, "read_item")

    for path in ("/healthz", "/v1/info", "/readyz", f"/v1/item/{NOWHERE}"):
        api.get(path)

    lines = read_log()
    assert [each["level"] for each in lines] == LEVELS[LEVELS.index(level) :]


def test_no_request_fails_because_its_line_cannot_be_written(api, read_log):
    saved = os.dup(2)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        os.dup2(full, 2)
        answer = api.get("/v1/info")
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(full)
    api.get("/v1/info")

    assert answer.status_code == 200
    _, dropped = read_log()
    assert dropped == {
        "level": "warning",
        "event": "log_dropped",
        "message": "dropped log lines: 1",
    }


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("gunicorn.error", {"event": "server"}),
        ("waitress", {"event": "library", "logger": "waitress"}),
    ],
)
def test_a_line_of_a_library_quotes_no_exception(app, read_log, name, fields):
    with pytest.raises(ValueError, match="deed") as caught:
        int(f"deed {MARK}")

    logger = logging.getLogger(name)
    logger.warning("%s is %s", "worker", 5, exc_info=caught.value)

    [line] = read_log()
    assert re.fullmatch(r"\S*tests/operations/test_log\.py:\d+", line.pop("places"))
    assert line == fields | {
        "level": "warning",
        "message": "worker is 5",
        "error": "ValueError",
    }


def test_every_line_is_json_that_quotes_nothing_whatever_happens(
    gunicorn_service, fresh_postgres_url
):
    service = gunicorn_service(
        DATABASE_URL=fresh_postgres_url(),
        DEEDS_RATE_LIMITS="failures=2/day",
        DEEDS_LOG_LEVEL="debug",
        WEB_CONCURRENCY="2",
        **JSON,
    )

    answers = [service.send_bytes(each.encode()).decode() for each in MALFORMED]
    # A request that the server refuses is logged with the id of its answer. Wait for
    # it, because a worker that is killed loses its last lines.
    [refused] = re.findall(r"x-request-id: (\w+)", answers[0].lower())
    wait_until(lambda: refused in service.log_text())
    replace_workers(service, service.workers[0], signal.SIGKILL)
    with service.open_api() as api:
        api.mint(f"+5.{MARK}", key=MARK)
        api.check(f"+5.{NOWHERE}.{MARK}", f"+4.{NOWHERE}.{MARK}")
        good(api.get("/healthz"))
    service.process.terminate()
    assert service.process.wait(timeout=30) == 0

    log = service.log_text()
    assert_no_trace(log.encode())
    lines = [json.loads(line) for line in log.splitlines()]
    assert [each for each in lines if not {"event", "level", "time"} <= set(each)] == []
    others = [each["event"] for each in lines if each["event"] != "request"]
    assert set(others) == {"ledger", "server", "checkpoint_off", "client_refused"}
    assert others.count("checkpoint_off") == others.count("client_refused") == 1
    [line] = [each for each in lines if each.get("request_id") == refused]
    assert line["problem"] == "bad_request"


def test_what_python_would_print_is_json_and_quotes_nothing(tmp_path, sqlite_url):
    log = tmp_path / "service.log"
    broken = {"BREAKS": "a thread, a finalizer, a warning", "WEB_CONCURRENCY": "1"}

    with start_gunicorn(log, JSON | broken | {"DATABASE_URL": sqlite_url}, BREAKING):
        wait_until(lambda: '"library"' in log.read_text())

    events_and_levels = [
        (each["event"], each["level"]) for each in events(log.read_text())
    ]
    assert events_and_levels.count(("defect", "error")) == 2
    assert events_and_levels.count(("library", "warning")) == 1
    assert MARK not in log.read_text()


@pytest.mark.slow
def test_a_defect_of_the_start_is_json_that_quotes_nothing(tmp_path, sqlite_url):
    log = tmp_path / "service.log"
    settings = JSON | {"DATABASE_URL": sqlite_url, "BREAKS": "the start"}

    with start_gunicorn(log, settings, BREAKING) as process:
        assert process.wait(timeout=30) != 0

    lines = events(log.read_text())
    assert {each["event"] for each in lines} == {"ledger", "server"}
    assert "ValueError" in {each.get("error") for each in lines}
    assert MARK not in log.read_text()
