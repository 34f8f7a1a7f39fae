"""Digests, known for all time, and the threads, turns and bounds of slow hashes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import call
from unittest.mock import Mock
from uuid import uuid4

import pytest

from deeds.errors import OverloadedError
from deeds.hashing import (
    ORDINARY_COST,
    STRONG_COST,
    Hasher,
    HashJob,
    HashPool,
    argon2id,
    pepper_fingerprint,
)
from deeds.model import HashPolicy, ItemHashing, RawOutput
from tests.support.api import Api, fresh, good, refusal, replayed
from tests.support.commanding import run_python
from tests.support.databases import on_sqlite
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until

NOWHERE = "deed_00000000000000000000000000"
WAIT_S = 20
SALT = bytes(range(16))
PEPPER = b"a pepper of 32 characters or more"

# Computed apart, by Argon2's reference code and with HMAC written out. They pin the
# default costs too, and never change: a digest that changes makes every deed worthless.
KNOWN = {
    "ordinary": (
        "secret",
        ORDINARY_COST,
        None,
        "41816b326fa93eaadc146f9f3d3ccf5813b3518dc654091341125c80955e3def",
    ),
    "strong": (
        "secret",
        STRONG_COST,
        None,
        "a82dcc6a3065a6303032fe26f588c81fce8cfacd57cb9bbcd524a676d538dd9b",
    ),
    "ordinary with a pepper": (
        "secret",
        ORDINARY_COST,
        PEPPER,
        "7b9d6922e7186bf1bb2d895305731bc053532d62fe4f02c9ae2c8c1909315a47",
    ),
    "strong with a pepper": (
        "secret",
        STRONG_COST,
        PEPPER,
        "792db6c2024999d0ab44b574ced893060446845062033fdaffed9682b2fdc87d",
    ),
    "two lanes": (
        "secret",
        HashPolicy(64, 3, 2),
        None,
        "e4ab1a3e1119c40d709f2fd2792fc6a199d0339db81cbad7a56d5e06dc069751",
    ),
    "not ASCII": (
        "s\u00e9cr\U0001f3e1t\0",
        STRONG_COST,
        PEPPER,
        "18860dfbe4d99a266c7e551abe643a490750eca09e03790ad71c3869519cb146",
    ),
}

POLICY = HashPolicy(8, 1, 1, pepper_fingerprint(PEPPER))
STRONG = [make_strong_secret() for _ in range(2)]
ITEMS = {"deed_x": ItemHashing(SALT, POLICY, 5)}


@pytest.mark.parametrize(
    ("secret", "cost", "pepper", "digest"), KNOWN.values(), ids=KNOWN
)
def test_a_digest_is_what_it_has_always_been(secret, cost, pepper, digest):
    assert argon2id(HashJob(secret, SALT, cost, pepper)).hex() == digest


def test_a_fingerprint_is_what_it_has_always_been():
    assert pepper_fingerprint(PEPPER) == "a5f76ff5a33efa44"


def raws_of(secrets):
    return [RawOutput(1, "deed_x", each) for each in secrets]


def hasher_with(pool):
    peppers = {POLICY.pepper_fingerprint: PEPPER}
    return Hasher(POLICY, peppers, PEPPER, pool, argon2id)


@pytest.mark.parametrize("ordinary", [[], ["a", "b", "c"]])
@pytest.mark.parametrize("strong", [[], STRONG], ids=["none", "two strong"])
def test_a_hasher_hashes_each_secret_once_in_order(hash_costs, ordinary, strong):
    secrets = (ordinary + strong)[::2] + (ordinary + strong)[1::2]

    hashed = hasher_with(HashPool(1, 2)).hash_outputs(raws_of(secrets), ITEMS, "a")

    assert len(hash_costs) == len(secrets)
    assert [each.digest for each in hashed] == [
        argon2id(HashJob(secret, SALT, STRONG_COST, PEPPER)) for secret in secrets
    ]


@pytest.fixture
def start():
    """A function that runs jobs for a client in a thread, once they are admitted."""

    def start_one(pool, jobs, client="a"):
        admitted_count = pool._requests.total()
        request = threads.submit(pool.run, call, jobs, client)
        wait_until(lambda: pool._requests.total() > admitted_count or request.done())
        return request

    with ThreadPoolExecutor(max_workers=9) as threads:
        yield start_one


@pytest.fixture
def gate():
    return threading.Event()


@pytest.fixture
def held(gate):
    """A job that waits until the gate is opened, and then returns True."""
    return partial(gate.wait, WAIT_S)


def test_a_request_waits_for_one_turn_of_another(start, gate, held):
    pool, order = HashPool(1, 100), []
    many = start(pool, [held, *[partial(order.append, "many")] * 9])
    one = start(pool, [partial(order.append, "one")])
    # Its first hash is waiting too.
    wait_until(lambda: pool._executor._work_queue.qsize() == 1)
    gate.set()

    assert many.result(WAIT_S) == [True, *[None] * 9]
    assert one.result(WAIT_S) == [None]
    assert order.index("one") == 0


# The clients of the requests that run, whose is one more, and whether it is admitted:
# there are 8 places, and 6 of a client.
ROOM = [
    ("aaaaa", "a", True),
    ("aaaaaa", "a", False),
    ("aaaaaa", "b", True),
    ("aaaaabb", "a", True),
    ("aaaaaabb", "c", False),
]


@pytest.mark.parametrize(("running", "client", "is_admitted"), ROOM)
def test_a_request_is_admitted_as_a_whole_or_refused(
    start, gate, held, *, running, client, is_admitted
):
    pool, begun = HashPool(1, 8), []
    for each in running:
        start(pool, [held], each)

    request = start(pool, [partial(begun.append, "job")] * 9, client)

    gate.set()
    assert (request.exception(WAIT_S) is None) == is_admitted
    assert len(begun) == (9 if is_admitted else 0)


def test_strong_secrets_and_random_keys_wait_for_nobody(start, gate, held):
    pool = HashPool(1, 2)
    hasher = hasher_with(pool)
    for client in "ab":
        start(pool, [held], client)

    assert len(hasher.hash_outputs(raws_of(STRONG), ITEMS, "c")) == 2
    assert len(hasher.hash_key(str(uuid4()), "c")) == 32
    for refused in (
        partial(hasher.hash_outputs, raws_of([*STRONG, "a"]), ITEMS),
        partial(hasher.hash_key, "order 17"),
    ):
        with pytest.raises(OverloadedError):
            refused("c")

    gate.set()


@pytest.mark.parametrize("failure", [ValueError, MemoryError, SystemExit])
def test_a_failing_hash_raises_in_its_own_request_alone(start, gate, held, failure):
    pool = HashPool(1, 2)
    other = start(pool, [held, bytes])
    failing = start(pool, [Mock(side_effect=failure), *[bytes] * 5], "b")
    gate.set()

    with pytest.raises(failure):
        failing.result(WAIT_S)

    assert other.result(WAIT_S) == [True, b""]
    assert not pool._requests
    assert pool.run(call, [bytes] * 5, "b") == [b""] * 5


def test_a_thread_that_cannot_start_takes_no_place_and_leaves_no_work(monkeypatch):
    pool = HashPool(1, 2)
    done = []
    refuse = Mock(side_effect=RuntimeError("can't start new thread"))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            with pytest.raises(OverloadedError, match="no thread"):
                pool.run(call, [partial(done.append, "refused")] * 3, "a")

    assert pool.run(call, [bytes] * 3, "a") == [b""] * 3
    assert done == []


@on_sqlite
def test_whatever_a_request_hashes_waits_as_its_client(app, monkeypatch):
    api, clients, run = Api.of_app(app, "192.0.2.7"), [], HashPool.run

    def note(pool, work, jobs, client):
        clients.append(client)
        return run(pool, work, jobs, client)

    monkeypatch.setattr(HashPool, "run", note)
    item, key = api.mint("+5.a", "+5.b", key="a key of words"), "another key"
    offer_id = api.offer_id(f"+5.{item}.b", [fresh(1, item), fresh(5, item)])
    good(api.swap(f"+5.{item}.a", [f"+1.{item}.d", f"+4.{item}.f"], "third key"))
    good(api.complete(offer_id, f"+4.{item}.f", f"+3.{item}.e", key))
    replayed(api.complete(offer_id, f"+4.{item}.f", f"+3.{item}.e", key))
    api.check(f"+1.{item}.a")
    refused = api.swap(f"+1.{NOWHERE}.a", f"+1.{NOWHERE}.b", "fourth key")

    assert refusal(refused)[1] == "unknown_item"
    assert len(clients) == 12
    assert set(clients) == {"192.0.2.7"}


# Who may raise a priority gives that right up.
HASH_WHILE_NICE = """
import os
from operator import call
from deeds.hashing import HashPool
if os.geteuid() == 0:
    os.setuid(65534)
os.nice(15)
print(HashPool(1, 2).run(call, [bytes], "a"))
"""


def test_a_process_that_is_nicer_than_the_hash_threads_hashes():
    ran = run_python("-c", HASH_WHILE_NICE)

    assert (ran.stdout, ran.stderr) == ("[b'']\n", "")
