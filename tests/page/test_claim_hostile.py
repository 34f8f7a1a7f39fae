"""What strangers put into the metadata of a deed does no harm where somebody claims it."""

import json

import pytest

from tests.page.claim_steps import mint, paste, states, wait_for_rows
from tests.page.kept import kept_outputs
from tests.support.hostile_metadata import ACCEPTED_IMAGES, IMAGES, TEXTS


@pytest.fixture
def careful(visitor):
    """A person who notes each dialog that comes up; none should."""
    visitor.dialogs = []

    def note(dialog):
        visitor.dialogs.append(dialog.message)
        dialog.dismiss()

    visitor.page.on("dialog", note)
    return visitor


def assert_unharmed(visitor, *, asked_for=()):
    """Nothing ran, nothing came up, nothing but these pictures was asked for."""
    page = visitor.page
    assert page.evaluate("[window.harmed, document.querySelectorAll('iframe, base').length]") == [
        None,
        0,
    ]
    assert page.url == f"{visitor.origin}/claim"
    assert visitor.dialogs == []
    assert visitor.watched("violations") == []
    assert [url for url in visitor.foreign_requests() if url not in asked_for] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def told(page, name):
    """Return what the rows say in this place, character by character."""
    return page.locator(f".found [data-card={name}]").evaluate_all(
        "all => all.map((each) => each.textContent)"
    )


def test_texts_are_shown_as_they_are_and_nothing_in_them_runs(careful):
    texts = list(TEXTS.values())
    raws = [
        mint(careful.origin, "s", metadata={"name": text, "description": text})[0] for text in texts
    ]
    page = careful.go("/claim")

    paste(page, "\n".join(raws))
    wait_for_rows(page, *["free"] * len(texts))
    assert (told(page, "name"), told(page, "description")) == (texts, texts)
    take_all = page.get_by_role("button", name=f"Take custody of all {len(texts)}")
    take_all.click()
    wait_for_rows(page, *["taken"] * len(texts))

    assert len(kept_outputs(page, "held")) == len(texts)
    assert_unharmed(careful)
    assert careful.errors == []


def test_pictures_that_a_mint_takes_do_no_harm(careful):
    pictures = list(ACCEPTED_IMAGES.values())
    raws = [mint(careful.origin, "s", metadata={"image": image})[0] for image in pictures]
    page = careful.go("/claim")

    paste(page, "\n".join(raws))
    wait_for_rows(page, *["free"] * len(pictures))
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    careful.rest()

    sources = page.locator(".found [data-card=image]").evaluate_all(
        "all => all.map((each) => each.getAttribute('src'))"
    )
    assert sources == pictures
    asked_for = [
        url for url in careful.foreign_requests() if url.startswith("https://127.0.0.1:9/")
    ]
    assert_unharmed(careful, asked_for=asked_for)


def test_pictures_that_no_mint_takes_are_not_asked_for_wherever_they_come_from(careful):
    pictures = list(IMAGES.values())
    raws = [mint(careful.origin, "s", metadata=None)[0] for _ in pictures]
    of_item = {raw.split(".")[1]: image for raw, image in zip(raws, pictures, strict=True)}

    # As a ledger of another maker could answer.
    def answer(route):
        item_id = route.request.url.rpartition("/")[2]
        metadata = json.dumps({"image": of_item[item_id]})
        route.fulfill(json={"id": item_id, "total": 5, "metadata": metadata})

    careful.page.route("**/v1/item/*", answer)
    page = careful.go("/claim")

    paste(page, "\n".join(raws))
    wait_for_rows(page, *["free"] * len(pictures))

    assert page.locator(".found [data-card=image][src]").count() == 0
    assert told(page, "image-note") == [
        f"Browsers cannot show its picture: {each}" for each in pictures
    ]
    assert_unharmed(careful)
    assert states(careful, raws) == ["unspent"] * len(raws)
