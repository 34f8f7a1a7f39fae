"""The Mint page in a browser.

A form, and links that are ready to hand over.
"""

import base64
import json
import re

import pytest
from playwright.sync_api import expect

from deeds.raw_output import is_strong_secret, parse_raw_output
from tests.page.steps import (
    COPIED,
    amounts,
    choose,
    expect_heading,
    expect_notice,
    expect_shown,
    expect_text,
    follow,
    press,
    raws,
    records,
    wait_for_amounts,
)
from tests.page.test_quality import assert_good_in_all_looks
from tests.page.visitor import answer, cut_off, first_held, hold_back
from tests.support.waiting import wait_until

slow = pytest.mark.slow

SAID = "each => each.labels?.[0]?.textContent ?? each.ariaLabel ?? each.textContent"


@pytest.fixture
def form(visitor):
    """The Mint page, once it works."""
    page = visitor.go("/mint")
    expect(page.get_by_role("button", name="Create")).to_be_enabled()
    return page


def create(page):
    """Create what the form says."""
    press(page, "Create")
    page.get_by_role("button", name="Create another").wait_for()


def fill_amounts(page, *given):
    """Ask for links of different amounts."""
    page.get_by_text("Different amounts").click()
    for place, amount in enumerate(given):
        if place:
            press(page, "Add a link")
        page.get_by_label("Amount", exact=True).nth(place).fill(amount)


