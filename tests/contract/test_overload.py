"""What a service that is busy hashing answers, and to whom."""

import threading

import pytest

import deeds.domain.hashing
from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import Settings
from tests.support.evaluations import Evaluations
from tests.support.requests import check, mint, post, refusal, swap

ORDINARY_COST = Argon2Cost(16, 1, 1)
WAIT_S = 20


@pytest.fixture
def client(monkeypatch, sqlite_url, open_app):
    """A client of a service that hashes ordinary secrets for one request at a time."""
    monkeypatch.setattr("app.HASH_REQUESTS_MAX", 1)
    return open_app(Settings(sqlite_url, ordinary_cost=ORDINARY_COST)).test_client()


def test_a_full_pool_refuses_ordinary_secrets_and_serves_strong_ones(client, monkeypatch, thread):
    strong = [make_strong_secret() for _ in range(2)]
    ordinary_item, strong_item = mint(client, "+5.a", "+7.d"), mint(client, f"+5.{strong[0]}")
    waiting, go_on = threading.Event(), threading.Event()

    def wait_in_the_pool():
        if threading.current_thread() is not threading.main_thread():
            waiting.set()
            assert go_on.wait(WAIT_S)

    evaluations = Evaluations(deeds.domain.hashing.hash_secret_raw)
    evaluations.before = wait_in_the_pool
    monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", evaluations)

    slow = thread.submit(swap, client, [f"+5.{ordinary_item}.a"], [f"+5.{ordinary_item}.b"])
    assert waiting.wait(WAIT_S)
    evaluations.take()
    refused = swap(client, [f"+5.{ordinary_item}.a"], [f"+5.{ordinary_item}.c"])
    guessed = post(client, "/v1/check", {"outputs": [f"+5.{ordinary_item}.guess"]})
    begun_by_refused_count = evaluations.take()
    served = swap(client, [f"+5.{strong_item}.{strong[0]}"], [f"+5.{strong_item}.{strong[1]}"])
    read = client.get(f"/v1/item/{ordinary_item}")
    go_on.set()

    assert refusal(refused) == (503, "overloaded", None)
    assert int(refused.headers["Retry-After"]) >= 1
    assert refusal(guessed) == (503, "overloaded", None)
    # The pool was full all the while: they were answered without waiting for it or hashing.
    assert begun_by_refused_count <= 1
    assert (served.status_code, served.get_json()) == (200, {"success": True})
    assert read.status_code == 200
    assert slow.result().status_code == 200
    assert swap(client, [f"+7.{ordinary_item}.d"], [f"+7.{ordinary_item}.e"]).status_code == 200
    assert check(client, f"+5.{ordinary_item}.b", f"+5.{ordinary_item}.c") == ["unspent", "unknown"]
