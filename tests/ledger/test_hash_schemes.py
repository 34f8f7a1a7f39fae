"""A change of DEEDS_ARGON2 on a ledger that is in use: nothing is stranded, nothing used twice."""

from collections import Counter
from dataclasses import replace
from itertools import count

import pytest
from sqlalchemy import select

import deeds.domain.hashing
from deeds.domain.errors import SchemeUnavailableError
from deeds.domain.hashing import pepper_fingerprint
from deeds.domain.model import Argon2Cost, SecretClass
from deeds.domain.schemes import HashSchemes, current_specs
from deeds.domain.strong_secret import make_strong_secret
from storage.engine import make_engine, parse_database_url
from storage.repository import Repository
from storage.tables import hash_schemes, outputs
from tests.support.evaluations import Evaluations
from tests.support.requests import check, mint, post, refusal, swap

FIRST, SECOND, THIRD = (Argon2Cost(memory_cost_kib, 1, 1) for memory_cost_kib in (16, 24, 32))
PEPPER = b"p" * 32


@pytest.fixture
def evaluations(monkeypatch):
    evaluations = Evaluations(deeds.domain.hashing.hash_secret_raw)
    monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", evaluations)
    return evaluations


@pytest.fixture
def open_client(settings, open_app):
    """A function that opens the service with a cost and returns a client of it."""
    return lambda cost: open_app(replace(settings, ordinary_cost=cost)).test_client()


def costs(ledger, item_id):
    """Return how many outputs of the item were hashed at which cost, spent or not."""
    columns = (
        hash_schemes.c.memory_cost_kib,
        hash_schemes.c.time_cost,
        hash_schemes.c.parallelism,
    )
    statement = select(*columns).join_from(outputs, hash_schemes)
    with ledger.engine.connect() as connection:
        rows = connection.execute(statement.where(outputs.c.item_id == item_id))
        return Counter(Argon2Cost(*row) for row in rows)


def test_new_outputs_are_hashed_anew_and_older_ones_stay_spendable(open_client, ledger):
    item = mint(open_client(FIRST), "+5.a", "+7.b")
    client = open_client(SECOND)

    first = swap(client, [f"+5.{item}.a"], [f"+2.{item}.c", f"+3.{item}.d"])
    second = swap(client, [f"+7.{item}.b", f"+3.{item}.d"], [f"+10.{item}.e"])

    assert (first.status_code, second.status_code) == (200, 200)
    assert costs(ledger, item) == {FIRST: 2, SECOND: 3}
    assert ledger.live(item) == [2, 10]


@pytest.mark.parametrize(("inputs_count", "outputs_count"), [(1, 1), (1, 4), (4, 1), (3, 3)])
def test_without_a_change_every_secret_costs_one_evaluation(
    open_client, evaluations, inputs_count, outputs_count
):
    client = open_client(FIRST)
    total = inputs_count * outputs_count
    sources = [f"source {index}" for index in range(inputs_count)]
    targets = [f"target {index}" for index in range(outputs_count)]

    item = mint(client, *(f"+{total // inputs_count}.{secret}" for secret in sources))
    assert evaluations.take() == inputs_count

    answer = swap(
        client,
        [f"+{total // inputs_count}.{item}.{secret}" for secret in sources],
        [f"+{total // outputs_count}.{item}.{secret}" for secret in targets],
    )
    assert answer.status_code == 200
    assert evaluations.take() == inputs_count + outputs_count

    check(client, *(f"+1.{item}.{secret}" for secret in [*sources, *targets, "unknown"]))
    assert evaluations.take() == inputs_count + outputs_count + 1


def test_an_output_costs_one_evaluation_and_one_for_each_older_scheme_of_its_item(
    open_client, evaluations
):
    item = mint(open_client(FIRST), "+5.a", "+5.b")
    newer, newest = open_client(SECOND), open_client(THIRD)
    evaluations.take()

    first = swap(newer, [f"+5.{item}.a"], [f"+2.{item}.c", f"+3.{item}.d"])
    assert (first.status_code, evaluations.counts) == (200, {16: 1 + 2, 24: 2})
    evaluations.take()

    second = swap(newest, [f"+2.{item}.c"], [f"+2.{item}.e"])
    # The input is found under the newer of two schemes; the output is tried under both.
    assert (second.status_code, evaluations.counts) == (200, {24: 1 + 1, 16: 1, 32: 1})


def test_a_secret_whose_class_the_item_never_had_costs_nothing(open_client, evaluations):
    client = open_client(FIRST)
    item = mint(client, f"+5.{make_strong_secret()}")
    evaluations.take()

    states = check(client, f"+5.{item}.a", f"+5.{item}.b")
    refused = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert states == ["unknown", "unknown"]
    assert refusal(refused) == (400, "unknown_input", 0)
    assert evaluations.counts == {}


def test_a_secret_that_was_used_before_the_change_is_refused_for_a_new_output(open_client, ledger):
    client = open_client(FIRST)
    item = mint(client, "+5.live", "+7.spent")
    swap(client, [f"+7.{item}.spent"], [f"+7.{item}.a"])
    client = open_client(SECOND)
    before = ledger.rows()

    for used in ("live", "spent"):
        refused = swap(client, [f"+7.{item}.a"], [f"+3.{item}.new", f"+4.{item}.{used}"])
        assert refusal(refused) == (400, "used_secret", 1)

    assert ledger.rows() == before


