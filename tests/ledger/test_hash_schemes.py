"""A change of DEEDS_ARGON2 on a ledger that is in use: nothing is stranded, nothing used twice."""

from collections import Counter
from dataclasses import replace
from itertools import count

import pytest
from sqlalchemy import select

import deeds.domain.hashing
from deeds.domain.model import Argon2Cost
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
    """Return how many outputs of the item were hashed with how many KiB, spent or not."""
    statement = select(hash_schemes.c.memory_cost_kib).join_from(outputs, hash_schemes)
    with ledger.engine.connect() as connection:
        found = connection.execute(statement.where(outputs.c.item_id == item_id))
        return Counter(found.scalars())


def test_new_outputs_are_hashed_again_and_older_ones_stay_spendable(open_client, ledger):
    older = open_client(FIRST)
    item = mint(older, "+5.a", "+7.b")
    client = open_client(SECOND)

    first = swap(client, [f"+5.{item}.a"], [f"+2.{item}.c", f"+3.{item}.d"])
    refused = [
        swap(client, [f"+6.{item}.b"], [f"+6.{item}.x"]),
        swap(client, [f"+3.{item}.d"], [f"+3.{item}.a"]),
        swap(client, [f"+3.{item}.d"], [f"+3.{item}.b"]),
    ]
    second = swap(client, [f"+7.{item}.b", f"+3.{item}.d"], [f"+10.{item}.e"])

    codes = ["unknown_input", "used_secret", "used_secret"]
    assert [refusal(each) for each in refused] == [(400, code, 0) for code in codes]
    assert (first.status_code, second.status_code) == (200, 200)
    assert costs(ledger, item) == {16: 2, 24: 3}
    for each in (older, client):
        states = check(each, f"+5.{item}.a", f"+3.{item}.d", f"+10.{item}.e", f"+5.{item}.x")
        assert states == ["spent", "spent", "unspent", "unknown"]


def test_an_output_costs_one_evaluation_and_one_for_each_older_scheme_of_its_item(
    open_client, evaluations
):
    older, newer, newest = (open_client(each) for each in (FIRST, SECOND, THIRD))
    item = mint(older, "+5.a", "+5.b")
    evaluations.take()

    first = swap(newer, [f"+5.{item}.a"], [f"+2.{item}.c", f"+3.{item}.d"])
    assert (first.status_code, evaluations.counts) == (200, {16: 1 + 2, 24: 2})
    evaluations.take()

    second = swap(newest, [f"+2.{item}.c"], [f"+2.{item}.e"])
    # The input is found under the newer of two schemes; the output is tried under both.
    assert (second.status_code, evaluations.counts) == (200, {24: 1 + 1, 16: 1, 32: 1})
    evaluations.take()

    third = swap(older, [f"+5.{item}.b"], [f"+5.{item}.f"])
    # The input is found under the current scheme, before the newest.
    assert (third.status_code, evaluations.counts) == (200, {16: 1 + 1, 24: 1, 32: 1})


def test_processes_with_different_settings_spend_each_others_outputs(open_client, ledger):
    older, newer = open_client(FIRST), open_client(SECOND)
    item = mint(older, "+5.0", "+7.b")

    for turn, client in enumerate([newer, older, newer, older, older, newer]):
        answer = swap(client, [f"+5.{item}.{turn}"], [f"+5.{item}.{turn + 1}"])
        assert answer.status_code == 200
    answer = swap(older, [f"+5.{item}.6", f"+7.{item}.b"], [f"+12.{item}.c"])
    refused = swap(older, [f"+12.{item}.c"], [f"+12.{item}.6"])

    assert answer.status_code == 200
    assert refusal(refused) == (400, "used_secret", 0)
    assert costs(ledger, item) == {16: 6, 24: 3}


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
