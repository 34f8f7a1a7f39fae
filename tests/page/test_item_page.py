"""GET /item/{id} and /claim/{id}.

What the pages of a deed say, and that metadata stays text.
"""

import json
from dataclasses import replace

import pytest

from deeds.domain.model import Item
from deeds.page.card import TEXT_LENGTH_MAX, DeedCard, deed_card
from deeds.settings import parse_rate_limits
from tests.page.html import Html
from tests.support.hostile_metadata import IMAGES
from tests.support.requests import post
from tests.support.ways_to_fail import Ground, lose_the_database

ID = f"deed_{26 * '0'}"
SHED = {
    "name": "A share in the shed",
    "description": "One of a hundred.\nWith a key.",
    "image": "https://example.net/shed.png",
}


def mint_with(client, metadata):
    answer = post(
        client, "/v1/mint", {"outputs": ["+40.a", "+2.b"], "metadata": metadata}
    )
    assert answer.status_code == 200, answer.text
    return answer.get_json()["itemId"]


def read(client, item_id, path="/item"):
    answer = client.get(f"{path}/{item_id}")
    assert (answer.status_code, answer.content_type) == (
        200,
        "text/html; charset=utf-8",
    )
    return Html(answer.text)


# What a link to SHED shows where it is pasted, in order of names.
PREVIEWED = [
    ("og:description", "One of a hundred. With a key."),
    ("og:image", SHED["image"]),
    ("og:site_name", "Deeds"),
    ("og:title", "A share in the shed"),
    ("og:type", "website"),
    ("twitter:card", "summary_large_image"),
    ("twitter:description", "One of a hundred. With a key."),
    ("twitter:image", SHED["image"]),
    ("twitter:title", "A share in the shed"),
]


def previewed(page):
    """Return what the page says of itself to those who show a link to it, by name."""
    metas = [
        element.attributes
        for element in page.all("meta")
        if "content" in element.attributes
    ]
    found = [
        (meta.get("property", meta.get("name")), meta["content"]) for meta in metas
    ]
    return sorted(pair for pair in found if pair[0].startswith(("og:", "twitter:")))


def card_of(**metadata):
    return deed_card(Item(ID, 5, json.dumps(metadata)))


def test_a_deed_is_shown_and_its_link_unfolds_with_title_and_picture(client):
    item_id = mint_with(client, SHED)

    page = read(client, item_id)

    assert page.one("title").text == "A share in the shed · Deeds"
    assert page.one("h1").text == SHED["name"]
    assert page.one("p", data_card="description").text == SHED["description"]
    assert page.one("strong", data_card="units").text == "42 units"
    assert page.one("code", id="item-id").text == item_id
    picture = page.one("img", data_card="image", src=SHED["image"]).attributes
    assert (picture["referrerpolicy"], picture["loading"]) == ("no-referrer", "lazy")
    address = f"http://localhost/item/{item_id}"
    assert page.one("link", rel="canonical").attributes["href"] == address
    assert previewed(page) == sorted([*PREVIEWED, ("og:url", address)])


def test_a_deed_without_a_name_whose_picture_no_browser_can_show_is_shown_all_the_same(
    client,
):
    page = read(client, mint_with(client, {"image": "ipfs://bafybei/x.png"}))

    assert page.one("h1").text == "A deed without a name"
    assert (
        page.all("img", data_card="image") + page.all("p", data_card="description")
        == []
    )
    assert [each.text for each in page.all("p", class_="code")] == [
        "ipfs://bafybei/x.png"
    ]
    assert ("og:description", "A deed of 42 units.") in previewed(page)
    assert "ipfs:" not in str(previewed(page))


def test_no_browser_is_given_an_address_of_another_scheme():
    cards = [card_of(image=image) for image in IMAGES.values()]

    assert {(card.shown_image, card.preview_image("http://a")) for card in cards} == {
        ("", "")
    }


def test_metadata_of_another_form_shows_nothing():
    members = '{"name": 5, "image": [], "description": " \\n"}'

    for metadata in ["", "{", "null", "[]", '"text"', "[" * 100_000, members]:
        card = deed_card(Item(ID, 5, metadata))
        assert (card, card.title) == (DeedCard(ID, 5), "A deed without a name")


def test_what_turns_the_direction_of_writing_and_what_nothing_is_seen_of_is_left_out():
    card = card_of(name="\u202ea\u2067b\u200f", description="\u2800\u3164\u200b")

    assert card == DeedCard(ID, 5, "ab")


