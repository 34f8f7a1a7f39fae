"""DEEDS_PEPPER added, changed, missing, dropped: on a ledger that is in use."""

from dataclasses import replace

import pytest

from deeds.domain.errors import StartError
from deeds.domain.hashing import pepper_fingerprint
from deeds.domain.strong_secret import make_strong_secret
from storage.tables import hash_schemes
from tests.support.requests import check, mint, post, refusal, swap

FIRST = b"mark-7c1f9e first pepper of 32 or more"
SECOND = b"mark-7c1f9e second pepper of 32 or more"
STRONG = [make_strong_secret() for _ in range(4)]

# The secrets of each class: two that a test mints and two that it creates later.
CLASSES = {"ordinary": ["a", "b", "c", "d"], "strong": STRONG}


@pytest.fixture
def open_client(settings, open_app):
    """A function that opens the service with a pepper and older ones and returns a client."""

    def open_one(pepper, *peppers_old):
        return open_app(replace(settings, pepper=pepper, peppers_old=peppers_old)).test_client()

    return open_one


@pytest.fixture(params=CLASSES.keys())
def secrets(request):
    return CLASSES[request.param]


def stop_line(open_client, *peppers):
    with pytest.raises(StartError) as stopped:
        open_client(*peppers)
    return str(stopped.value)


def test_a_pepper_is_added_and_outputs_without_one_stay_spendable(open_client, secrets, ledger):
    a, b, c, d = secrets
    item = mint(open_client(None), f"+5.{a}", f"+7.{b}")
    client = open_client(FIRST)

    handed_over = swap(client, [f"+5.{item}.{a}"], [f"+5.{item}.{c}"])
    merged = swap(client, [f"+5.{item}.{c}", f"+7.{item}.{b}"], [f"+12.{item}.{d}"])

    assert (handed_over.status_code, merged.status_code) == (200, 200)
    assert check(client, f"+5.{item}.{a}", f"+12.{item}.{d}") == ["spent", "unspent"]


def test_a_pepper_is_changed_and_the_old_one_kept(open_client, secrets, ledger):
    a, b, c, d = secrets
    item = mint(open_client(FIRST), f"+5.{a}", f"+7.{b}")
    client = open_client(SECOND, FIRST)

    handed_over = swap(client, [f"+5.{item}.{a}"], [f"+5.{item}.{c}"])
    used = swap(client, [f"+5.{item}.{c}"], [f"+5.{item}.{b}"])
    merged = swap(client, [f"+5.{item}.{c}", f"+7.{item}.{b}"], [f"+12.{item}.{d}"])

    assert (handed_over.status_code, merged.status_code) == (200, 200)
    assert refusal(used) == (400, "used_secret", 0)


@pytest.mark.parametrize("peppers", [(None,), (SECOND,), (SECOND, SECOND)])
def test_a_pepper_that_is_missing_stops_the_start_with_its_fingerprint(
    open_client, secrets, ledger, peppers
):
    mint(open_client(FIRST), f"+5.{secrets[0]}")

    line = stop_line(open_client, *peppers)

    fingerprint = pepper_fingerprint(FIRST)
    assert line == (
        "deeds cannot start: unspent outputs are guarded by the pepper with the fingerprint "
        f"{fingerprint}; name it in DEEDS_PEPPERS_OLD (or DEEDS_PEPPER)"
    )
    assert (len(fingerprint), set(fingerprint) <= set("0123456789abcdef")) == (16, True)
    assert "mark-7c1f9e" not in line


def test_a_pepper_that_guards_nothing_any_more_may_go(open_client, secrets, ledger):
    a, b, _, _ = secrets
    item = mint(open_client(FIRST), f"+5.{a}")
    client = open_client(SECOND, FIRST)
    stop_line(open_client, SECOND)

    swap(client, [f"+5.{item}.{a}"], [f"+5.{item}.{b}"])
    client = open_client(SECOND)

    assert check(client, f"+5.{item}.{b}") == ["unspent"]


