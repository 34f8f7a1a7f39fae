"""Dialogs in letters that are large for the window: their buttons stay in view."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import hold, press
from tests.page.test_quality import assert_seen_at_once

pytestmark = pytest.mark.slow


def test_the_buttons_of_a_dialog_stay_in_view_when_zoomed(visitor):
    page, _ = hold(visitor, 5)
    # What zoom to twice the size makes of a phone.
    page.set_viewport_size({"width": 180, "height": 370})
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
