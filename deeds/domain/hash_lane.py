"""A bounded lane of slow hashing work: a pool as wide as the CPUs and a queue that can be full.

Uses threads, because argon2-cffi releases the GIL while it hashes. Must import no library.
"""

import math
import os
import sys
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic

from deeds.domain.errors import OverloadedError
from deeds.domain.protocols import Measures, NoMeasures
from deeds.domain.shared_cpus import UNCLAIMED, SharedCpus

Task = Callable[[], bytes]

# The client of the request that this thread serves. Nothing between the blueprint that sets it and
# the hasher that reads it has a use for it, so it is not passed through all of that.
current_client: ContextVar[str] = ContextVar("current_client", default="-")

# The part of all places that one client may take while others wait, and while nobody does: whoever
# comes first leaves places for those who come later.
_SHARE = 0.25
_SHARE_ALONE = 0.75

# Weight of the newest evaluation in the running mean that Retry-After is told from.
_NEWEST_WEIGHT = 0.1


# How far hashing steps back behind what serves requests, where both want the CPU: at 5 a thread
# gets a third of the time of another. Where nothing else wants it, hashing is as fast as ever.
_NICENESS = 5
_NICENESS_MAX = 19


class _Batch:
    """The tasks of one request and what has come of them. Its lane's lock guards `begun_count`."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._lock = threading.Lock()
        self._done_count = 0
        self._all_done = threading.Event()
        self.begun_count = 0
        self.results: list[bytes] = [b""] * len(tasks)
        self.failure: BaseException | None = None

    @property
    def has_more(self) -> bool:
        return self.begun_count < len(self._tasks)

    def run(self, index: int) -> None:
        try:
            self.results[index] = self._tasks[index]()
        except BaseException as failure:  # noqa: BLE001 - raised again in `HashLane.run`
            self.failure = failure

    def count_done(self) -> None:
        with self._lock:
            self._done_count += 1
            if self._done_count == len(self._tasks):
                self._all_done.set()

    def wait(self) -> None:
        self._all_done.wait()


@dataclass(frozen=True, slots=True)
class _Turn:
    """One task that a thread may run now, and the CPU that was claimed for it."""

    batch: _Batch
    index: int
    claim: int


class HashLane:
    """Runs tasks on `width` threads for `requests_max` requests, and `tasks_max` tasks a client.

    A request is taken as a whole or refused before any of its work. An idle lane takes a request of
    any size. Clients share the threads task by task in turn, and so do the requests of each client:
    a large mint delays a small swap by a few evaluations and not by all of its own.

    While others wait, a client gets a quarter of the places, but always one. However many tasks it
    has, they delay nobody else.
    """

    def __init__(
        self,
        *,
        width: int,
        requests_max: int,
        tasks_max: int,
        cpus: SharedCpus | None = None,
        measures: Measures | None = None,
    ) -> None:
        """Take the number of threads and the bounds on what is admitted at once; all at least 1.

        With `cpus`, fewer threads run, but one, while other processes use those. `measures` is told
        what is admitted.
        """
        self._width = width
        self._requests_max = requests_max
        self._tasks_max = tasks_max
        self._cpus = cpus
        self._measures = measures or NoMeasures()
        self._pool = ThreadPoolExecutor(
            max_workers=width, thread_name_prefix="hash", initializer=_step_back
        )
        self._lock = threading.Lock()
        # The requests of each client that have tasks left; whose turn is next comes first.
        self._waiting: OrderedDict[str, deque[_Batch]] = OrderedDict()
        self._running_count = 0
        self._requests_count = 0
        self._tasks_count = 0
        self._requests_of: Counter[str] = Counter()
        self._tasks_of: Counter[str] = Counter()
        self._task_mean_s = 0.0
        self._is_closed = False

    def run(self, tasks: Sequence[Task], client: str = "-") -> list[bytes]:
        """Run the tasks of a client's request and return their results in order.

        Raises:
            OverloadedError: the lane is full for this client; none of the tasks was run.
        """
        if not tasks:
            return []
        batch = _Batch(tasks)
        with self._lock:
            if self._is_closed or self._is_full_for(client, len(tasks)):
                raise self._refusal()
            self._count(client, 1, len(tasks))
            self._waiting.setdefault(client, deque()).append(batch)
            self._start_threads()
        batch.wait()
        with self._lock:
            self._count(client, -1, -len(tasks))
        if batch.failure is not None:
            raise batch.failure
        return batch.results

    def check_room(self) -> None:
        """Return if a request of a client that has no other would be taken.

        Raises:
            OverloadedError: it would be refused.
        """
        with self._lock:
            if self._is_closed or self._is_full_for("", 1):
                raise self._refusal()

    def close(self) -> None:
        """Finish what was admitted and end the threads."""
        with self._lock:
            self._is_closed = True
        self._pool.shutdown()
        if self._cpus is not None:
            self._cpus.close()

    def _refusal(self) -> OverloadedError:
        wait_s = self._tasks_count * self._task_mean_s / self._width
        return OverloadedError(
            "too many secrets are waiting to be hashed", retry_after_s=math.ceil(wait_s)
        )

    def _is_full_for(self, client: str, count: int) -> bool:
        if not self._requests_count:
            return False
        own_count = self._requests_of[client]
        is_alone = own_count == self._requests_count
        own_max = self._requests_max * (_SHARE_ALONE if is_alone else _SHARE)
        return self._requests_count >= self._requests_max or (
            own_count > 0
            and (own_count >= own_max or self._tasks_of[client] + count > self._tasks_max)
        )

    def _count(self, client: str, requests_count: int, tasks_count: int) -> None:
        self._requests_count += requests_count
        self._tasks_count += tasks_count
        self._requests_of[client] += requests_count
        self._tasks_of[client] += tasks_count
        if not self._requests_of[client]:
            del self._requests_of[client], self._tasks_of[client]
        self._measures.set_queue(self._requests_count, self._tasks_count)

    def _start_threads(self) -> None:
        # Once closed, the threads that run finish what waits.
        while not self._is_closed and (turn := self._take_turn()):
            self._pool.submit(self._run_turns, turn)

    def _run_turns(self, turn: _Turn | None) -> None:
        while turn is not None:
            started_s = monotonic()
            turn.batch.run(turn.index)
            self._task_mean_s += _NEWEST_WEIGHT * (monotonic() - started_s - self._task_mean_s)
            turn = self._next_turn(turn)

    def _next_turn(self, done: _Turn) -> _Turn | None:
        with self._lock:
            self._running_count -= 1
            if self._cpus is not None:
                self._cpus.release(done.claim)
            turn = self._take_turn()
            self._start_threads()
        # After the lock, so that the next evaluations are under way before anyone is answered.
        done.batch.count_done()
        return turn

    def _take_turn(self) -> _Turn | None:
        """Return the next task of the client that waits longest, if it may run now."""
        if not self._waiting or self._running_count == self._width:
            return None
        claim: int | None = UNCLAIMED
        if self._cpus is not None:
            claim = self._cpus.claim(needed=self._running_count == 0)
        if claim is None:
            return None
        client, batches = self._waiting.popitem(last=False)
        batch = batches.popleft()
        turn = _Turn(batch, batch.begun_count, claim)
        batch.begun_count += 1
        # To the end of both queues: other requests, and other clients, have their turn first.
        if batch.has_more:
            batches.append(batch)
        if batches:
            self._waiting[client] = batches
        self._running_count += 1
        return turn


def _step_back() -> None:
    """Lower the priority of this thread, so that a flood of slow secrets leaves time for wallets.

    Only Linux knows priorities of threads.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):
            niceness = os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS
            os.setpriority(os.PRIO_PROCESS, thread, min(niceness, _NICENESS_MAX))
