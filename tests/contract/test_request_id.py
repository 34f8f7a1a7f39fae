"""Every answer has an X-Request-ID: the client's where it is harmless, else a new one."""

import re

import pytest

from tests.support.marker import MARK
from tests.support.requests import mint, swap
from tests.support.ways_to_fail import WAYS, Ground

NEW = re.compile(r"[0-9a-f]{32}")

HARMLESS = [
    "1",
    "8e03978e-40d5-43e8-bc93-6894a57f9324",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "a_b.c-d",
    "x" * 64,
]
HARMFUL = [
    "",
    "x" * 65,
    "two words",
    "-begins-with-a-dash",
    'quote"',
    "a\tb",
    "a,b",
    "é",
    "<b>",
    f"+5.deed_x.{MARK}",
]


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


@pytest.mark.parametrize("request_id", HARMLESS)
def test_a_harmless_id_comes_back(client, request_id):
    answer = client.get("/v1/info", headers={"X-Request-ID": request_id})

    assert answer.headers.getlist("X-Request-ID") == [request_id]


@pytest.mark.parametrize("request_id", HARMFUL)
def test_an_id_that_could_do_harm_is_replaced(client, request_id):
    answer = client.get("/v1/info", headers={"X-Request-ID": request_id})

    [made] = answer.headers.getlist("X-Request-ID")
    assert NEW.fullmatch(made)


def test_no_two_requests_are_given_one_id(client):
    made = {client.get("/v1/info").headers["X-Request-ID"] for _ in range(100)}

    assert len(made) == 100


@pytest.mark.parametrize(("_code", "_index", "way"), WAYS.values(), ids=WAYS)
def test_every_refusal_has_an_id(client, settings, open_app, monkeypatch, _code, _index, way):
    item_id = mint(client, "+5.a", "+3.b")
    swap(client, [f"+3.{item_id}.b"], [f"+3.{item_id}.c"])

    answer = way(Ground(client, item_id, settings, open_app, monkeypatch))

    assert answer.headers["X-Request-ID"]


def test_a_page_may_send_and_read_the_id(client):
    asked = client.options("/v1/swap", headers={"Origin": "https://wallet.example"})
    read = client.get("/v1/info", headers={"Origin": "https://wallet.example"})

    assert "X-Request-ID" in asked.headers["Access-Control-Allow-Headers"]
    assert "X-Request-ID" in read.headers["Access-Control-Expose-Headers"]
