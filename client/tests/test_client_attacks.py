"""What could lose units all the same: locks that end, backups that nobody can read."""

import subprocess
import sys
from contextlib import ExitStack, closing
from unittest.mock import Mock

import httpx
import pytest
from client_walk import (
    PASSPHRASE,
    at,
    backup_file,
    live_at_once,
    problem,
    wallet_at,
)

from deeds_client import store as store_module
from deeds_client.errors import (
    CallError,
    InvalidInputError,
    WalletFileError,
)
from deeds_client.service import Deeds
from deeds_client.store import Store
from deeds_client.values import Output, Secret

LIMITS = {"arrayLengthMax": 256}
INFO = httpx.Response(200, json={"version": "1", "limits": LIMITS})


@pytest.fixture
def alone(tmp_path):
    """A function that opens a wallet where nothing answers but these fates."""
    with ExitStack() as stack:
        yield lambda fates: stack.enter_context(
            wallet_at(tmp_path / "wallet", "http://a.example", fates)
        )


def test_to_open_a_wallet_ends_no_lock_of_another_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_BUSY_S", 0.01)
    path = tmp_path / "wallet"
    connect = f"sqlite3.connect({str(path)!r}, 0.01)"
    other = f"import sqlite3; {connect}.execute('BEGIN IMMEDIATE')"
    with closing(Store(path)) as store, store.transaction():
        with pytest.raises(WalletFileError, match="in use"):
            Store(path)
        ended = subprocess.run(
            [sys.executable, "-c", other], check=False, capture_output=True
        )

    assert b"database is locked" in ended.stderr


def test_what_no_backup_could_hold_is_not_written_down(alone):
    wallet = alone(at("", INFO))

    with pytest.raises(InvalidInputError):
        wallet.mint([1], metadata={"name": "Caf\udce9"})

    assert wallet.history() == wallet.outputs() == []


def test_what_a_filter_refuses_keeps_nothing_else_from_being_sent_again(alone):
    sent = []

    def fates(request):
        sent.append(request.headers.get("Idempotency-Key"))
        return httpx.Response(403, html="") if request.content else INFO

    wallet = alone(fates)
    for _ in range(2):
        with pytest.raises(CallError):
            wallet.mint([5])
    del sent[:]

    wallet.__enter__()

    assert {each.key for each in wallet.history()} == {*sent}


def test_a_fork_reads_no_answers_on_the_connections_of_its_parent(monkeypatch):
    clients = Mock(wraps=httpx.Client)
    monkeypatch.setattr(httpx, "Client", clients)
    line = httpx.MockTransport(lambda _: INFO)

    def live():
        deeds._info = None
        deeds.info()
        assert clients.call_count == 2

    with Deeds("http://a.example", transport=line) as deeds:
        assert clients.call_count == 0
        deeds.info()
        assert live_at_once(live) == [False]
    assert clients.call_count == 1


def test_limits_are_asked_for_again_after_a_refusal():
    asked = []
    refusal = problem(400, "invalid_request")

    def answer(request):
        asked.append(request.url.path)
        return refusal if request.content else INFO

    with Deeds("http://a.example", transport=httpx.MockTransport(answer)) as deeds:
        for _ in range(2):
            with pytest.raises(CallError):
                deeds.check([Output(1, "deed_a", Secret("a"))])

    assert asked == ["/v1/info", "/v1/check"] * 2


def test_a_backup_of_another_service_is_not_taken_in(anna, alone):
    backup = backup_file(alone(at()))

    with pytest.raises(WalletFileError, match="not for http"):
        anna.restore(backup, PASSPHRASE)
