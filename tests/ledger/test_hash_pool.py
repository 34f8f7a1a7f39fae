"""The pool of slow hashes: its threads, its turns, its bounds."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from deeds.domain.errors import OverloadedError
from deeds.domain.hash_pool import HashPool
from deeds.domain.protocols import NoMeasures
from tests.support.waiting import wait_until

# A test that waits this long for a thread has failed.
WAIT_S = 20


class QueueCounts(NoMeasures):
    """Keeps how many requests and tasks were admitted last."""

    counts = (0, 0)

    def set_queue(self, requests_count, tasks_count):
        self.counts = (requests_count, tasks_count)


@pytest.fixture
def queue():
    return QueueCounts()


@pytest.fixture
def open_pool(queue):
    """A function that makes a pool; each is closed after the test."""
    pools = []

    def make(threads_count=1, requests_max=100, tasks_max=1000):
        pools.append(HashPool(threads_count, requests_max, tasks_max, queue))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


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


class Gate:
    """A task that says when it has begun and waits until it may end."""

    def __init__(self):
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self):
        self.begun.set()
        assert self.may_end.wait(WAIT_S)
        return b"gate"


def nothing():
    return b""


def wait_for_turns(pool, client, requests_count):
    """Wait until so many requests of the client wait for a place in its window."""
    window = pool._windows[client]
    wait_until(lambda: len(window._cond._waiters) == requests_count)


def test_results_come_in_order_however_the_tasks_end(open_pool):
    second_has_ended = threading.Event()

    def first():
        assert second_has_ended.wait(WAIT_S)
        return b"first"

    def second():
        second_has_ended.set()
        return b"second"

    results = open_pool(threads_count=2).run([first, second, lambda: b"third"], "a")

    assert results == [b"first", b"second", b"third"]


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
    pool, gate, order = open_pool(), Gate(), []
    large = start(pool, [gate, *(partial(order.append, "large") for _ in range(50))])
    wait_for_turns(pool, "a", 1)
    small = start(pool, [partial(order.append, "small") for _ in range(2)])
    wait_for_turns(pool, "a", 2)
    gate.may_end.set()

    assert (len(large.result(WAIT_S)), len(small.result(WAIT_S))) == (51, 2)
    # Four turns or so, unless the system gives the small one no CPU meanwhile.
    assert order[:25].count("small") == 2


def test_a_client_waits_for_one_window_of_another_however_many_requests_that_has(open_pool, start):
    pool, gate, order = open_pool(), Gate(), []
    many = [start(pool, [gate, *(partial(order.append, "many") for _ in range(4))], "many")]
    many += [start(pool, [partial(order.append, "many") for _ in range(4)], "many") for _ in "abc"]
    wait_for_turns(pool, "many", 4)
    one = start(pool, [partial(order.append, "one") for _ in range(20)], "one")
    wait_for_turns(pool, "one", 1)
    gate.may_end.set()

    assert [len(each.result(WAIT_S)) for each in (*many, one)] == [5, 4, 4, 4, 20]
    # The gate and one task of `many` stood before it.
    assert order.index("one") == 1


def test_a_client_that_is_alone_leaves_places_to_those_who_come_later(open_pool, start):
    pool, gate = open_pool(requests_max=8), Gate()
    requests = [start(pool, [gate], "first") for _ in range(6)]

    with pytest.raises(OverloadedError):
        pool.run([nothing], "first")
    pool.check_room()
    requests += [start(pool, [gate], client) for client in ("second", "third")]
    with pytest.raises(OverloadedError):
        pool.check_room()
    with pytest.raises(OverloadedError):
        pool.run([nothing], "fourth")
    gate.may_end.set()

    assert [each.result(WAIT_S) for each in requests] == [[b"gate"]] * 8


def test_while_others_wait_a_client_gets_a_quarter_of_the_places(open_pool, start):
    pool, gate = open_pool(requests_max=8), Gate()
    requests = [start(pool, [gate], client) for client in ("other", "many", "many")]

    with pytest.raises(OverloadedError):
        pool.run([nothing], "many")
    requests.append(start(pool, [gate], "third"))
    gate.may_end.set()
    assert [each.result(WAIT_S) for each in requests] == [[b"gate"]] * 4

    # Nobody else waits any more.
    gate = Gate()
    again = [start(pool, [gate], "many") for _ in range(6)]
    gate.may_end.set()
    assert [each.result(WAIT_S) for each in again] == [[b"gate"]] * 6


def test_the_tasks_of_one_client_are_bounded_and_leave_places_to_others(open_pool, start):
    pool, gate = open_pool(tasks_max=40), Gate()
    requests = [start(pool, [gate, *[nothing] * 29])]

    with pytest.raises(OverloadedError):
        pool.run([nothing] * 11, "a")
    requests.append(start(pool, [nothing] * 10))
    # A client that has no other request may bring any number of tasks, but then no more.
    requests.append(start(pool, [nothing] * 41, "b"))
    with pytest.raises(OverloadedError):
        pool.run([nothing], "b")
    gate.may_end.set()

    assert [len(each.result(WAIT_S)) for each in requests] == [30, 10, 41]


def test_a_refused_request_begins_none_of_its_tasks_and_is_told_how_long_to_wait(open_pool, start):
    pool, gate, begun = open_pool(requests_max=1), Gate(), []
    held = start(pool, [gate, *[nothing] * 19])
    pool._task_mean_s = 0.5

    with pytest.raises(OverloadedError) as refused:
        pool.run([partial(begun.append, "task")], "b")
    gate.may_end.set()
    held.result(WAIT_S)

    assert refused.value.retry_after_s == 10
    assert begun == []


@pytest.mark.parametrize("failure", [ValueError("no"), MemoryError(), SystemExit(3)])
def test_a_failing_task_raises_in_its_own_request_alone_and_leaves_its_places(
    open_pool, start, queue, failure
):
    pool, gate = open_pool(requests_max=2), Gate()

    def fail():
        raise failure

    other = start(pool, [gate, lambda: b"b"])
    failing = start(pool, [fail, *[nothing] * 5], "b")
    gate.may_end.set()

    with pytest.raises(type(failure)) as raised:
        failing.result(WAIT_S)
    assert raised.value is failure
    assert other.result(WAIT_S) == [b"gate", b"b"]
    assert queue.counts == (0, 0)
    assert pool.run([nothing] * 5, "b") == [b""] * 5


def test_a_thread_that_cannot_start_takes_no_place_for_good(open_pool, queue, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    pool = open_pool(requests_max=2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            with pytest.raises(OverloadedError, match="no thread"):
                pool.run([nothing] * 3, "a")

    assert queue.counts == (0, 0)
    assert pool.run([nothing] * 3, "a") == [b""] * 3


def test_closing_finishes_what_runs_and_ends_the_threads(open_pool, start):
    pool, gate = open_pool(), Gate()
    held = start(pool, [gate])
    assert gate.begun.wait(WAIT_S)

    closing = threading.Thread(target=pool.close)
    closing.start()
    gate.may_end.set()
    closing.join(WAIT_S)

    assert held.result(WAIT_S) == [b"gate"]
    assert [each for each in threading.enumerate() if each.name.startswith("hash")] == []
    with pytest.raises(OverloadedError):
        pool.run([nothing], "a")
