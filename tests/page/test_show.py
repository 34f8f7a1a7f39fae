"""Show code: what a guest holds, before a door and without a network."""

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.page.qr_reader import read_codes
from tests.page.steps import (
    TICKET,
    claim,
    claim_link,
    expect_shown,
    expect_text,
    mint_outputs,
    press,
    raws,
    records,
)
from tests.page.visitor import visiting
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

# Notes when the screen is kept on.
WATCH = """
window.locks = [];
const request = async (kind) => {
  window.locks.push(`${kind} on`);
  return { release: async () => window.locks.push("off") };
};
Object.assign(navigator.wakeLock ?? {}, { request });
"""
KEPT_ON = ["screen on", "screen on", "off"]
READY = "navigator.serviceWorker.ready.then(() => true)"
SHOWN_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"
ABOUT = "Date: 2126-06-01 20:00 +01:00\nPlace: Moonlight Club"
CONCERT = TICKET | {"description": ABOUT}
GROUND = "getComputedStyle(document.querySelector('dialog')).backgroundColor"
PIXELS = """(image) => {
  const drawing = new OffscreenCanvas(400, 400).getContext("2d");
  drawing.drawImage(image, 0, 0, 400, 400);
  const { data } = drawing.getImageData(0, 0, 400, 400);
  const grey = data.filter((_, place) => place % 4 === 0);
  // As one text, because Playwright takes seconds to pass 160,000 numbers.
  return Array.from(grey, (each) => each.toString(16).padStart(2, "0")).join("");
}"""


@pytest.fixture
def guest(browser, web_service):
    """A visitor at My deeds, opened without a network, who has claimed two links."""
    with visiting(browser, web_service.url, service_workers="allow") as visitor:
        visitor.context.add_init_script(WATCH)
        for raw in mint_outputs(visitor.api, "one", "two", metadata=CONCERT):
            page = claim(visitor, raw)
        # They are fetched before anybody asks for one.
        wait_until(lambda: len(records(page, "codes")) == 2)
        page.evaluate(READY)
        visitor.go_offline()
        visitor.requests.clear()
        visitor.open_tab("/wallet")
        visitor.taps = 0
        yield visitor


def code_in(page):
    """Return what a scanner reads of the code that is shown."""
    pixels = bytes.fromhex(page.get_by_role("img", name="QR code").evaluate(PIXELS))
    return read_codes([np.frombuffer(pixels, dtype=np.uint8).reshape(400, 400)])[0]


def open_door(visitor, page):
    """Open the door of what the guest's page holds."""
    door = visitor.go(f"/door#{records(page, 'items')[0]['id']}")
    press(door, "Start")
    return door


def let_in(door, ticket):
    door.get_by_label("Ticket link").fill(ticket)
    door.keyboard.press("Enter")
    expect(door.locator("#door-last")).to_contain_text("Valid")


def show_before_and_after_the_network_is_back(guest):
    """Show both codes, and close them again."""
    page = guest.page
    press(page, "Show code")
    ticket = code_in(page)
    guest.assert_taps(1)
    assert guest.asked("/v1/") == guest.asked("/web/qr") == []
    # Of five units a door takes all.
    expect_shown(page, "Anyone who scans this code gets everything: 5 units.")
    expect_shown(page, "Updates when you're online.")
    expect_text(page, ".code-head", "Sat, Jun 1, 2126 · 8:00\u202fPM Moonlight Club")
    assert page.evaluate(GROUND) == "rgb(255, 255, 255)"
    guest.assert_good()
    # The row behind the code has moved by then, which nobody sees.
    expect(page.locator("[data-row]")).to_contain_text("shown ")
    page.evaluate("watched.shifts.length = 0")
    guest.go_online()
    expect_text(page, ".code-state", "")
    guest.assert_still()

    press(page, "Next")
    expect_shown(page, "2 of 2")
    held = {claim_link(guest.origin, raw) for raw in raws(page, "held")}
    assert {ticket, code_in(page)} == held
    page.evaluate(SHOWN_AGAIN)
    press(page, "Close")
    wait_until(lambda: page.evaluate("window.locks") == KEPT_ON)


def test_one_tap_without_a_network_shows_what_is_held_until_a_door_has_used_it(
    guest, stranger
):
    page = guest.page
    page.emulate_media(color_scheme="dark")
    show_before_and_after_the_network_is_back(guest)
    press(page, "Show code")
    focused = page.locator(":focus")
    expect(focused).to_have_text(TICKET["name"])
    said = page.get_by_role("status").filter(
        has_text="Used just now. At the door? You're in. Otherwise tell the organiser."
    )

    door = open_door(stranger, page)
    let_in(door, code_in(page))

    expect(said).to_be_visible()
    expect_shown(page.locator(".code-done"), "You're in")
    expect(page.get_by_role("img", name="QR code")).to_be_hidden()
    guest.assert_good()
    expect_shown(page, "2 of 2")
    expect(said).to_be_hidden()
    expect(focused).to_have_text(TICKET["name"])
    let_in(door, code_in(page))
    expect(said).to_be_visible()
    press(page, "Done")
    expect(page.locator("[data-row]")).to_contain_text("Used at the door ")
    expect(page.locator("main .bad:visible, #notices > *")).to_have_count(0)
