"""Digests, known for all time, and the threads, turns and bounds of slow hashes."""

import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from argon2.exceptions import HashingError

import deeds.domain.hashing
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
from deeds.domain.raw_output import make_strong_secret
from tests.support.waiting import wait_until

WAIT_S = 20
SALT = bytes(range(16))
PEPPER = b"a pepper of 32 characters or more"

# Computed apart, by Argon2's reference code and with HMAC written out. They pin the
# default costs too, and never change: a digest that changes makes every deed worthless.
KNOWN = {
    "41816b326fa93eaadc146f9f3d3ccf5813b3518dc654091341125c80955e3def": (
        ORDINARY_COST,
        None,
    ),
    "a82dcc6a3065a6303032fe26f588c81fce8cfacd57cb9bbcd524a676d538dd9b": (
        STRONG_COST,
        None,
    ),
    "7b9d6922e7186bf1bb2d895305731bc053532d62fe4f02c9ae2c8c1909315a47": (
        ORDINARY_COST,
        PEPPER,
    ),
    "792db6c2024999d0ab44b574ced893060446845062033fdaffed9682b2fdc87d": (
        STRONG_COST,
        PEPPER,
    ),
    "e4ab1a3e1119c40d709f2fd2792fc6a199d0339db81cbad7a56d5e06dc069751": (
        Argon2Cost(64, 3, 2),
        None,
    ),
}
NOT_ASCII = "18860dfbe4d99a266c7e551abe643a490750eca09e03790ad71c3869519cb146"


class Counts:
    """Keeps what was counted of evaluations, and how many requests and tasks are
    admitted.
    """

    def __init__(self):
        self.admitted = (0, 0)
        self.hashes = Counter()

    def set_queue(self, requests_count, tasks_count):
        self.admitted = (requests_count, tasks_count)

    def count_hash(self, secret_class, seconds):
        self.hashes[secret_class] += seconds > 0


@pytest.fixture
def counts():
    return Counts()


@pytest.fixture
def open_pool(counts):
    def open_one(threads_count=1, requests_max=100, tasks_max=1000):
        return HashPool(threads_count, requests_max, tasks_max, counts.set_queue)

    return open_one


@pytest.fixture
def start(counts):
    """A function that runs jobs for a client in a thread.

    It returns once they are admitted.
    """
    with ThreadPoolExecutor(max_workers=9) as threads:

        def start(pool, jobs, client="a"):
            admitted_count = counts.admitted[0]
            request = threads.submit(run, pool, jobs, client)
            wait_until(lambda: counts.admitted[0] > admitted_count or request.done())
            return request

        yield start


def run(pool, jobs, client):
    """Let the pool call each of the jobs."""
    return pool.run(lambda job: job(), jobs, client)


def held(gate):
    """Return a job that waits until the gate is opened, and then returns True."""
    return partial(gate.wait, WAIT_S)


def wait_for_turns(pool, client, requests_count):
    """Wait until so many requests of the client wait for a place in its window."""
    window = pool._windows[client]
    wait_until(lambda: len(window._cond._waiters) == requests_count)


def test_digests_and_fingerprints_are_what_they_have_always_been():
    digests = [argon2id_digest("secret", SALT, *how).hex() for how in KNOWN.values()]

    assert digests == list(KNOWN)
    assert (
        argon2id_digest("s\u00e9cr\U0001f3e1t\0", SALT, STRONG_COST, PEPPER).hex()
        == NOT_ASCII
    )
    assert pepper_fingerprint(PEPPER) == "a5f76ff5a33efa44"


WAYS = ItemHashing(SALT, HashPolicy(STRONG_COST, pepper_fingerprint(PEPPER)), 5)
STRONG = [make_strong_secret() for _ in range(2)]


def raws_of(secrets):
    return [RawOutput(1, "deed_x", secret) for secret in secrets]


