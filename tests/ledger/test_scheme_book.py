"""The book of schemes, where one thread reads it anew while another one looks into it."""

import pytest

from deeds.domain.errors import SchemeUnavailableError
from deeds.domain.hashing import STRONG_COST, pepper_fingerprint
from deeds.domain.model import Argon2Cost, SchemeSpec, SecretClass
from deeds.domain.schemes import HashSchemes
from storage.engine import make_engine, parse_database_url
from storage.repository import Repository

FINGERPRINT = pepper_fingerprint(b"p" * 32)


@pytest.fixture
def repository(database_url):
    repository = Repository(make_engine(parse_database_url(database_url)))
    yield repository
    repository.close()


def specs(memory_cost_kib=16, fingerprint=""):
    return {
        SecretClass.ORDINARY: SchemeSpec(
            SecretClass.ORDINARY, Argon2Cost(memory_cost_kib, 1, 1), fingerprint
        ),
        SecretClass.STRONG: SchemeSpec(SecretClass.STRONG, STRONG_COST, fingerprint),
    }


def costs(schemes):
    return [scheme.spec.cost.memory_cost_kib for scheme in schemes]


class Interrupting(frozenset):
    """Fingerprints that let another thread in while the book is being read."""

    interrupt = None

    def __contains__(self, fingerprint):
        if Interrupting.interrupt is not None:
            interrupt, Interrupting.interrupt = Interrupting.interrupt, None
            interrupt()
        return super().__contains__(fingerprint)


def test_schemes_come_with_the_current_one_first_and_then_the_newest(repository):
    for memory_cost_kib in (16, 24, 32):
        HashSchemes(repository, specs(memory_cost_kib), [])
    book = HashSchemes(repository, specs(24), [])

    assert costs(book.all_of(SecretClass.ORDINARY)) == [24, 32, 16]
    assert costs(book.all_of(SecretClass.STRONG)) == [8]


def test_a_scheme_that_another_process_recorded_is_found(repository):
    book = HashSchemes(repository, specs(16), [])
    newer = HashSchemes(repository, specs(24), [])

    found = book.in_order(SecretClass.ORDINARY, [newer.current(SecretClass.ORDINARY).id])

    assert costs(found) == [24]


def test_processes_with_the_same_settings_have_the_same_schemes(repository):
    books = [HashSchemes(repository, specs(), []) for _ in range(3)]

    assert len({book.current(SecretClass.ORDINARY) for book in books}) == 1


def test_a_scheme_without_its_pepper_is_unavailable_even_while_the_book_is_read(repository):
    book = HashSchemes(repository, specs(), [])
    [peppered, _] = [
        HashSchemes(repository, specs(fingerprint=FINGERPRINT), [FINGERPRINT]).current(each)
        for each in SecretClass
    ]
    book._fingerprints = Interrupting(book._fingerprints)
    met = []

    def look():
        try:
            met.append(book.in_order(SecretClass.ORDINARY, [peppered.id]))
        except SchemeUnavailableError:
            met.append("unavailable")

    Interrupting.interrupt = look
    with pytest.raises(SchemeUnavailableError):
        book.in_order(SecretClass.ORDINARY, [peppered.id])

    assert met == ["unavailable"]