def test_a_pepper_that_went_may_come_back(open_client, secrets, ledger):
    a, b, c, _ = secrets
    item = mint(open_client(FIRST), f"+5.{a}")
    swap(open_client(SECOND, FIRST), [f"+5.{item}.{a}"], [f"+5.{item}.{b}"])
    swap(open_client(SECOND), [f"+5.{item}.{b}"], [f"+5.{item}.{c}"])

    client = open_client(FIRST, SECOND)

    assert check(client, *(f"+5.{item}.{secret}" for secret in (a, b, c))) == [
        "spent",
        "spent",
        "unspent",
    ]


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_process_without_the_new_pepper_answers_503_and_not_400(
    open_client, secrets, ledger, order, caplog
):
    """Started before the other one, or after it but before the first output with its pepper."""
    a, b, c, _ = secrets
    if order == "before":
        without, given = open_client(None), open_client(FIRST)
    else:
        given, without = open_client(FIRST), open_client(None)
    item, other = mint(without, f"+5.{a}"), mint(without, f"+5.{a}")
    swap(given, [f"+5.{item}.{a}"], [f"+5.{item}.{b}"])
    assert swap(without, [f"+5.{other}.{a}"], [f"+5.{other}.{b}"]).status_code == 200
    before = ledger.rows()

    swapped = swap(without, [f"+5.{item}.{b}"], [f"+5.{item}.{c}"])
    checked = post(without, "/v1/check", {"outputs": [f"+5.{item}.{b}"]})

    assert refusal(swapped) == refusal(checked) == (503, "scheme_unavailable", None)
    assert int(swapped.headers["Retry-After"]) >= 1
    assert pepper_fingerprint(FIRST) not in swapped.text + checked.text
    assert "mark-7c1f9e" not in swapped.text + checked.text + caplog.text
    [said] = [each for each in caplog.records if getattr(each, "event", "") == "pepper_missing"]
    assert (said.levelname, pepper_fingerprint(FIRST) in said.message) == ("WARNING", True)
    assert ledger.rows() == before
    assert swap(given, [f"+5.{item}.{b}"], [f"+5.{item}.{c}"]).status_code == 200


def test_a_process_that_lost_a_pepper_does_not_call_another_ones_outputs_unknown(
    open_client, secrets, ledger
):
    """It started while the pepper guarded nothing; another one goes on to use it."""
    a, b, _, _ = secrets
    given = open_client(FIRST)
    item = mint(given, f"+5.{a}")
    without = open_client(SECOND, FIRST)
    swap(without, [f"+5.{item}.{a}"], [f"+5.{item}.{b}"])
    without = open_client(SECOND)

    other = mint(given, f"+5.{a}")
    checked = post(without, "/v1/check", {"outputs": [f"+5.{other}.{a}"]})

    assert refusal(checked) == (503, "scheme_unavailable", None)


def test_a_secret_used_again_while_its_pepper_was_away_can_be_spent_when_it_is_back(
    open_client, secrets, ledger
):
    """Without the pepper nobody can tell that the secret was used before."""
    a, b, c, _ = secrets
    item = mint(open_client(FIRST), f"+5.{a}")
    swap(open_client(SECOND, FIRST), [f"+5.{item}.{a}"], [f"+5.{item}.{b}"])
    swap(open_client(SECOND), [f"+5.{item}.{b}"], [f"+5.{item}.{a}"])
    client = open_client(FIRST, SECOND)

    states = check(client, f"+5.{item}.{a}")
    answer = swap(client, [f"+5.{item}.{a}"], [f"+5.{item}.{c}"])

    assert states == ["unspent"]
    assert answer.status_code == 200


def test_the_ledger_knows_peppers_by_their_fingerprints_alone(open_client, ledger):
    open_client(FIRST)

    with ledger.engine.connect() as connection:
        rows = connection.execute(hash_schemes.select()).all()
    assert {row.pepper_fingerprint for row in rows} == {pepper_fingerprint(FIRST)}
    assert FIRST not in b"".join(row.key_salt for row in rows)
