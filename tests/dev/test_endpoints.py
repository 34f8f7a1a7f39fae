"""Faults, the clock, resets and the audit of `deeds dev`."""

import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.dev.running import running_dev
from tests.support.api import SUCCESS, Api, fresh, good, refusal

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
NO_OFFER = "offer_00000000000000000000000000"
ELSEWHERE = {"Host": "deeds.example.com"}

INVALID = [
    ("fail", {"next": 1}, "with: is required"),
    ("fail", {"next": -1, "with": "lost"}, "next: must be a JSON integer"),
    ("fail", {"next": 1, "with": "500"}, "with: must be one of lost, 503, 429, slow"),
    ("fail", {"next": 1, "with": "lost", "path": "v1"}, "path: must be a path"),
    ("fail", {"next": 1, "with": "lost", "seconds": 1}, "seconds: only slow takes"),
    ("fail", {"next": 1, "with": "slow", "seconds": 0}, "seconds: must be a JSON"),
    ("fail", "[", "not JSON"),
    ("clock", {}, "must have either advance or at"),
    ("clock", {"at": "2999-01-01T00:00:00"}, "at: must be a time with its zone"),
    ("clock", {"at": "2001-01-01T00:00:00Z"}, "only goes forward"),
    ("clock", {"advance": 300_000_000_000}, "ends with the year 9998"),
]


@pytest.fixture(scope="module")
def shared_dev():
    with running_dev() as dev:
        yield dev


@pytest.fixture
def dev(shared_dev):
    good(shared_dev.tell("reset"))
    return shared_dev


@pytest.fixture
def api(dev):
    return dev.api


def fail(dev, kind, count=1, **rest):
    return good(dev.tell("fail", {"next": count, "with": kind} | rest))["left"]


def now_of(dev, **move):
    """Move the clock, by default not at all, and return its time."""
    answer = good(dev.tell("clock", move or {"advance": 0}))
    return datetime.fromisoformat(answer["now"])


def test_a_lost_answer_is_no_byte_and_its_request_is_carried_out(dev, api):
    item = api.mint("+5.a")
    half = ([f"+5.{item}.a"], [f"+5.{item}.b"])
    fail(dev, "lost")

    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        api.swap(*half, key=KEY)

    answer = api.swap(*half, key=KEY)
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert api.check(*half[0], *half[1]) == ["spent", "unspent"]


@pytest.mark.parametrize(
    ("kind", "code"), [("503", "ledger_unavailable"), ("429", "too_many_requests")]
)
def test_a_refusal_is_as_the_service_has_it_and_carries_nothing_out(
    dev, api, kind, code
):
    item = api.mint("+5.a")
    fail(dev, kind)

    answer = api.swap(f"+5.{item}.a", f"+5.{item}.b")

    assert refusal(answer) == (int(kind), code, None)
    assert answer.headers["Retry-After"] == "1"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert api.check(f"+5.{item}.a") == ["unspent"]


@pytest.mark.slow
def test_a_reset_does_not_wait_for_a_slow_answer(dev, api):
    item = api.mint("+5.a")
    fail(dev, "slow", seconds=300)
    with pytest.raises(httpx.ReadTimeout):
        api.http.get(f"/v1/item/{item}", timeout=0.5)

    good(dev.tell("reset"))

    assert api.get(f"/v1/item/{item}").status_code == 404


def test_faults_come_in_order_at_their_paths_alone_until_they_are_withdrawn(dev, api):
    completions = "/v1/offers/{id}/complete"
    fail(dev, "429", path=completions)
    fail(dev, "503", path="/v1/swap")
    fail(dev, "503", 3)

    met = [
        refusal(api.get("/v1/info")),
        refusal(api.complete(NO_OFFER, ["+1.deed_x.a"], [])),
        refusal(api.get("/")),
    ]
    left = fail(dev, "503", 0)

    codes = ["ledger_unavailable", "too_many_requests", "ledger_unavailable"]
    assert [code for _, code, _ in met] == codes
    assert left == 1
    assert api.get("/v1/info").status_code == 200
    assert api.post("/v1/swap", {}).status_code == 503


def test_a_reset_brings_back_an_empty_ledger_the_time_and_no_faults(dev, api):
    item = api.mint("+5.a", key=KEY)
    now_of(dev, advance=86_400)
    fail(dev, "503", 100)

    assert good(dev.tell("reset")) == SUCCESS

    assert api.get(f"/v1/item/{item}").status_code == 404
    assert abs(now_of(dev) - datetime.now(UTC)) < timedelta(minutes=1)
    assert api.mint("+5.a", key=KEY) != item
    with closing(sqlite3.connect(dev.ready["ledger"])) as ledger:
        assert ledger.execute("SELECT count(*) FROM items").fetchall() == [(1,)]


@pytest.mark.slow
def test_a_request_during_resets_is_before_or_after_one(dev):
    statuses = []

    def mint():
        with closing(Api.of_url(dev.ready["url"])) as api:
            statuses.extend(api.send_mint("+5.a").status_code for _ in range(30))

    threads = [threading.Thread(target=mint) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert good(dev.tell("reset")) == SUCCESS
        assert good(dev.api.get("/_dev/audit")) == {"ok": True}

    assert statuses == [200] * 120


@pytest.mark.parametrize(("what", "body", "detail"), INVALID)
def test_what_is_invalid_is_refused_in_a_line_and_changes_nothing(
    dev, api, what, body, detail
):
    before = now_of(dev)

    answer = api.post(f"/_dev/{what}", body)

    assert answer.status_code == 400
    assert detail in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]
    assert now_of(dev) - before < timedelta(minutes=1)
    assert api.get("/v1/info").status_code == 200


def test_pages_of_other_sites_control_nothing(dev, api):
    item = api.mint("+5.a")
    form = {"Content-Type": "text/plain"}
    json = {"Content-Type": "application/json"}

    preflight = api.http.options("/_dev/reset", headers={"Origin": "https://x.example"})
    refused = [
        api.http.post("/_dev/reset", content="{}", headers=form),
        api.http.post("/_dev/reset", content="{}", headers=json | ELSEWHERE),
        api.get("/_dev/audit", **ELSEWHERE),
    ]

    assert not [name for name in preflight.headers if name.startswith("access-control")]
    codes = [answer.json()["code"] for answer in refused]
    assert codes == ["wrong_media_type", "invalid_request", "invalid_request"]
    assert api.check(f"+5.{item}.a") == ["unspent"]


@pytest.mark.slow
def test_a_seed_repeats_ids_and_salts_from_run_to_run_and_from_reset_to_reset():
    def walk(dev):
        item = dev.api.mint("+5.a")
        other = dev.api.mint("+7.b")
        offer = dev.api.offer_id([], [fresh(5, item)])
        with closing(sqlite3.connect(dev.ready["ledger"])) as ledger:
            salts = ledger.execute("SELECT salt FROM items ORDER BY created_by")
            return item, other, offer, salts.fetchall()

    walks = []
    for seed in ("42", "42", "43"):
        with running_dev("--seed", seed) as dev:
            walks.append(walk(dev))
            good(dev.tell("reset"))
            assert walk(dev) == walks[-1]

    assert walks[0] == walks[1] != walks[2]
