"""The CPUs that hashing processes share: claimed, lent, never waited for."""

import tempfile

import pytest

from deeds.domain.shared_cpus import CROWD_MAX, UNCLAIMED, SharedCpus
from tests.support.claiming import claimant

CPUS_COUNT = 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cpus"


@pytest.fixture
def cpus(path):
    cpus = SharedCpus(path, CPUS_COUNT)
    yield cpus
    cpus.close()


@pytest.fixture
def other(path):
    """Another process with the same CPUs."""
    with claimant(path, CPUS_COUNT) as other:
        yield other


def test_a_process_alone_may_claim_every_cpu_and_no_more(cpus):
    claims = [cpus.claim(needed=True), *(cpus.claim(needed=False) for _ in range(CPUS_COUNT))]

    assert claims == [0, 1, None]


def test_what_was_released_can_be_claimed_again(cpus, other):
    first = cpus.claim(needed=True)
    cpus.claim(needed=False)
    cpus.release(first)

    assert other.claim(needed=False) == first


def test_what_another_process_has_claimed_is_not_claimed_twice(cpus, other):
    assert (other.claim(needed=True), cpus.claim(needed=True)) == (0, 1)
    assert (other.claim(needed=False), cpus.claim(needed=False)) == (None, None)


def test_a_needed_claim_is_given_even_where_all_cpus_are_claimed(cpus, other):
    other.claim(needed=True)
    other.claim(needed=False)

    claim = cpus.claim(needed=True)

    assert claim is not None
    assert claim >= CPUS_COUNT


def test_who_has_lent_cpus_gives_way_to_a_process_that_runs_beside_them(cpus, other):
    needed, lent = other.claim(needed=True), other.claim(needed=False)
    beside = cpus.claim(needed=True)

    other.release(lent)
    assert other.claim(needed=False) is None
    assert cpus.claim(needed=False) is None

    cpus.release(beside)
    assert (cpus.claim(needed=True), other.claim(needed=False)) == (lent, None)
    assert needed != lent


def test_the_claims_of_a_killed_process_end(cpus, other):
    other.claim(needed=True)
    other.claim(needed=False)

    other.kill()

    assert [cpus.claim(needed=True), cpus.claim(needed=False)] == [0, 1]


def test_in_the_largest_crowd_a_needed_claim_is_still_given(cpus):
    claims = [cpus.claim(needed=True) for _ in range(CPUS_COUNT + CROWD_MAX + 1)]

    assert claims == [*range(CPUS_COUNT + CROWD_MAX), UNCLAIMED]
    for claim in claims:
        cpus.release(claim)
    assert cpus.claim(needed=True) == 0


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_where_the_file_cannot_be_opened_nothing_is_shared(monkeypatch, tmp_path, kind):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cpus = SharedCpus.of_this_user(CPUS_COUNT)
    assert cpus is not None
    cpus.close()
    (path,) = tmp_path.iterdir()
    path.unlink()
    if kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "elsewhere")

    assert SharedCpus.of_this_user(CPUS_COUNT) is None
