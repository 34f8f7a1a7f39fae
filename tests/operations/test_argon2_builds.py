"""Builds of Argon2 differ in their speed alone."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeds.domain.hashing import ORDINARY_COST, SALT_BYTES, STRONG_COST
from deeds.domain.model import SECRET_LENGTH_MAX, Argon2Cost
from tests.support.digesting import Digest, digesting
from tests.support.making import Environment

COSTS = (
    STRONG_COST,
    ORDINARY_COST,
    Argon2Cost(47_104, 1, 1),
    Argon2Cost(19_456, 2, 1),
    Argon2Cost(12_288, 3, 1),
    Argon2Cost(9_216, 4, 1),
    Argon2Cost(31_744, 7, 1),
    Argon2Cost(1_000, 3, 4),
)
SECRETS = ("a", "correct horse battery", "s\u00e9cr\U0001f3e1t\0", "\U0010ffff" * SECRET_LENGTH_MAX)
SALTS = (bytes(SALT_BYTES), bytes(range(SALT_BYTES)), b"\xff" * SALT_BYTES)

DIGEST_HEX_DIGITS = 64


@pytest.fixture(scope="module")
def digests(native_environment: Environment) -> Iterator[tuple[Digest, Digest]]:
    """Two functions that hash, with PyPI's build and with that for this CPU."""
    builds = native_environment.builds
    with digesting(builds / "wheel") as wheel, digesting(builds / "native") as native:
        yield wheel, native


def test_the_builds_are_two(native_environment: Environment) -> None:
    [wheel, native] = [
        next((native_environment.builds / kind).glob("_argon2_cffi_bindings/_ffi*.so"))
        for kind in ("wheel", "native")
    ]

    assert wheel.read_bytes() != native.read_bytes()


def test_all_builds_give_equal_digests(digests: tuple[Digest, Digest]) -> None:
    wheel, native = digests
    table = [(secret, salt, cost) for secret in SECRETS for salt in SALTS for cost in COSTS]

    by_wheel = [wheel(*row) for row in table]

    assert [native(*row) for row in table] == by_wheel
    assert len(set(by_wheel)) == len(table)
    assert {len(digest) for digest in by_wheel} == {DIGEST_HEX_DIGITS}


@settings(max_examples=200, deadline=None)
@given(
    secret=st.text(st.characters(codec="utf-8"), min_size=1, max_size=SECRET_LENGTH_MAX),
    salt=st.binary(min_size=SALT_BYTES, max_size=SALT_BYTES),
    lanes=st.integers(1, 4),
    memory_kib_per_lane=st.integers(8, 1024),
    passes=st.integers(1, 5),
)
def test_all_builds_give_equal_digests_whatever_is_hashed(
    digests: tuple[Digest, Digest],
    secret: str,
    salt: bytes,
    lanes: int,
    memory_kib_per_lane: int,
    passes: int,
) -> None:
    wheel, native = digests
    cost = Argon2Cost(memory_kib_per_lane * lanes, passes, lanes)

    digest = wheel(secret, salt, cost)

    assert len(digest) == DIGEST_HEX_DIGITS
    assert native(secret, salt, cost) == digest
