"""PostgreSQL stops, is killed or hangs: 503 meanwhile, nothing lost, no restart."""

import time
from collections import Counter

import pytest

from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from storage.engine import POOL_TIMEOUT_S
from tests.faults.load import Load, assert_nothing_lost, line_of, soak
from tests.support.hooks import hooked
from tests.support.marker import NOWHERE
from tests.support.racing import client_of_port
from tests.support.requests import mint, post, refusal
from tests.support.waiting import wait_until
from tests.support.watched import counting, retries


@pytest.fixture
def client(stoppable_url, open_app):
    settings = counting(Settings(stoppable_url, ordinary_cost=Argon2Cost(8, 1, 1)))
    return open_app(settings).test_client()


def requests(client, item):
    """Return a request of each kind, by name."""
    swap = {"inputs": [f"+5.{item}.0"], "outputs": [f"+5.{item}.1"]}
    return {
        "mint": lambda: post(client, "/v1/mint", {"outputs": ["+5.a"]}),
        "keyed mint": lambda: post(client, "/v1/mint", {"outputs": ["+5.a"]}, "key"),
        "swap": lambda: post(client, "/v1/swap", swap),
        "check": lambda: post(client, "/v1/check", {"outputs": [f"+5.{item}.0"]}),
        "item": lambda: client.get(f"/v1/item/{item}"),
    }


def test_every_request_is_a_503_just_while_the_database_is_away(
    stoppable_postgres, client
):
    item = mint(client, "+5.0")
    stoppable_postgres.stop()
    connects = []
    with hooked("do_connect", lambda *_: connects.append(1)):
        answers = {name: send() for name, send in requests(client, item).items()}
    unready, alive = client.get("/readyz"), client.get("/healthz")
    stoppable_postgres.start()
    back = [send().status_code for send in requests(client, item).values()]

    for name, answer in (answers | {"readyz": unready}).items():
        assert refusal(answer) == (503, "ledger_unavailable", None), name
        assert int(answer.headers["Retry-After"]) >= 1
        assert answer.headers["Cache-Control"] == "no-store"
    # A request may try the connection that it had, and a new one.
    assert len(connects) <= 2 * len(answers)
    assert alive.status_code == 200
    assert back == [200] * len(back)
    assert client.get("/readyz").status_code == 200


@pytest.fixture
def nobody_looks(monkeypatch):
    """No thread meets a broken connection before a request does."""
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 3600.0)


def test_a_restart_of_the_database_between_requests_is_only_counted(
    stoppable_postgres, nobody_looks, client
):
    item = mint(client, "+5.0")
    sends = requests(client, item)

    for name, send in sends.items():
        stoppable_postgres.stop()
        stoppable_postgres.start()
        assert send().status_code == 200, name

    assert retries(client) == {"disconnect": len(sends)}


@pytest.mark.soak(share=6)
def test_a_postgresql_that_ends_and_comes_back_loses_no_acknowledged_swap(
    stoppable_postgres, stoppable_url, make_service, seed, report, soak_seconds
):
    def end_and_start(load, rng):
        # As for an update, and as at a power cut.
        for end in (stoppable_postgres.stop, stoppable_postgres.kill):
            load.wait_for_answers(rng.randint(1, 150))
            time.sleep(rng.uniform(0, 0.01))
            end()
            stoppable_postgres.start()
        load.wait_for_answers(1)
        return Counter(stops=1, kills=1)

    services = [make_service(stoppable_url) for _ in range(2)]
    for service in services:
        service.start()
    ports = [service.find_port for service in services]
    counts = soak(ports, stoppable_url, end_and_start, seed=seed, seconds=soak_seconds)

    report(f"stops {counts['stops']}, {line_of(counts)}")


def timed_check(port):
    """Return the status of a check over a new connection, and its seconds."""
    started_s = time.monotonic()
    with client_of_port(port) as send:
        status, _ = send("/v1/check", {"outputs": [f"+5.{NOWHERE}.a"]})
    return status, time.monotonic() - started_s


def test_a_frozen_postgresql_is_refused_soon_and_used_again_at_once(
    stoppable_postgres, stoppable_url, make_service, report
):
    service = make_service(stoppable_url, workers=1)
    service.start()
    port, load = service.find_port(), Load([service.find_port], seed=1)
    with load.running():
        load.wait_for_answers(100)
        stoppable_postgres.freeze()
        try:
            # Once one client was refused, others hold each connection that there may
            # be.
            wait_until(lambda: any(client.unanswered_count for client in load.clients))
            status, refused_s = timed_check(port)
        finally:
            stoppable_postgres.thaw()
        before, started_s = load.acknowledged_count(), time.monotonic()
        wait_until(
            lambda: timed_check(port)[0] == 200 and load.acknowledged_count() > before,
            2.0,
        )
        seconds = time.monotonic() - started_s
        wait_until(lambda: load.acknowledged_count() > before + 100)
    counts = assert_nothing_lost(load, service.find_port, stoppable_url)

    assert status == 503
    assert refused_s < POOL_TIMEOUT_S + 2.0  # For a busy machine.
    report(
        f"refused after {refused_s:.1f} s, served after {seconds:.2f} s, {dict(counts)}"
    )
