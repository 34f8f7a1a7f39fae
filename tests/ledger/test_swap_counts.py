"""What a request costs: evaluations of Argon2, statements and commits.

Counted, never timed.
"""

import re
from itertools import groupby

import pytest

from tests.support.api import fresh, good, refusal, replayed
from tests.support.databases import connected, on_sqlite
from tests.support.hooks import break_off, hooked, logged_statements
from tests.support.strong_secrets import make_strong_secret

ORDINARY, STRONG = "m=16,t=1,p=1", "m=8,t=1,p=1"
NOWHERE = "deed_00000000000000000000000000"
SECRETS = [make_strong_secret() for _ in range(3)]
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"

SWAP = ["INSERT operations", "INSERT outputs", "UPDATE outputs"]
MINT = ["INSERT operations", "INSERT items", "INSERT outputs"]
REPLAY = ["INSERT operations", "SELECT operations"]

FINDING = {"SELECT outputs", "UPDATE outputs", "SELECT offer_outputs"}
# How a plan is asked for, and its lines that read not by item and digest. PostgreSQL
# might look for them in all of an index that begins with the offer.
EXPLAIN = {True: "EXPLAIN QUERY PLAN", False: "EXPLAIN"}
SCANS = {
    True: r"SCAN|SEARCH (?!.*\(item_id=. AND digest=.\)$)",
    False: r"Seq Scan|Index Cond(?!.*item_id.*digest)|offer_outputs_pkey",
}


@pytest.fixture
def settings(settings):
    """The costs of the two classes differ, so that a count tells them apart."""
    return settings | {"DEEDS_ARGON2": "m=16,t=1,p=1"}


def steps(log):
    """Return the names of what was sent; one alone for one statement in a row.

    SQLite is asked for each row that is looked up apart.
    """
    return [name for name, _ in groupby(log.names)]


def test_outputs_are_found_by_item_and_digest_and_never_by_a_scan(api, ledger):
    item = api.mint("+1.a")
    with logged_statements() as log:
        api.swap(f"+1.{item}.a", f"+1.{item}.b")
        api.swap(f"+1.{item}.a", f"+1.{item}.c")
        api.check(f"+1.{item}.a", f"+1.{item}.b")
        api.are_offered(fresh(1, item))

    found = [each for each in log.sent if each.name in FINDING]
    assert {each.name for each in found} == FINDING
    with connected(ledger.url) as connection:
        if not ledger.is_sqlite:
            # So small a table it would read as a whole.
            connection.execute("SET enable_seqscan = off")
        for statement in found:
            # The first of several rows.
            values = statement.values
            values = values[0] if isinstance(values, list) else values
            sql = f"{EXPLAIN[ledger.is_sqlite]} {statement.sql}"
            lines = [row[-1] for row in connection.execute(sql, values)]
            scans = SCANS[ledger.is_sqlite]
            assert [each for each in lines if re.search(scans, each)] == []


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("key", [None, KEY, "of words"])
def test_statements_are_as_many_whatever_the_size_and_a_swaps_key_costs_none(
    api, count, key
):
    with logged_statements() as minting:
        item = api.mint(*(f"+1.{number}" for number in range(count)), key=key)
    with logged_statements() as swapping:
        api.swap(
            [f"+1.{item}.{number}" for number in range(count)],
            [f"+1.{item}.new {number}" for number in range(count)],
            key and f"{key[:-1]}0",
        )
    with logged_statements() as swapping_again:
        api.swap(f"+1.{item}.new 0", f"+1.{item}.newer")

    # The item that a key has minted is looked up.
    looked_up = ["SELECT items"] if key else []
    assert (minting.names, minting.commits_count) == ([*looked_up, *MINT], 1)
    assert (swapping.names, swapping.commits_count) == (["SELECT items", *SWAP], 1)
    # The process remembers the item.
    assert swapping_again.names == SWAP


def test_a_completion_costs_a_statement_more_and_hashes_one_half(api, hash_costs):
    item, wanted = api.mint(f"+5.{SECRETS[0]}"), api.mint("+2.a", "+1.b")
    offer_id = api.offer_id(f"+5.{item}.{SECRETS[0]}", f"+2.{wanted}.{SECRETS[1]}")
    hash_costs.clear()

    with logged_statements() as completing:
        api.complete(offer_id, f"+2.{wanted}.a", f"+5.{item}.{SECRETS[2]}")

    expected = ["SELECT offer_inputs", SWAP[0], "UPDATE offers", *SWAP[1:]]
    assert (steps(completing), completing.commits_count) == (expected, 1)
    assert hash_costs == [ORDINARY, STRONG]


