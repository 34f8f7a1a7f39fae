"""What a request costs: evaluations of Argon2, statements and commits.

Counted, never timed.
"""

from dataclasses import replace

import pytest
from sqlalchemy import text

from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from storage.transactions import WRITES
from tests.support.hooks import logged_statements
from tests.support.requests import check, complete, mint, offer, post, refusal, swap

ORDINARY, STRONG = "m=16,t=1,p=1", "m=8,t=1,p=1"
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
OTHER_KEY = "4a13b9c5-2a0e-4c1b-9b0e-3f0c7e5f9a61"
NOWHERE = "deed_00000000000000000000000000"
SECRETS = [make_strong_secret() for _ in range(3)]

SWAP = ["SELECT items", "INSERT operations", "INSERT outputs", "UPDATE outputs"]
MINT = ["INSERT operations", "INSERT items", "INSERT outputs"]

# Outputs of one unit each, beside the one that the item was minted with.
ADD_OUTPUTS = """
    WITH RECURSIVE counted(number) AS (
        SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < :count
    )
    INSERT INTO outputs (item_id, digest, amount, created_by)
    SELECT item_id, {random_digest}, 1, created_by FROM outputs, counted
    WHERE item_id = :item_id
"""
# So that the books balance again; the mint of the item is the only operation.
COUNT_OUTPUTS = [
    "UPDATE items SET total = 1 + :count WHERE id = :item_id",
    "UPDATE operations SET outputs_count = 1 + :count",
]
RANDOM_DIGESTS = {
    "sqlite": "randomblob(32)",
    "postgresql": "sha256(CAST(CAST(random() AS text) || number AS bytea))",
}


@pytest.fixture
def settings(settings):
    """The costs of the two classes differ, so that a count tells them apart."""
    return replace(settings, ordinary_cost=Argon2Cost(16, 1, 1))


@pytest.fixture
def full_item(client, ledger):
    """An item of 100,001 live outputs, of which the secret of one is known: `+1.a`."""
    item_id = mint(client, "+1.a")
    digest = RANDOM_DIGESTS[ledger.engine.dialect.name]
    values = {"item_id": item_id, "count": 100_000}
    with ledger.engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(text(ADD_OUTPUTS.format(random_digest=digest)), values)
        for statement in COUNT_OUTPUTS:
            connection.execute(text(statement), values)
        if ledger.engine.dialect.name == "postgresql":
            # Else its plans depend on whether autovacuum came by before, while or
            # after.
            connection.execute(text("ANALYZE"))
    return item_id


def test_among_100000_outputs_a_secret_costs_one_evaluation_and_no_scan(
    client, ledger, full_item, hash_costs
):
    other = mint(client, "+7.a")
    inputs = [f"+1.{full_item}.a", f"+7.{other}.a"]
    outputs = [f"+1.{full_item}.b", f"+4.{other}.b", f"+3.{other}.c"]

    costs = [
        hashes_of(hash_costs, lambda: swap(client, inputs, outputs)),
        hashes_of(hash_costs, lambda: swap(client, inputs, outputs)),
        hashes_of(
            hash_costs,
            lambda: check(client, *inputs, *outputs, f"+1.{full_item}.guess"),
        ),
    ]

    assert costs == [[ORDINARY] * 5, [ORDINARY] * 5, [ORDINARY] * 6]
    assert check(client, *inputs, *outputs) == ["spent"] * 2 + ["unspent"] * 3

    with logged_statements() as log:
        swap(client, [f"+1.{full_item}.b"], [f"+1.{full_item}.c"], "key")
        swap(client, [f"+1.{full_item}.b"], [f"+1.{full_item}.d"])
        check(client, *(f"+1.{full_item}.{number}" for number in range(8)))

    assert {each.name for each in log.sent} >= {"SELECT outputs", "UPDATE outputs"}
    with ledger.engine.connect() as connection:
        plans = [
            plan_of(connection, each)
            for each in log.sent
            if each.name.endswith(" outputs")
        ]
    assert [line for plan in plans for line in excesses(plan)] == []


