"""Digests: known answers, computed here by argon2-cffi's low-level API and HMAC apart."""

import hashlib
import hmac
from collections import Counter
from time import perf_counter

import pytest
from argon2.exceptions import HashingError
from argon2.low_level import ARGON2_VERSION, Type, core, ffi, lib

import deeds.domain.hashing
from deeds.domain.errors import OverloadedError
from deeds.domain.hash_pool import HashPool
from deeds.domain.hashing import (
    ORDINARY_COST,
    STRONG_COST,
    Hasher,
    HashJob,
    argon2id_digest,
    pepper_fingerprint,
)
from deeds.domain.model import Argon2Cost, HashScheme, SchemeSpec, SecretClass
from deeds.domain.protocols import NoMeasures

SALT = bytes(range(16))
PEPPER = b"a pepper of 32 characters or more"

# Written down once: a digest that changes makes every deed worthless.
KNOWN = {
    "ordinary": (
        "secret",
        ORDINARY_COST,
        None,
        "41816b326fa93eaadc146f9f3d3ccf5813b3518dc654091341125c80955e3def",
    ),
    "strong": (
        "secret",
        STRONG_COST,
        None,
        "a82dcc6a3065a6303032fe26f588c81fce8cfacd57cb9bbcd524a676d538dd9b",
    ),
    "ordinary with pepper": (
        "secret",
        ORDINARY_COST,
        PEPPER,
        "7b9d6922e7186bf1bb2d895305731bc053532d62fe4f02c9ae2c8c1909315a47",
    ),
    "strong with pepper": (
        "secret",
        STRONG_COST,
        PEPPER,
        "792db6c2024999d0ab44b574ced893060446845062033fdaffed9682b2fdc87d",
    ),
    "two lanes": (
        "secret",
        Argon2Cost(64, 3, 2),
        None,
        "e4ab1a3e1119c40d709f2fd2792fc6a199d0339db81cbad7a56d5e06dc069751",
    ),
    "no ASCII": (
        "s\u00e9cr\U0001f3e1t\0",
        STRONG_COST,
        PEPPER,
        "18860dfbe4d99a266c7e551abe643a490750eca09e03790ad71c3869519cb146",
    ),
}


def independent_digest(secret: str, cost: Argon2Cost, pepper: bytes | None) -> bytes:
    """Return the digest by the C library's own context, with HMAC written out (RFC 2104)."""
    password = secret.encode()
    if pepper is not None:
        key = pepper.ljust(64, b"\0")
        inner = hashlib.sha256(bytes(each ^ 0x36 for each in key) + password).digest()
        password = hashlib.sha256(bytes(each ^ 0x5C for each in key) + inner).digest()
    out = ffi.new("uint8_t[]", 32)
    password_buffer, salt_buffer = ffi.new("uint8_t[]", password), ffi.new("uint8_t[]", SALT)
    context = ffi.new(
        "argon2_context *",
        {
            "version": ARGON2_VERSION,
            "out": out,
            "outlen": 32,
            "pwd": password_buffer,
            "pwdlen": len(password),
            "salt": salt_buffer,
            "saltlen": len(SALT),
            "t_cost": cost.time_cost,
            "m_cost": cost.memory_cost_kib,
            "lanes": cost.parallelism,
            "threads": 1,
            "flags": lib.ARGON2_DEFAULT_FLAGS,
        },
    )
    assert core(context, Type.ID.value) == lib.ARGON2_OK
    return bytes(ffi.buffer(out, 32))


@pytest.mark.parametrize(("secret", "cost", "pepper", "expected"), KNOWN.values(), ids=KNOWN.keys())
def test_a_digest_is_what_it_has_always_been(secret, cost, pepper, expected):
    digest = argon2id_digest(secret, SALT, cost, pepper)

    assert digest.hex() == expected
    assert digest == independent_digest(secret, cost, pepper)


def test_the_fingerprint_of_a_pepper_is_what_it_has_always_been():
    label = b"deeds pepper fingerprint v1"

    assert pepper_fingerprint(PEPPER) == hmac.new(PEPPER, label, "sha256").hexdigest()[:16]
    assert pepper_fingerprint(PEPPER) == "a5f76ff5a33efa44"


def test_the_defaults_are_owasps_and_argon2s_minimum():
    assert (str(ORDINARY_COST), str(STRONG_COST)) == ("m=7168,t=5,p=1", "m=8,t=1,p=1")


def a_scheme(secret_class, pepper=None):
    fingerprint = "" if pepper is None else pepper_fingerprint(pepper)
    return HashScheme(1, SchemeSpec(secret_class, STRONG_COST, fingerprint), SALT)


class CountedHashes(NoMeasures):
    """Keeps what is counted of evaluations."""

    def __init__(self):
        self.counts = Counter()
        self.seconds = 0

    def count_hashes(self, lane, count, seconds):
        self.counts[lane] += count
        self.seconds += seconds


@pytest.fixture
def measures():
    return CountedHashes()


@pytest.fixture
def hasher(measures):
    pool = HashPool(1, 1, 10, measures)
    yield Hasher({pepper_fingerprint(PEPPER): PEPPER}, pool, measures)
    pool.close()


@pytest.mark.parametrize("ordinary_count", [0, 3])
@pytest.mark.parametrize("strong_count", [0, 2])
def test_a_hasher_hashes_each_secret_once_in_order_and_counts_it(
    hasher, measures, ordinary_count, strong_count
):
    schemes = [a_scheme(SecretClass.STRONG, PEPPER)] * strong_count
    schemes += [a_scheme(SecretClass.ORDINARY)] * ordinary_count
    jobs = [HashJob(str(index), SALT, scheme) for index, scheme in enumerate(schemes)]
    jobs = jobs[::2] + jobs[1::2]

    started_s = perf_counter()
    digests = hasher.digests(jobs)

    assert digests == [
        independent_digest(
            job.secret, STRONG_COST, PEPPER if job.scheme.spec.pepper_fingerprint else None
        )
        for job in jobs
    ]
    assert (+measures.counts) == +Counter(ordinary=ordinary_count, strong=strong_count)
    assert bool(jobs) <= (0 < measures.seconds <= perf_counter() - started_s)


def test_no_memory_for_a_hash_is_an_overload_and_shows_no_secret(monkeypatch):
    def refuse(*args, **kwargs):
        raise HashingError("Memory allocation error")

    monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", refuse)

    with pytest.raises(OverloadedError) as refused:
        argon2id_digest("secret", SALT, STRONG_COST, None)

    assert str(refused.value) == "there is no memory to hash with at the moment"
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_the_repr_of_a_job_hides_the_secret():
    assert "mark-7c1f9e" not in repr(HashJob("mark-7c1f9e", SALT, a_scheme(SecretClass.STRONG)))
