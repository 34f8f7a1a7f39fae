"""Claiming a deed in a browser.

Links, texts and QR codes, each once, by whoever is first.
"""

import re

import pytest
from playwright.sync_api import expect

from deeds.raw_output import parse_raw_output
from tests.page.steps import (
    COPIED,
    PASTE,
    SHED,
    TICKET,
    claim,
    claim_link,
    expect_heading,
    expect_notice,
    expect_shown,
    expect_text,
    follow,
    hold,
    mint_outputs,
    open_deed,
    operations,
    paste,
    press,
    put,
    raws,
    records,
    spend,
    wait_for_rows,
)
from tests.page.visitor import answer, wait_for_true

slow = pytest.mark.slow

NOBODY = f"deed_{26 * '0'}"
NIGHT = {"name": "Garden Concert", "description": "Date: 2126-11-28 20:00 +01:00"}
NEXT_NIGHT = NIGHT | {"description": "Date: 2126-11-29 20:00 +01:00"}


@slow
def test_a_link_that_somebody_else_used_first_is_refused_now_or_on_the_next_visit(
    visitor,
):
    one, other = mint_outputs(visitor.api, "one", "other")
    page = visitor.go(claim_link("", one))
    wait_for_rows(page, "free")
    spend(visitor.api, one)

    press(page, "Claim")

    wait_for_rows(page, "spent")
    expect(page.locator("#claim-error")).to_be_focused()
    expect_text(page, "#claim-error", "This link was already used. Ask the sender.")
    assert operations(page) == [("claim", "refused")]

    visitor.go(claim_link("", other))
    wait_for_rows(page, "free")
    visitor.go_offline()
    press(page, "Claim")
    expect_text(page, "#claimed-title", "On its way")
    expect_shown(page.locator("#claimed"), "You're offline.")
    page.close()
    spend(visitor.api, other)
    visitor.go_online()
    page = visitor.open_tab("/wallet")
    expect(page.get_by_role("alert")).to_contain_text("Claiming 5 units was refused (")


def test_the_secret_of_a_claimed_link_is_in_no_address_header_or_log(
    visitor, web_service
):
    secret = "pass-on quietly"
    image = f"{visitor.origin}/x.png"
    [raw] = mint_outputs(visitor.api, secret, metadata=SHED | {"image": image})
    page = visitor.go(claim_link("", raw))
    wait_for_rows(page, "free")
    page.reload()
    wait_for_rows(page, "free")
    expect_heading(page, "Yours to claim")

    # That on the link, in a message, is the first.
    visitor.taps = 1
    press(page, "Claim")
    expect_heading(page, "Yours now")
    visitor.assert_taps(2)
    assert page.evaluate("sessionStorage.length") == 0
    [held] = raws(page, "held")
    follow(page, "Show in My deeds")
    page.wait_for_url(f"**/wallet#{raw.split('.')[1]}")

    browser = visitor.context.new_cdp_session(page)
    history = browser.send("Page.getNavigationHistory")["entries"]
    headers = [each.all_headers() for each in visitor.requests]
    addresses = [each.url for each in visitor.requests]
    addresses += [each["url"] for each in history]
    everything = str([addresses, headers, web_service.log_text()])
    secrets = [secret, "pass-on", parse_raw_output(held).secret]
    assert [each for each in secrets if each in everything] == []
    assert [each for each in headers if each.get("referer")] == []
    with_body = [each.url for each in visitor.requests if each.post_data]
    told = {url.removeprefix(visitor.origin) for url in with_body}
    # When idle, the page asks for the code of what the person holds.
    assert told | {"/web/qr"} == {"/v1/check", "/v1/swap", "/web/qr"}


# Which browsers are an app's own is tested in js/pages/claim/in_app.test.js.
IN_APP = 'Object.defineProperty(navigator, "userAgent", {value: "Android Instagram"})'


