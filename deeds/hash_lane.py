"""A bounded lane of slow hashing work: a pool as wide as the CPUs and a queue that can be full.

Uses threads, because argon2-cffi releases the GIL while it hashes. Must import no library.
"""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic

from deeds.errors import OverloadedError

Task = Callable[[], bytes]

# Weight of the newest evaluation in the running mean that Retry-After is told from.
_NEWEST_WEIGHT = 0.1


class _Batch:
    """The tasks of one request and what has come of them."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._lock = threading.Lock()
        self._taken_count = 0
        self._done_count = 0
        self._all_done = threading.Event()
        self.results: list[bytes] = [b""] * len(tasks)
        self.failure: BaseException | None = None

    def run_next(self) -> bool:
        """Run the next task; return whether another one is left to take."""
        with self._lock:
            index = self._taken_count
            self._taken_count += 1
        if index < len(self._tasks):
            try:
                self.results[index] = self._tasks[index]()
            except BaseException as failure:  # noqa: BLE001 - raised again in `run`
                self.failure = failure
            self._count_done()
        return index + 1 < len(self._tasks)

    def wait(self) -> None:
        self._all_done.wait()

    def _count_done(self) -> None:
        with self._lock:
            self._done_count += 1
            if self._done_count == len(self._tasks):
                self._all_done.set()


class HashLane:
    """Runs tasks on `width` threads for at most `requests_max` requests and `tasks_max` tasks.

    A request is taken as a whole or refused before any of its work. An idle lane takes a request of
    any size. Requests share the threads task by task in turn, so that a large mint delays a small
    swap by a few evaluations and not by all of its own.
    """

    def __init__(self, *, width: int, requests_max: int, tasks_max: int) -> None:
        """Take the number of threads and the bounds on what is admitted at once; all at least 1."""
        self._width = width
        self._requests_max = requests_max
        self._tasks_max = tasks_max
        self._pool = ThreadPoolExecutor(max_workers=width, thread_name_prefix="hash")
        self._lock = threading.Lock()
        self._requests_count = 0
        self._tasks_count = 0
        self._task_mean_s = 0.0

    def run(self, tasks: Sequence[Task]) -> list[bytes]:
        """Run the tasks and return their results in order.

        Raises:
            OverloadedError: the lane is full; none of the tasks was run.
        """
        if not tasks:
            return []
        self._admit(len(tasks))
        try:
            batch = _Batch([partial(self._evaluate, task) for task in tasks])
            for _ in range(min(self._width, len(tasks))):
                self._pool.submit(self._step, batch)
            batch.wait()
        finally:
            self._release(len(tasks))
        if batch.failure is not None:
            raise batch.failure
        return batch.results

    def close(self) -> None:
        """Finish what was admitted and end the threads."""
        self._pool.shutdown()

    def _evaluate(self, task: Task) -> bytes:
        started_s = monotonic()
        result = task()
        self._task_mean_s += _NEWEST_WEIGHT * (monotonic() - started_s - self._task_mean_s)
        return result

    def _step(self, batch: _Batch) -> None:
        more = batch.run_next()
        while more:
            try:
                # To the end of the queue: the other requests have their turn first.
                self._pool.submit(self._step, batch)
            except RuntimeError:
                # The pool is closing: finish here what was admitted.
                more = batch.run_next()
            else:
                return

    def _admit(self, count: int) -> None:
        with self._lock:
            tasks_count = self._tasks_count + count
            full = self._requests_count >= self._requests_max or tasks_count > self._tasks_max
            if self._requests_count and full:
                wait_s = self._tasks_count * self._task_mean_s / self._width
                raise OverloadedError(
                    "too many secrets are waiting to be hashed", retry_after_s=math.ceil(wait_s)
                )
            self._requests_count += 1
            self._tasks_count = tasks_count

    def _release(self, count: int) -> None:
        with self._lock:
            self._requests_count -= 1
            self._tasks_count -= count
