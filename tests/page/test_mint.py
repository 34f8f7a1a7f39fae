"""The Mint page in a browser.

A form, a review, and links that are ready to hand over.
"""

import base64
import json
import re

import pytest
from playwright.sync_api import expect

from deeds.blueprints.problems import MEDIA_TYPE
from deeds.domain.raw_output import is_strong_secret, parse_raw_output
from tests.page.conftest import OUTPUTS_MAX
from tests.page.steps import amounts, check, raws
from tests.page.visitor import hold_back
from tests.support.waiting import wait_until

SAID = "each => each.labels?.[0]?.textContent ?? each.ariaLabel ?? each.textContent"
IN_VIEW = "each => each.getBoundingClientRect().bottom <= innerHeight"


def open_form(visitor):
    """Open the Mint page; return it once it works."""
    page = visitor.go("/mint")
    expect(review_button(page)).to_be_enabled()
    return page


def review_button(page):
    return page.get_by_role("button", name="Review")


def create(page):
    """Review what the form says, and create it."""
    review_button(page).click()
    page.get_by_role("button", name="Create", exact=True).click()
    page.get_by_role("button", name="Create another").wait_for()


def fill_amounts(page, *given):
    """Ask for links of different amounts."""
    page.get_by_text("Different amounts").click()
    for place, amount in enumerate(given):
        if place:
            page.get_by_role("button", name="Add a link").click()
        page.get_by_label("Amount", exact=True).nth(place).fill(amount)