def test_check_knows_outputs_from_before_and_after_the_change(open_client):
    client = open_client(FIRST)
    item = mint(client, "+5.a", "+7.b")
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])
    client = open_client(SECOND)
    swap(client, [f"+5.{item}.c"], [f"+5.{item}.d"])

    states = check(client, *(f"+5.{item}.{secret}" for secret in "acdx"), f"+7.{item}.b")

    assert states == ["spent", "spent", "unspent", "unknown", "unspent"]


def test_settings_may_go_back_to_an_earlier_value(open_client, ledger):
    item = mint(open_client(FIRST), "+5.a", "+7.b")
    swap(open_client(SECOND), [f"+5.{item}.a"], [f"+5.{item}.c"])
    client = open_client(FIRST)

    answer = swap(client, [f"+5.{item}.c", f"+7.{item}.b"], [f"+12.{item}.d"])
    refused = swap(client, [f"+12.{item}.d"], [f"+12.{item}.c"])

    assert answer.status_code == 200
    assert refusal(refused) == (400, "used_secret", 0)
    assert costs(ledger, item) == {FIRST: 3, SECOND: 1}


def test_processes_with_different_settings_spend_each_others_outputs(open_client, ledger):
    older, newer = open_client(FIRST), open_client(SECOND)
    item = mint(older, "+5.0")

    for turn, client in enumerate([newer, older, newer, older, older, newer]):
        answer = swap(client, [f"+5.{item}.{turn}"], [f"+5.{item}.{turn + 1}"])
        assert answer.status_code == 200

    assert check(older, f"+5.{item}.6") == check(newer, f"+5.{item}.6") == ["unspent"]


def test_an_amount_is_compared_under_every_scheme(open_client, ledger):
    item = mint(open_client(FIRST), "+5.a", "+7.b")
    client = open_client(SECOND)
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])

    refused = swap(client, [f"+6.{item}.b"], [f"+6.{item}.d"])

    assert refusal(refused) == (400, "unknown_input", 0)


def test_a_process_of_older_settings_cannot_use_a_secret_while_another_one_does(
    open_client, evaluations, ledger
):
    """It read which schemes the item has before the other process brought a new one."""
    older, newer = open_client(FIRST), open_client(SECOND)
    item = mint(older, "+5.a", "+5.b")
    answers = []

    def meanwhile():
        evaluations.before = lambda: None
        answers.append(swap(newer, [f"+5.{item}.b"], [f"+5.{item}.same"]))

    evaluations.before = meanwhile
    answers.append(swap(older, [f"+5.{item}.a"], [f"+5.{item}.same"]))

    # However it ended, there must be a way to all of the units.
    for turn, secret in enumerate(["a", "b", "same", "same"]):
        swap(newer, [f"+5.{item}.{secret}"], [f"+5.{item}.moved {turn}"])
    assert check(newer, *(f"+5.{item}.moved {turn}" for turn in range(4))).count("unspent") == 2
    assert [answer.status_code for answer in answers].count(200) == 1


@pytest.mark.parametrize("at_evaluation", range(1, 4))
def test_one_key_is_one_mint_whatever_the_settings_of_the_processes(
    open_client, evaluations, ledger, at_evaluation
):
    """Another process mints with the same key before the first, second or third evaluation."""
    older, newer = open_client(FIRST), open_client(SECOND)
    body, answers = {"outputs": ["+5.a"]}, []
    numbers = count(1)

    def meanwhile():
        if next(numbers) == at_evaluation:
            evaluations.before = lambda: None
            answers.append(post(newer, "/v1/mint", body, "order 17"))

    evaluations.before = meanwhile
    answers.append(post(older, "/v1/mint", body, "order 17"))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].get_json() == answers[1].get_json()
    assert len(ledger.rows()["items"]) == 1


@pytest.fixture
def open_schemes(database_url):
    """A function that reads the schemes of the ledger as a process of these settings does."""
    repository = Repository(make_engine(parse_database_url(database_url)))

    def open_one(cost, pepper=None):
        fingerprints = [pepper_fingerprint(pepper)] if pepper else []
        return HashSchemes(repository, current_specs(cost, pepper), fingerprints)

    yield open_one
    repository.close()


def test_schemes_come_with_the_current_one_first_and_then_the_newest(open_schemes):
    for cost in (FIRST, SECOND, THIRD):
        open_schemes(cost)

    for schemes in (open_schemes(SECOND), open_schemes(SECOND)):
        ordinary = [each.spec.cost for each in schemes.all_of(SecretClass.ORDINARY)]
        assert ordinary == [SECOND, THIRD, FIRST]
        assert len(schemes.all_of(SecretClass.STRONG)) == 1


class Interrupting(frozenset):
    """Fingerprints that let another thread in while the schemes are being read."""

    interrupt = None

    def __contains__(self, fingerprint):
        if Interrupting.interrupt is not None:
            interrupt, Interrupting.interrupt = Interrupting.interrupt, None
            interrupt()
        return super().__contains__(fingerprint)


def test_a_scheme_without_its_pepper_is_unavailable_even_while_schemes_are_read(open_schemes):
    schemes = open_schemes(FIRST)
    peppered = open_schemes(FIRST, PEPPER).current(SecretClass.ORDINARY)
    schemes._fingerprints = Interrupting(schemes._fingerprints)
    met = []

    def look():
        try:
            met.append(schemes.in_order(SecretClass.ORDINARY, [peppered.id]))
        except SchemeUnavailableError:
            met.append("unavailable")

    Interrupting.interrupt = look
    with pytest.raises(SchemeUnavailableError):
        schemes.in_order(SecretClass.ORDINARY, [peppered.id])

    assert met == ["unavailable"]