@slow
def test_in_an_apps_own_browser_the_persons_own_comes_first_and_the_address_stays(
    visitor,
):
    [raw] = mint_outputs(visitor.api, "secret")
    link = claim_link(visitor.origin, raw)
    page = visitor.open_tab(claim_link("", raw), IN_APP)
    wait_for_rows(page, "free")
    outside = page.get_by_role("link", name="Open in your browser")
    expect(outside).to_have_attribute("href", re.compile("^intent:.*secret#Intent;"))
    press(page, "Copy link")
    expect_notice(page, "Copied.")
    assert page.evaluate(COPIED) == link
    page.reload()
    wait_for_rows(page, "free")
    assert page.url == link
    visitor.assert_good()

    press(page, "Claim")

    expect_heading(page, "Yours now")
    assert page.url == f"{visitor.origin}/claim"
    expect(outside).to_be_hidden()


@slow
def test_a_browser_without_web_crypto_leaves_the_link_as_it_was(visitor):
    [raw] = mint_outputs(visitor.api, "secret")
    # A name that is not this machine's own: what comes from there by http is not
    # trusted.
    link = claim_link(visitor.origin.replace("127.0.0.1", "deeds.test"), raw)
    page = visitor.page

    page.goto(link)

    expect_shown(page, "This page wasn't loaded over https")
    expect_text(page, "#lead", "Your link stays good. Open it in another browser.")
    assert page.url == link
    expect(page.locator("#claim-button")).to_be_hidden()
    assert visitor.asked("/v1/check") == []


@slow
def test_links_that_were_opened_before_are_folded_below_the_one_just_opened(visitor):
    gone, *others = mint_outputs(visitor.api, *"gabcd")
    spend(visitor.api, gone)
    page = visitor.go("/claim")
    paste(page, " ".join(others))
    wait_for_rows(page, *["free"] * 4)
    # As a link that is followed while the page is open.
    page.goto(claim_link(visitor.origin, gone))
    wait_for_rows(page, "spent", *["free"] * 4)
    page.get_by_text("4 other links, not claimed yet").click()
    rows = page.locator("#older .found")
    visitor.assert_good()

    press(rows.nth(0), "Remove")
    wait_for_rows(page, "spent", *["free"] * 3)
    press(rows.nth(0), "Claim")
    expect_heading(page, "Yours now")
    wait_for_rows(page, "taken", "free", "free")
    press(page, "Claim all 2")

    expect_heading(page, "2 are yours now")
    wait_for_rows(page, "taken", "taken")
    expect(page.locator("#older")).to_be_hidden()
    assert page.evaluate("sessionStorage.length") == 0
    assert visitor.api.check(*others) == ["unspent", *["spent"] * 3]


@slow
def test_a_text_without_a_link_of_this_service_is_told_and_not_sent(visitor):
    page = visitor.go("/claim#5.deed_x.secret")
    field, error = page.get_by_label(PASTE), page.locator("#paste-error")
    error.wait_for()
    assert page.url == f"{visitor.origin}/claim"

    paste(page, "my ticket")
    expect(error).to_have_text("There is no claim link in this text.")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")

    link = f"deeds.example.com/claim/{NOBODY}#+5.let%20me%20in"
    paste(page, f"Here: {link}.")
    there = page.get_by_role("link", name="Open it there")
    expect(there).to_have_attribute("href", f"https://{link}")
    expect(there).to_have_attribute("rel", "noreferrer noopener")
    expect(page.get_by_role("heading", name="Another service")).to_be_visible()
    assert visitor.asked("/v1/") == []
    assert page.evaluate("sessionStorage.length") == 0
    visitor.assert_good()


