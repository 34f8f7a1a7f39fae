"""Hashing of secrets, and the limit on slow hashes.

    digest = Argon2id(password, salt = the item's salt), 32 bytes
    password = HMAC-SHA-256(pepper, secret), or the secret as UTF-8 without a pepper

The salt is the item's, so a secret has one digest in an item and can be looked up. That
takes one evaluation and one index probe per secret, however many outputs the item has
(decision 0001, docs/decisions).
"""

import hashlib
import hmac
import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from argon2.exceptions import HashingError
from argon2.low_level import ARGON2_VERSION, Type, hash_secret_raw

from deeds.errors import OverloadedError, PepperMissingError
from deeds.model import HashPolicy, ItemHashing, Output, RawOutput
from deeds.raw_output import is_random_key, is_strong_secret

SALT_BYTES = 16

# The OWASP Password Storage Cheat Sheet lists equivalent settings. This one is the
# fastest on the CPUs that we measured (decision 0001, docs/decisions).
ORDINARY_COST = HashPolicy(memory_cost_kib=7168, time_cost=5, parallelism=1)

# Argon2's own minimum (RFC 9106 3.1), about 20 µs: a strong secret needs no slow hash.
STRONG_COST = HashPolicy(memory_cost_kib=8, time_cost=1, parallelism=1)

# With this priority, even a flood of slow hashes gets only about a tenth of the CPUs;
# the rest is left to strong secrets, reads and refusals.
_HASHING_NICENESS = 10

# The salt for Idempotency-Keys that a client may have derived from a secret, which are
# hashed as slowly as secrets. All ledgers share it: peppers distinguish them, and even
# without one, precomputed tables do not pay at this cost.
_KEY_SALT = b"idempotency keys"
_KEY_LABEL = b"deeds idempotency key v1:"

_log = logging.getLogger("deeds")


@dataclass(frozen=True, slots=True, repr=False)
class HashJob:
    """One digest to compute. For a strong secret, `cost` is `STRONG_COST` itself."""

    secret: str
    salt: bytes
    cost: HashPolicy
    pepper: bytes | None

    @property
    def is_strong(self) -> bool:
        """Return whether the secret is a strong one."""
        return self.cost is STRONG_COST


# Returns the 32-byte digest of a job.
Hash = Callable[[HashJob], bytes]

_NO_THREAD = "no thread can be started to hash in"


