"""GET /item/{id} and /claim/{id}.

What the pages of a deed say, and that metadata stays text.
"""

import json
from datetime import datetime

import pytest

from deeds.model import Item
from parts.pages.card import TEXT_LENGTH_MAX, DeedCard, deed_card
from tests.page.hostile_metadata import IMAGES
from tests.page.html import preview, read_page
from tests.support.serving import REPOSITORY
from tests.support.ways_to_fail import no_database

ID = f"deed_{26 * '0'}"
PATTERNS = json.loads((REPOSITORY / "tests/vectors/patterns.json").read_text())
UNKNOWN = [ID, "<b>%00", "deed_" + "a" * 3000]
SHED = {
    "name": "A share in the shed",
    "description": "One of a hundred.\nWith a key.",
    "image": "https://example.net/shed.png",
}
# What a link to SHED shows where it is pasted.
PREVIEW = {
    "og:description": "One of a hundred. With a key.",
    "og:image": SHED["image"],
    "og:site_name": "Deeds",
    "og:title": "A share in the shed",
    "og:type": "website",
    "twitter:card": "summary_large_image",
    "twitter:description": "One of a hundred. With a key.",
    "twitter:image": SHED["image"],
    "twitter:title": "A share in the shed",
}
NO_NAME = "A deed without a name"
NOT_NOW = "We can't show this deed right now"


def card_of(**metadata):
    return deed_card(Item(ID, 5, json.dumps(metadata)))


def test_a_deed_is_shown_and_its_link_unfolds_with_title_and_picture(api):
    item_id = api.mint("+40.a", "+2.b", metadata=SHED)

    page = read_page(api.get(f"/item/{item_id}"))

    assert page.findtext(".//title") == "A share in the shed · Deeds"
    assert page.findtext(".//h1") == SHED["name"]
    assert page.findtext(".//p[@data-card='description']") == SHED["description"]
    assert page.findtext(".//strong[@data-card='units']") == "42 units"
    assert page.findtext(".//code[@id='item-id']") == item_id
    picture = page.find(".//img[@data-card='image']")
    assert picture.get("src") == SHED["image"]
    assert picture.get("referrerpolicy") == "no-referrer"
    address = f"http://localhost/item/{item_id}"
    assert page.find(".//link[@rel='canonical']").get("href") == address
    assert preview(page) == PREVIEW | {"og:url": address}


def test_a_deed_without_a_name_or_a_picture_for_browsers_is_shown(api):
    item_id = api.mint("+42.a", metadata={"image": "ipfs://bafybei/x.png"})

    page = read_page(api.get(f"/item/{item_id}"))

    assert page.findtext(".//h1") == NO_NAME
    assert page.find(".//img[@data-card='image']") is None
    assert page.findtext(".//p[@class='code']") == "ipfs://bafybei/x.png"
    assert preview(page)["og:description"] == "42 units in all."


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_no_browser_is_given_an_address_of_another_scheme(image):
    card = card_of(image=image)

    assert card.shown_image == ""
    assert card.preview_image("http://a") == ""


@pytest.mark.parametrize("metadata", [None, "{}", '{"description": " \\n"}'])
def test_metadata_without_texts_shows_nothing(metadata):
    card = deed_card(Item(ID, 5, metadata))

    assert card == DeedCard(ID, 5)
    assert card.title == NO_NAME


def test_characters_that_turn_the_direction_or_are_not_seen_are_left_out():
    card = card_of(name="\u202ea\u2067b\u200f", description="\u2800\u3164\u200b")

    assert card == DeedCard(ID, 5, "ab")


ABOUT = json.loads((REPOSITORY / "tests/page/about.json").read_text())


@pytest.mark.parametrize("example", ABOUT, ids=range(len(ABOUT)))
def test_a_description_says_what_the_scripts_of_the_page_read_in_it(example):
    is_text = len(example) == 1
    said = {"text": example["description"] if is_text else ""} | example
    date, valid_until = (
        time and datetime.fromisoformat(time)
        for time in (said.get("date"), said.get("validUntil"))
    )

    card = card_of(description=example["description"])

    about = (card.description, card.date, card.place, card.valid_until, card.unit)
    assert about == (
        said["text"],
        date,
        said.get("place", ""),
        valid_until,
        said.get("unit", ""),
    )


def test_titles_and_summaries_are_one_short_line():
    card = card_of(name="a \n b" * 100, description="c\t\r\nd" * 200)

    assert card.title == f"{('a b' * 100)[:99]}…"
    assert card.summary == f"{('c d' * 200)[:199].rstrip()}…"


@pytest.mark.parametrize(
    "metadata",
    [
        {"description": "<" * 1_048_000},
        {"image": f"data:image/svg+xml,{'&' * 1_048_000}"},
    ],
    ids=["description", "image"],
)
def test_a_page_of_the_longest_metadata_is_short_and_says_where_more_is(api, metadata):
    item_id = api.mint("+1.a", metadata=metadata)

    page = api.get(f"/item/{item_id}")

    links = read_page(page).findall(f".//a[@href='/v1/item/{item_id}']")
    assert len(links) == 2
    assert len(page.content) < 65_536


