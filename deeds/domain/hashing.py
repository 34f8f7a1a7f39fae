"""From a secret to its digest, and the bounded pool of threads that computes the slow ones.

    digest = Argon2id(password, salt = the item's salt), 32 bytes
    password = HMAC-SHA-256(pepper, secret), or the secret as UTF-8 where there is no
        pepper

The digest is deterministic per item, so it can be looked up: one evaluation and one
index probe per secret. See docs/decisions/0001-hashing.md.
"""

import hmac
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, Semaphore
from time import perf_counter
from weakref import WeakValueDictionary

from argon2.exceptions import HashingError
from argon2.low_level import ARGON2_VERSION, Type, hash_secret_raw

from deeds.domain.errors import OverloadedError
from deeds.domain.model import Argon2Cost, HashScheme, SecretClass

SALT_BYTES = 16

# OWASP Password Storage Cheat Sheet, Argon2id: the fastest of its equivalent settings
# here.
ORDINARY_COST = Argon2Cost(memory_cost_kib=7168, time_cost=5, parallelism=1)

# Argon2's own minimum (RFC 9106 3.1: at least 8 KiB a lane): a strong secret needs no
# slow hash.
STRONG_COST = Argon2Cost(memory_cost_kib=8, time_cost=1, parallelism=1)

# The part of all places that one client may take while others have some, and while it
# is alone: the rest is left for those who come later.
_SHARE = 0.25
_SHARE_ALONE = 0.75

# Weight of the newest task in the running mean that Retry-After is computed from.
_NEWEST_WEIGHT = 0.1

# Told how many requests and evaluations the pool has admitted, and how long an
# evaluation took.
SetQueue = Callable[[int, int], None]
CountHash = Callable[[SecretClass, float], None]

# The client whose request this thread serves. Set by a blueprint and read by the
# hasher; the dozen functions in between have no use for it, so it is none of their
# arguments.
current_client: ContextVar[str] = ContextVar("current_client", default="-")


class HashPool:
    """Runs the tasks of up to `requests_max` requests, and of one client up to `tasks_max` tasks.

    Uses threads, because argon2-cffi releases the GIL while it hashes. A request is
    admitted as a whole or refused before any of its work; an idle pool admits any. The
    requests of a client take turns in its window, its places in the executor's queue:
    however much it sends, a task of another client waits for one window of it.
    """

    def __init__(
        self,
        threads_count: int,
        requests_max: int,
        tasks_max: int,
        set_queue: SetQueue | None,
    ) -> None:
        self._threads_count, self._set_queue = threads_count, set_queue
        self._requests_max, self._tasks_max = requests_max, tasks_max
        self._executor = ThreadPoolExecutor(threads_count, thread_name_prefix="hash")
        self._lock = Lock()
        # Client and number of tasks of each request that was admitted.
        self._requests: list[tuple[str, int]] = []
        self._windows: WeakValueDictionary[str, Semaphore] = WeakValueDictionary()
        self._task_mean_s = 0.0

    def run(self, tasks: Sequence[Callable[[], bytes]], client: str) -> list[bytes]:
        """Return the results of a client's tasks, in order.

        Raise OverloadedError if it is full.
        """
        request = (client, len(tasks))
        with self._lock:
            self.check_room(*request)
            # One place more than threads, so that none is idle until the next task is
            # submitted.
            window = self._windows.setdefault(
                client, Semaphore(self._threads_count + 1)
            )
            self._requests.append(request)
            self._tell_queue()
        try:
            futures = [self._submit(task, window) for task in tasks]
            return [future.result() for future in futures]
        finally:
            with self._lock:
                self._requests.remove(request)
                self._tell_queue()

    def check_room(self, client: str = "", tasks_count: int = 1) -> None:
        """Raise OverloadedError unless the client, or one that has no other, would be admitted."""
        requests = tuple(self._requests)
        own = [count for name, count in requests if name == client]
        share = _SHARE_ALONE if len(own) == len(requests) else _SHARE
        is_full = len(requests) >= self._requests_max
        if own:
            is_full |= len(own) >= share * self._requests_max
            is_full |= sum(own) + tasks_count > self._tasks_max
        if is_full:
            waiting_count = sum(count for _, count in requests)
            wait_s = math.ceil(waiting_count * self._task_mean_s / self._threads_count)
            raise OverloadedError(
                "too many secrets are waiting to be hashed", retry_after_s=wait_s
            )

    def close(self) -> None:
        """Finish the tasks that were submitted and end the threads."""
        self._executor.shutdown()

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
        return result

    def _tell_queue(self) -> None:
        if self._set_queue:
            self._set_queue(
                len(self._requests), sum(count for _, count in self._requests)
            )


@dataclass(frozen=True, slots=True)
class HashJob:
    """One digest to compute."""

    secret: str = field(repr=False)
    salt: bytes = field(repr=False)
    scheme: HashScheme


class Hasher:
    """Computes digests.

    Of ordinary secrets in the bounded pool, of strong ones in this thread.

    A strong secret takes about 20 µs, less than handing it to a pool would cost, and no
    flood of slow guesses can delay it. `peppers` are those of `HashSchemes`.
    """

    def __init__(
        self,
        peppers: Mapping[str, bytes | None],
        pool: HashPool,
        count_hash: CountHash | None,
    ) -> None:
        self._peppers = peppers
        self._pool = pool
        self._count_hash = count_hash

    def digests(self, jobs: Sequence[HashJob]) -> list[bytes]:
        """Return the digest of each job, in order.

        Raise OverloadedError if the pool is full.
        """
        tasks = [partial(self._digest, job) for job in jobs if not _is_strong(job)]
        slow = iter(self._pool.run(tasks, current_client.get()) if tasks else ())
        return [self._digest(job) if _is_strong(job) else next(slow) for job in jobs]

    def _digest(self, job: HashJob) -> bytes:
        spec = job.scheme.spec
        started_s = perf_counter()
        digest = argon2id_digest(
            job.secret, job.salt, spec.cost, self._peppers[spec.pepper_fingerprint]
        )
        if self._count_hash:
            self._count_hash(spec.secret_class, perf_counter() - started_s)
        return digest


def _is_strong(job: HashJob) -> bool:
    return job.scheme.spec.secret_class is SecretClass.STRONG


def argon2id_digest(
    secret: str, salt: bytes, cost: Argon2Cost, pepper: bytes | None
) -> bytes:
    """Return the 32-byte digest of a secret under a 16-byte salt.

    Raise OverloadedError.
    """
    password = secret.encode("utf-8")
    if pepper is not None:
        password = hmac.digest(pepper, password, "sha256")
    try:
        return hash_secret_raw(
            password,
            salt,
            time_cost=cost.time_cost,
            memory_cost=cost.memory_cost_kib,
            parallelism=cost.parallelism,
            hash_len=32,
            type=Type.ID,
            version=ARGON2_VERSION,
        )
    except HashingError:
        # From None: the cause's traceback holds the frame with the password.
        raise OverloadedError("there is no memory to hash with at the moment") from None


def pepper_fingerprint(pepper: bytes | None) -> str:
    """Return 16 hex digits that name a pepper without giving it away, or "" for no pepper."""
    if pepper is None:
        return ""
    return hmac.digest(pepper, b"deeds pepper fingerprint v1", "sha256").hex()[:16]