@pytest.fixture
def open_hasher(counts):
    def open_one(pool):
        peppers = {"": None, pepper_fingerprint(PEPPER): PEPPER}
        return Hasher(WAYS.policy, peppers, PEPPER, pool, counts.count_hash)

    return open_one


@pytest.mark.parametrize("ordinary", [[], ["a", "b", "c"]])
@pytest.mark.parametrize("strong", [[], STRONG])
def test_a_hasher_hashes_each_secret_once_in_order_and_counts_it(
    open_pool, open_hasher, counts, ordinary, strong
):
    secrets = (ordinary + strong)[::2] + (ordinary + strong)[1::2]

    outputs = open_hasher(open_pool()).hash_outputs(
        raws_of(secrets), {"deed_x": WAYS}, "a"
    )

    assert [output.key.digest for output in outputs] == [
        argon2id_digest(secret, SALT, STRONG_COST, PEPPER) for secret in secrets
    ]
    expected = Counter(ordinary=len(ordinary), strong=len(strong))
    assert +counts.hashes == +expected


def test_strong_secrets_need_no_pool(open_pool, open_hasher):
    pool = open_pool()
    hasher = open_hasher(pool)
    pool.close()

    assert len(hasher.hash_outputs(raws_of(STRONG), {"deed_x": WAYS}, "a")) == 2
    with pytest.raises(OverloadedError):
        hasher.hash_outputs(raws_of(["a"]), {"deed_x": WAYS}, "a")


def test_no_memory_for_a_hash_is_an_overload_and_shows_no_secret(monkeypatch):
    def refuse(*args, **kwargs):
        raise HashingError("Memory allocation error")

    monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", refuse)

    with pytest.raises(OverloadedError) as refused:
        argon2id_digest("secret", SALT, STRONG_COST, None)

    assert "secret" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_as_many_hashes_run_at_once_as_there_are_threads(open_pool, start):
    pool = open_pool(threads_count=3)
    together, running, counted = threading.Barrier(3), [], []

    def task(name):
        running.append(name)
        # Passes only where three tasks run at once: twice, so that a fourth could be
        # counted.
        together.wait(WAIT_S)
        counted.append(len(running))
        together.wait(WAIT_S)
        running.pop()
        return name

    requests = [
        start(pool, [partial(task, name) for name in [number] * 6])
        for number in range(3)
    ]

    assert [each.result(WAIT_S) for each in requests] == [
        [number] * 6 for number in range(3)
    ]
    assert set(counted) == {3}


def test_requests_of_a_client_take_turns(open_pool, start):
    pool, go_on, begun = open_pool(), threading.Semaphore(0), []

    def task(name):
        begun.append(name)
        assert go_on.acquire(timeout=WAIT_S)

    requests = [start(pool, [partial(task, "large")] * 9)]
    wait_for_turns(pool, "a", 1)
    requests.append(start(pool, [partial(task, "small")] * 2))
    # One runs and one is next, so that who waits had its turn before the other. At last
    # the small request has nothing more to submit.
    for count, waiting_count in enumerate([2, 2, 2, 2, 1], 1):
        wait_until(
            lambda n=count: (len(begun), pool._executor._work_queue.qsize()) == (n, 1)
        )
        wait_for_turns(pool, "a", waiting_count)
        go_on.release()
    go_on.release(6)

    assert [len(each.result(WAIT_S)) for each in requests] == [9, 2]
    assert begun == ["large"] * 3 + ["small", "large", "small"] + ["large"] * 5


def test_a_client_waits_for_one_window_of_another(open_pool, start):
    pool, gate, order = open_pool(), threading.Event(), []
    many = [partial(order.append, "many")] * 4
    requests = [
        start(pool, tasks, "many") for tasks in ([held(gate), *many], many, many, many)
    ]
    wait_for_turns(pool, "many", 4)
    requests.append(start(pool, [partial(order.append, "one")] * 20, "one"))
    wait_for_turns(pool, "one", 1)
    gate.set()

    assert [len(each.result(WAIT_S)) for each in requests] == [5, 4, 4, 4, 20]
    # The gate and one task of `many` stood before it.
    assert order.index("one") == 1


