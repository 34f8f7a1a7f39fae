"""GET /v1/item/{id} (contract 4.3)."""

import pytest

from tests.support.requests import mint, post, refusal, swap

FOREVER = "public, max-age=31536000, immutable"
NO_ITEMS = [
    "deed_" + "0" * 26,
    "deed_",
    "deed_" + "0" * 27,
    "deed_" + "0" * 26 + "%00",
    "%ff%fe",
]
NO_ITEMS += ["%F0%9F%8F%A1", "' OR 1=1 --", "x" * 4000]


@pytest.fixture
def item_id(client):
    metadata = {"name": "Haus é"}
    answer = post(
        client, "/v1/mint", {"outputs": ["+5.a", "+3.b"], "metadata": metadata}
    )
    return answer.get_json()["itemId"]


def test_an_item_is_read_with_its_metadata_or_null(client, item_id):
    other = mint(client, "+5.a")

    answer, without = (client.get(f"/v1/item/{each}") for each in (item_id, other))
    head = client.head(f"/v1/item/{item_id}")

    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.get_json() == {
        "id": item_id,
        "total": 8,
        "metadata": '{"name":"Haus é"}',
    }
    assert without.get_json() == {"id": other, "total": 5, "metadata": None}
    assert (head.status_code, head.data) == (200, b"")
    its_own = {"X-Request-ID": ""}
    assert {**head.headers, **its_own} == {**answer.headers, **its_own}


def test_an_item_has_an_etag_of_its_own_and_no_swap_changes_either(client, item_id):
    before = client.get(f"/v1/item/{item_id}")

    swap(client, [f"+5.{item_id}.a"], [f"+1.{item_id}.c", f"+4.{item_id}.d"])
    after, other = (
        client.get(f"/v1/item/{each}") for each in (item_id, mint(client, "+8.a"))
    )

    assert (after.data, after.headers["ETag"]) == (before.data, before.headers["ETag"])
    assert other.headers["ETag"] != before.headers["ETag"]


def test_a_known_item_is_not_sent_again(client, item_id):
    path = f"/v1/item/{item_id}"
    etag = client.get(path).headers["ETag"]

    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        for ask in (client.get, client.head):
            answer = ask(path, headers={"If-None-Match": known})
            assert (answer.status_code, answer.data) == (304, b"")
            assert (answer.headers["ETag"], answer.headers["Cache-Control"]) == (
                etag,
                FOREVER,
            )
    for known in ('"other"', "no-quotes", '"', "é"):
        answer = client.get(path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.get_json()["total"]) == (200, 8)


def test_no_other_id_finds_an_item_and_no_refusal_is_cached(client, item_id):
    known = {"If-None-Match": "*"}

    for other in [*NO_ITEMS, item_id.upper(), f" {item_id}", f"{item_id} "]:
        path = f"/v1/item/{other}"
        answers = [client.get(path), client.get(path, headers=known)]
        assert [refusal(each) for each in answers] == [
            (404, "item_not_found", None)
        ] * 2
        for answer in (*answers, client.head(path, headers=known)):
            assert (answer.status_code, answer.headers["Cache-Control"]) == (
                404,
                "no-store",
            )
            assert "ETag" not in answer.headers
