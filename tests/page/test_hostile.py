"""What strangers put into the metadata of a deed does no harm on any page."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.page.hostile_metadata import ACCEPTED_IMAGES, IMAGES, TEXTS
from tests.page.steps import (
    mint_outputs,
    open_deed,
    paste,
    press,
    put,
    raws,
    send,
    wait_for_rows,
)
from tests.page.visitor import ALL_CAME, wait_for_true

pytestmark = pytest.mark.slow

# All texts of TEXTS. By itself is what fills a place, and what ends an attribute:
# titles are cut.
ALONE = [
    "one long word",
    "many lines",
    "end of attribute",
    "attribute",
    "single quotes",
]
NAMES = [
    "\n".join(text for key, text in TEXTS.items() if key not in ALONE),
    *(TEXTS[key] for key in ALONE),
]
# Without what turns the direction of writing: a name would look like another.
SEEN = [re.sub("[\u202e\u2066\u2069]", "", name) for name in NAMES]

# Where the pictures that a mint takes are; nothing listens there.
NOWHERE = "https://127.0.0.1:9/"
PICTURES = [*ACCEPTED_IMAGES.values(), NOWHERE, NOWHERE]
HOSTILE = [
    {"name": text, "description": text, "image": image}
    for text, image in zip(NAMES, PICTURES, strict=True)
]
STRANGERS = "[window.harmed, document.querySelectorAll('iframe, base').length]"


def assert_unharmed(visitor, path):
    """Nothing ran, and nothing but pictures that a mint takes was asked for."""
    page = visitor.page
    assert page.evaluate(STRANGERS) == [None, 0]
    assert page.url == f"{visitor.origin}{path}"
    assert page.evaluate("watched.violations") == []
    foreign = visitor.foreign_requests()
    assert [url for url in foreign if not url.startswith(NOWHERE)] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def sources_of(page):
    pictures = page.locator("main [data-card=image][src]")
    return pictures.evaluate_all("all => all.map((each) => each.getAttribute('src'))")


def test_what_a_mint_takes_is_shown_as_it_is_where_it_is_claimed_and_kept(visitor):
    own = f"{visitor.origin}/item/deed_x/picture"
    metadata = [*HOSTILE, {"name": "a", "image": own}]
    sent = [mint_outputs(visitor.api, "s", metadata=each)[0] for each in metadata]
    page = visitor.go("/claim")
    names = page.locator("main [data-card=name]")
    descriptions = page.locator("main [data-card=description]:not(:empty)")

    paste(page, "\n".join(sent))
    wait_for_rows(page, *["free"] * len(sent))
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    wait_for_true(page, ALL_CAME)
    assert names.all_text_contents() == [*SEEN, "a"]
    # Those of other hosts are loaded after a tap.
    inline = [each for each in PICTURES if each.startswith("data:")]
    assert sources_of(page) == [*inline, own]
    assert descriptions.all_text_contents() == SEEN
    press(page, f"Claim all {len(sent)}")
    page.get_by_role("heading", name=f"{len(sent)} are yours now").wait_for()
    wait_for_rows(page, *["taken"] * len(sent))
    assert_unharmed(visitor, "/claim")
    visitor.go("/wallet")
    expect(page.locator("[data-row]")).to_have_count(len(sent))
    assert {*names.all_text_contents()} == {*SEEN, "a"}
    assert_unharmed(visitor, "/wallet")
    deed = sent[2].split(".")[1]
    open_deed(page, deed)
    # A description of 500 lines is below what can be done.
    expect(page.get_by_role("button", name="Send")).to_be_in_viewport(ratio=1)
    expect(send(page, "1").get_by_role("button", name="Done")).to_be_visible()
    assert len(raws(page, "given")) == 1
    assert_unharmed(visitor, f"/wallet#{deed}")


def test_pictures_that_no_mint_takes_are_not_asked_for(visitor):
    # As a ledger of another maker could answer.
    held = {"amount": 1, "secret": "a", "state": "held", "createdAt": 1, "changedAt": 1}
    items, outputs = [], []
    for place, image in enumerate(IMAGES.values()):
        item_id = f"deed_{place}"
        metadata = json.dumps({"image": image})
        items.append({"key": item_id, "id": item_id, "total": 1, "metadata": metadata})
        outputs.append(held | {"key": f"{item_id}.a", "itemId": item_id})
    page = visitor.go("/wallet")

    put(page, "items", items)
    put(page, "outputs", outputs)

    expect(page.locator("[data-row]")).to_have_count(len(items))
    assert sources_of(page) == []
    assert_unharmed(visitor, "/wallet")
    open_deed(page, "deed_0")
    note = f"Browsers can't show this picture: {IMAGES['javascript']}"
    assert page.locator("main [data-card=image-note]").all_text_contents() == [note]


@pytest.mark.parametrize(
    ("metadata", "seen"),
    list(zip(HOSTILE, SEEN, strict=True)),
    ids=["several", *ALONE],
)
def test_hostile_metadata_stays_in_its_places_on_the_page_of_a_deed(
    visitor, metadata, seen
):
    path = f"/item/{visitor.api.mint('+1.a', metadata=metadata)}"

    page = visitor.go(path)

    assert_unharmed(visitor, path)
    # NUL is the one character that no page can hold.
    shown = seen.replace("\0", "")
    assert page.locator("h1").text_content() == shown
    assert page.locator("[data-card=description]").text_content() == shown
    assert sources_of(page) == [metadata["image"]]