def test_titles_and_summaries_are_one_short_line():
    card = card_of(name="a \n b" * 100, description="c\t\r\nd" * 200)

    assert card.title == f"{('a b' * 100)[:99]}…"
    assert card.summary == f"{('c d' * 200)[:199].rstrip()}…"


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a b " * 262_000},
        {"description": "<" * 1_048_000},
        {"image": f"https://example.net/{'&' * 1_048_000}"},
        {"image": f"data:image/svg+xml,{'&' * 1_048_000}"},
    ],
)
def test_a_page_of_the_longest_metadata_is_short_and_says_where_there_is_more(
    client, metadata
):
    item_id = mint_with(client, metadata)

    page = client.get(f"/item/{item_id}")

    [more, _same] = Html(page.text).all("a", href=f"/v1/item/{item_id}")
    assert more.text == f"/v1/item/{item_id}"
    assert len(page.data) < 65_536


def test_a_picture_as_large_as_a_body_is_in_the_page_once(client):
    image = f"data:image/png;base64,{'A' * 1_048_000}"

    page = client.get(f"/item/{mint_with(client, {'name': 'a', 'image': image})}")

    assert Html(page.text).one("img", data_card="image").attributes["src"] == image
    assert len(page.data) < len(image) + 65_536


def test_a_text_as_long_as_is_shown_is_whole_and_a_longer_one_is_cut():
    whole = {
        "name": "a" * TEXT_LENGTH_MAX,
        "image": f"ar:{'b' * (TEXT_LENGTH_MAX - 3)}",
    }

    assert card_of(**whole) == DeedCard(ID, 5, **whole)
    assert card_of(name=whole["name"] + "a") == DeedCard(
        ID, 5, name=whole["name"], is_cut=True
    )


def test_a_total_is_written_as_the_scripts_of_the_page_write_it():
    texts = [DeedCard(ID, total).units for total in (1, 999, 9_007_199_254_740_991)]

    assert texts == [
        "1 unit",
        "999 units",
        "9\u202f007\u202f199\u202f254\u202f740\u202f991 units",
    ]


def test_a_claim_link_unfolds_as_the_deed_and_names_no_address_that_lacks_its_secret(
    client,
):
    page = read(client, mint_with(client, SHED), "/claim")

    assert page.one("body").attributes["data-page"] == "claim"
    assert page.one("meta", name="robots").attributes["content"] == "noindex"
    assert page.all("link", rel="canonical") == []
    assert previewed(page) == PREVIEWED


def assert_plain_claim_page(client, item_id):
    answer = client.get(f"/claim/{item_id}")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.text == client.get("/claim").text


@pytest.mark.parametrize("item_id", [ID, "<b>", "%00", "deed_" + "a" * 3000])
def test_a_claim_link_of_an_unknown_deed_opens_the_claim_page_that_says_so(
    client, item_id
):
    assert_plain_claim_page(client, item_id)


@pytest.mark.parametrize("item_id", [ID, "<b>", "%00", "deed_" + "a" * 3000])
def test_an_unknown_deed_is_a_page_that_nobody_keeps(client, item_id):
    answer = client.get(f"/item/{item_id}")

    assert (answer.status_code, answer.content_type) == (
        404,
        "text/html; charset=utf-8",
    )
    assert answer.headers["Cache-Control"] == "no-store"
    assert "ETag" not in answer.headers
    assert Html(answer.text).one("h1").text == "There is no such deed here"
    assert item_id not in answer.text


def test_while_the_database_is_away_a_deed_says_so_and_the_claim_page_can_be_used(
    client, settings, open_app, monkeypatch
):
    def ask_for_pages(ground, *_):
        assert_plain_claim_page(ground.client, ID)
        return ground.client.get(f"/item/{ID}")

    monkeypatch.setattr(Ground, "post", ask_for_pages)

    answer = lose_the_database(Ground(client, ID, settings, open_app, monkeypatch))

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.headers["Cache-Control"] == "no-store"
    assert Html(answer.text).one("h1").text == "The deed cannot be shown just now"


def test_pages_and_the_interface_count_together_where_items_are_limited(
    settings, open_app
):
    limited = replace(settings, rate_limits=parse_rate_limits("item=3/day"))
    client = open_app(limited).test_client()
    item_id = mint_with(client, SHED)
    paths = [f"/item/{item_id}", f"/v1/item/{item_id}", f"/claim/{item_id}"]

    answers = [client.get(path) for path in paths * 2]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429, 200]
    assert Html(answers[3].text).one("h1").text == "The deed cannot be shown just now"
    assert_plain_claim_page(client, item_id)