def tab_to(page, name):
    """Press Tab until the control with this name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if " ".join(page.locator(":focus").evaluate(SAID).split()).startswith(name):
            return
    raise AssertionError(f"no Tab leads to {name}")


def test_only_create_mints_by_the_keyboard_alone(visitor):
    page = open_form(visitor)

    tab_to(page, "Name")
    page.keyboard.type("A ticket")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Review")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "Back")
    page.keyboard.press("Enter")
    tab_to(page, "How many links?")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(page.locator("#review-total")).to_have_text("3 links, 1 unit each: 3 in all")
    assert visitor.asked("/v1/mint") == []
    expect(page.get_by_role("button", name="Create", exact=True)).to_be_enabled()
    tab_to(page, "Create")
    page.keyboard.press("Enter")

    expect(page.locator("#done-title")).to_be_focused()
    assert amounts(page) == {"held": [1, 1, 1]}
    tab_to(page, "Create another")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name")).to_have_value("")


def test_what_was_typed_is_what_is_minted(visitor):
    page = open_form(visitor)
    page.route("https://pictures.example/**", lambda route: route.abort())
    page.get_by_label("Name").fill(" A <b>ticket</b> ")
    page.get_by_label("Description").fill("One seat,\non the lawn")
    page.get_by_label("Image link").press_sequentially(
        "https://pictures.example/ä b.png#top"
    )
    page.get_by_text("There is no picture at this address.").wait_for()
    assert visitor.foreign_requests() == ["https://pictures.example/%C3%A4%20b.png"]
    expect(page.locator("#preview [data-card=name]")).to_have_text("A <b>ticket</b>")
    page.get_by_label("What is one unit called?").fill("seat")
    fill_amounts(page, "1 000", "2")
    page.get_by_label("Choose the secret myself").first.check()
    page.get_by_label("Secret", exact=True).first.fill("a.b+c päivä 東京 correct horse")
    expect(page.locator("#preview [data-card=units]")).to_have_text(
        "1\u202f002 \u00d7 seat"
    )

    create(page)

    # A secret of one's own may have been told already.
    [made], [small] = raws(page, "given"), raws(page, "held")
    item_id = parse_raw_output(made).item_id
    assert made == f"+1000.{item_id}.a.b+c päivä 東京 correct horse"
    assert is_strong_secret(parse_raw_output(small).secret)
    assert check(visitor.origin, [made, small]) == ["unspent", "unspent"]
    metadata = page.request.get(f"{visitor.origin}/v1/item/{item_id}").json()[
        "metadata"
    ]
    assert json.loads(metadata) == {
        "name": "A <b>ticket</b>",
        "description": "One seat,\non the lawn",
        "image": "https://pictures.example/%C3%A4%20b.png",
    }
    assert page.locator("#public-page").get_attribute("href") == f"/item/{item_id}"
    assert visitor.asked(parse_raw_output(small).secret) == []
    page.get_by_role("link", name="Open the links").click()
    expect(page.locator("[data-part=links] .tag")).to_have_text("waiting")


# What a photo holds besides its picture: how it was held, here on its side, and where
# it was taken.
PHOTO = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
PHOTO += b" 60.17 N, 24.94 E"
NOISE = """() => {
  const size = {width: 1600, height: 1200};
  const canvas = Object.assign(document.createElement("canvas"), size);
  const context = canvas.getContext("2d"), pixels = new ImageData(128, 96);
  crypto.getRandomValues(pixels.data);
  context.putImageData(pixels, 0, 0);
  context.drawImage(canvas, 0, 0, 128, 96, 0, 0, 1600, 1200);
  return canvas.toDataURL("image/jpeg").split(",")[1];
}"""


def test_a_photo_is_made_small_and_tells_nothing_but_its_picture(visitor):
    page = open_form(visitor)
    jpeg = base64.b64decode(page.evaluate(NOISE))
    photo = jpeg[:2] + b"\xff\xe1" + (len(PHOTO) + 2).to_bytes(2) + PHOTO + jpeg[2:]
    choose = page.locator("#upload").set_input_files

    choose({"name": "a.svg", "mimeType": "image/svg+xml", "buffer": b"<svg/>"})
    expect(page.get_by_label("Image link")).to_have_accessible_description(
        re.compile("This file is not a picture")
    )
    choose({"name": "a.jpg", "mimeType": "image/jpeg", "buffer": photo})
    page.get_by_text("Your picture").wait_for()
    page.reload()
    page.get_by_text("Your picture").wait_for()
    create(page)

    image = visitor.asked("/v1/mint")[0].post_data_json["metadata"]["image"]
    assert image.startswith("data:image/webp;base64,")
    assert len(image) <= 48 * 1024
    assert b"Exif" not in base64.b64decode(image.partition(",")[2])
    shown = page.locator("#result .deed-image").first
    wait_until(lambda: shown.evaluate("each => each.naturalWidth"))
    width, height = shown.evaluate("each => [each.naturalWidth, each.naturalHeight]")
    assert (width <= 1080, width / height) == (True, pytest.approx(3 / 4, abs=0.01))
    visitor.assert_good()


TOO_LONG = {
    "Name": ("n" * 101, "Use at most 100 characters (now 101)."),
    "Description": ("n" * 1001, "Use at most 1 000 characters (now 1 001)."),
    "What is one unit called?": (
        "000 tickets",
        "A word for a unit has at most 20 letters, and no digits.",
    ),
    "Image link": ("javascript:alert(1)", "An image link starts with https://"),
    "How many links?": ("10 001", "At most 10 000 links at once."),
    "each?": ("1.5", "whole number"),
}


def test_each_mistake_is_told_beside_its_field(visitor):
    page = open_form(visitor)

    for label, (text, said) in TOO_LONG.items():
        field = page.get_by_label(label)
        before = field.input_value()
        field.fill(text)
        review_button(page).click()
        expect(field).to_have_accessible_description(re.compile(re.escape(said)))
        expect(field).to_be_focused()
        field.fill(before)
    page.get_by_label("each?").fill(str(2**53 - 1))
    page.get_by_label("How many links?").fill("2")
    review_button(page).click()
    expect(page.get_by_label("each?")).to_have_accessible_description(
        re.compile("more than")
    )
    visitor.assert_good()

    fill_amounts(page, "1", "1")
    for box in page.get_by_label("Choose the secret myself").all():
        box.check()
    for secret in page.get_by_label("Secret", exact=True).all():
        secret.fill("same")
    review_button(page).click()
    expect(secret).to_have_accessible_description(
        re.compile("Another link has this secret")
    )
    # What is out of play is not wrong.
    page.get_by_text("Different amounts").click()
    page.get_by_label("each?").fill("1")
    review_button(page).click()
    expect(page.get_by_role("heading", name="Review")).to_be_focused()
    assert visitor.asked("/v1/mint") == []


def test_a_second_tap_on_review_creates_nothing_and_a_refusal_loses_nothing(visitor):
    page = open_form(visitor)
    page.route("**/result.js", lambda route: route.abort())
    page.get_by_label("Name").fill("A ticket")
    box = review_button(page).bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_role("button", name="Create", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("#create-error")).to_be_focused()
    assert visitor.asked("/v1/mint") == []
    page.unroute("**/result.js")

    page.route(
        "**/mint",
        lambda route: route.fulfill(status=413, json={"code": "body_too_large"}),
    )
    page.get_by_role("button", name="Create", exact=True).click()

    expect(page.locator("#create-error")).to_be_focused()
    page.get_by_role("button", name="Back").click()
    review_button(page).click()
    page.go_back()
    expect(page.get_by_label("Name")).to_have_value("A ticket")
    expect(page.get_by_label("Name")).to_be_visible()
    page.unroute("**/mint")
    create(page)
    page.get_by_role("button", name="Copy link").click()
    wait_until(lambda: amounts(page) == {"given": [1]})


def test_a_mint_that_is_held_up_is_told_on_the_next_visit(visitor):
    page = open_form(visitor)
    page.get_by_label("Name").fill("A ticket")
    body = '{"code": "too_many_requests"}'
    problem = {"status": 429, "content_type": MEDIA_TYPE, "body": body}
    page.route("**/v1/mint", lambda route: route.fulfill(**problem))
    review_button(page).click()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("#create-error")).to_contain_text(
        "We keep trying; nothing is lost."
    )

    page.reload()

    expect(page.locator("#begun")).to_contain_text("Creating 1 unit of “A ticket”.")
    page.unroute("**/v1/mint")
    page.evaluate("dispatchEvent(new Event('online'))")
    page.get_by_text("is finished").wait_for()
    expect(page.locator("#begun")).to_be_hidden()


def test_rows_come_and_go_and_the_total_follows(visitor):
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    page = open_form(visitor)
    assert review_button(page).evaluate(IN_VIEW)

    fill_amounts(page, "40", "2", "1000")
    expect(page.locator("#total")).to_have_text("3 links, together 1\u202f042 units")
    page.get_by_role("button", name="Remove link 2").click()
    page.get_by_label("Amount", exact=True).first.fill("0")
    expect(page.locator("#total")).to_have_text("Enter a whole number, 1 or more.")
    expect(page.locator("#preview .deed-units")).to_be_hidden()
    page.get_by_label("Amount", exact=True).first.fill("40")
    expect(page.locator("#preview [data-card=units]")).to_have_text("1\u202f040 units")
    page.evaluate(
        "for (let n = 0; n < 40; n += 1) document.getElementById('add-output').click()"
    )
    expect(page.locator("[data-row]")).to_have_count(OUTPUTS_MAX)
    page.evaluate("scrollTo(0, 0)")
    assert review_button(page).evaluate(IN_VIEW)


def test_a_half_filled_form_is_kept_but_secrets_are_asked_for(visitor):
    page = open_form(visitor)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.get_by_label("Name").fill("A ticket")
    fill_amounts(page, "40", "2")
    page.get_by_role("link", name="My deeds").first.click()
    page.wait_for_url("**/wallet")
    page.go_back()
    expect(page.get_by_label("Name")).to_have_value("A ticket")
    expect(page.locator("#total")).to_have_text("2 links, together 42 units")
    assert asked == []

    page.get_by_label("Choose the secret myself").last.check()
    page.get_by_label("Secret", exact=True).last.fill("correct horse")
    assert "correct horse" not in page.evaluate("JSON.stringify(sessionStorage)")
    page.reload()
    assert asked == ["beforeunload"]

    create(page)
    page.get_by_role("link", name="My deeds").first.click()
    page.wait_for_url("**/wallet")
    assert asked == ["beforeunload"]
    page.go_back()
    expect(page.get_by_label("Name")).to_have_value("")


def test_a_hundred_links_are_made_in_batches_that_can_be_left(visitor):
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_form(visitor)
    held = hold_back(page, "**/v1/swap")
    page.get_by_label("What is one unit called?").fill("ticket")
    page.get_by_label("How many links?").fill("100")
    expect(page.locator("#total")).to_have_text("100 links, 1 ticket each: 100 in all")
    create(page)
    page.get_by_text("31 of 100 links are ready").wait_for()
    visitor.assert_good()
    copy = page.get_by_role("button", name="Copy all links")
    expect(copy).to_be_hidden()
    wait_until(lambda: page.evaluate("1") and held)
    page.unroute("**/v1/swap")

    page.get_by_text("100 links are ready in My deeds.").wait_for()
    assert amounts(page) == {"held": [1] * 100, "spent": [7, 38, 69]}
    copy.click()
    page.get_by_role("dialog").get_by_role("button", name="Copy all links").click()
    page.get_by_text("All are copied.").wait_for()
    assert amounts(page) == {"given": [1] * 100, "spent": [7, 38, 69]}
