"""PostgreSQL goes away and comes back: 503 meanwhile, and no restart of the service."""

import pytest

from deeds.domain.model import Argon2Cost
from deeds.settings import MetricsPlace, Settings
from tests.support.hooks import Counter, hooked
from tests.support.requests import mint, post, refusal
from tests.support.watched import moved

# What a request may try: the connection that it had, and a new one.
CONNECTS_MAX = 2


@pytest.fixture
def client(stoppable_postgres, open_app):
    url = stoppable_postgres.cluster.create_migrated_database()
    return open_app(Settings(url, ordinary_cost=Argon2Cost(8, 1, 1))).test_client()


def requests(client, item, new):
    """Return a request of each kind, by name; `new` makes the secrets of one call differ."""
    return {
        "mint": lambda: post(client, "/v1/mint", {"outputs": ["+5.a"]}),
        "keyed mint": lambda: post(client, "/v1/mint", {"outputs": ["+5.a"]}, f"key {new}"),
        "swap": lambda: post(
            client,
            "/v1/swap",
            {"inputs": [f"+5.{item}.{new - 1}"], "outputs": [f"+5.{item}.{new}"]},
        ),
        "check": lambda: post(client, "/v1/check", {"outputs": [f"+5.{item}.0"]}),
        "item": lambda: client.get(f"/v1/item/{item}"),
    }


def test_every_request_is_answered_503_while_the_database_is_away(stoppable_postgres, client):
    item = mint(client, "+5.0")
    stoppable_postgres.stop()
    connects = Counter()
    with hooked("do_connect", connects):
        answers = {name: send() for name, send in requests(client, item, 1).items()}
    stoppable_postgres.start()

    for name, answer in answers.items():
        assert refusal(answer) == (503, "ledger_unavailable", None), name
        assert int(answer.headers["Retry-After"]) >= 1
        assert answer.headers["Cache-Control"] == "no-store"
    assert connects.count <= CONNECTS_MAX * len(answers)


def test_the_service_goes_on_once_the_database_is_back(stoppable_postgres, client):
    item = mint(client, "+5.0")
    stoppable_postgres.stop()
    away = [send().status_code for send in requests(client, item, 1).values()]
    stoppable_postgres.start()

    back = [send().status_code for send in requests(client, item, 1).values()]

    assert away == [503] * len(away)
    assert back == [200] * len(back)


def test_a_restart_of_the_database_between_two_requests_is_not_noticed(stoppable_postgres, client):
    item = mint(client, "+5.0")

    for name, send in requests(client, item, 1).items():
        stoppable_postgres.restart()
        assert send().status_code == 200, name


def test_a_service_is_alive_but_not_ready_while_the_database_is_away(stoppable_postgres, client):
    stoppable_postgres.stop()
    away = client.get("/readyz")
    alive = client.get("/healthz")
    stoppable_postgres.start()
    back = client.get("/readyz")

    assert refusal(away) == (503, "ledger_unavailable", None)
    assert int(away.headers["Retry-After"]) >= 1
    assert (alive.status_code, back.status_code) == (200, 200)


def test_connections_that_are_replaced_are_counted(stoppable_postgres, open_app):
    url = stoppable_postgres.cluster.create_migrated_database()
    settings = Settings(url, Argon2Cost(8, 1, 1), metrics=MetricsPlace(is_on=True))
    client = open_app(settings).test_client()
    mint(client, "+5.0")
    stoppable_postgres.restart()
    mint(client, "+5.0")

    assert moved(client.get("/metrics").text, "deeds_database_retries") == {
        "deeds_database_retries_total{reason=disconnect}": 1
    }
