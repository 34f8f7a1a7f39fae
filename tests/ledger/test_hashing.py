"""Digests, known for all time, and the threads, turns and bounds of slow hashes."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import call
from unittest.mock import Mock

import pytest

from deeds.domain.errors import OverloadedError
from deeds.domain.hashing import (
    ORDINARY_COST,
    STRONG_COST,
    Hasher,
    HashPool,
    argon2id_digest,
)
from deeds.domain.model import Argon2Cost, HashPolicy, ItemHashing, RawOutput
from deeds.domain.policies import pepper_fingerprint
from tests.support.commanding import run_python
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until

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
        Argon2Cost(64, 3, 2),
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

POLICY = HashPolicy(STRONG_COST, pepper_fingerprint(PEPPER))
STRONG = [make_strong_secret() for _ in range(2)]


@pytest.mark.parametrize(
    ("secret", "cost", "pepper", "digest"), KNOWN.values(), ids=KNOWN
)
def test_a_digest_is_what_it_has_always_been(secret, cost, pepper, digest):
    assert argon2id_digest(secret, SALT, cost, pepper).hex() == digest


def test_a_fingerprint_is_what_it_has_always_been():
    assert pepper_fingerprint(PEPPER) == "a5f76ff5a33efa44"


@pytest.mark.parametrize("ordinary", [[], ["a", "b", "c"]])
@pytest.mark.parametrize("strong", [[], STRONG], ids=["none", "two strong"])
def test_a_hasher_hashes_each_secret_once_in_order_and_counts_it(ordinary, strong):
    secrets = (ordinary + strong)[::2] + (ordinary + strong)[1::2]
    peppers, count_hash = {POLICY.pepper_fingerprint: PEPPER}, Mock()
    hasher = Hasher(POLICY, peppers, PEPPER, HashPool(1, 1, 3, None), count_hash)
    raws = [RawOutput(1, "deed_x", each) for each in secrets]
    items = {"deed_x": ItemHashing(SALT, POLICY, 5)}

    hashed = hasher.hash_outputs(raws, items, "a")

    assert [each.key.digest for each in hashed] == [
        argon2id_digest(secret, SALT, STRONG_COST, PEPPER) for secret in secrets
    ]
    counted = Counter(each.args[0] for each in count_hash.call_args_list)
    assert counted == Counter(ordinary=len(ordinary), strong=len(strong))
    assert all(each.args[1] > 0 for each in count_hash.call_args_list)


@pytest.fixture
def start():
    """A function that runs jobs for a client in a thread, once they are admitted."""

    def start_one(pool, jobs, client="a"):
        admitted_count = len(pool._requests)
        request = threads.submit(pool.run, call, jobs, client)
        wait_until(lambda: len(pool._requests) > admitted_count or request.done())
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


def wait_for_turns(pool, client, requests_count):
    """Wait until so many requests of the client wait for a place in its window."""
    window = pool._windows[client]
    wait_until(lambda: len(window._cond._waiters) == requests_count)


def test_a_client_waits_for_one_window_of_another(start, gate, held):
    pool, order = HashPool(1, 100, 100, None), []
    many = [partial(order.append, "many")] * 4
    for jobs in ([held, *many], many, many, many):
        start(pool, jobs, "many")
    wait_for_turns(pool, "many", 4)
    one = start(pool, [partial(order.append, "one")] * 20, "one")
    wait_for_turns(pool, "one", 1)
    gate.set()

    assert len(one.result(WAIT_S)) == 20
    # The gate and one job of `many` stood before it.
    assert order.index("one") == 1


# The clients of the requests that run, whose is one more, of how many jobs, and whether
# it is admitted: there are 8 places, and 10 jobs of a client.
ROOM = [
    # Three quarters of the places for a client alone, a quarter beside others.
    ("aaaaa", "a", 1, True),
    ("aaaaaa", "a", 1, False),
    ("aaaaaa", "b", 1, True),
    ("ba", "a", 1, True),
    ("baa", "a", 1, False),
    ("aaaaaabb", "c", 1, False),
    # Any number of jobs where it has no other request.
    ("b", "a", 11, True),
    ("a", "a", 9, True),
    ("a", "a", 10, False),
]


@pytest.mark.parametrize(("running", "client", "jobs_count", "is_admitted"), ROOM)
def test_a_client_gets_its_share_of_the_places_and_jobs(
    start, gate, held, *, running, client, jobs_count, is_admitted
):
    pool, begun = HashPool(1, 8, 10, None), []
    for each in running:
        start(pool, [held], each)

    request = start(pool, [partial(begun.append, "job")] * jobs_count, client)

    gate.set()
    assert (request.exception(WAIT_S) is None) == is_admitted
    assert len(begun) == (jobs_count if is_admitted else 0)


def test_a_client_without_room_is_told_how_long_to_wait(start, gate, held):
    pool = HashPool(1, 8, 40, None)
    running = start(pool, [held, *[bytes] * 29])
    pool._job_mean_s = 0.5

    with pytest.raises(OverloadedError) as refused:
        pool.run(call, [bytes] * 11, "a")

    gate.set()
    running.result(WAIT_S)
    assert refused.value.retry_after_s == 15
    # The mean follows the jobs, which took next to no time.
    assert 0 < pool._job_mean_s < 0.5


@pytest.mark.parametrize("failure", [ValueError, MemoryError, SystemExit])
def test_a_failing_hash_raises_in_its_own_request_alone(start, gate, held, failure):
    set_queue = Mock()
    pool = HashPool(1, 2, 100, set_queue)
    other = start(pool, [held, bytes])
    failing = start(pool, [Mock(side_effect=failure), *[bytes] * 5], "b")
    gate.set()

    with pytest.raises(failure):
        failing.result(WAIT_S)

    assert other.result(WAIT_S) == [True, b""]
    assert set_queue.call_args.args == (0, 0)
    assert pool.run(call, [bytes] * 5, "b") == [b""] * 5


def test_a_thread_that_cannot_start_takes_no_place_for_good(monkeypatch):
    set_queue = Mock()
    pool = HashPool(1, 2, 100, set_queue)
    refuse = Mock(side_effect=RuntimeError("can't start new thread"))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            with pytest.raises(OverloadedError, match="no thread"):
                pool.run(call, [bytes] * 3, "a")

    assert [each.args for each in set_queue.call_args_list] == [(1, 3), (0, 0)] * 5
    assert pool.run(call, [bytes] * 3, "a") == [b""] * 3


# Who may raise a priority gives that right up.
HASH_WHILE_NICE = """
import os
from operator import call
from deeds.domain.hashing import HashPool
if os.geteuid() == 0:
    os.setuid(65534)
os.nice(15)
print(HashPool(1, 1, 1, None).run(call, [bytes], "a"))
"""


def test_a_process_that_is_nicer_than_the_hash_threads_hashes():
    ran = run_python("-c", HASH_WHILE_NICE)

    assert (ran.stdout, ran.stderr) == ("[b'']\n", "")
