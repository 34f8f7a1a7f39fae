"""A scanner that acts as a keyboard, at an open door."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import expect_text, mint_outputs, press
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
LAYOUTS = {
    "US": (
        "`1234567890-=qwertyuiop[]\\asdfghjkl;'zxcvbnm,./",
        '~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:"ZXCVBNM<>?',
    ),
    "German": (
        "^1234567890ß\u00b4qwertzuiopü+#asdfghjklöäyxcvbnm,.-",
        "°!\"§$%&/()=?`QWERTZUIOPÜ*'ASDFGHJKLÖÄYXCVBNM;:_",
    ),
    "French": (
        "²&é\"'(-è_çà)=azertyuiop^$*qsdfghjklmùwxcvbn,;:!",
        "~1234567890°+AZERTYUIOP¨£µQSDFGHJKLM%WXCVBN?./§",
    ),
}
DEAD = "^\u00b4`¨"
SHIFT = 8


@pytest.fixture(scope="module")
def keeper(browser, web_service):
    """A person at a device whose clock the test can stop."""
    with visiting(browser, web_service.url) as visitor:
        visitor.page.clock.install()
        yield visitor


@pytest.fixture
def links(keeper):
    """Claim links of two tickets, to whose open door the keeper has a page."""
    raws = mint_outputs(keeper.api, "one", "two", metadata=CONCERT)
    item_id = raws[0].split(".")[1]
    keeper.go("/healthz")
    press(keeper.go(f"/door#{item_id}"), "Start")
    address = f"{keeper.origin}/claim/{item_id}#"
    return [address + raw.replace(f"{item_id}.", "") for raw in raws]


def scan(page, text, layout="US"):
    """Type a text as a scanner for a US keyboard does, at once, and Enter."""
    session = page.context.new_cdp_session(page)
    # However long it takes here, it takes no time there.
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    for place, shift in map(us_key, text):
        key = LAYOUTS[layout][shift][place]
        event = {"key": key, "text": key, "code": CODES[place]}
        if key in DEAD:
            event |= {"key": "Dead", "text": ""}
        strike(session, event | {"modifiers": SHIFT * shift})
    strike(session, {"key": "Enter", "code": "Enter", "text": "\r"})
    page.clock.resume()


def us_key(character):
    """Return which of the keys types a character, and whether with Shift."""
    plain, shifted = LAYOUTS["US"]
    shift = character in shifted
    return (shifted if shift else plain).index(character), shift


def strike(session, event):
    session.send("Input.dispatchKeyEvent", {"type": "keyDown", **event})
    session.send("Input.dispatchKeyEvent", {"type": "keyUp", **event, "text": ""})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_scan_right_after_start_counts_on_each_layout(keeper, links, layout):
    page = keeper.page
    expect(page.locator("#door-title")).to_be_focused()

    scan(page, links[0], layout)

    expect_text(page, LAST, ["Valid, 5"])


def test_a_scan_presses_no_button_and_goes_into_a_field_as_text(keeper, links):
    page = keeper.page
    page.get_by_role("button", name="Stop").focus()
    scan(page, links[0])
    expect_text(page, LAST, ["Valid, 5"])
    expect(page.locator("#door")).to_be_visible()

    field = page.get_by_label("Ticket link")
    field.focus()
    scan(page, links[1])
    expect(field).to_have_value(links[1])
    expect_text(page, LAST, ["Valid, 5", "Valid, 5"])


def test_the_switch_at_start_leaves_all_keys_to_the_page(keeper, links):
    page = keeper.page
    press(page, "Stop")
    page.get_by_label("USB or Bluetooth scanner").uncheck()
    press(page, "Start")
    page.get_by_role("button", name="Stop").focus()

    scan(page, links[0])

    expect(page.locator("#door")).to_be_hidden()
    keeper.assert_good()
