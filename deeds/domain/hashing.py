"""From a secret to its digest, and the bounded pool of threads for the slow ones.

    digest = Argon2id(password, salt = the item's salt), 32 bytes
    password = HMAC-SHA-256(pepper, secret), or the secret as UTF-8 without a pepper

The digest is deterministic per item, so it can be looked up: one evaluation and one
index probe per secret. See docs/decisions/0001-hashing.md.
"""

import hashlib
import hmac
import logging
import math
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from weakref import WeakValueDictionary

from argon2.exceptions import HashingError
from argon2.low_level import ARGON2_VERSION, Type, hash_secret_raw

from deeds.domain.errors import OverloadedError, SchemeUnavailableError
from deeds.domain.model import (
    Argon2Cost,
    HashPolicy,
    ItemHashing,
    Output,
    OutputKey,
    RawOutput,
    SecretClass,
    SwapRecord,
    SwapRequest,
)
from deeds.domain.raw_output import is_random_key, is_strong_secret

SALT_BYTES = 16

# OWASP Password Storage Cheat Sheet: the fastest of its equivalent settings here.
ORDINARY_COST = Argon2Cost(memory_cost_kib=7168, time_cost=5, parallelism=1)

# Argon2's own minimum (RFC 9106 3.1): a strong secret needs no slow hash.
STRONG_COST = Argon2Cost(memory_cost_kib=8, time_cost=1, parallelism=1)

# The part of all places that one client may take while others have some, and while it
# is alone: the rest is left for those who come later.
_SHARE = 0.25
_SHARE_ALONE = 0.75

# A flood of slow hashes leaves strong secrets, reads and refusals most of the CPUs, and
# they leave it a tenth.
_HASHING_NICENESS = 10

# Weight of the newest task in the running mean that Retry-After is computed from.
_NEWEST_WEIGHT = 0.1

# Told what the pool has admitted, requests and hashes; and how long a hash took.
SetQueue = Callable[[int, int], None]
CountHash = Callable[[SecretClass, float], None]

# Of idempotency keys that a client may have made from a secret. One for all ledgers:
# the pepper tells them apart, and nobody prepares tables at this cost.
_KEY_SALT = b"idempotency keys"
_KEY_LABEL = b"deeds idempotency key v1:"

_log = logging.getLogger("deeds")


@dataclass(frozen=True, slots=True)
class HashJob:
    """One digest to compute: the secret, its class, and how it is hashed."""

    secret: str = field(repr=False)
    secret_class: SecretClass
    salt: bytes = field(repr=False)
    cost: Argon2Cost
    pepper: bytes | None = field(repr=False)


class HashPool:
    """Runs the slow hashes of up to `requests_max` requests at once.

    Of one client there are up to `jobs_max` hashes. Uses threads, because argon2-cffi
    releases the GIL while it hashes. A request is admitted as a whole or refused before
    any of its work; an idle pool admits any. The requests of a client take turns in its
    window, its places in the executor's queue: however much it sends, a hash of another
    client waits for one window of it.
    """

    def __init__(
        self,
        threads_count: int,
        requests_max: int,
        jobs_max: int,
        set_queue: SetQueue | None,
    ) -> None:
        self._threads_count, self._set_queue = threads_count, set_queue
        self._requests_max, self._jobs_max = requests_max, jobs_max
        self._executor = ThreadPoolExecutor(
            threads_count, thread_name_prefix="hash", initializer=_yield_to_requests
        )
        self._lock = threading.Lock()
        # Client and number of tasks of each request that was admitted.
        self._requests: list[tuple[str, int]] = []
        self._windows: WeakValueDictionary[str, threading.Semaphore] = (
            WeakValueDictionary()
        )
        self._job_mean_s = 0.0

    def run(
        self, work: Callable[[HashJob], bytes], jobs: Sequence[HashJob], client: str
    ) -> list[bytes]:
        """Return what the work makes of a client's jobs, in order.

        Raises OverloadedError if the pool is full.
        """
        request = (client, len(jobs))
        with self._lock:
            self.check_room(*request)
            # One place more than threads, so that none is idle until the next task is
            # submitted.
            window = self._windows.setdefault(
                client, threading.Semaphore(self._threads_count + 1)
            )
            self._requests.append(request)
            self._tell_queue()
        try:
            futures = [self._submit(work, job, window) for job in jobs]
            return [future.result() for future in futures]
        finally:
            with self._lock:
                self._requests.remove(request)
                self._tell_queue()

    def check_room(self, client: str = "", jobs_count: int = 1) -> None:
        """Raise OverloadedError unless a request of the client would be admitted."""
        requests = tuple(self._requests)
        own = [count for name, count in requests if name == client]
        share = _SHARE_ALONE if len(own) == len(requests) else _SHARE
        is_full = len(requests) >= self._requests_max
        if own:
            is_full |= len(own) >= share * self._requests_max
            is_full |= sum(own) + jobs_count > self._jobs_max
        if is_full:
            waiting_count = sum(count for _, count in requests)
            wait_s = math.ceil(waiting_count * self._job_mean_s / self._threads_count)
            raise OverloadedError(
                "too many secrets are waiting to be hashed", retry_after_s=wait_s
            )

    def close(self) -> None:
        """Finish the tasks that were submitted and end the threads."""
        self._executor.shutdown()

    def _submit(
        self,
        work: Callable[[HashJob], bytes],
        job: HashJob,
        window: threading.Semaphore,
    ) -> Future[bytes]:
        window.acquire()
        try:
            future = self._executor.submit(self._run_job, work, job)
        except RuntimeError:
            window.release()
            raise OverloadedError("no thread can be started to hash in") from None
        future.add_done_callback(lambda _: window.release())
        return future

    def _run_job(self, work: Callable[[HashJob], bytes], job: HashJob) -> bytes:
        started_s = perf_counter()
        result = work(job)
        took_s = perf_counter() - started_s
        self._job_mean_s += _NEWEST_WEIGHT * (took_s - self._job_mean_s)
        return result

    def _tell_queue(self) -> None:
        if self._set_queue:
            self._set_queue(
                len(self._requests), sum(count for _, count in self._requests)
            )


