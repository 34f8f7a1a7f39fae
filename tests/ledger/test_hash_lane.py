"""The lane of slow hashes: its width, its turns, its bounds."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from deeds.domain.errors import OverloadedError
from deeds.domain.hash_lane import HashLane
from deeds.domain.shared_cpus import SharedCpus
from tests.support.claiming import claimant
from tests.support.waiting import wait_until

# A test that waits this long for a thread has failed.
WAIT_S = 20


@pytest.fixture
def threads():
    """A pool for requests, apart from the lane's own."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        yield pool


@pytest.fixture
def open_lane():
    """A function that makes a lane; each is closed after the test."""
    lanes = []

    def make(*, width=1, requests_max=100, tasks_max=1000, cpus=None):
        lanes.append(
            HashLane(width=width, requests_max=requests_max, tasks_max=tasks_max, cpus=cpus)
        )
        return lanes[-1]

    yield make
    for lane in lanes:
        lane.close()


class Gate:
    """A task that says when it was begun and waits until it may end."""

    def __init__(self):
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self):
        self.begun.set()
        assert self.may_end.wait(WAIT_S)
        return b"gate"


def hold(lane, threads, *more_tasks):
    """Let a request of a gate and more tasks hold the lane; return the gate and the request."""
    gate = Gate()
    held = threads.submit(lane.run, [gate, *more_tasks])
    assert gate.begun.wait(WAIT_S)
    return gate, held


def requests_count(lane):
    return lane._requests_count


def test_results_come_in_order_however_the_tasks_end(open_lane):
    second_has_ended = threading.Event()

    def first():
        assert second_has_ended.wait(WAIT_S)
        return b"first"

    def second():
        second_has_ended.set()
        return b"second"

    results = open_lane(width=2).run([first, second, lambda: b"third"])

    assert results == [b"first", b"second", b"third"]


def test_no_tasks_have_no_results(open_lane):
    assert open_lane().run([]) == []


def test_as_many_tasks_run_at_once_as_the_lane_is_wide_and_no_more(open_lane, threads):
    lane = open_lane(width=3)
    together = threading.Barrier(3)
    running, counts, lock = set(), [], threading.Lock()

    def task(name):
        with lock:
            running.add(name)
            counts.append(len(running))
        # Passes only where three tasks run at once.
        together.wait(WAIT_S)
        # Twice, so that a fourth task has every chance to be counted beside three.
        together.wait(WAIT_S)
        with lock:
            running.remove(name)
        return name

    names = [[f"{request} {index}".encode() for index in range(6)] for request in range(3)]
    requests = [threads.submit(lane.run, [partial(task, name) for name in each]) for each in names]

    assert [request.result(WAIT_S) for request in requests] == names
    assert max(counts) == 3


def test_while_another_process_uses_the_cpus_one_task_runs_at_a_time(open_lane, threads, tmp_path):
    path = tmp_path / "cpus"
    with claimant(path, 2) as other:
        claims = [other.claim(needed=True), other.claim(needed=False)]
        lane = open_lane(width=2, cpus=SharedCpus(path, 2))
        gate, held = hold(lane, threads)
        second_gate = Gate()
        second = threads.submit(lane.run, [second_gate])
        wait_until(lambda: requests_count(lane) == 2)
        assert lane._running_count == 1
        second_gate.may_end.set()
        gate.may_end.set()
        assert (held.result(WAIT_S), second.result(WAIT_S)) == ([b"gate"], [b"gate"])

        for claim in claims:
            other.release(claim)
        gate, held = hold(lane, threads)
        assert threads.submit(lane.run, [lambda: b"beside"]).result(WAIT_S) == [b"beside"]
        gate.may_end.set()
        assert held.result(WAIT_S) == [b"gate"]


def test_a_closed_lane_refuses(open_lane):
    lane = open_lane()
    lane.close()

    with pytest.raises(OverloadedError):
        lane.run([lambda: b""])


def test_a_small_request_behind_a_large_one_has_every_second_turn(open_lane, threads):
    lane = open_lane(width=1)
    order = []

    def task(name):
        order.append(name)
        return name.encode()

    gate, large = hold(lane, threads, *(partial(task, f"large {index}") for index in range(1, 6)))
    small = threads.submit(lane.run, [partial(task, f"small {index}") for index in range(2)])
    wait_until(lambda: requests_count(lane) == 2)
    gate.may_end.set()

    assert small.result(WAIT_S) == [b"small 0", b"small 1"]
    assert large.result(WAIT_S)[-1] == b"large 5"
    assert order == ["large 1", "small 0", "large 2", "small 1", "large 3", "large 4", "large 5"]


def test_clients_have_every_second_turn_however_many_requests_one_of_them_has(open_lane, threads):
    lane = open_lane(width=1)
    order = []

    def task(name):
        order.append(name)
        return name.encode()

    gate, held = hold(lane, threads)
    names = [("many", "a"), ("many", "b"), ("many", "c"), ("one", "d")]
    requests = []
    for count, (client, name) in enumerate(names, start=2):
        tasks = [partial(task, f"{name}{index}") for index in range(2)]
        requests.append(threads.submit(lane.run, tasks, client))
        wait_until(lambda count=count: requests_count(lane) == count)
    gate.may_end.set()

    assert [request.result(WAIT_S) for request in requests] == [
        [f"{name}{index}".encode() for index in range(2)] for _, name in names
    ]
    assert order == ["a0", "d0", "b0", "d1", "c0", "a1", "b1", "c1"]
    assert held.result(WAIT_S) == [b"gate"]


