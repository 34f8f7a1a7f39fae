"""What strangers put into the metadata of a deed does no harm on any page."""

import json
import re

from playwright.sync_api import expect

from tests.page.steps import (
    mint_deed,
    mint_outputs,
    open_deed,
    paste,
    raws,
    send,
    wait_for_rows,
)
from tests.page.visitor import ALL_CAME
from tests.support.hostile_metadata import ACCEPTED_IMAGES, IMAGES, TEXTS
from tests.support.waiting import wait_until

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


def assert_unharmed(visitor, path):
    """Nothing ran, and nothing but pictures that a mint takes was asked for."""
    page = visitor.page
    strangers = "[window.harmed, document.querySelectorAll('iframe, base').length]"
    assert page.evaluate(strangers) == [None, 0]
    assert page.url == f"{visitor.origin}{path}"
    assert visitor.watched("violations") == []
    # Where the pictures that a mint takes are; nothing listens there.
    nowhere = "https://127.0.0.1:9/"
    assert [
        url for url in visitor.foreign_requests() if not url.startswith(nowhere)
    ] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def texts_of(page, name):
    """Return what the cards say in this place, character by character."""
    places = page.locator(f"main [data-card={name}]")
    return places.evaluate_all("all => all.map((each) => each.textContent)")


def sources_of(page):
    pictures = page.locator("main [data-card=image][src]")
    return pictures.evaluate_all("all => all.map((each) => each.getAttribute('src'))")


def test_what_a_mint_takes_is_shown_as_it_is_where_a_deed_is_claimed_and_kept(visitor):
    own = f"{visitor.origin}/item/deed_x/picture"
    pictures = [*ACCEPTED_IMAGES.values(), own]
    metadata = [{"name": text, "description": text} for text in NAMES]
    metadata += [{"name": "a", "image": image} for image in pictures]
    sent = [mint_outputs(visitor.origin, "s", metadata=each)[0] for each in metadata]
    page = visitor.go("/claim")

    paste(page, "\n".join(sent))
    wait_for_rows(page, *["free"] * len(sent))
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    wait_until(lambda: page.evaluate(ALL_CAME))
    names = [*SEEN, *["a"] * len(pictures)]
    # Those of other hosts are loaded after a tap.
    ours = [each for each in pictures if each.startswith(("data:", own))]
    assert (texts_of(page, "name"), sources_of(page)) == (names, ours)
    assert [text for text in texts_of(page, "description") if text] == SEEN
    page.get_by_role("button", name=f"Claim all {len(sent)}").click()
    wait_for_rows(page, *["taken"] * len(sent))
    assert_unharmed(visitor, "/claim")
    visitor.go("/wallet")
    expect(page.locator("[data-row]")).to_have_count(len(sent))
    assert sorted(texts_of(page, "name")) == sorted(names)
    assert_unharmed(visitor, "/wallet")
    deed = sent[1].split(".")[1]
    open_deed(page, deed)
    send(page, "1")
    expect(page.get_by_role("dialog")).to_be_visible()

    assert len(raws(page, "given")) == 1
    assert_unharmed(visitor, f"/wallet#{deed}")


def test_pictures_that_no_mint_takes_are_not_asked_for_wherever_they_come_from(visitor):
    pictures = list(IMAGES.values())
    ids = [f"deed_{place}" for place in range(len(pictures))]
    items = [
        {
            "key": item_id,
            "id": item_id,
            "total": 1,
            "metadata": json.dumps({"image": image}),
        }
        for item_id, image in zip(ids, pictures, strict=True)
    ]
    shared = {
        "amount": 1,
        "secret": "a",
        "state": "held",
        "createdAt": 1,
        "changedAt": 1e300,
    }
    outputs = [{"key": f"{each}.a", "itemId": each} | shared for each in ids]
    page = visitor.go("/wallet")

    # As a ledger of another maker could answer.
    page.evaluate("given => inBrowser.put(given)", ["items", items])
    page.evaluate("given => inBrowser.put(given)", ["outputs", outputs])
    expect(page.locator("[data-row]")).to_have_count(len(ids))

    assert sources_of(page) == []
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#notices")).to_contain_text(
        "Not known to the service: 1 unit of “A deed"
    )
    assert_unharmed(visitor, "/wallet")
    open_deed(page, ids[0])
    assert sources_of(page) == []
    assert texts_of(page, "image-note") == [
        f"Browsers cannot show its picture: {pictures[0]}"
    ]
    expect(page.locator("[data-part=send]:visible")).to_have_count(0)


def shape_of(page):
    """Return the elements of a page, each with the names of its attributes."""
    # What a picture adds for previews, and takes away where it is broken, aside.
    shown = "filter((name) => name !== 'hidden')"
    names = f"[each.tagName, ...each.getAttributeNames()].{shown}"
    return page.locator(":not(meta)").evaluate_all(
        f"all => all.map((each) => {names}.join())"
    )


def test_hostile_texts_and_pictures_stay_in_their_places_on_the_page_of_a_deed(visitor):
    harmless = {"name": "a", "description": "b", "image": "https://127.0.0.1:9/"}
    hostile = [harmless | {"name": text, "description": text} for text in SEEN]
    hostile += [harmless | {"image": image} for image in ACCEPTED_IMAGES.values()]
    shape = shape_of(visitor.go(f"/item/{mint_deed(visitor.origin, harmless)}"))

    for metadata in hostile:
        path = f"/item/{mint_deed(visitor.origin, metadata)}"
        page = visitor.go(path)
        assert_unharmed(visitor, path)
        assert shape_of(page) == shape
        # NUL is the one character that no page can hold.
        assert page.locator("h1").text_content() == metadata["name"].replace("\0", "")
        assert sources_of(page) == [metadata["image"]]
