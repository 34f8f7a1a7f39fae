"""How deeds get into the Claim page: links, texts and QR codes, good and bad ones."""

import pytest

from tests.page.accessibility import faults
from tests.page.claim_steps import PASTE, focused, mint, paste, spend, states, take, wait_for_rows
from tests.page.kept import kept_operations, kept_outputs
from tests.support.waiting import wait_until

# The address of the page's own module has the version of all of them in it.
MAKE_LINK = """async (output) => {
  const module = document.querySelector('link[href$="/claim_link.js"]').href;
  return (await import(module)).claimLink("", output);
}"""
UNKNOWN_ID = "deed_00000000000000000000000000"


@pytest.mark.parametrize(
    "secret", ["a.b+c", "Grüße 東京 🎟", "50% off", "%41", "&lt;b&gt;", 'quote"\\', " "]
)
def test_a_secret_of_any_characters_arrives_by_its_link(visitor, secret):
    [raw] = mint(visitor.origin, secret)
    _, item_id, _ = raw.split(".", 2)
    page = visitor.go("/claim")
    link = page.evaluate(MAKE_LINK, {"amount": 5, "itemId": item_id, "secret": secret})

    page = visitor.go(link)

    wait_for_rows(page, "free")
    take(page)
    page.get_by_role("heading", name="Yours now").wait_for()
    assert states(visitor, [raw]) == ["spent"]


def test_a_link_opened_in_a_page_that_is_open_is_shown_and_cleared_too(visitor):
    first, second = mint(visitor.origin, "one", "two")
    page = visitor.go(f"/claim#{first}")
    wait_for_rows(page, "free")

    page.evaluate("raw => { location.hash = raw; }", second)

    wait_for_rows(page, "free", "free")
    assert page.url == f"{visitor.origin}/claim"


def test_several_are_pasted_at_once_and_those_that_are_left_are_taken(visitor):
    one, gone, two = mint(visitor.origin, "one", "gone", "two")
    spend(visitor.origin, gone)
    page = visitor.go("/claim")

    paste(
        page, f"Two for you: {gone}\n{visitor.origin}/claim#{one} and\n\n{two}\n+1.{UNKNOWN_ID}.x"
    )
    wait_for_rows(page, "spent", "free", "free", "unknown")
    assert page.get_by_label(PASTE).input_value() == ""
    page.get_by_role("button", name="Take custody of all 2").click()
    page.get_by_text("2 of 4 taken.").wait_for()

    wait_for_rows(page, "spent", "taken", "taken", "unknown")
    assert kept_operations(page) == [("claim", "done")] * 2
    assert kept_outputs(page, "spent") == sorted([one, two])
    assert states(visitor, kept_outputs(page, "held")) == ["unspent"] * 2


def test_another_is_added_to_what_is_shown(visitor):
    one, two = mint(visitor.origin, "one", "two")
    page = visitor.go(f"/claim#{one}")
    wait_for_rows(page, "free")
    assert not page.get_by_label(PASTE).is_visible()

    page.get_by_role("button", name="Add another").click()
    assert focused(page) == "paste"
    paste(page, two)

    wait_for_rows(page, "free", "free")


def test_what_was_put_away_is_forgotten_and_left_where_it_is(visitor):
    [raw] = mint(visitor.origin, "secret")
    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")

    page.get_by_role("button", name="Put away").click()

    wait_for_rows(page)
    assert focused(page) == "paste"
    assert page.evaluate("sessionStorage.length") == 0
    assert states(visitor, [raw]) == ["unspent"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "There is no deed in this text."),
        ("hello", "A deed's line starts with +."),
        ("+5.deed_x", "A deed's line has three parts"),
        ("+0.deed_x.secret", "The amount must be a whole number from 1"),
        ("+5.ticket.secret", "The second part must start with deed_"),
        (f"+5.deed_x.{'s' * 33}", "A secret has 1 to 32 characters."),
    ],
)
def test_a_text_that_holds_no_deed_is_told_beside_its_field(visitor, text, told):
    page = visitor.go("/claim")

    paste(page, text)

    assert page.locator("#paste-error").inner_text().startswith(told)
    assert focused(page) == "paste"
    assert page.get_by_label(PASTE).get_attribute("aria-invalid") == "true"
    assert page.get_by_label(PASTE).input_value() == text
    assert [url for url in visitor.requests if "/v1/" in url] == []


@pytest.mark.parametrize("fragment", ["+5.deed_x", "secret", "5.deed_x.secret", "+x.deed_x.secret"])
def test_a_link_that_cannot_be_read_is_told_and_cleared_all_the_same(visitor, fragment):
    page = visitor.go(f"/claim#{fragment}")

    page.locator("#paste-error").wait_for()
    assert page.url == f"{visitor.origin}/claim"
    assert focused(page) == "paste"


def test_the_link_past_the_head_of_the_page_is_no_claim(visitor):
    page = visitor.go("/claim")
    page.get_by_label(PASTE).wait_for()

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    page.wait_for_url("**/claim#main")
    assert not page.locator("#paste-error").is_visible()


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
def scanner(visit):
    """A person whose browser reads QR codes and has a camera."""
    visitor = visit(permissions=["camera"], viewport={"width": 360, "height": 740})
    visitor.context.add_init_script(DETECTOR)
    return visitor


def test_a_qr_code_is_scanned_and_the_camera_goes_out(scanner):
    [raw] = mint(scanner.origin, "secret")
    page = scanner.go("/claim")

    page.get_by_role("button", name="Scan a QR code").click()
    wait_until(lambda: page.evaluate("document.getElementById('scan-video').videoWidth > 0"))
    assert focused(page) == "scan-stop"
    see(page, "https://example.net/")
    page.get_by_text("This QR code holds no deed.").wait_for()
    assert is_camera_on(page)
    see(page, f"{scanner.origin}/claim#{raw}")

    wait_for_rows(page, "free")
    assert not is_camera_on(page)
    assert focused(page) == "found-title"
    assert scanner.watched("violations") == []
    assert faults(page) == []


def test_a_scan_is_stopped(scanner):
    page = scanner.go("/claim")
    page.get_by_role("button", name="Scan a QR code").click()
    wait_until(lambda: is_camera_on(page))
    assert faults(page) == []

    page.get_by_role("button", name="Stop").click()

    assert not is_camera_on(page)
    assert focused(page) == "scan-start"
    assert not page.locator("#scan-video").is_visible()


def test_a_camera_that_is_not_allowed_is_told(visit):
    visitor = visit(permissions=[])
    visitor.context.add_init_script(DETECTOR)
    page = visitor.go("/claim")

    page.get_by_role("button", name="Scan a QR code").click()

    page.get_by_text("The browser was not allowed to use the camera.").wait_for()
    assert focused(page) == "scan-start"
    assert not page.locator("#scan-video").is_visible()


def test_a_browser_that_reads_no_qr_codes_offers_no_scan_and_says_what_does(visitor):
    page = visitor.go("/claim")

    page.get_by_text("This browser reads no QR codes.").wait_for()
    assert not page.get_by_role("button", name="Scan a QR code").is_visible()