def test_a_client_that_is_alone_leaves_places_to_those_who_come_later(open_lane, threads):
    lane = open_lane(width=1, requests_max=8, tasks_max=100)
    gate = Gate()
    first = [threads.submit(lane.run, [gate], "first") for _ in range(6)]
    wait_until(lambda: requests_count(lane) == 6)

    with pytest.raises(OverloadedError):
        lane.run([lambda: b""], "first")
    lane.check_room()
    later = [threads.submit(lane.run, [lambda: b"later"], client) for client in ("second", "third")]
    wait_until(lambda: requests_count(lane) == 8)
    with pytest.raises(OverloadedError):
        lane.check_room()
    gate.may_end.set()

    assert [each.result(WAIT_S) for each in (*first, *later)] == [[b"gate"]] * 6 + [[b"later"]] * 2


def test_while_others_wait_a_client_gets_a_quarter_of_the_places(open_lane, threads):
    lane = open_lane(width=1, requests_max=8, tasks_max=100)
    gate, held = hold(lane, threads)
    admitted = [threads.submit(lane.run, [gate], "many") for _ in range(2)]
    wait_until(lambda: requests_count(lane) == 3)

    with pytest.raises(OverloadedError):
        lane.run([lambda: b""], "many")
    other = threads.submit(lane.run, [lambda: b"other"], "other")
    wait_until(lambda: requests_count(lane) == 4)
    gate.may_end.set()

    assert [each.result(WAIT_S) for each in (held, *admitted, other)] == [[b"gate"]] * 3 + [
        [b"other"]
    ]
    # Nobody else waits any more.
    gate = Gate()
    again = [threads.submit(lane.run, [gate], "many") for _ in range(6)]
    wait_until(lambda: requests_count(lane) == 6)
    gate.may_end.set()
    assert [each.result(WAIT_S) for each in again] == [[b"gate"]] * 6


def test_the_tasks_of_one_client_are_bounded_and_leave_places_to_others(open_lane, threads):
    lane = open_lane(width=1, requests_max=100, tasks_max=40)
    gate, held = hold(lane, threads, *[lambda: b""] * 29)

    with pytest.raises(OverloadedError):
        lane.run([lambda: b""] * 11)
    second = threads.submit(lane.run, [lambda: b""] * 10)
    other = threads.submit(lane.run, [lambda: b""] * 41, "other")
    wait_until(lambda: requests_count(lane) == 3)
    with pytest.raises(OverloadedError):
        lane.run([lambda: b""], "other")
    gate.may_end.set()

    assert [len(each.result(WAIT_S)) for each in (held, second, other)] == [30, 10, 41]


def test_a_lane_with_all_its_requests_refuses_one_more_before_any_of_its_work(open_lane, threads):
    lane = open_lane(requests_max=1)
    gate, held = hold(lane, threads)
    begun = []

    with pytest.raises(OverloadedError) as refused:
        lane.run([lambda: begun.append("task") or b""])
    gate.may_end.set()

    assert held.result(WAIT_S) == [b"gate"]
    assert refused.value.retry_after_s >= 1
    assert begun == []


def test_a_lane_takes_a_request_that_just_fits_and_refuses_a_larger_one(open_lane, threads):
    lane = open_lane(tasks_max=4)
    gate, held = hold(lane, threads, lambda: b"b")

    with pytest.raises(OverloadedError):
        lane.run([lambda: b""] * 3)
    fitting = threads.submit(lane.run, [lambda: b"c", lambda: b"d"])
    wait_until(lambda: requests_count(lane) == 2)
    gate.may_end.set()

    assert fitting.result(WAIT_S) == [b"c", b"d"]
    assert held.result(WAIT_S) == [b"gate", b"b"]


def test_an_idle_lane_takes_a_request_of_any_size(open_lane):
    lane = open_lane(requests_max=1, tasks_max=2)

    for _ in range(2):
        assert lane.run([lambda: b"a"] * 10) == [b"a"] * 10


def test_retry_after_grows_with_what_is_waiting(open_lane, threads):
    lane = open_lane(requests_max=1)
    lane._task_mean_s = 0.5
    gate, held = hold(lane, threads, *[lambda: b""] * 19)

    with pytest.raises(OverloadedError) as refused:
        lane.run([lambda: b""])
    gate.may_end.set()
    held.result(WAIT_S)

    assert refused.value.retry_after_s == 10


@pytest.mark.parametrize("failure", [ValueError("no"), MemoryError(), SystemExit(3)])
def test_a_failing_task_raises_in_its_own_request_alone_and_frees_the_lane(
    open_lane, threads, failure
):
    lane = open_lane(width=1, requests_max=2, tasks_max=4)

    def fail():
        raise failure

    gate, other = hold(lane, threads, lambda: b"b")
    failing = threads.submit(lane.run, [fail, lambda: b"c"])
    wait_until(lambda: requests_count(lane) == 2)
    gate.may_end.set()

    with pytest.raises(type(failure)) as raised:
        failing.result(WAIT_S)
    assert raised.value is failure
    assert other.result(WAIT_S) == [b"gate", b"b"]
    # Only where both have left it does the lane take another two.
    gate, again = hold(lane, threads)
    second = threads.submit(lane.run, [lambda: b"d"])
    wait_until(lambda: second.done() or requests_count(lane) == 2)
    gate.may_end.set()
    assert (again.result(WAIT_S), second.result(WAIT_S)) == ([b"gate"], [b"d"])


def test_closing_finishes_what_was_admitted_and_ends_the_threads(open_lane, threads):
    lane = open_lane(width=1)
    gate, held = hold(lane, threads, lambda: b"b", lambda: b"c")

    closing = threads.submit(lane.close)
    wait_until(lambda: lane._pool._shutdown)
    gate.may_end.set()
    closing.result(WAIT_S)

    assert held.result(WAIT_S) == [b"gate", b"b", b"c"]
    assert [each for each in threading.enumerate() if each.name.startswith("hash")] == []