def plan_of(connection, statement):
    """Return the lines of the plan of a statement for its first row."""
    first = statement.parameters
    first = first[0] if isinstance(first, list) else first
    explain = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN"}[
        connection.dialect.name
    ]
    return [
        row[-1]
        for row in connection.exec_driver_sql(f"{explain} {statement.text}", first)
    ]


def excesses(plan):
    """Return the lines of a plan that read outputs not by item and digest."""
    found, scan = [], ""
    for line in plan:
        scan = line if " on " in line else scan
        if line.startswith(("SEARCH outputs", "SCAN")):
            by_key = line == "SEARCH outputs USING PRIMARY KEY (item_id=? AND digest=?)"
        else:
            by_key = "Seq Scan" not in line and (
                "Index Cond" not in line or "digest" in line
            )
        if not by_key:
            found.append(line)
    return found


def hashes_of(hash_costs, request):
    """Return the cost of each evaluation that the request makes."""
    hash_costs.clear()
    request()
    return list(hash_costs)


@pytest.mark.parametrize(
    ("count", "keys", "first"),
    [
        (1, (None, None), []),
        (3, (None, None), []),
        (256, (None, None), []),
        (1, (KEY, OTHER_KEY), ["SELECT operations"]),
        (1, ("of words", "of other words"), ["SELECT operations"]),
    ],
)
def test_statements_are_as_many_whatever_the_size_and_a_key_costs_one(
    client, count, keys, first
):
    with logged_statements() as minting:
        item_id = mint(
            client, *(f"+1.{number}" for number in range(count)), key=keys[0]
        )
    with logged_statements() as swapping:
        swap(
            client,
            [f"+1.{item_id}.{number}" for number in range(count)],
            [f"+1.{item_id}.new {number}" for number in range(count)],
            keys[1],
        )
    with logged_statements() as swapping_again:
        swap(client, [f"+1.{item_id}.new 0"], [f"+1.{item_id}.newer"])

    assert (minting.names, minting.commits_count) == ([*first, *MINT], 1)
    assert (swapping.names, swapping.commits_count) == ([*first, *SWAP], 1)
    # The process remembers the item.
    assert swapping_again.names == SWAP[1:]


def test_a_completion_costs_a_statement_more_and_hashes_one_half(client, hash_costs):
    item_id, wanted = mint(client, f"+5.{SECRETS[0]}"), mint(client, "+2.a", "+1.b")
    half = [f"+5.{item_id}.{SECRETS[0]}"], [f"+2.{wanted}.{SECRETS[1]}"]
    offered = offer(client, *half)
    hash_costs.clear()

    with logged_statements() as completing:
        complete(client, offered, [f"+2.{wanted}.a"], [f"+5.{item_id}.{SECRETS[2]}"])

    expected = ["SELECT offer_inputs", SWAP[1], "UPDATE offers", *SWAP[2:]]
    assert (completing.names, completing.commits_count) == (expected, 1)
    assert hash_costs == [ORDINARY, STRONG]


def test_a_replay_is_known_before_anything_is_written(client):
    item_id = mint(client, "+5.a", key=KEY)
    swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"], OTHER_KEY)

    with logged_statements() as log:
        again = mint(client, "+5.a", key=KEY)
        swapped = swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"], OTHER_KEY)

    assert (again, swapped.headers["Idempotency-Replayed"]) == (item_id, "true")
    assert {name.partition(" ")[0] for name in log.names} == {"SELECT"}


def test_a_check_reads_twice_and_an_item_once(client):
    item_id = mint(client, "+1.a", "+2.b")
    with logged_statements() as checking:
        check(client, f"+1.{item_id}.a", f"+2.{item_id}.b", f"+2.{item_id}.guess")
    with logged_statements() as reading:
        client.get(f"/v1/item/{item_id}")

    assert (checking.names, checking.commits_count) == (
        ["SELECT items", "SELECT outputs"],
        0,
    )
    assert (reading.names, reading.commits_count) == (["SELECT items"], 0)


