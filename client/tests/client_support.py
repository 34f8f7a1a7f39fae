"""What the client's tests share: lines to the service, wallets, and processes.

A request may be lost, delayed or refused on its line; a process may be killed at one of
its steps. A step is the begin or the end of a transaction, or a request before it is
sent, after, and answered.
"""

import json
import multiprocessing
import os
import signal
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import asdict, replace
from http.client import HTTPConnection
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from deeds_client import merging, seeds
from deeds_client.errors import ProblemError, WalletError
from deeds_client.record_format import read_contents, write_contents
from deeds_client.records import Holding
from deeds_client.service import Deeds
from deeds_client.wallet import Wallet

PASSPHRASE = "a passphrase of ours"
FORKS = multiprocessing.get_context("fork")


def problem(status, code, retry_after="0", **rest):
    """Return a problem+json answer, as the service refuses."""
    document = {"code": code, "title": "T", "detail": "D.", **rest}
    headers = {"Content-Type": "application/problem+json", "Retry-After": retry_after}
    return httpx.Response(status, headers=headers, json=document)


TOO_LARGE = problem(413, "body_too_large", isFinal=True)


@contextmanager
def folder():
    """A temporary folder, in memory if possible.

    Files in it survive a process that is killed, as on a disk.
    """
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as path:
        yield Path(path)


class Mortal:
    """Counts the steps of a process, and kills it at one of them."""

    def __init__(self, dies_at=0):
        self.count = 0
        self._dies_at = dies_at

    def step(self):
        self.count += 1
        if self.count == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self):
        """Count the transactions of all connections that are opened from now on."""
        connect = sqlite3.connect

        def watched(*arguments, **options):
            connection = connect(*arguments, **options)

            def traced(statement):
                # Not a statement that SQLite has rolled back.
                if statement == "COMMIT" or not connection.in_transaction:
                    self.step()

            connection.set_trace_callback(traced)
            return connection

        sqlite3.connect = watched


class Lines(httpx.BaseTransport):
    """A transport to the service that may lose, delay or refuse requests.

    `fates` returns the fate of a request. A response is the answer instead of the
    service's. A function is called once the service has answered, before the client
    reads the answer. A "late" request is written to the folder `late` instead.
    """

    def __init__(self, url, fates, late=None, mortal=None):
        self._connection = HTTPConnection(url.removeprefix("http://"), timeout=30)
        self._fates, self._late, self._mortal = fates, late, mortal or Mortal()

    def handle_request(self, request):
        fate = self._fates(request)
        self._mortal.step()
        if fate == "lost":
            raise httpx.ConnectError("")
        if isinstance(fate, httpx.Response):
            return copy(fate)
        key = request.headers.get("Idempotency-Key")
        if fate == "refused" and key:
            return copy(TOO_LARGE)
        if fate == "late" and key:
            sent = json.dumps([request.url.path, json.loads(request.content), key])
            (self._late / str(uuid4())).write_text(sent)
            raise httpx.ReadTimeout("")
        path, headers = request.url.raw_path.decode(), dict(request.headers)
        self._connection.request(request.method, path, request.content, headers)
        self._mortal.step()
        answer = self._connection.getresponse()
        data = answer.read()
        self._mortal.step()
        if fate == "answer lost":
            raise httpx.ReadTimeout("")
        if callable(fate):
            fate()
        return httpx.Response(answer.status, headers=dict(answer.headers), content=data)

    def close(self):
        self._connection.close()


def at(path="", *fates, before=lambda: None):
    """Return a function for `Lines`: the fates of requests whose path contains `path`.

    The last fate is repeated. `before` is called before each of these requests.
    """
    left = list(fates or ["answered"])

    def fate(request):
        if path not in request.url.path:
            return "answered"
        before()
        return left.pop(0) if len(left) > 1 else left[0]

    return fate


@contextmanager
def refused(code):
    """Assert that the wallet or the service refuses with this code."""
    with pytest.raises((WalletError, ProblemError)) as caught:
        yield
    assert caught.value.code == code


@contextmanager
def wallet_at(path, url, fates=lambda _: "answered", late=None, mortal=None, tries=2):
    """A wallet whose requests have these fates: see `Lines`."""
    lines = Lines(url, fates, late, mortal)
    with (
        Deeds(url, transport=lines, tries=tries, sleep=lambda _s: None) as deeds,
        closing(Wallet(path, deeds)) as wallet,
    ):
        yield wallet


def backup_of(records):
    """Return the contents of a backup of these records."""
    return read_contents(write_contents(merging.dump(records)))


@contextmanager
def copy_of(wallet, name="copy", path="", *fates):
    """A copy of a wallet, restored from its records. Its search has not begun."""
    file, url = wallet._store.path.with_name(name), wallet._deeds.base_url
    with wallet_at(file, url, at(path, *fates), tries=1) as copied:
        with wallet._store.transaction() as records:
            dumped = backup_of(records)
        with copied._store.transaction() as records:
            merging.merge(records, dumped, is_own=True)
            seeds.schedule_look(records)
        yield copied


def backup_file(wallet):
    """Return a new backup file of a wallet, with the passphrase PASSPHRASE."""
    path = wallet._store.path.with_name(f"{uuid4()}.backup")
    wallet.export(path, PASSPHRASE)
    return path


def units(wallet, item_id):
    """Return the units of an item in a wallet, by state."""
    holding = wallet.balance().get(item_id, Holding(item_id))
    counts = asdict(replace(holding, in_backup=False)).items()
    return {state: count for state, count in counts if count not in (0, item_id)}


def sent(wallet, item_id, amount):
    """Make a link of some units; return its output."""
    return wallet.send(item_id, amount).output


def pay(wallet, asked):
    """Complete an offer of another wallet."""
    return wallet.complete(wallet._deeds.offer(asked.offer_id))


def live_at_once(*lives):
    """Run each function in a process; return which were killed. None may fail."""
    processes = [FORKS.Process(target=life) for life in lives]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    codes = [process.exitcode for process in processes]
    assert {*codes} <= {0, -signal.SIGKILL}, "one failed: see its traceback"
    return [code != 0 for code in codes]