def test_a_text_as_long_as_is_shown_is_whole_and_a_longer_one_is_cut():
    name, image = "a" * TEXT_LENGTH_MAX, f"ar:{'b' * (TEXT_LENGTH_MAX - 3)}"
    picture = f"data:image/png;base64,{name}"

    assert card_of(name=name, image=image) == DeedCard(ID, 5, name=name, image=image)
    assert card_of(image=picture) == DeedCard(ID, 5, image=picture)
    assert card_of(name=name + "a") == DeedCard(ID, 5, name=name, is_cut=True)


@pytest.mark.parametrize("vector", PATTERNS, ids=lambda vector: vector["itemId"])
def test_the_pattern_has_a_column_for_each_letter_behind_the_first_four(vector):
    ground, dark, light = DeedCard(vector["itemId"], 1).pattern

    assert ground == (f"oklch(0.4 0.085 {vector['hue']})", "M0 0h8v5H0z")
    assert dark[0] == f"oklch(0.55 0.105 {vector['hue']})"
    assert light[0] == f"oklch(0.82 0.115 {vector['lightHue']})"
    cells = [(x, y) for x in range(8) for y in range(5)]
    of_0 = [(x + 1, y) for x, y in cells if vector["rows"][y][x] == "0"]
    of_1 = [(x, y) for x, y in cells if vector["rows"][y][x] == "1"]
    assert dark[1] == "".join(f"M{x} {y}a1 1 0 0 0-1 1 1 1 0 0 0 1-1" for x, y in of_0)
    assert light[1] == "".join(f"M{x} {y}a1 1 0 0 1 1 1 1 1 0 0 1-1-1" for x, y in of_1)


def test_a_total_is_written_as_the_scripts_of_the_page_write_it():
    most = "9\u202f007\u202f199\u202f254\u202f740\u202f991 units"

    assert DeedCard(ID, 1).units == "1 unit"
    assert DeedCard(ID, 2**53 - 1).units == most
    assert DeedCard(ID, 1, unit="ticket").units == "1 ticket"
    assert DeedCard(ID, 25, unit="ticket").units == "25 \xd7 ticket"
    assert DeedCard(ID, 25, unit="ticket/tickets").units == "25 tickets"
    assert DeedCard(ID, 25, unit="€").units == "25 €"


def test_a_claim_link_unfolds_as_the_deed_and_names_no_address(api):
    item_id = api.mint("+42.a", metadata=SHED)

    page = read_page(api.get(f"/claim/{item_id}"))

    assert page.find(".//body").get("data-page") == "claim"
    assert page.find(".//meta[@name='robots']").get("content") == "noindex"
    assert page.find(".//link[@rel='canonical']") is None
    # Whoever has the address of the page lacks the secret.
    assert preview(page) == PREVIEW


def test_a_preview_says_when_and_where_before_all_else(api):
    description = (
        "Bring a blanket.\n\nDate: 2125-11-28 20:00 +01:00\nPlace: Moonlight Club"
    )
    item_id = api.mint("+1.a", metadata={"description": description})

    page = api.get(f"/claim/{item_id}", **{"Accept-Language": "en-GB"})

    said = preview(read_page(page))["og:description"]
    assert said == "Wed, 28 Nov 2125 · 20:00 · Moonlight Club · Bring a blanket."


@pytest.mark.parametrize("item_id", UNKNOWN)
def test_the_pages_of_an_unknown_deed_say_so_and_do_not_repeat_its_id(api, item_id):
    item, claim = api.get(f"/item/{item_id}"), api.get(f"/claim/{item_id}")

    assert item.status_code == 404
    assert read_page(item).findtext(".//h1") == "There is no such deed here"
    assert item_id not in item.text
    assert claim.status_code == 200
    assert claim.text == api.get("/claim").text


def test_while_the_database_is_away_a_deed_says_so_and_can_be_claimed(api):
    with no_database():
        item, claim = api.get(f"/item/{ID}"), api.get(f"/claim/{ID}")

    assert item.status_code == 503
    assert item.headers["Cache-Control"] == "no-store"
    assert read_page(item).findtext(".//h1") == NOT_NOW
    assert claim.status_code == 200
    assert claim.text == api.get("/claim").text


def test_pages_and_the_interface_count_together_where_items_are_limited(limited):
    api = limited("item=3/day")
    item_id = api.mint("+1.a")
    paths = [f"/item/{item_id}", f"/v1/item/{item_id}", f"/claim/{item_id}"]

    answers = [api.get(path) for path in paths * 2]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429, 200]
    assert read_page(answers[3]).findtext(".//h1") == NOT_NOW
    assert answers[5].text == api.get("/claim").text