def test_what_has_not_the_form_of_an_item_id_is_not_looked_for(client):
    with logged_statements() as log:
        read = client.get("/v1/item/deed_x")
        states = check(client, "+1.deed_x.a")
        swapped = swap(client, ["+1.deed_x.a"], ["+1.deed_x.b"])

    assert (read.status_code, states) == (404, ["unknown"])
    assert refusal(swapped) == (400, "unknown_item", 0)
    assert log.names == []


@pytest.mark.parametrize(
    ("inputs", "outputs", "code"),
    [
        (["+0.{0}.a"], ["+5.{0}.b"], "invalid_request"),
        (["+5.{0}.a"] * 257, ["+5.{0}.b"], "invalid_request"),
        (["+5.{0}.a"], ["+4.{0}.b"], "unbalanced"),
        (["+5.{0}.a", "+5.{0}.a"], ["+10.{0}.b"], "duplicate_input"),
        (["+5.{0}.a"], ["+5.{0}.a"], "duplicate_secret"),
        (["+5.{1}.a"], ["+5.{1}.b"], "unknown_item"),
        (["+5.{0}.a", "+5.{1}.a"], ["+5.{0}.b", "+5.{1}.b"], "unknown_item"),
        (None, ["+1.a", "+0.b"], "invalid_request"),
        (None, ["+1.a", "+1.a"], "duplicate_secret"),
        (None, ["+1.a", "+9007199254740991.b"], "total_too_large"),
    ],
)
def test_what_can_be_refused_without_hashing_is(
    client, hash_costs, inputs, outputs, code
):
    item_id = mint(client, "+5.a")
    body = {"outputs": [each.format(item_id, NOWHERE) for each in outputs]}
    if inputs is not None:
        body["inputs"] = [each.format(item_id, NOWHERE) for each in inputs]
    path = "/v1/mint" if inputs is None else "/v1/swap"
    hash_costs.clear()

    # What is looked for in the ledger is looked for after the key.
    keys = [None] if code == "unknown_item" else [None, "a key that would be hashed"]
    answers = [post(client, path, body, key) for key in keys]

    assert {refusal(answer)[:2] for answer in answers} == {(400, code)}
    assert hash_costs == []


@pytest.mark.parametrize(
    ("guess", "costs"), [("guess", [ORDINARY]), (SECRETS[1], [STRONG])]
)
def test_a_guess_is_hashed_once_and_only_for_an_item(client, hash_costs, guess, costs):
    item_id = mint(client, "+5.a", f"+5.{SECRETS[0]}")

    for of_item, expected in ((item_id, costs), (NOWHERE, [])):
        hash_costs.clear()
        check(client, f"+5.{of_item}.{guess}")
        assert hash_costs == expected


def test_a_mint_under_a_new_policy_sends_two_statements_more(client, open_client):
    mint(client, "+5.a")
    changed = open_client({"ordinary_cost": Argon2Cost(24, 1, 1)})

    with logged_statements() as minting:
        mint(changed, "+5.a")
    with logged_statements() as minting_again:
        mint(changed, "+5.a")

    added = [*MINT[:2], "INSERT hash_policies", *MINT[1:]]
    assert (minting.names, minting.commits_count) == (added, 1)
    assert minting_again.names == MINT


def test_a_strong_secret_costs_argon2_at_its_least(client, hash_costs):
    hash_costs.clear()
    item_id = mint(client, f"+5.{SECRETS[0]}")
    raws = [f"+5.{item_id}.{each}" for each in SECRETS]

    assert hash_costs == [STRONG]
    assert (
        hashes_of(hash_costs, lambda: swap(client, raws[:1], raws[1:2])) == [STRONG] * 2
    )
    assert hashes_of(hash_costs, lambda: check(client, *raws)) == [STRONG] * 3
