"""Dialogs in letters that are large for the window: their buttons stay in view."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import hold, press
from tests.page.test_quality import assert_seen_at_once

pytestmark = pytest.mark.slow


# What zoom to twice the size makes of a phone and of a laptop.
@pytest.mark.parametrize(("width", "height"), [(180, 370), (640, 360)])
def test_the_buttons_of_a_dialog_stay_in_view_when_zoomed(visitor, width, height):
    page, _ = hold(visitor, 5)
    page.set_viewport_size({"width": width, "height": height})
    buttons = page.locator("dialog[open] .action-bar button")
    press(page, "Send")
    assert_seen_at_once(*buttons.all())
    page.keyboard.press("Escape")

    visitor.go("/wallet")
    for name in ("Back up", "Restore"):
        press(page, name)
        expect(buttons).to_have_count(2)
        assert_seen_at_once(*buttons.all())
        page.keyboard.press("Escape")