def test_a_replay_writes_no_row(api):
    item = api.mint("+5.a", key=KEY)
    api.swap(f"+5.{item}.a", f"+5.{item}.b", "of words")

    with logged_statements() as minting:
        minted = api.send_mint("+5.a", key=KEY)
    with logged_statements() as swapping:
        swapped = api.swap(f"+5.{item}.a", f"+5.{item}.b", "of words")

    assert replayed(minted)["itemId"] == item
    replayed(swapped)
    assert minting.names == ["SELECT items", *REPLAY]
    assert swapping.names == REPLAY


@on_sqlite
def test_what_was_committed_is_answered_without_the_database(api, ledger):
    item = api.mint("+5.a")
    api.check(f"+5.{item}.a")
    requests = [
        lambda: api.send_mint("+5.a", key="key"),
        lambda: api.swap(f"+5.{item}.a", f"+5.{item}.b", "other"),
        lambda: api.offer([], fresh(5, item), "third"),
    ]
    commits = []

    def break_off_afterwards(connection, *_):
        if commits:
            break_off(connection)

    with (
        hooked("after commit", lambda *_: commits.append(1)),
        hooked("before statement", break_off_afterwards),
    ):
        for send in requests:
            commits.clear()
            good(send())


def test_a_check_reads_twice_and_an_item_once(api):
    item = api.mint("+1.a", "+2.b")
    with logged_statements() as checking:
        api.check(f"+1.{item}.a", f"+2.{item}.b")
    with logged_statements() as reading:
        api.get(f"/v1/item/{item}")

    assert steps(checking) == ["SELECT items", "SELECT outputs"]
    assert reading.names == ["SELECT items"]
    assert checking.commits_count == reading.commits_count == 0


WORDS = "a key that would be hashed"


@pytest.mark.parametrize(
    ("code", "key", "inputs", "outputs"),
    [
        ("invalid_request", WORDS, "+0.{0}.a", "+5.{0}.b"),
        ("invalid_request", WORDS, "+5.{0}.a " * 257, "+5.{0}.b"),
        ("unbalanced", WORDS, "+5.{0}.a", "+4.{0}.b"),
        ("duplicate_input", WORDS, "+5.{0}.a +5.{0}.a", "+10.{0}.b"),
        ("duplicate_secret", WORDS, "+5.{0}.a", "+5.{0}.a"),
        # What is looked for in the ledger is looked for after the key.
        ("unknown_item", None, "+5.{1}.a", "+5.{1}.b"),
        ("unknown_item", None, "+5.{0}.a +5.{1}.a", "+5.{0}.b +5.{1}.b"),
    ],
)
def test_a_swap_that_can_be_refused_without_hashing_is(
    api, hash_costs, code, key, inputs, outputs
):
    ids = api.mint("+5.a"), NOWHERE
    hash_costs.clear()

    refused = api.swap(inputs.format(*ids).split(), outputs.format(*ids).split(), key)

    assert refusal(refused)[:2] == (400, code)
    assert hash_costs == []


@pytest.mark.parametrize(
    ("code", "outputs"),
    [
        ("invalid_request", ["+1.a", "+0.b"]),
        ("duplicate_secret", ["+1.a", "+1.a"]),
        ("total_too_large", ["+1.a", "+9007199254740991.b"]),
    ],
)
def test_a_mint_that_can_be_refused_without_hashing_is(api, hash_costs, code, outputs):
    refused = api.send_mint(*outputs, key=WORDS)

    assert refusal(refused)[:2] == (400, code)
    assert hash_costs == []


@pytest.mark.parametrize(
    ("guess", "cost"),
    [("guess", ORDINARY), (SECRETS[1], STRONG)],
    ids=["ordinary", "strong"],
)
def test_a_guess_is_hashed_once_and_only_for_an_item(api, hash_costs, guess, cost):
    item = api.mint("+5.a", f"+5.{SECRETS[0]}")
    hash_costs.clear()

    api.check(f"+5.{NOWHERE}.{guess}", f"+5.{item}.{guess}")

    assert hash_costs == [cost]


def test_a_mint_under_a_new_policy_sends_two_statements_more(api, open_api):
    api.mint("+5.a")
    changed = open_api(DEEDS_ARGON2="m=24,t=1,p=1")

    with logged_statements() as minting:
        changed.mint("+5.a")
    with logged_statements() as minting_again:
        changed.mint("+5.a")

    added = [*MINT[:2], "INSERT hash_policies", *MINT[1:]]
    assert (minting.names, minting.commits_count) == (added, 1)
    assert minting_again.names == MINT
