"""Every request has an id and one line in the log, which holds nothing that was sent."""

import os
import re
from dataclasses import replace

import pytest

from tests.support.marker import MARK
from tests.support.requests import mint, swap
from tests.support.watched import events
from tests.support.ways_to_fail import Ground, lose_the_database, meet_a_defect

ID = {"X-Request-ID": "id-1"}
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"

HARMLESS_IDS = [
    "1",
    "8e03978e-40d5-43e8-bc93-6894a57f9324",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "a_b.c-d",
    "x" * 64,
]
HARMFUL_IDS = [
    *["", "x" * 65, "two words", "-begins-with-a-dash", 'quote"', "a\tb", "a,b", "é", "<b>"],
    f"+5.deed_x.{MARK}",
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
    """A function that returns the events of requests and of defects since it was called last."""
    return lambda: [
        each for each in events(capfd.readouterr().err) if each["event"] in {"request", "defect"}
    ]


# The event of a request for the information.
LINE = {
    "event": "request",
    "level": "info",
    "request_id": "id-1",
    "route": "/v1/info",
    "method": "GET",
    "status": 200,
}


@pytest.mark.parametrize("request_id", HARMLESS_IDS)
def test_a_harmless_id_comes_back(client, request_id):
    answer = client.get("/v1/info", headers={"X-Request-ID": request_id})

    assert answer.headers.getlist("X-Request-ID") == [request_id]


def test_an_id_that_could_do_harm_is_replaced_by_a_new_one(client):
    made = []
    for request_id in HARMFUL_IDS:
        answer = client.get("/v1/info", headers={"X-Request-ID": request_id})
        made += answer.headers.getlist("X-Request-ID")

    assert [each for each in made if not re.fullmatch("[0-9a-f]{32}", each)] == []
    assert len(set(made)) == len(HARMFUL_IDS)


def test_a_request_is_one_line(client, said):
    client.get("/v1/info", headers=ID)

    assert said() == [LINE]


def test_a_mint_and_a_swap_tell_their_operation_and_whether_they_were_replayed(client, said):
    for _ in range(2):
        item_id = mint(client, "+5.a", key=KEY)
    raws = [f"+5.{item_id}.a"], [f"+5.{item_id}.b"]
    for _ in range(2):
        swap(client, *raws, f"swap-{KEY}")

    assert [(each["route"], each["operation_id"], each["replayed"]) for each in said()] == [
        ("/v1/mint", 1, False),
        ("/v1/mint", 1, True),
        ("/v1/swap", 2, False),
        ("/v1/swap", 2, True),
    ]


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
def test_a_refusal_tells_its_problem_and_the_rule_of_its_route(client, said, method, path, fields):
    code = client.open(path, method=method, headers=ID).get_json()["code"]

    assert said() == [LINE | {"problem": code, "method": method} | fields]


def test_what_passes_by_itself_is_a_warning(ground, said):
    lose_the_database(ground)

    [told] = said()
    expected = ("warning", 503, "ledger_unavailable")
    assert (told["level"], told["status"], told["problem"]) == expected


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
def test_what_is_below_the_level_is_left_out(settings, open_app, ground, said, level, written):
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
