"""POST /v1/check (contract part 2). What its body may hold is in test_request_schemas.py."""

import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.support.requests import check, mint, post, refusal, swap


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
                f"+5.{one}.nobody",
                f"+2.{one}.c",
                "+5.deed_00000000000000000000000000.a",
                f"+5.{one}.a",
            ]
        },
    )

    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.get_json() == {
        "states": ["spent", "unspent", "unspent", "unknown", "unspent", "unknown", "spent"]
    }
    assert ledger.rows() == before


@pytest.mark.parametrize(
    "raw",
    [
        "+3.{item}.a",
        "+5.{item}. a",
        "+5.{item}.a.",
        "+5.{other}.a",
        "+5.deed_x'--.a",
        "+5.deed_é\0.a",
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


def test_256_outputs_are_checked_at_once_and_no_more_nor_anything_else(client):
    item_id = mint(client, "+1.0")
    raws = [f"+1.{item_id}.{n}" for n in range(257)]

    refused = [post(client, "/v1/check", {"outputs": each}) for each in (raws, [raws[0], "+0"])]

    assert check(client, *raws[:256]) == ["unspent"] + ["unknown"] * 255
    assert [refusal(answer) for answer in refused] == [
        (400, "invalid_request", None),
        (400, "invalid_request", 1),
    ]
