"""A scanner that acts as a keyboard, at an open door."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import claim_link, expect_text, mint_outputs, press
from tests.page.test_door import CONCERT, LAST
from tests.page.visitor import visiting

CODES = (
    "Backquote",
    *(f"Digit{digit}" for digit in "1234567890"),
    *("Minus", "Equal"),
    *(f"Key{letter}" for letter in "QWERTYUIOP"),
    *("BracketLeft", "BracketRight", "Backslash"),
    *(f"Key{letter}" for letter in "ASDFGHJKL"),
    *("Semicolon", "Quote"),
    *(f"Key{letter}" for letter in "ZXCVBNM"),
    *("Comma", "Period", "Slash"),
)
# What these keys type on each layout, alone and with Shift.
US = (
    "`1234567890-=qwertyuiop[]\\asdfghjkl;'zxcvbnm,./",
    '~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:"ZXCVBNM<>?',
)
GERMAN = (
    "^1234567890ß\u00b4qwertzuiopü+#asdfghjklöäyxcvbnm,.-",
    "°!\"§$%&/()=?`QWERTZUIOPÜ*'ASDFGHJKLÖÄYXCVBNM;:_",
)
DEAD = "^\u00b4`"
SHIFT = 8


def scan(page, text, layout=US):
    """Type a text as a scanner for a US keyboard does, at once, and Enter."""
    session = page.context.new_cdp_session(page)
    # However long it takes here, it takes no time there.
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    for character in text:
        shift = character in US[1]
        place = US[shift].index(character)
        key = layout[shift][place]
        event = {"key": key, "text": key, "code": CODES[place]}
        if key in DEAD:
            event |= {"key": "Dead", "text": ""}
        strike(session, event | {"modifiers": SHIFT * shift})
    strike(session, {"key": "Enter", "code": "Enter", "text": "\r"})
    page.clock.resume()


def strike(session, event):
    session.send("Input.dispatchKeyEvent", {"type": "keyDown", **event})


@pytest.mark.slow
def test_a_scan_counts_wherever_the_focus_is_and_can_be_left_to_the_page(
    browser, web_service
):
    with visiting(browser, web_service.url) as keeper:
        page = keeper.page
        page.clock.install()
        raws = mint_outputs(keeper.api, "one", "two", "three", metadata=CONCERT)
        links = [claim_link(keeper.origin, raw) for raw in raws]
        keeper.go(f"/door#{raws[0].split('.')[1]}")
        press(page, "Start")
        expect(page.locator("#door-title")).to_be_focused()
        scan(page, links[0], GERMAN)
        expect_text(page, LAST, ["Valid, 5"])

        stop = page.get_by_role("button", name="Stop")
        stop.focus()
        scan(page, links[1])
        expect_text(page, LAST, ["Valid, 5"] * 2)
        expect(page.locator("#door")).to_be_visible()

        field = page.get_by_label("Ticket link")
        field.focus()
        scan(page, links[2])
        expect(field).to_have_value(links[2])
        expect_text(page, LAST, ["Valid, 5"] * 3)

        stop.click()
        page.get_by_label("USB or Bluetooth scanner").uncheck()
        press(page, "Start")
        stop.focus()
        scan(page, links[0])
        expect(page.locator("#door")).to_be_hidden()
        keeper.assert_good()