@slow
def test_a_look_alike_is_warned_of_before_its_makers_words(visitor):
    name = "W" * 5000
    said = "x\n" * 60 + "Same as the one you made." + "\n" * 60
    image = "https://images.example.com/seat.png"
    metadata = {"name": name, "description": said, "image": image}
    [raw] = mint_outputs(visitor.api, "s", metadata=metadata)
    answer(visitor.page, image, status=404)
    hold(visitor, 5, metadata={"name": name})

    page = visitor.go(claim_link("", raw).replace("#", "/#"))
    wait_for_rows(page, "free")

    origin = page.locator(".origin:has(+ .deed)")
    expect(origin).to_contain_text("Careful: you didn't make this.")
    expect(origin).to_have_class("origin notice bad")
    expect(origin).to_be_in_viewport(ratio=1)
    anyway = page.get_by_role("button", name="Claim anyway")
    expect(anyway).to_have_class("button wide quiet")
    height = "document.documentElement.scrollHeight"
    assert page.evaluate(height) < 2000
    assert visitor.foreign_requests() == []
    with page.expect_request(image):
        press(page, "Show picture from images.example.com")
    press(page, "More")
    assert page.evaluate(height) > 3000
    expect(page.get_by_role("button", name="Less")).to_be_focused()
    # So does the public page, to who has one of them.
    visitor.go(f"/item/{raw.split('.')[1]}")
    expect(page.locator("#origin")).to_contain_text("Careful: you didn't make this.")


def claim_by(visitor, item_id, button):
    """Claim one of the two outputs of a night by the button of exactly this name."""
    page = visitor.go(claim_link("", f"+5.{item_id}.a"))
    page.get_by_role("button", name=button, exact=True).click()
    expect_shown(page, "Yours now")
    return page


@slow
def test_of_two_deeds_of_one_name_and_day_a_person_says_which_is_genuine(visitor):
    friday, saturday, forged = (
        visitor.api.mint("+5.a", "+5.b", metadata=night)
        for night in (NIGHT, NEXT_NIGHT, NIGHT)
    )
    claim_by(visitor, friday, "Claim")
    claim_by(visitor, saturday, "Claim")
    page = claim_by(visitor, forged, "Claim anyway")
    origin = page.locator(".origin")
    expect(origin).to_have_class("origin notice bad")
    visitor.assert_good()
    visitor.go("/wallet")
    told = page.locator("[data-row] .bad")
    expect(told).to_have_text(["Compare the marks"] * 2)
    press(page.locator("[data-row]").first, "Show code")
    expect_shown(page.get_by_role("dialog"), "shows which mark is genuine.")
    visitor.go("/wallet")
    # What a file says of an item counts for nothing, only a person's word here.
    put(page, "items", [each | {"isCompared": True} for each in records(page, "items")])
    open_deed(page, friday)

    press(page, "The mark is right")

    expect(page.locator("[data-part=origin]")).to_have_class("notice good")
    visitor.assert_good()
    follow(page, "All deeds")
    expect(told).to_have_text(["Look-alike"])
    open_deed(page, forged)
    expect(page.get_by_role("button", name="The mark is right")).to_be_hidden()
    visitor.go(claim_link("", f"+5.{friday}.b"))
    expect(origin).to_have_class("origin notice good")
    visitor.go(f"/wallet#{friday}")
    press(page, "Undo")
    follow(page, "All deeds")
    expect(told).to_have_count(2)


def test_a_letter_that_only_unicode_knows_makes_a_look_alike(visitor):
    hold(visitor, 5, metadata=TICKET)
    name = "\N{LATIN CAPITAL LETTER A} t\N{OLD ITALIC LETTER I}cket"
    forged = visitor.api.mint("+5.a", metadata={"name": name})
    mixed = visitor.api.mint("+5.a", metadata={"name": "Б ticкet"})

    page = visitor.go(claim_link("", f"+5.{forged}.a"))

    expect(page.locator(".origin")).to_contain_text("Careful: ")
    # Offline, or where that cannot be loaded, our own letters decide.
    page.route("**/vendor/**", lambda route: route.abort())
    visitor.go(claim_link("", f"+5.{mixed}.a"))
    expect_shown(page, "This name mixes alphabets: it may imitate another name.")
    visitor.errors.clear()


FRAMES = """addEventListener("DOMContentLoaded", () => {
  const look = () => {
    window.isFormSeen ||= document.getElementById("entry").checkVisibility();
    requestAnimationFrame(look);
  };
  window.isFormSeen = false;
  look();
})"""
IS_IN_VIEW = "button => button.getBoundingClientRect().bottom <= innerHeight"


