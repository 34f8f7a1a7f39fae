"""One line in the log for every request, which says what came of it and nothing that was sent."""

import os
from dataclasses import replace

import pytest

from deeds.domain.model import Argon2Cost
from deeds.settings import LogStyle, Settings
from tests.support.requests import mint, swap
from tests.support.watched import events
from tests.support.ways_to_fail import Ground, lose_the_database, meet_a_defect

ID = {"X-Request-ID": "id-1"}
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


@pytest.fixture
def open_client(settings, open_app):
    """A function that opens the service with another style of log."""

    def open_one(**style):
        same = {"database_url": settings.database_url, "ordinary_cost": Argon2Cost(8, 1, 1)}
        return open_app(Settings(**same, log=LogStyle(**style))).test_client()

    return open_one


@pytest.fixture
def ground(client, settings, open_app, monkeypatch):
    return Ground(client, f"deed_{26 * '0'}", settings, open_app, monkeypatch)


def line(**fields):
    """Return the event of a request for the information, with other fields."""
    usual = {
        "event": "request",
        "level": "info",
        "request_id": "id-1",
        "route": "/v1/info",
        "method": "GET",
        "status": 200,
    }
    return usual | fields


def test_a_request_is_one_line(client, capfd):
    client.get("/v1/info", headers=ID)

    assert events(capfd.readouterr().err) == [line()]


def test_a_mint_and_a_swap_tell_their_operation_and_whether_they_were_replayed(client, capfd):
    item_id = mint(client, "+5.a")
    raws = [f"+5.{item_id}.a"], [f"+5.{item_id}.b"]
    swap(client, *raws, KEY)
    swap(client, *raws, KEY)

    told = [
        (each["route"], each["operation_id"], each["replayed"])
        for each in events(capfd.readouterr().err)
    ]
    assert told == [("/v1/mint", 1, False), ("/v1/swap", 2, False), ("/v1/swap", 2, True)]


def test_a_replayed_mint_tells_the_first_operation(client, capfd):
    for _ in range(2):
        mint(client, "+5.a", key=KEY)

    told = [(each["operation_id"], each["replayed"]) for each in events(capfd.readouterr().err)]
    assert told == [(1, False), (1, True)]


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("GET", "/v1/item/deed_nobody?q=1", {"route": "/v1/item/<item_id>", "status": 404}),
        ("GET", "/no/such/path", {"route": "unmatched", "status": 404, "problem": "not_found"}),
        ("DELETE", "/v1/mint", {"route": "unmatched", "status": 405, "method": "DELETE"}),
        ("MADEUP", "/v1/mint", {"route": "unmatched", "status": 405, "method": "other"}),
        ("POST", "/v1/mint", {"route": "/v1/mint", "status": 400, "problem": "wrong_media_type"}),
    ],
)
def test_a_refusal_tells_its_problem_and_the_rule_of_its_route(client, capfd, method, path, fields):
    code = client.open(path, method=method, headers=ID).get_json()["code"]

    said = events(capfd.readouterr().err)
    assert said == [line(**{"problem": code, "method": method} | fields)]


def test_what_passes_by_itself_is_a_warning(ground, capfd):
    lose_the_database(ground)

    said = events(capfd.readouterr().err)[-1]
    assert (said["level"], said["status"], said["problem"]) == (
        "warning",
        503,
        "ledger_unavailable",
    )


def test_a_defect_is_an_error_with_its_places_under_the_id_of_its_request(ground, capfd):
    meet_a_defect(ground)

    defect, request = events(capfd.readouterr().err)
    assert (defect["event"], defect["level"], defect["error"]) == (
        "defect",
        "error",
        "ZeroDivisionError",
    )
    assert "deeds/domain/service.py:" in defect["places"]
    assert (request["level"], request["problem"]) == ("error", "internal")
    assert defect["request_id"] == request["request_id"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_monitors_are_written_of_at_debug_alone(client, open_client, capfd, path):
    client.get(path)
    quiet = capfd.readouterr().err
    open_client(level="debug").get(path)

    assert quiet == ""
    assert [each["route"] for each in events(capfd.readouterr().err)] == [path]


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["debug", "info", "warning", "error", "error"]),
        ("info", ["info", "warning", "error", "error"]),
        ("warning", ["warning", "error", "error"]),
        ("error", ["error", "error"]),
    ],
)
def test_what_is_below_the_level_is_left_out(open_client, ground, capfd, level, written):
    client = open_client(level=level)

    client.get("/healthz")
    client.get("/v1/info")
    lose_the_database(replace(ground, client=client))
    meet_a_defect(replace(ground, client=client))

    said = [each for each in events(capfd.readouterr().err) if each["event"] != "database"]
    assert [each["level"] for each in said] == written


def test_lines_for_eyes_are_no_json(open_client, capfd):
    open_client(form="console").get("/v1/info", headers=ID)

    [said] = capfd.readouterr().err.splitlines()
    assert not said.startswith("{")
    assert "request_id=id-1" in said
    assert "route=/v1/info" in said


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
