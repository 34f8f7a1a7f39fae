"""Digests: known answers, written down once, and what a hasher counts and refuses."""

from collections import Counter
from time import perf_counter

import pytest
from argon2.exceptions import HashingError

import deeds.domain.hashing
from deeds.domain.errors import OverloadedError
from deeds.domain.hashing import (
    ORDINARY_COST,
    STRONG_COST,
    Hasher,
    HashJob,
    HashPool,
    argon2id_digest,
    pepper_fingerprint,
)
from deeds.domain.model import Argon2Cost, HashScheme, SchemeSpec, SecretClass

SALT = bytes(range(16))
PEPPER = b"a pepper of 32 characters or more"
TWO_LANES = Argon2Cost(64, 3, 2)

# Computed apart, by Argon2's reference code and with HMAC written out. They pin the default costs
# too, and never change: a digest that changes makes every deed worthless.
KNOWN = [
    (ORDINARY_COST, None, "41816b326fa93eaadc146f9f3d3ccf5813b3518dc654091341125c80955e3def"),
    (STRONG_COST, None, "a82dcc6a3065a6303032fe26f588c81fce8cfacd57cb9bbcd524a676d538dd9b"),
    (ORDINARY_COST, PEPPER, "7b9d6922e7186bf1bb2d895305731bc053532d62fe4f02c9ae2c8c1909315a47"),
    (STRONG_COST, PEPPER, "792db6c2024999d0ab44b574ced893060446845062033fdaffed9682b2fdc87d"),
    (TWO_LANES, None, "e4ab1a3e1119c40d709f2fd2792fc6a199d0339db81cbad7a56d5e06dc069751"),
]
NOT_ASCII = "18860dfbe4d99a266c7e551abe643a490750eca09e03790ad71c3869519cb146"


@pytest.mark.parametrize(("cost", "pepper", "expected"), KNOWN)
def test_a_digest_is_what_it_has_always_been(cost, pepper, expected):
    assert argon2id_digest("secret", SALT, cost, pepper).hex() == expected


def test_the_digest_of_a_secret_beyond_ascii_is_what_it_has_always_been():
    assert argon2id_digest("s\u00e9cr\U0001f3e1t\0", SALT, STRONG_COST, PEPPER).hex() == NOT_ASCII


def test_the_fingerprint_of_a_pepper_is_what_it_has_always_been():
    assert pepper_fingerprint(PEPPER) == "a5f76ff5a33efa44"


class CountedHashes:
    """Keeps what is counted of evaluations."""

    def __init__(self):
        self.counts = Counter()
        self.seconds = 0

    def count_hashes(self, lane, count, seconds):
        self.counts[lane] += count
        self.seconds += seconds

    def set_queue(self, requests_count, hashes_count):
        """Do nothing."""


def jobs_of(secret_class, count, fingerprint=""):
    scheme = HashScheme(1, SchemeSpec(secret_class, STRONG_COST, fingerprint), SALT)
    return [HashJob(f"{secret_class} {number}", SALT, scheme) for number in range(count)]


@pytest.mark.parametrize("ordinary_count", [0, 3])
@pytest.mark.parametrize("strong_count", [0, 2])
def test_a_hasher_hashes_each_secret_once_in_order_and_counts_it(ordinary_count, strong_count):
    measures, fingerprint = CountedHashes(), pepper_fingerprint(PEPPER)
    pool = HashPool(1, 1, 10, measures)
    jobs = jobs_of(SecretClass.STRONG, strong_count, fingerprint)
    jobs += jobs_of(SecretClass.ORDINARY, ordinary_count)
    jobs = jobs[::2] + jobs[1::2]

    started_s = perf_counter()
    digests = Hasher({fingerprint: PEPPER}, pool, measures).digests(jobs)
    took_s = perf_counter() - started_s
    pool.close()

    assert digests == [
        argon2id_digest(
            job.secret, SALT, STRONG_COST, PEPPER if job.secret.startswith("strong") else None
        )
        for job in jobs
    ]
    assert (+measures.counts) == +Counter(ordinary=ordinary_count, strong=strong_count)
    assert bool(jobs) <= (0 < measures.seconds <= took_s)


def test_no_memory_for_a_hash_is_an_overload_and_shows_no_secret(monkeypatch):
    def refuse(*args, **kwargs):
        raise HashingError("Memory allocation error")

    monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", refuse)

    with pytest.raises(OverloadedError) as refused:
        argon2id_digest("secret", SALT, STRONG_COST, None)

    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__
