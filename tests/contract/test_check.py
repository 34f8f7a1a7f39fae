"""POST /v1/check (contract part 2).

What its body may hold is in test_request_schemas.py.
"""

from deeds.domain.raw_output import make_strong_secret
from tests.support.requests import check, mint, post, swap


def test_states_come_in_the_order_of_the_request_and_nothing_changes(client, ledger):
    one, other = mint(client, "+5.a", "+3.b"), mint(client, "+7.a")
    swap(client, [f"+5.{one}.a"], [f"+2.{one}.c", f"+3.{one}.d"])
    before = ledger.rows()
    states = {
        f"+5.{one}.a": "spent",
        f"+3.{one}.b": "unspent",
        f"+7.{other}.a": "unspent",
        f"+2.{one}.c": "unspent",
        # Another amount, secret or item.
        f"+3.{one}.a": "unknown",
        f"+3.{one}. b": "unknown",
        f"+3.{one}.b.": "unknown",
        f"+3.{other}.b": "unknown",
        "+5.deed_00000000000000000000000000.a": "unknown",
        "+5.deed_x'--.a": "unknown",
        "+5.deed_é\0.a": "unknown",
    }

    answer = post(client, "/v1/check", {"outputs": [*states, f"+5.{one}.a"]})

    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.get_json() == {"states": [*states.values(), "spent"]}
    assert ledger.rows() == before


def test_strong_and_other_secrets_are_found_side_by_side(client):
    strong, guess = make_strong_secret(), make_strong_secret()
    item_id = mint(client, f"+5.{strong}", "+3.weak")
    secrets = [strong, guess, strong.upper(), "weak"]

    found = check(
        client, f"+3.{item_id}.weak", *(f"+5.{item_id}.{each}" for each in secrets)
    )

    assert found == ["unspent", "unspent", "unknown", "unknown", "unknown"]
