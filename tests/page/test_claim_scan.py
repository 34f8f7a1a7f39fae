"""Claiming with the camera of the Claim page."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    claim_link,
    expect_shown,
    mint_outputs,
    press,
    wait_for_rows,
)
from tests.page.visitor import wait_for_true

pytestmark = pytest.mark.slow

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


def test_a_camera_that_may_be_used_scans_a_qr_code_and_goes_out(visitor):
    [raw] = mint_outputs(visitor.api, "secret")
    page = visitor.open_tab("/claim", DETECTOR)
    scan = page.get_by_role("button", name="Scan a QR code")
    scan.click()
    expect_shown(page, "The browser was not allowed to use the camera.")
    expect(scan).to_be_focused()

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
