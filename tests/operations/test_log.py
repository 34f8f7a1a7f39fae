"""The lines of gunicorn and of libraries look like ours, and quote no exception."""

import json
import logging
import os
import signal

import pytest

from deeds.server.log import LineFormatter
from tests.support.marker import MARK
from tests.support.waiting import wait_until
from tests.support.watched import events


def written(name, level, message, *args, error=None):
    """Return the line of a logger of this name."""
    info = error and (type(error), error, error.__traceback__)
    record = logging.LogRecord(name, level, __file__, 1, message, args, info)
    return LineFormatter(is_console=False).format(record)


def test_a_line_of_gunicorn_is_an_event_with_its_text_as_message():
    line = written("gunicorn.error", logging.WARNING, "worker %s is %s", 5, "slow")

    assert events(line) == [{"event": "server", "level": "warning", "message": "worker 5 is slow"}]


def test_a_line_of_a_library_names_its_logger():
    line = written("sqlalchemy.pool", logging.ERROR, "lost")

    assert events(line) == [
        {"event": "library", "level": "error", "message": "lost", "logger": "sqlalchemy.pool"}
    ]


def test_an_exception_is_told_by_its_class_and_places_alone():
    with pytest.raises(ValueError, match="deed") as caught:
        int(f"deed {MARK}")

    line = written("gunicorn.error", logging.ERROR, "Exception in worker", error=caught.value)

    said = json.loads(line)
    assert (said["error"], said["message"]) == ("ValueError", "Exception in worker")
    assert "tests/operations/test_log.py:" in said["places"]
    assert MARK not in line


def test_every_line_of_a_service_is_json(gunicorn_service):
    service = gunicorn_service(DEEDS_LOG_LEVEL="debug", WEB_CONCURRENCY="1")
    service.send_bytes(b"GARBAGE\r\n\r\n")
    service.get_status("/healthz")
    os.kill(service.process.pid, signal.SIGTERM)
    service.process.wait(timeout=30)

    said = events(service.log_text())
    assert {each["event"] for each in said} == {"server", "request"}
    [refused] = [each for each in said if each.get("problem") == "bad_request"]
    assert (refused["route"], refused["method"], refused["status"]) == ("unmatched", "other", 400)
    assert {each["route"] for each in said if each["event"] == "request"} >= {"/healthz"}


def test_the_id_of_what_is_refused_before_the_application_is_in_its_answer(gunicorn_service):
    service = gunicorn_service(WEB_CONCURRENCY="1")
    answer = service.send_bytes(b"GARBAGE\r\n\r\n").decode()
    wait_until(lambda: '"bad_request"' in service.log_text())

    [refused] = [each for each in events(service.log_text()) if "problem" in each]
    assert f"X-Request-Id: {refused['request_id']}\r\n" in answer


def test_gunicorn_never_writes_what_clients_send_however_much_is_asked_for(gunicorn_service):
    service = gunicorn_service(DEEDS_LOG_LEVEL="debug", WEB_CONCURRENCY="1")

    service.send_bytes(f"POST /v1/mint HTTP/1.1\r\nHost: {MARK}\r\n{MARK}: x\r\nContent".encode())
    service.send_bytes(
        f"POST /v1/mint HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{MARK}".encode()
    )
    service.send_bytes(f"GET /{MARK} HTTP/9.9\r\n\r\n".encode())
    service.get_status("/v1/info")

    assert MARK not in service.log_text()


def test_for_eyes_there_are_columns_and_a_line_to_try(gunicorn_service):
    service = gunicorn_service(DEEDS_LOG="console", WEB_CONCURRENCY="1")

    lines = service.log_text().splitlines()
    assert [line for line in lines if line.startswith("curl -s ")] != []
    assert [line for line in lines if line.startswith("{")] == []
