"""Claiming with the camera of the Claim page."""

from playwright.sync_api import expect

from tests.page import steps
from tests.support.waiting import wait_until

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


def is_camera_on(page):
    return page.evaluate("document.getElementById('scan-video').srcObject !== null")


def test_a_camera_that_may_be_used_scans_a_qr_code_and_goes_out(visitor):
    [raw] = steps.mint_outputs(visitor.origin, "secret")
    visitor.page.add_init_script(DETECTOR)
    page = visitor.go("/claim")
    scan = page.get_by_role("button", name="Scan a QR code")
    scan.click()
    page.get_by_text("The browser was not allowed to use the camera.").wait_for()
    expect(scan).to_be_focused()
    visitor.context.grant_permissions(["camera"])
    scan.click()
    wait_until(lambda: is_camera_on(page))
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    page.get_by_role("button", name="Stop").click()
    wait_until(lambda: not is_camera_on(page))
    expect(scan).to_be_focused()
    expect(page.locator("#scan-video")).to_be_hidden()
    page.keyboard.press("Enter")
    wait_until(
        lambda: page.evaluate("document.getElementById('scan-video').videoWidth > 0")
    )
    visitor.assert_good()
    see = "text => { window.inSight = text; }"
    page.evaluate(see, "https://example.net/")
    page.get_by_text("This is not a claim link.").wait_for()
    assert is_camera_on(page)
    page.evaluate(see, f"{visitor.origin}/claim#{raw}")

    steps.wait_for_rows(page, "free")
    wait_until(lambda: not is_camera_on(page))
    expect(page.locator("#heading")).to_be_focused()
    visitor.assert_good()