class HashPool:
    """Runs slow hashes on a few threads, for at most `requests_max` requests at once.

    A request is either refused before its first hash, or gets all its hashes. It never
    queues more hashes than there are threads, so requests take turns however many
    hashes each needs. One client can have at most three quarters of the requests.
    """

    # Separate threads, because glibc keeps a hash's memory for each thread that has
    # hashed once, and because they can have a lower priority than requests. They start
    # with the first hash, so none exists before a fork.

    def __init__(self, threads_count: int, requests_max: int) -> None:
        self._threads_count = threads_count
        self._executor = self._new_executor()
        self.requests_max = requests_max
        self._client_max = max(1, requests_max * 3 // 4)
        self._requests: Counter[str] = Counter()
        self._lock = threading.Lock()

    def run(self, work: Hash, jobs: Sequence[HashJob], client: str) -> list[bytes]:
        """Return the digest of each job, in order; raise OverloadedError."""
        with self._lock:
            self.check_room(client)
            self._requests[client] += 1
        try:
            digests: list[bytes] = []
            for start in range(0, len(jobs), self._threads_count):
                turn = jobs[start : start + self._threads_count]
                futures = [self._submit(work, job) for job in turn]
                digests += [future.result() for future in futures]
            return digests
        except CancelledError:
            raise OverloadedError(_NO_THREAD) from None
        finally:
            with self._lock:
                self._requests[client] -= 1
                if not self._requests[client]:
                    del self._requests[client]

    def check_room(self, client: str = "") -> None:
        """Raise OverloadedError unless a request of the client would be admitted."""
        is_full = self._requests.total() >= self.requests_max
        if is_full or self._requests[client] >= self._client_max:
            raise OverloadedError("too many secrets are waiting to be hashed")

    def close(self) -> None:
        """Finish the hashes that have begun, and end the threads."""
        self._executor.shutdown()

    def _submit(self, work: Hash, job: HashJob) -> Future[bytes]:
        executor = self._executor
        try:
            return executor.submit(work, job)
        except RuntimeError:
            # The executor has queued the job although it could start no thread. Replace
            # it: its threads end after their current job, and a new one can start some.
            with self._lock:
                if self._executor is executor:
                    self._executor = self._new_executor()
            executor.shutdown(wait=False, cancel_futures=True)
            raise OverloadedError(_NO_THREAD) from None

    def _new_executor(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads_count, "hash", _yield_to_requests)


class Hasher:
    """Hashes secrets and idempotency keys. Thread-safe.

    `policy` is for new items. `peppers` maps fingerprints to the peppers of the
    settings. `key_pepper`, for idempotency keys, is the pepper of the first policy.
    """

    def __init__(
        self,
        policy: HashPolicy,
        peppers: Mapping[str, bytes | None],
        key_pepper: bytes | None,
        pool: HashPool,
        argon2id: Hash,
    ) -> None:
        self.policy = policy
        self._peppers = peppers
        self._key_pepper = key_pepper
        self.pool = pool
        self.argon2id = argon2id
        self._logged: set[str] = set()

    def hash_outputs(
        self, raws: Sequence[RawOutput], items: Mapping[str, ItemHashing], client: str
    ) -> tuple[Output, ...]:
        """Return the `Output` of each raw output, in order.

        `items` must contain the item of every raw output. Strong secrets are hashed in
        this thread, not in the pool. Raises OverloadedError, or PepperMissingError if
        the settings lack an item's pepper.
        """
        jobs = [self._job(raw.secret, items[raw.item_id]) for raw in raws]
        slow = [job for job in jobs if not job.is_strong]
        slow_digests = iter(self.pool.run(self.argon2id, slow, client) if slow else ())
        digests = [
            self.argon2id(job) if job.is_strong else next(slow_digests) for job in jobs
        ]
        return tuple(
            Output(raw.item_id, digest, raw.amount)
            for raw, digest in zip(raws, digests, strict=True)
        )

    def hash_key(self, key: str, client: str) -> bytes:
        """Return the hash of an Idempotency-Key, which never changes for a ledger.

        Only unguessable keys get a fast hash, because others may be derived from a
        secret. The slow hash raises OverloadedError if the pool is full.
        """
        if is_random_key(key):
            return hashlib.sha256(_KEY_LABEL + key.encode("ascii")).digest()
        job = HashJob(key, _KEY_SALT, ORDINARY_COST, self._key_pepper)
        return self.pool.run(self.argon2id, [job], client)[0]

    def _job(self, secret: str, item: ItemHashing) -> HashJob:
        fingerprint = item.policy.pepper_fingerprint
        if fingerprint not in self._peppers:
            self._log_missing(fingerprint)
            raise PepperMissingError
        cost = STRONG_COST if is_strong_secret(secret) else item.policy
        return HashJob(secret, item.salt, cost, self._peppers[fingerprint])

    def _log_missing(self, fingerprint: str) -> None:
        """Log the missing pepper, once per process."""
        if fingerprint not in self._logged:
            self._logged.add(fingerprint)
            _log.warning(
                "an item was minted under the pepper %s, which this process was not"
                " given; name it in DEEDS_PEPPERS_OLD (or DEEDS_PEPPER)",
                fingerprint,
                extra={"event": "pepper_missing"},
            )


def argon2id(job: HashJob) -> bytes:
    """Return the 32-byte digest; raise OverloadedError if memory is lacking.

    Releases the GIL.
    """
    password = job.secret.encode("utf-8")
    if job.pepper is not None:
        password = hmac.digest(job.pepper, password, "sha256")
    try:
        return hash_secret_raw(
            password,
            job.salt,
            time_cost=job.cost.time_cost,
            memory_cost=job.cost.memory_cost_kib,
            parallelism=job.cost.parallelism,
            hash_len=32,
            type=Type.ID,
            version=ARGON2_VERSION,
        )
    except HashingError:
        # `from None`, because the cause's traceback holds a frame with the password.
        raise OverloadedError("not enough memory to hash") from None


def pepper_fingerprint(pepper: bytes | None) -> str:
    """Return 16 hex digits that identify a pepper without revealing it; "" for None."""
    if pepper is None:
        return ""
    return hmac.digest(pepper, b"deeds pepper fingerprint v1", "sha256").hex()[:16]


def _yield_to_requests() -> None:
    """Lower the priority of this thread, on Linux, where each thread has its own."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # Not permitted, and not needed, if the process has a lower priority already.
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, thread, _HASHING_NICENESS)
