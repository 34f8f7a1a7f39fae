"""The pool of slow hashes: its threads, its turns, its bounds."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pytest

from deeds.domain.errors import OverloadedError
from deeds.domain.hashing import HashPool
from tests.support.waiting import wait_until

WAIT_S = 20


class QueueCounts:
    """Keeps how many requests and tasks were admitted last."""

    counts = (0, 0)

    def set_queue(self, requests_count, tasks_count):
        self.counts = (requests_count, tasks_count)

    def count_hashes(self, secret_class, count, seconds):
        """Do nothing."""


@pytest.fixture
def queue():
    return QueueCounts()


@pytest.fixture
def open_pool(queue):
    """A function that makes a pool; each is closed after the test."""
    with ExitStack() as closing:

        def make(threads_count=1, requests_max=100, tasks_max=1000):
            pool = HashPool(threads_count, requests_max, tasks_max, queue)
            closing.callback(pool.close)
            return pool

        yield make


@pytest.fixture
def start(queue):
    """A function that runs tasks for a client in a thread, and returns once they are admitted."""
    with ThreadPoolExecutor(max_workers=9) as threads:

        def start(pool, tasks, client="a"):
            admitted_count = queue.counts[0]
            request = threads.submit(pool.run, tasks, client)
            wait_until(lambda: queue.counts[0] > admitted_count or request.done())
            return request

        yield start


def held(gate):
    """Return a task that waits until the gate is opened, and then returns True."""
    return partial(gate.wait, WAIT_S)


def wait_for_turns(pool, client, requests_count):
    """Wait until so many requests of the client wait for a place in its window."""
    window = pool._windows[client]
    wait_until(lambda: len(window._cond._waiters) == requests_count)


def test_as_many_tasks_run_at_once_as_there_are_threads_and_no_more(open_pool, start):
    pool = open_pool(threads_count=3)
    together = threading.Barrier(3)
    running, counts, lock = set(), [], threading.Lock()

    def task(name):
        with lock:
            running.add(name)
            counts.append(len(running))
        # Passes only where three tasks run at once: twice, so that a fourth could be counted.
        together.wait(WAIT_S)
        together.wait(WAIT_S)
        with lock:
            running.remove(name)
        return name

    names = [[f"{request} {index}".encode() for index in range(6)] for request in range(3)]
    requests = [start(pool, [partial(task, name) for name in each]) for each in names]

    assert [request.result(WAIT_S) for request in requests] == names
    assert max(counts) == 3


def test_requests_of_a_client_take_turns(open_pool, start):
    pool, gate, order = open_pool(), threading.Event(), []
    large = start(pool, [held(gate), *[partial(order.append, "large")] * 50])
    wait_for_turns(pool, "a", 1)
    small = start(pool, [partial(order.append, "small")] * 2)
    wait_for_turns(pool, "a", 2)
    gate.set()

    assert (len(large.result(WAIT_S)), len(small.result(WAIT_S))) == (51, 2)
    # Four turns or so, unless the system gives the small one no CPU meanwhile.
    assert order[:25].count("small") == 2


def test_a_client_waits_for_one_window_of_another_however_many_requests_that_has(open_pool, start):
    pool, gate, order = open_pool(), threading.Event(), []
    many = [partial(order.append, "many")] * 4
    requests = [start(pool, tasks, "many") for tasks in ([held(gate), *many], many, many, many)]
    wait_for_turns(pool, "many", 4)
    requests.append(start(pool, [partial(order.append, "one")] * 20, "one"))
    wait_for_turns(pool, "one", 1)
    gate.set()

    assert [len(each.result(WAIT_S)) for each in requests] == [5, 4, 4, 4, 20]
    # The gate and one task of `many` stood before it.
    assert order.index("one") == 1


def test_a_client_gets_a_quarter_of_the_places_beside_others_and_three_quarters_alone(
    open_pool, start
):
    pool, gate = open_pool(requests_max=8), threading.Event()
    requests = [start(pool, [held(gate)], client) for client in ("other", "many", "many")]

    with pytest.raises(OverloadedError):
        pool.run([bytes], "many")
    requests.append(start(pool, [held(gate)], "third"))
    gate.set()
    assert [each.result(WAIT_S) for each in requests] == [[True]] * 4

    # Nobody else waits any more.
    gate = threading.Event()
    requests = [start(pool, [held(gate)], "many") for _ in range(6)]
    with pytest.raises(OverloadedError):
        pool.run([bytes], "many")
    pool.check_room()
    requests += [start(pool, [held(gate)], client) for client in ("second", "third")]
    with pytest.raises(OverloadedError):
        pool.check_room()
    with pytest.raises(OverloadedError):
        pool.run([bytes], "fourth")
    gate.set()

    assert [each.result(WAIT_S) for each in requests] == [[True]] * 8


def test_the_tasks_of_one_client_are_bounded_and_a_refusal_tells_how_long_to_wait(open_pool, start):
    pool, gate, begun = open_pool(tasks_max=40), threading.Event(), []
    requests = [start(pool, [held(gate), *[bytes] * 29])]
    pool._task_mean_s = 0.5

    with pytest.raises(OverloadedError) as refused:
        pool.run([partial(begun.append, "task")] * 11, "a")
    requests.append(start(pool, [bytes] * 10))
    # A client that has no other request may bring any number of tasks, but then no more.
    requests.append(start(pool, [bytes] * 41, "b"))
    with pytest.raises(OverloadedError):
        pool.run([bytes], "b")
    gate.set()

    assert [len(each.result(WAIT_S)) for each in requests] == [30, 10, 41]
    assert (refused.value.retry_after_s, begun) == (15, [])


@pytest.mark.parametrize("failure", [ValueError("no"), MemoryError(), SystemExit(3)])
def test_a_failing_task_raises_in_its_own_request_alone_and_leaves_its_places(
    open_pool, start, queue, failure
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
    assert queue.counts == (0, 0)
    assert pool.run([bytes] * 5, "b") == [b""] * 5


def test_a_thread_that_cannot_start_takes_no_place_for_good(open_pool, queue, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    pool = open_pool(requests_max=2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            with pytest.raises(OverloadedError, match="no thread"):
                pool.run([bytes] * 3, "a")

    assert queue.counts == (0, 0)
    assert pool.run([bytes] * 3, "a") == [b""] * 3


def test_closing_finishes_what_runs_and_ends_the_threads(open_pool, start):
    pool, begun, gate = open_pool(), threading.Event(), threading.Event()
    request = start(pool, [lambda: begun.set() or gate.wait(WAIT_S)])
    assert begun.wait(WAIT_S)

    closing = threading.Thread(target=pool.close)
    closing.start()
    gate.set()
    closing.join(WAIT_S)

    assert request.result(WAIT_S) == [True]
    assert [each for each in threading.enumerate() if each.name.startswith("hash")] == []
    with pytest.raises(OverloadedError):
        pool.run([bytes], "a")