def test_a_client_gets_a_quarter_of_the_places_beside_others(open_pool, start):
    pool, gate = open_pool(requests_max=8), threading.Event()
    requests = [
        start(pool, [held(gate)], client) for client in ("other", "many", "many")
    ]

    with pytest.raises(OverloadedError):
        run(pool, [bytes], "many")
    requests.append(start(pool, [held(gate)], "third"))
    gate.set()
    assert [each.result(WAIT_S) for each in requests] == [[True]] * 4

    # Nobody else waits any more.
    gate = threading.Event()
    requests = [start(pool, [held(gate)], "many") for _ in range(6)]
    with pytest.raises(OverloadedError):
        run(pool, [bytes], "many")
    pool.check_room()
    requests += [start(pool, [held(gate)], client) for client in ("second", "third")]
    with pytest.raises(OverloadedError):
        pool.check_room()
    with pytest.raises(OverloadedError):
        run(pool, [bytes], "fourth")
    gate.set()

    assert [each.result(WAIT_S) for each in requests] == [[True]] * 8


def test_the_hashes_of_a_client_are_bounded_and_it_is_told_how_long(open_pool, start):
    pool, gate, begun = open_pool(tasks_max=40), threading.Event(), []
    requests = [start(pool, [held(gate), *[bytes] * 29])]
    pool._job_mean_s = 0.5

    with pytest.raises(OverloadedError) as refused:
        run(pool, [partial(begun.append, "task")] * 11, "a")
    requests.append(start(pool, [bytes] * 10))
    # A client that has no other request may bring any number of tasks, but then no
    # more.
    requests.append(start(pool, [bytes] * 41, "b"))
    with pytest.raises(OverloadedError):
        run(pool, [bytes], "b")
    gate.set()

    assert [len(each.result(WAIT_S)) for each in requests] == [30, 10, 41]
    assert (refused.value.retry_after_s, begun) == (15, [])
    # The mean follows the tasks, which took next to no time.
    assert 0 < pool._job_mean_s < 0.5


@pytest.mark.parametrize("failure", [ValueError("no"), MemoryError(), SystemExit(3)])
def test_a_failing_hash_raises_in_its_own_request_alone(
    open_pool, start, counts, failure
):
    pool, gate = open_pool(requests_max=2), threading.Event()

    def fail():
        raise failure

    other = start(pool, [held(gate), bytes])
    failing = start(pool, [fail, *[bytes] * 5], "b")
    gate.set()

    with pytest.raises(type(failure)) as raised:
        failing.result(WAIT_S)
    assert raised.value is failure
    assert other.result(WAIT_S) == [True, b""]
    assert counts.admitted == (0, 0)
    assert run(pool, [bytes] * 5, "b") == [b""] * 5


def test_a_thread_that_cannot_start_takes_no_place_for_good(
    open_pool, counts, monkeypatch
):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    pool = open_pool(requests_max=2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            with pytest.raises(OverloadedError, match="no thread"):
                run(pool, [bytes] * 3, "a")

    assert counts.admitted == (0, 0)
    assert run(pool, [bytes] * 3, "a") == [b""] * 3


# Who may raise a priority gives that right up.
HASH_WHILE_NICE = """
import os
from deeds.domain.hashing import HashPool
if os.geteuid() == 0:
    os.setuid(65534)
os.nice(15)
print(HashPool(1, 1, 1, None).run(lambda job: job(), [bytes], "a"))
"""


def test_a_process_that_is_nicer_than_the_hash_threads_hashes():
    ran = subprocess.run(
        [sys.executable, "-c", HASH_WHILE_NICE], check=True, capture_output=True
    )

    assert (ran.stdout, ran.stderr) == (b"[b'']\n", b"")