def tab_to(page, name):
    """Press Tab until the control with this name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        # A part of a date has the focus, and not its field.
        said = page.evaluate(f"({SAID})(document.activeElement)")
        if " ".join(said.split()).startswith(name):
            return
    raise AssertionError(f"no Tab leads to {name}")


@slow
def test_by_the_keyboard_alone_only_create_mints(form, visitor):
    expect(form.get_by_label("Name")).to_be_focused()
    form.keyboard.type("A ticket")
    form.keyboard.press("Enter")
    expect_text(form, "#total", "1 link, 1 unit")
    tab_to(form, "How many links?")
    form.keyboard.type("3")
    form.keyboard.press("Enter")
    expect_text(form, "#total", "3 links, 1 unit each: 3 in all")
    assert visitor.asked("/v1/mint") == []
    tab_to(form, "Create")
    form.keyboard.press("Enter")

    expect(form.locator("#done-title")).to_be_focused()
    assert amounts(form) == {"held": [1, 1, 1]}
    tab_to(form, "Create another")
    form.keyboard.press("Enter")
    expect(form.get_by_label("Name")).to_have_value("")
    visitor.go(f"/wallet#{records(form)[0]['itemId']}")
    choose(form, "Create a similar one")
    expect(form.get_by_label("Name")).to_have_value("A ticket")
    expect_text(form, "#total", "3 links, 1 unit each: 3 in all")


def test_what_was_typed_is_what_is_minted(form, visitor):
    address = "https://pictures.example/%C3%A4%20b.png"
    cut_off(form, "https://pictures.example/**")
    form.get_by_label("Name").fill(" A <b>ticket</b> ")
    form.get_by_label("Description").fill("One seat,\non the lawn")
    typed = "https://pictures.example/ä b.png#top"
    form.get_by_label("Picture").press_sequentially(typed)
    expect_shown(form, "There is no picture at this address.")
    assert visitor.foreign_requests() == [address]
    expect_text(form, "#preview [data-card=name]", "A <b>ticket</b>")
    form.get_by_label("Word for one").fill("seat")
    fill_amounts(form, "1 000", "2")
    form.get_by_label("Choose the secret myself").first.check()
    secret = "a.b+c päivä 東京 correct horse"
    form.get_by_label("Secret", exact=True).first.fill(secret)
    units = form.locator("#preview [data-card=units]")
    expect(units).to_have_text("1\u202f002 \u00d7 seat")

    create(form)

    # A secret that the person chose counts as handed out.
    [made], [small] = raws(form, "given"), raws(form, "held")
    item_id = parse_raw_output(made).item_id
    assert made == f"+1000.{item_id}.{secret}"
    assert is_strong_secret(parse_raw_output(small).secret)
    assert visitor.asked(parse_raw_output(small).secret) == []
    assert visitor.api.check(made, small) == ["unspent", "unspent"]
    item = visitor.api.get(f"/v1/item/{item_id}").json()
    assert json.loads(item["metadata"]) == {
        "name": "A <b>ticket</b>",
        "description": "One seat,\non the lawn\n\nUnit: seat",
        "image": address,
    }
    expect(form.locator("#public-page")).to_have_attribute("href", f"/item/{item_id}")
    follow(form, "Open the links")
    expect_text(form, "[data-part=links] .state", "handed out")


def test_a_kind_a_date_and_a_place_are_in_the_description(form, visitor):
    units = form.locator("#preview [data-card=units]")
    form.get_by_label("Name").fill("Concert")
    form.get_by_role("radio", name="Voucher").check()
    expect(units).to_have_text("1 voucher")
    form.get_by_role("radio", name="Certificate").check()
    form.get_by_label("How many each?").fill("2")
    expect(units).to_have_text("2 certificates")
    form.reload()
    expect(form.get_by_role("radio", name="Certificate")).to_be_checked()
    form.get_by_label("Word for one").fill("")
    form.get_by_label("Word for several").fill("")
    # What has a date is a ticket, unless it is called something else.
    form.get_by_label("Date").fill("2126-07-05T20:30")
    expect(form.get_by_role("radio", name="Ticket")).to_be_checked()
    form.get_by_label("Place").fill("The lawn")
    form.get_by_label("Valid until").fill("2126-12-06")
    expect_text(form, "#preview [data-card=place]", "The lawn")

    create(form)

    item_id = parse_raw_output(raws(form, "held")[0]).item_id
    item = visitor.api.get(f"/v1/item/{item_id}").json()
    assert json.loads(item["metadata"])["description"] == (
        "Date: 2126-07-05 20:30 +00:00\n"
        "Place: The lawn\n"
        "Valid until: 2126-12-06 23:59 +00:00\n"
        "Unit: ticket/tickets"
    )
    # What is to be published.
    press(form, "Copy text")
    expect_notice(form, "Copied.")
    copied = form.evaluate(COPIED)
    assert copied.startswith("The genuine “Concert” (")
    mark = f"8:30\u202fPM) has the mark {item_id[5:9]}·{item_id[-4:]}"
    assert copied.endswith(f"{mark}: {visitor.origin}/item/{item_id}")
    press(form, "Create another")
    expect(form.get_by_role("radio", checked=True)).to_have_count(0)


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


# A pixel that is not there.
CLEAR = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgA"
    "AAAASUVORK5CYII="
)
COLOUR = """(image) => {
  const drawing = new OffscreenCanvas(1, 1).getContext("2d");
  drawing.drawImage(image, 0, 0, 1, 1);
  return [...drawing.getImageData(0, 0, 1, 1).data];
}"""


def file(kind, content):
    return {"name": "a", "mimeType": kind, "buffer": content}


# To compress noise takes seconds.
@slow
def test_an_uploaded_picture_is_made_small_and_tells_nothing_but_itself(form, visitor):
    upload = form.locator("#upload")
    shown = form.locator(".deed-image").first
    upload.set_input_files(file("image/svg+xml", b"<svg/>"))
    said = re.compile("This file is not a picture")
    expect(form.get_by_label("Picture")).to_have_accessible_description(said)
    upload.set_input_files(file("image/png", base64.b64decode(CLEAR)))
    wait_until(lambda: shown.evaluate("each => each.naturalWidth"))
    # What was transparent.
    assert shown.evaluate(COLOUR) == [255, 255, 255, 255]
    jpeg = base64.b64decode(form.evaluate(NOISE))
    photo = jpeg[:2] + b"\xff\xe1" + (len(PHOTO) + 2).to_bytes(2) + PHOTO + jpeg[2:]
    upload.set_input_files(file("image/jpeg", photo))
    wait_until(lambda: shown.evaluate("each => each.naturalWidth > 1"))
    form.get_by_label("Name").fill("A photo")
    form.reload()
    expect_shown(form, "Your picture")

    create(form)

    image = visitor.asked("/v1/mint")[0].post_data_json["metadata"]["image"]
    assert image.startswith("data:image/jpeg;base64,")
    assert len(image) <= 48 * 1024
    assert b"Exif" not in base64.b64decode(image.partition(",")[2])
    shown = form.locator("#result .deed-image").first
    wait_until(lambda: shown.evaluate("each => each.naturalWidth"))
    width, height = shown.evaluate("each => [each.naturalWidth, each.naturalHeight]")
    assert width <= 1080
    assert width / height == pytest.approx(3 / 4, abs=0.01)


# By field, in order: the typed text, and the error beside it.
MISTAKES = {
    "Name": ("n" * 101, "Use at most 100 characters (now 101)."),
    "Date": ("3126-01-02T03:04", "Enter a date and a time."),
    "Picture": ("javascript:alert(1)", "A link to a picture starts with https://"),
    "How many links?": ("10 001", "At most 10 000 links at once."),
    "Word for one": ("a/b", "A word can't contain a slash."),
    "Valid until": ("2026-01-02", "This is before the date above."),
}
OTHERS = {
    "each?": ("0", "Enter a whole number, 1 or more."),
    "Word for one": ("", "Enter the word for one, too."),
    "Word for several": ("000", "A word has at most 20 letters and no digits."),
    "Valid until": ("2026-01-02", "This is in the past."),
}


@slow
@pytest.mark.parametrize("mistakes", [MISTAKES, OTHERS])
def test_mistakes_are_told_beside_their_fields(form, visitor, mistakes):
    for label, (text, _) in mistakes.items():
        field = form.get_by_label(label)
        # No keys can type some of it.
        field.evaluate("(field, text) => (field.value = text)", text)
        field.dispatch_event("input", {"bubbles": True})

    press(form, "Create")

    for label, (_, said) in mistakes.items():
        described = re.compile(re.escape(said))
        expect(form.get_by_label(label)).to_have_accessible_description(described)
    expect(form.get_by_label(next(iter(mistakes)))).to_be_focused()
    assert_good_in_all_looks(visitor)
    assert visitor.asked("/v1/mint") == []


@slow
def test_what_looks_wrong_is_asked_about_before_it_is_permanent(form, visitor):
    form.locator("#date").fill("2020-12-05T20:00")
    dialog = form.get_by_role("dialog", name="Create it like this?")
    press(form, "Create")
    expect_shown(dialog, "It has no name.")
    expect_shown(dialog, "Its date is in the past.")
    visitor.assert_good()
    press(dialog, "Go back")
    expect(form.get_by_role("button", name="Create")).to_be_focused()
    assert visitor.asked("/v1/mint") == []

    form.get_by_label("Name").fill("A ticket")
    press(form, "Create")
    expect(dialog.get_by_text("no name")).to_have_count(0)
    press(dialog, "Create")

    expect(form.get_by_role("heading", name="Your link is ready")).to_be_focused()
    press(form, "Create a similar one")
    expect(form.get_by_label("Date")).to_have_value("")
    expect(form.get_by_label("Name")).to_have_value("A ticket")
    form.get_by_label("Name").fill("A Ticket!")
    press(form, "Create")
    expect_shown(dialog, "You already made 1 ticket of “A ticket”.")


@slow
def test_a_refused_mint_loses_nothing_and_a_double_tap_creates_once(form, visitor):
    answer(form, "**/v1/mint", status=413, json={"code": "body_too_large"})
    form.get_by_label("Name").fill("A ticket")
    press(form, "Create")
    expect(form.locator("#create-error")).to_be_focused()
    form.reload()
    expect(form.get_by_label("Name")).to_have_value("A ticket")
    form.unroute("**/v1/mint")
    visitor.requests.clear()

    form.get_by_role("button", name="Create").dblclick()

    press(form, "Copy link")
    wait_for_amounts(form, given=[1])
    assert len(visitor.asked("/v1/mint")) == 1


@slow
def test_a_half_filled_form_is_kept_but_its_secrets_are_asked_for(form, visitor):
    asked = []
    form.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    form.get_by_label("Name").fill("A ticket")
    form.get_by_label("Place").fill("The lawn")
    fill_amounts(form, "40", "5", "2")
    press(form, "Remove link 2")
    form.get_by_role("link", name="My deeds").first.click()
    form.wait_for_url("**/wallet")
    form.go_back()
    expect(form.get_by_label("Name")).to_have_value("A ticket")
    expect_text(form, "#total", "2 links, together 42 units")
    expect(form.get_by_label("Place")).to_have_value("The lawn")
    assert asked == []

    secrets = form.get_by_label("Secret", exact=True)
    for place in (0, 1):
        form.get_by_label("Choose the secret myself").nth(place).check()
        secrets.nth(place).fill("correct horse")
    press(form, "Create")
    said = re.compile("Another link already has this secret")
    expect(secrets.last).to_have_accessible_description(said)
    expect(secrets.last).to_be_focused()
    assert_good_in_all_looks(visitor)
    # What is out of play is not wrong.
    form.get_by_text("Different amounts").click()
    expect(form.locator("[aria-invalid]")).to_have_count(0)
    assert "correct horse" not in form.evaluate("JSON.stringify(sessionStorage)")
    form.reload()

    assert asked == ["beforeunload"]


@slow
def test_many_links_are_made_in_batches_that_can_be_left(form, visitor):
    held = hold_back(form, "**/v1/swap")
    form.get_by_label("Name").fill("A ticket")
    form.get_by_label("Word for one").fill("ticket")
    form.get_by_label("How many links?").fill("130")
    expect_text(form, "#preview .deed-units", "1 ticket")
    with form.expect_request("**/v1/swap"):
        create(form)
    expect_shown(form, "31 of 130 links are ready")
    visitor.assert_good()
    copy = form.get_by_role("button", name="Copy all links")
    expect(copy).to_be_hidden()
    assert first_held(form, held)

    form.unroute("**/v1/swap")

    expect_shown(form, "130 links are ready in My deeds.")
    assert amounts(form) == {"held": [1] * 130, "spent": [6, 37, 68, 99]}
    copy.click()
    press(form.get_by_role("dialog"), "Copy all links")
    expect_shown(form, "All are copied.")
    form.keyboard.press("Escape")
    follow(form, "Open the links")
    expect_heading(form, "A ticket")
    rows = form.locator("[data-part=links] li")
    expect(rows).to_have_count(100)
    press(form, "Show more")
    expect(rows).to_have_count(130)
    expect(rows.last).to_contain_text("130 of 130")
