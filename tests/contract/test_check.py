"""POST /v1/check (contract part 2). What its body may hold is in test_request_schemas.py."""

import pytest

from deeds.domain.strong_secret import make_strong_secret
from tests.support.requests import check, mint, post, refusal, swap

NOWHERE = "deed_00000000000000000000000000"


def test_states_come_in_the_order_of_the_request_and_nothing_changes(client, ledger):
    one, other = mint(client, "+5.a", "+3.b"), mint(client, "+7.a")
    swap(client, [f"+5.{one}.a"], [f"+2.{one}.c", f"+3.{one}.d"])
    before = ledger.rows()

    answer = post(
        client,
        "/v1/check",
        {
            "outputs": [
                f"+5.{one}.a",
                f"+3.{one}.b",
                f"+7.{other}.a",
                f"+3.{one}.d",
                f"+5.{one}.nobody",
                f"+2.{one}.c",
                f"+5.{NOWHERE}.a",
                f"+5.{one}.a",
            ]
        },
    )

    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.get_json() == {
        "states": [
            "spent",
            "unspent",
            "unspent",
            "unspent",
            "unknown",
            "unspent",
            "unknown",
            "spent",
        ]
    }
    assert ledger.rows() == before


@pytest.mark.parametrize(
    "raw",
    [
        "+5.{item}.b",
        "+4.{item}.a",
        "+3.{item}.a",
        "+5.{item}. a",
        "+5.{item}.a.",
        "+5.{other}.a",
        "+5.deed_x'--.a",
        "+5.deed_\0.a",
        "+5.deed_é.a",
    ],
)
def test_what_was_never_there_is_unknown(client, raw):
    item, other = mint(client, "+5.a", "+3.c"), mint(client, "+3.a")

    assert check(client, raw.format(item=item, other=other)) == ["unknown"]


def test_strong_and_other_secrets_are_found_side_by_side(client):
    strong, guess = make_strong_secret(), make_strong_secret()
    item_id = mint(client, f"+5.{strong}", "+3.weak")

    states = check(
        client,
        f"+3.{item_id}.weak",
        f"+5.{item_id}.{guess}",
        f"+5.{item_id}.{strong}",
        f"+5.{item_id}.weak",
    )

    assert states == ["unspent", "unknown", "unspent", "unknown"]


@pytest.mark.parametrize(("count", "status"), [(0, 400), (1, 200), (256, 200), (257, 400)])
def test_1_to_256_outputs_are_checked_at_once(client, count, status):
    item_id = mint(client, "+1.0")

    answer = post(client, "/v1/check", {"outputs": [f"+1.{item_id}.{n}" for n in range(count)]})

    assert answer.status_code == status
    if status == 200:
        assert answer.get_json() == {"states": ["unspent"] + ["unknown"] * (count - 1)}


def test_what_is_no_check_request_is_refused(client):
    answer = post(client, "/v1/check", {"outputs": ["+1.deed_x.a", "+0.deed_x.a"]})

    assert refusal(answer) == (400, "invalid_request", 1)