class Hasher:
    """Hashes the secrets of items, and idempotency keys. Any thread may call it.

    Ordinary secrets go through the bounded pool, strong ones are hashed in this thread:
    that takes about 20 µs, less than handing one to a pool would cost, and no flood of
    slow guesses can delay it.

    `policy` is that of new items, `peppers` are those of the settings by fingerprint,
    and `key_pepper` is that of the ledger's first policy.
    """

    def __init__(
        self,
        policy: HashPolicy,
        peppers: Mapping[str, bytes | None],
        key_pepper: bytes | None,
        pool: HashPool,
        count_hash: CountHash | None,
    ) -> None:
        self.policy = policy
        self._peppers = peppers
        self._key_pepper = key_pepper
        self._pool = pool
        self._count_hash = count_hash
        self._logged: set[str] = set()

    def hash_outputs(
        self,
        raws: Sequence[RawOutput],
        items: Mapping[str, ItemHashing],
        client: str,
    ) -> tuple[Output, ...]:
        """Return the output of each raw one, in order; `items` holds all of theirs.

        Raises OverloadedError if the pool is full, SchemeUnavailableError where an item
        was minted under a pepper that this process was not given.
        """
        jobs = [self._job(raw.secret, items[raw.item_id]) for raw in raws]
        digests = self._digests(jobs, client)
        return tuple(
            Output(OutputKey(raw.item_id, digest), raw.amount)
            for raw, digest in zip(raws, digests, strict=True)
        )

    def hash_swap(
        self,
        request: SwapRequest,
        items: Mapping[str, ItemHashing],
        key_hash: bytes | None,
        client: str,
    ) -> SwapRecord:
        """Return what the ledger records of a swap or of half of one.

        All secrets are admitted to the pool together. Raises as `hash_outputs`.
        """
        outputs = self.hash_outputs(request.raws, items, client)
        inputs_count = len(request.inputs)
        return SwapRecord(outputs[:inputs_count], outputs[inputs_count:], key_hash)

    def hash_key(self, key: str | None, client: str) -> bytes | None:
        """Return the hash of an Idempotency-Key, if there is one.

        One that nobody can guess needs no slow hash. Any other may be made from a
        secret; then this raises OverloadedError if the pool is full.
        """
        if key is None:
            return None
        if is_random_key(key):
            return hashlib.sha256(_KEY_LABEL + key.encode("ascii")).digest()
        job = HashJob(
            key, SecretClass.ORDINARY, _KEY_SALT, ORDINARY_COST, self._key_pepper
        )
        return self._digests([job], client)[0]

    def _job(self, secret: str, item: ItemHashing) -> HashJob:
        fingerprint = item.policy.pepper_fingerprint
        if fingerprint not in self._peppers:
            self._log_missing(fingerprint)
            raise SchemeUnavailableError
        pepper = self._peppers[fingerprint]
        if is_strong_secret(secret):
            return HashJob(secret, SecretClass.STRONG, item.salt, STRONG_COST, pepper)
        cost = item.policy.cost
        return HashJob(secret, SecretClass.ORDINARY, item.salt, cost, pepper)

    def _digests(self, jobs: Sequence[HashJob], client: str) -> list[bytes]:
        ordinary = [job for job in jobs if job.secret_class is SecretClass.ORDINARY]
        slow: list[bytes] = []
        if ordinary:
            slow = self._pool.run(self._digest, ordinary, client)
        in_order = iter(slow)
        return [
            self._digest(job)
            if job.secret_class is SecretClass.STRONG
            else next(in_order)
            for job in jobs
        ]

    def _digest(self, job: HashJob) -> bytes:
        started_s = perf_counter()
        digest = argon2id_digest(job.secret, job.salt, job.cost, job.pepper)
        if self._count_hash:
            self._count_hash(job.secret_class, perf_counter() - started_s)
        return digest

    def _log_missing(self, fingerprint: str) -> None:
        """Name the pepper to the operator, once in the life of the process."""
        if fingerprint not in self._logged:
            self._logged.add(fingerprint)
            _log.warning(
                "an item was minted under the pepper %s, which this process was not"
                " given; name it in DEEDS_PEPPERS_OLD (or DEEDS_PEPPER)",
                fingerprint,
                extra={"event": "pepper_missing"},
            )


def argon2id_digest(
    secret: str, salt: bytes, cost: Argon2Cost, pepper: bytes | None
) -> bytes:
    """Return the 32-byte digest of a secret under a 16-byte salt.

    Raises OverloadedError.
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


def _yield_to_requests() -> None:
    """Lower the priority of this thread; only Linux has one for each thread."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # A process that is nicer already may not raise it, and then needs not.
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, thread, _HASHING_NICENESS)