@slow
def test_under_a_link_is_no_form_but_a_button_in_view_however_much_there_is(visitor):
    thirty = mint_outputs(visitor.api, *(f"s{number}" for number in range(30)))
    page = visitor.open_tab(claim_link("", thirty[0]), FRAMES)
    wait_for_rows(page, "free")
    button = page.locator("#claim-button")
    assert button.evaluate(IS_IN_VIEW)
    # In a browser of their own a person has nothing else to do first, either.
    expect_shown(page, "Will be saved in this browser only.")
    expect(page.locator("#elsewhere")).to_be_hidden()
    page.get_by_text("Is it genuine?").click()
    expect_shown(page, f"Compare {thirty[0][8:12]}·")

    assert page.evaluate("isFormSeen") is False
    press(page, "Open another")
    wait_for_true(page, "isFormSeen")
    paste(page, "\n".join(thirty))

    wait_for_rows(page, *["free"] * 30)
    expect(button).to_have_text("Claim all 30")
    assert button.evaluate(IS_IN_VIEW)


def save_date(page):
    """Put the date of a page into a calendar; return the file's name and its start."""
    with page.expect_download() as download:
        press(page, "Add to calendar")
    file = download.value
    return file.suggested_filename, file.path().read_text().splitlines()[6]


@slow
def test_the_date_of_a_ticket_goes_into_a_calendar_from_each_of_its_pages(visitor):
    item_id = visitor.api.mint("+1.one", metadata=NIGHT)
    start = ("Garden Concert.ics", "DTSTART:21261128T190000Z")

    page = visitor.go(f"/item/{item_id}")
    assert save_date(page) == start
    visitor.go(f"/claim/{item_id}#+1.one")
    press(page, "Claim")
    expect_heading(page, "Yours now")
    assert save_date(page) == start
    follow(page, "Show in My deeds")
    page.locator(".tools [data-icon=more]").click()
    assert save_date(page) == start


# Chromium has no detector on Linux. This one sees what the test holds before it.
DETECTOR = """
window.BarcodeDetector = class {
  static getSupportedFormats() { return Promise.resolve(["qr_code"]); }
  async detect(video) {
    if (!video.videoWidth)
      throw new DOMException("no picture yet", "InvalidStateError");
    return window.inSight ? [{ rawValue: window.inSight }] : [];
  }
};
"""
SEE = "text => { window.inSight = text; }"
IS_ON = "Boolean(document.querySelector('video')?.srcObject)"
IS_OFF = f"!({IS_ON})"
IS_SEEN = "document.querySelector('video').videoWidth > 0"


@slow
def test_a_camera_that_may_be_used_scans_a_qr_code_and_goes_out(visitor):
    paid, raw = mint_outputs(visitor.api, "paid", "secret")
    claim(visitor, paid)
    page = visitor.open_tab(f"/wallet#{paid.split('.')[1]}", DETECTOR)
    # Who is at a till scans at once, where the camera may be used.
    follow(page, "Scan to pay")
    scan = page.get_by_role("button", name="Scan a QR code")
    expect_shown(page, "The browser was not allowed to use the camera.")

    visitor.context.grant_permissions(["camera"])
    scan.click()
    wait_for_true(page, IS_ON)
    expect(page.get_by_role("heading", name="Scan a QR code")).to_be_focused()
    press(page, "Stop")
    wait_for_true(page, IS_OFF)
    expect(scan).to_be_focused()

    page.keyboard.press("Enter")
    wait_for_true(page, IS_SEEN)
    visitor.assert_good()
    page.evaluate(SEE, "https://example.net/")
    expect_shown(page, "This is not a claim link.")
    assert page.evaluate(IS_ON)
    page.evaluate(SEE, claim_link(visitor.origin, raw))
    wait_for_rows(page, "free")
    wait_for_true(page, IS_OFF)
    expect(page.locator("#heading")).to_be_focused()
