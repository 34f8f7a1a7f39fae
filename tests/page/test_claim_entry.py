"""How deeds get into the Claim page: links, texts and QR codes, good and bad ones."""

import pytest
from playwright.sync_api import expect

from tests.page.claim_steps import PASTE, paste, take, wait_for_rows
from tests.page.holding import operations, raws
from tests.page.samples import check, mint_outputs, spend
from tests.support.waiting import wait_until

UNKNOWN_ID = "deed_00000000000000000000000000"


def test_a_secret_of_any_characters_arrives_by_its_link(visitor):
    secret = ' a.b+c Grüße 東京 🎟 50% %41"\\<b> '
    [raw] = mint_outputs(visitor.origin, secret)
    item_id = raw.split(".", 2)[1]
    page = visitor.go("/claim")
    output = {"amount": 5, "itemId": item_id, "secret": secret}
    link = page.evaluate("output => inBrowser.claimLink(output)", output)

    page = visitor.go(link)

    wait_for_rows(page, "free")
    take(page)
    wait_for_rows(page, "taken")
    assert check(visitor.origin, [raw]) == ["spent"]


def test_a_link_opened_in_an_open_page_is_shown_and_cleared_too(visitor):
    first, second = mint_outputs(visitor.origin, "one", "two")
    page = visitor.go(f"/claim#{first}")
    wait_for_rows(page, "free")

    page.evaluate("raw => { location.hash = raw; }", second)

    wait_for_rows(page, "free", "free")
    assert page.url == f"{visitor.origin}/claim"


def test_several_are_pasted_at_once_and_those_that_are_left_are_taken(visitor):
    one, gone, two = mint_outputs(visitor.origin, "one", "gone", "two")
    spend(visitor.origin, gone)
    page = visitor.go("/claim")

    paste(
        page, f"Two for you: {gone}\n{visitor.origin}/claim#{one} and\n\n{two}\n+1.{UNKNOWN_ID}.x"
    )
    wait_for_rows(page, "spent", "free", "free", "unknown")
    expect(page.get_by_label(PASTE)).to_have_value("")
    page.get_by_role("button", name="Take custody of all 2").click()
    page.get_by_text("2 of 4 taken.").wait_for()

    wait_for_rows(page, "spent", "taken", "taken", "unknown")
    assert operations(page) == [("claim", "done")] * 2
    assert sorted(raws(page, "spent")) == sorted([one, two])
    assert check(visitor.origin, raws(page, "held")) == ["unspent"] * 2


def test_another_is_added_and_what_was_put_away_is_forgotten_and_left_where_it_is(visitor):
    both = mint_outputs(visitor.origin, "one", "two")
    page = visitor.go(f"/claim#{both[0]}")
    wait_for_rows(page, "free")
    expect(page.get_by_label(PASTE)).to_be_hidden()

    page.get_by_role("button", name="Add another").click()
    expect(page.get_by_label(PASTE)).to_be_focused()
    paste(page, both[1])
    wait_for_rows(page, "free", "free")
    page.get_by_role("button", name="Put away").click()

    wait_for_rows(page)
    expect(page.get_by_label(PASTE)).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0
    assert check(visitor.origin, both) == ["unspent"] * 2


def test_what_holds_no_deed_is_told_beside_its_field_and_cleared_from_the_address(visitor):
    page = visitor.go("/claim#5.deed_x.secret")
    field, error = page.get_by_label(PASTE), page.locator("#paste-error")
    error.wait_for()
    assert page.url == f"{visitor.origin}/claim"
    expect(field).to_be_focused()

    paste(page, "+5.ticket.secret")

    expect(error).to_have_text("The second part must start with deed_")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("+5.ticket.secret")
    assert visitor.asked("/v1/") == []


def test_the_link_past_the_head_of_the_page_is_no_claim(visitor):
    page = visitor.go("/claim")
    page.get_by_label(PASTE).wait_for()

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    page.wait_for_url("**/claim#main")
    expect(page.locator("#paste-error")).to_be_hidden()


# Chromium has no detector on Linux. This one sees what the test holds before it.
DETECTOR = """
window.BarcodeDetector = class {
  static getSupportedFormats() { return Promise.resolve(["qr_code"]); }
  async detect(video) {
    if (!video.videoWidth) throw new DOMException("no picture yet", "InvalidStateError");
    return window.inSight ? [{ rawValue: window.inSight }] : [];
  }
};
"""


def see(page, text):
    page.evaluate("text => { window.inSight = text; }", text)


def is_camera_on(page):
    return page.evaluate("document.getElementById('scan-video').srcObject !== null")


@pytest.fixture
def scanner(visitor):
    """A person whose browser reads QR codes."""
    visitor.page.add_init_script(DETECTOR)
    return visitor


def test_a_scan_is_stopped_and_a_qr_code_scanned_and_the_camera_goes_out(scanner):
    [raw] = mint_outputs(scanner.origin, "secret")
    scanner.context.grant_permissions(["camera"])
    page = scanner.go("/claim")

    page.get_by_role("button", name="Scan a QR code").click()
    wait_until(lambda: is_camera_on(page))
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    page.get_by_role("button", name="Stop").click()
    assert not is_camera_on(page)
    expect(page.locator("#scan-start")).to_be_focused()
    expect(page.locator("#scan-video")).to_be_hidden()
    page.keyboard.press("Enter")
    wait_until(lambda: page.evaluate("document.getElementById('scan-video').videoWidth > 0"))
    scanner.assert_good()
    see(page, "https://example.net/")
    page.get_by_text("This QR code holds no deed.").wait_for()
    assert is_camera_on(page)
    see(page, f"{scanner.origin}/claim#{raw}")

    wait_for_rows(page, "free")
    assert not is_camera_on(page)
    expect(page.locator("#found-title")).to_be_focused()
    scanner.assert_good()


def test_a_camera_that_is_not_allowed_is_told(scanner):
    page = scanner.go("/claim")

    page.get_by_role("button", name="Scan a QR code").click()

    page.get_by_text("The browser was not allowed to use the camera.").wait_for()
    expect(page.locator("#scan-start")).to_be_focused()
    expect(page.locator("#scan-video")).to_be_hidden()


def test_a_browser_that_reads_no_qr_codes_offers_no_scan_and_says_what_does(visitor):
    page = visitor.go("/claim")

    page.get_by_text("This browser reads no QR codes.").wait_for()
    expect(page.get_by_role("button", name="Scan a QR code")).to_be_hidden()
