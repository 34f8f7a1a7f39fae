"""A bounded pool of threads for slow hashes, shared fairly among clients.

Uses threads, because argon2-cffi releases the GIL while it hashes.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock, Semaphore
from time import perf_counter
from weakref import WeakValueDictionary

from deeds.domain.errors import OverloadedError
from deeds.domain.model import SecretClass
from deeds.domain.protocols import Measures

# The part of all places that one client may take while others have some, and while it is alone:
# the rest is left for those who come later.
_SHARE = 0.25
_SHARE_ALONE = 0.75

# Weight of the newest task in the running mean that Retry-After is computed from.
_NEWEST_WEIGHT = 0.1


class HashPool:
    """Runs the tasks of up to `requests_max` requests, and of one client up to `tasks_max` tasks.

    A request is admitted as a whole or refused before any of its work; an idle pool admits any.
    The requests of a client take turns in its window, its places in the executor's queue: however
    much it sends, a task of another client waits for one window of it.
    """

    def __init__(
        self, threads_count: int, requests_max: int, tasks_max: int, measures: Measures
    ) -> None:
        """Create a pool of so many threads; `measures` is told what is admitted and done."""
        self._threads_count, self._measures = threads_count, measures
        self._requests_max, self._tasks_max = requests_max, tasks_max
        self._executor = ThreadPoolExecutor(threads_count, thread_name_prefix="hash")
        self._lock = Lock()
        self._requests: list[tuple[str, int]] = []
        self._windows: WeakValueDictionary[str, Semaphore] = WeakValueDictionary()
        self._task_mean_s = 0.0

    def run(self, tasks: Sequence[Callable[[], bytes]], client: str) -> list[bytes]:
        """Return the results of the tasks of a client's request, in order.

        Raises:
            OverloadedError: the pool is full for this client, or no thread can be started.
        """
        with self._admitted(client, len(tasks)) as window:
            futures = [self._submit(task, window) for task in tasks]
            return [future.result() for future in futures]

    def check_room(self, client: str = "", tasks_count: int = 1) -> None:
        """Raise OverloadedError unless the client, or one that has no other, would be admitted."""
        requests = tuple(self._requests)
        own = [count for name, count in requests if name == client]
        is_full = len(requests) >= self._requests_max
        if own and not is_full:
            share = _SHARE_ALONE if len(own) == len(requests) else _SHARE
            is_full = len(own) >= share * self._requests_max
            is_full = is_full or sum(own) + tasks_count > self._tasks_max
        if is_full:
            waiting_count = sum(count for _, count in requests)
            wait_s = math.ceil(waiting_count * self._task_mean_s / self._threads_count)
            raise OverloadedError("too many secrets are waiting to be hashed", retry_after_s=wait_s)

    def close(self) -> None:
        """Finish the tasks that were submitted and end the threads."""
        self._executor.shutdown()

    @contextmanager
    def _admitted(self, client: str, tasks_count: int) -> Iterator[Semaphore]:
        request = (client, tasks_count)
        with self._lock:
            self.check_room(*request)
            # One place more than threads, so that none is idle until the next task is submitted.
            window = self._windows.setdefault(client, Semaphore(self._threads_count + 1))
            self._requests.append(request)
            self._tell_queue()
        try:
            yield window
        finally:
            with self._lock:
                self._requests.remove(request)
                self._tell_queue()

    def _submit(self, task: Callable[[], bytes], window: Semaphore) -> Future[bytes]:
        window.acquire()
        try:
            future = self._executor.submit(self._run_task, task)
        except RuntimeError:
            window.release()
            raise OverloadedError("no thread can be started to hash in") from None
        future.add_done_callback(lambda _: window.release())
        return future

    def _run_task(self, task: Callable[[], bytes]) -> bytes:
        started_s = perf_counter()
        result = task()
        took_s = perf_counter() - started_s
        self._task_mean_s += _NEWEST_WEIGHT * (took_s - self._task_mean_s)
        self._measures.count_hashes(SecretClass.ORDINARY, 1, took_s)
        return result

    def _tell_queue(self) -> None:
        self._measures.set_queue(len(self._requests), sum(count for _, count in self._requests))
