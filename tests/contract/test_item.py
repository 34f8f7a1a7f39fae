"""GET /v1/item/{id} (contract 4.3)."""

import pytest

from tests.support.api import good

FOREVER = "public, max-age=31536000, immutable"

# In place of an id; {0} stands for that of an item, {1} for it in capitals.
NO_ITEMS = {
    "no such item": "deed_" + "0" * 26,
    "prefix": "deed_",
    "too long": "deed_" + "0" * 27,
    "NUL": "deed_" + "0" * 26 + "%00",
    "no UTF-8": "%ff%fe",
    "emoji": "%F0%9F%8F%A1",
    "SQL": "' OR 1=1 --",
    "very long": "x" * 4000,
    "upper case": "{1}",
    "blank before": " {0}",
    "blank after": "{0} ",
}


@pytest.fixture
def item_id(shared_api):
    return shared_api.mint("+5.a", "+3.b", metadata={"name": "Haus é"})


def test_an_item_is_read_with_its_metadata(shared_api, item_id):
    answer = shared_api.get(f"/v1/item/{item_id}")

    metadata = '{"name":"Haus é"}'
    assert good(answer) == {"id": item_id, "total": 8, "metadata": metadata}


def test_an_item_has_an_etag_of_its_own_that_no_swap_changes(shared_api, item_id):
    path = f"/v1/item/{item_id}"
    before = shared_api.get(path)

    shared_api.swap(f"+5.{item_id}.a", [f"+1.{item_id}.c", f"+4.{item_id}.d"])

    after = shared_api.get(path)
    other = shared_api.get(f"/v1/item/{shared_api.mint('+8.a')}")
    assert after.content == before.content
    assert after.headers["ETag"] == before.headers["ETag"] != other.headers["ETag"]


@pytest.mark.parametrize("form", ["{}", '"other", {}', "W/{}", "*"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_known_item_is_not_sent_again(shared_api, item_id, method, form):
    path = f"/v1/item/{item_id}"
    etag = shared_api.get(path).headers["ETag"]
    known = {"If-None-Match": form.format(etag)}

    answer = shared_api.http.request(method, path, headers=known)

    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["ETag"] == etag
    assert answer.headers["Cache-Control"] == FOREVER


@pytest.mark.parametrize("known", ['"other"', "no-quotes", '"', "é"])
def test_an_item_of_another_etag_is_sent(shared_app, item_id, known):
    client = shared_app.test_client()

    answer = client.get(f"/v1/item/{item_id}", headers={"If-None-Match": known})

    assert (answer.status_code, answer.json["total"]) == (200, 8)


@pytest.mark.parametrize("text", NO_ITEMS.values(), ids=NO_ITEMS)
def test_no_other_id_finds_an_item_and_no_refusal_is_kept(shared_app, item_id, text):
    path = "/v1/item/" + text.format(item_id, item_id.upper())
    client = shared_app.test_client()
    known = {"If-None-Match": "*"}

    answers = [
        client.get(path),
        client.get(path, headers=known),
        client.head(path, headers=known),
    ]

    assert answers[0].json["code"] == "item_not_found"
    for answer in answers:
        assert answer.status_code == 404
        assert answer.headers["Cache-Control"] == "no-store"
        assert "ETag" not in answer.headers
