"""PostgreSQL stops, is killed or hangs: 503 meanwhile, nothing lost, no restart."""

import time
from contextlib import closing

import pytest

from storage.engine import POOL_TIMEOUT_S
from storage.repository import WATCH_SECONDS_MAX
from storage.transactions import SECONDS_MAX
from tests.faults.load import Load, line_of, rounds
from tests.support.api import SUCCESS, UNAVAILABLE, Api, good, refusal
from tests.support.leftovers import hooked
from tests.support.waiting import wait_until

IN_DOUBT = (503, "ledger_in_doubt", None)


@pytest.fixture
def database_url(stoppable_url):
    return stoppable_url


@pytest.fixture
def api(open_api, monkeypatch):
    """A client of a service that looks at its connections only when it is asked."""
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 3600.0)
    return open_api(DEEDS_METRICS="on")


@pytest.fixture
def requests(api):
    """One of each kind that needs the database, by name."""
    build, item_id = api.http.build_request, api.mint("+5.0")
    mint, keyed = {"outputs": ["+5.a"]}, {"Idempotency-Key": "key"}
    check = {"outputs": [f"+5.{item_id}.0"]}
    swap = {"inputs": [f"+5.{item_id}.0"], "outputs": [f"+5.{item_id}.1"]}
    return {
        "mint": build("POST", "/v1/mint", json=mint),
        "keyed mint": build("POST", "/v1/mint", json=mint, headers=keyed),
        "swap": build("POST", "/v1/swap", json=swap),
        "check": build("POST", "/v1/check", json=check),
        "item": build("GET", f"/v1/item/{item_id}"),
    }


@pytest.mark.slow
def test_every_request_is_a_503_just_while_the_database_is_away(
    stoppable_postgres, api, requests
):
    stoppable_postgres.stop()
    connects = []
    with hooked("do_connect", lambda *_: connects.append(1)):
        away = {name: api.http.send(request) for name, request in requests.items()}
    unready, alive = api.get("/readyz"), api.get("/healthz")
    stoppable_postgres.start()
    back = {name: api.http.send(request) for name, request in requests.items()}
    ready = api.get("/readyz")

    away["readiness"], back["readiness"] = unready, ready
    found = {name: refusal(answer) for name, answer in away.items()}
    assert found == dict.fromkeys(away, UNAVAILABLE)
    assert {each.headers["Cache-Control"] for each in away.values()} == {"no-store"}
    # A request may try the connection that it had, and a new one.
    assert len(connects) <= 2 * len(requests)
    assert alive.status_code == 200
    statuses = {name: answer.status_code for name, answer in back.items()}
    assert statuses == dict.fromkeys(back, 200)


@pytest.mark.slow
@pytest.mark.soak(share=6)
def test_a_postgresql_that_ends_and_comes_back_loses_no_acknowledged_swap(
    stoppable_postgres, stoppable_url, make_service, seed, report, soak_seconds
):
    services = [make_service(stoppable_url) for _ in range(2)]
    ports = [service.find_port for service in services]
    load = Load(ports, seed)
    rounds_count = 0

    with load.running():
        for rng in rounds(seed, soak_seconds):
            # As for an update, and as at a power cut.
            for end in (stoppable_postgres.stop, stoppable_postgres.kill):
                load.wait_for_answers(rng.randint(1, 150))
                time.sleep(rng.uniform(0, 0.01))
                end()
                stoppable_postgres.start()
            load.wait_for_answers(1)
            rounds_count += 1

    counts = load.assert_nothing_lost(stoppable_url)
    report(f"stops and kills {rounds_count}, {line_of(counts)}")


def test_an_answer_waits_for_the_synchronous_standby_or_is_in_doubt(
    stoppable_postgres, open_api, monkeypatch
):
    """Also a second answer and a refusal.

    What they tell may be known to a primary alone that has crashed meanwhile.
    """
    monkeypatch.setattr("storage.repository.SECONDS_MAX", 1.0)
    api = open_api()
    item = api.mint("+5.a")
    first, second, refused = [
        ([f"+5.{item}.{secret}"], [f"+5.{item}.{new}"], new)
        for secret, new in ("ab", "bc", "ad")
    ]
    good(api.swap(*first))

    stoppable_postgres.set("synchronous_standby_names", "nobody")
    doubtful = [api.swap(*each) for each in (first, refused, second)]
    # Each of them keeps a connection of the server. No more are begun.
    wait_until(lambda: refusal(api.send_mint("+1.a")) == UNAVAILABLE)
    stoppable_postgres.set("synchronous_standby_names", "")
    answers = [api.swap(*each) for each in (first, second)]

    assert [refusal(each) for each in doubtful] == [IN_DOUBT] * 3
    assert [good(each) for each in answers] == [SUCCESS] * 2
    replays = [each.headers.get("Idempotency-Replayed") for each in answers]
    assert replays == ["true"] * 2
    assert refusal(api.swap(*refused)) == (400, "spent_input", 0)


@pytest.mark.slow
def test_what_waits_for_a_frozen_postgresql_ends_in_time(
    stoppable_postgres, stoppable_url, make_service
):
    service = make_service(stoppable_url, workers=1)
    with closing(Api.of_url(service.url)) as api:
        item = api.mint("+5.a")
        assert api.get("/readyz").status_code == 200
        stoppable_postgres.freeze()
        try:
            begun_at = time.monotonic()
            unready = api.get("/readyz")
            unready_s = time.monotonic() - begun_at
            answer = api.swap(f"+5.{item}.a", f"+5.{item}.b")
            answered_s = time.monotonic() - begun_at - unready_s
            stopped_at = time.monotonic()
            assert service.stop() == 0
            stopped_s = time.monotonic() - stopped_at
        finally:
            stoppable_postgres.thaw()

    assert refusal(unready) == refusal(answer) == UNAVAILABLE
    # Two more for a busy machine.
    assert unready_s < WATCH_SECONDS_MAX + 2.0
    assert answered_s < SECONDS_MAX + 2.0
    assert stopped_s < 10.0


def test_a_frozen_postgresql_is_refused_soon_and_used_again_at_once(
    stoppable_postgres, stoppable_url, make_service, seed, report
):
    service = make_service(stoppable_url, workers=1)
    load = Load([service.find_port], seed)

    with load.running():
        load.wait_for_answers(50)
        stoppable_postgres.freeze()
        frozen_at = time.monotonic()
        try:
            # Once one client was refused, others hold each connection that there may
            # be.
            load.wait_for_answers(1, "unanswered")
            refused_s = time.monotonic() - frozen_at
        finally:
            stoppable_postgres.thaw()
        thawed_at = time.monotonic()
        load.wait_for_answers(1)
        served_s = time.monotonic() - thawed_at
        load.wait_for_answers(50)

    counts = load.assert_nothing_lost(stoppable_url)
    assert load.fates.count("503 overloaded") > 0
    # Two more for a busy machine.
    assert refused_s < POOL_TIMEOUT_S + 2.0
    assert served_s < 2.0
    seconds = f"refused after {refused_s:.1f} s, served after {served_s:.2f} s"
    report(f"{seconds}, {line_of(counts)}")
