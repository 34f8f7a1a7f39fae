"""From a secret to its digest. Of libraries only argon2-cffi.

    digest = Argon2id(password, salt = the item's salt), 32 bytes
    password = HMAC-SHA-256(pepper, secret), or the secret as UTF-8 where there is no pepper

The digest is deterministic per item, so it can be looked up: one evaluation and one index probe
per secret. See docs/decisions/0001-hashing.md.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

from argon2.exceptions import HashingError
from argon2.low_level import ARGON2_VERSION, Type, hash_secret_raw

from deeds.domain.errors import OverloadedError
from deeds.domain.hash_pool import HashPool
from deeds.domain.model import Argon2Cost, HashScheme, SecretClass
from deeds.domain.protocols import Measures

SALT_BYTES = 16
DIGEST_BYTES = 32
FINGERPRINT_HEX_DIGITS = 16
_FINGERPRINT_LABEL = b"deeds pepper fingerprint v1"

# OWASP Password Storage Cheat Sheet, Argon2id: the fastest of its equivalent settings here.
ORDINARY_COST = Argon2Cost(memory_cost_kib=7168, time_cost=5, parallelism=1)

# Argon2's own minimum (RFC 9106 3.1: at least 8 KiB a lane): a strong secret needs no slow hash.
STRONG_COST = Argon2Cost(memory_cost_kib=8, time_cost=1, parallelism=1)


# The client whose request this thread serves. Set by a blueprint and read by the hasher; the dozen
# functions in between have no use for it, so it is none of their arguments.
current_client: ContextVar[str] = ContextVar("current_client", default="-")


@dataclass(frozen=True, slots=True)
class HashJob:
    """One digest to compute."""

    secret: str = field(repr=False)
    salt: bytes = field(repr=False)
    scheme: HashScheme


class Hasher:
    """Computes digests: of ordinary secrets in the bounded pool, of strong ones in this thread.

    A strong secret takes about 20 µs, less than handing it to a pool would cost, and no flood of
    slow guesses can delay it.
    """

    def __init__(self, peppers: Mapping[str, bytes], pool: HashPool, measures: Measures) -> None:
        """Create a hasher with the peppers by fingerprint, the pool, and what counts."""
        self._peppers = peppers
        self._pool = pool
        self._measures = measures

    def digests(self, jobs: Sequence[HashJob]) -> list[bytes]:
        """Return the digest of each job, in order.

        Raises:
            OverloadedError: the pool is full; nothing was hashed.
        """
        tasks = [partial(self._digest, job) for job in jobs if not _is_strong(job)]
        slow = iter(self._pool.run(tasks, current_client.get()) if tasks else ())
        strong_count = len(jobs) - len(tasks)
        if not strong_count:
            return list(slow)
        started_s = perf_counter()
        digests = [self._digest(job) if _is_strong(job) else next(slow) for job in jobs]
        self._measures.count_hashes(SecretClass.STRONG, strong_count, perf_counter() - started_s)
        return digests

    def _digest(self, job: HashJob) -> bytes:
        spec = job.scheme.spec
        pepper = self._peppers[spec.pepper_fingerprint] if spec.pepper_fingerprint else None
        return argon2id_digest(job.secret, job.salt, spec.cost, pepper)


def _is_strong(job: HashJob) -> bool:
    return job.scheme.spec.secret_class is SecretClass.STRONG


def argon2id_digest(secret: str, salt: bytes, cost: Argon2Cost, pepper: bytes | None) -> bytes:
    """Return the 32-byte Argon2id digest of a secret under a 16-byte salt (RFC 9106, version 1.3).

    Raises:
        OverloadedError: the memory that the cost asks for is not to be had now.
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
            hash_len=DIGEST_BYTES,
            type=Type.ID,
            version=ARGON2_VERSION,
        )
    except HashingError:
        # From None: the cause's traceback holds the frame with the password.
        raise OverloadedError("there is no memory to hash with at the moment") from None


def pepper_fingerprint(pepper: bytes) -> str:
    """Return 16 hex digits that name a pepper without giving it away."""
    digest = hmac.digest(pepper, _FINGERPRINT_LABEL, hashlib.sha256)
    return digest.hex()[:FINGERPRINT_HEX_DIGITS]


def by_fingerprint(peppers: Iterable[bytes | None]) -> dict[str, bytes]:
    """Return the peppers that are set, by their fingerprints."""
    return {pepper_fingerprint(pepper): pepper for pepper in peppers if pepper}
