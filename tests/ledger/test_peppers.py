"""DEEDS_PEPPER added, changed, missing, dropped: on a ledger that is in use."""

from dataclasses import replace

import pytest

from deeds.domain.errors import StartError
from deeds.domain.hashing import pepper_fingerprint
from deeds.domain.raw_output import make_strong_secret
from storage.tables import hash_schemes
from tests.support.requests import check, mint, post, refusal, swap

FIRST = b"mark-7c1f9e first pepper of 32 or more"
SECOND = b"mark-7c1f9e second pepper of 32 or more"
CLASSES = {
    "ordinary": ["a", "b", "c", "d"],
    "strong": [make_strong_secret() for _ in range(4)],
}


@pytest.fixture
def open_client(settings, open_app):
    """A function that opens the service with a pepper and older ones and returns a client."""

    def open_one(pepper, *peppers_old):
        return open_app(replace(settings, pepper=pepper, peppers_old=peppers_old)).test_client()

    return open_one


@pytest.fixture(params=CLASSES.keys())
def secrets(request):
    return CLASSES[request.param]


def mint_raws(client, *secrets):
    """Mint the first of the secrets, and return it and the others as 5 units of that item."""
    item = mint(client, f"+5.{secrets[0]}")
    return [f"+5.{item}.{secret}" for secret in secrets]


@pytest.mark.parametrize(("before", "after"), [([None], [FIRST]), ([FIRST], [SECOND, FIRST])])
def test_a_pepper_is_added_or_changed_and_outputs_from_before_stay_spendable(
    open_client, secrets, ledger, before, after
):
    a, b, c, d = secrets
    item = mint(open_client(*before), f"+5.{a}", f"+7.{b}")
    client = open_client(*after)

    handed_over = swap(client, [f"+5.{item}.{a}"], [f"+5.{item}.{c}"])
    used = swap(client, [f"+5.{item}.{c}"], [f"+5.{item}.{b}"])
    merged = swap(client, [f"+5.{item}.{c}", f"+7.{item}.{b}"], [f"+12.{item}.{d}"])

    assert (handed_over.status_code, merged.status_code) == (200, 200)
    assert refusal(used) == (400, "used_secret", 0)
    assert check(client, f"+5.{item}.{a}", f"+12.{item}.{d}") == ["spent", "unspent"]


@pytest.mark.parametrize("peppers", [(None,), (SECOND,), (SECOND, SECOND)])
def test_a_pepper_that_is_missing_stops_the_start_with_its_fingerprint(
    open_client, secrets, ledger, peppers
):
    mint(open_client(FIRST), f"+5.{secrets[0]}")

    with pytest.raises(StartError) as stopped:
        open_client(*peppers)

    fingerprint = pepper_fingerprint(FIRST)
    assert str(stopped.value) == (
        "deeds cannot start: unspent outputs are guarded by the pepper with the fingerprint "
        f"{fingerprint}; name it in DEEDS_PEPPERS_OLD (or DEEDS_PEPPER)"
    )
    assert (len(fingerprint), set(fingerprint) <= set("0123456789abcdef")) == (16, True)
    assert "mark-7c1f9e" not in str(stopped.value)


def test_a_pepper_that_guards_nothing_any_more_may_go_and_come_back(open_client, secrets, ledger):
    raws = mint_raws(open_client(FIRST), *secrets[:3])

    swap(open_client(SECOND, FIRST), raws[:1], raws[1:2])
    without = open_client(SECOND)
    found = check(without, raws[1])
    swap(without, raws[1:2], raws[2:])

    assert found == ["unspent"]
    assert check(open_client(FIRST, SECOND), *raws) == ["spent", "spent", "unspent"]


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_process_without_the_new_pepper_answers_503_and_not_400(
    open_client, secrets, ledger, order, caplog
):
    """Started before the other one, or after it but before the first output with its pepper."""
    if order == "before":
        without, given = open_client(None), open_client(FIRST)
    else:
        given, without = open_client(FIRST), open_client(None)
    a, b, c = mint_raws(without, *secrets[:3])
    other_a, other_b = mint_raws(without, *secrets[:2])
    swap(given, [a], [b])
    assert swap(without, [other_a], [other_b]).status_code == 200
    before = ledger.rows()

    swapped = swap(without, [b], [c])
    checked = post(without, "/v1/check", {"outputs": [b]})

    assert refusal(swapped) == refusal(checked) == (503, "scheme_unavailable", None)
    assert int(swapped.headers["Retry-After"]) >= 1
    assert pepper_fingerprint(FIRST) not in swapped.text + checked.text
    assert "mark-7c1f9e" not in swapped.text + checked.text + caplog.text
    [said] = [each for each in caplog.records if getattr(each, "event", "") == "pepper_missing"]
    assert (said.levelname, pepper_fingerprint(FIRST) in said.message) == ("WARNING", True)
    assert ledger.rows() == before
    assert swap(given, [b], [c]).status_code == 200


def test_a_process_that_lost_a_pepper_does_not_call_another_ones_outputs_unknown(
    open_client, secrets, ledger
):
    """It started while the pepper guarded nothing; another one goes on to use it."""
    given = open_client(FIRST)
    raws = mint_raws(given, *secrets[:2])
    swap(open_client(SECOND, FIRST), raws[:1], raws[1:])
    without = open_client(SECOND)

    checked = post(without, "/v1/check", {"outputs": mint_raws(given, secrets[0])})

    assert refusal(checked) == (503, "scheme_unavailable", None)


def test_a_secret_used_again_while_its_pepper_was_away_can_be_spent_when_it_is_back(
    open_client, secrets, ledger
):
    """Without the pepper nobody can tell that the secret was used before."""
    a, b, c = mint_raws(open_client(FIRST), *secrets[:3])
    swap(open_client(SECOND, FIRST), [a], [b])
    swap(open_client(SECOND), [b], [a])
    client = open_client(FIRST, SECOND)

    assert check(client, a) == ["unspent"]
    assert swap(client, [a], [c]).status_code == 200


def test_the_ledger_knows_peppers_by_their_fingerprints_alone(open_client, ledger):
    open_client(FIRST)

    with ledger.engine.connect() as connection:
        rows = connection.execute(hash_schemes.select()).all()
    assert {row.pepper_fingerprint for row in rows} == {pepper_fingerprint(FIRST)}
    assert FIRST not in b"".join(row.key_salt for row in rows)
