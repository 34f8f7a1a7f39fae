"""Dialogs in letters that are large for the window: their buttons stay in view."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import hold, press
from tests.page.test_quality import LARGE, assert_seen_at_once
from tests.page.visitor import PHONE, make_profile, using

pytestmark = pytest.mark.slow

# What zoom to twice the size makes of a phone.
ZOOMED = {"width": 180, "height": 370}
LAPTOP = {"width": 1280, "height": 720}


def assert_buttons_are_seen(visitor, size):
    page, _ = hold(visitor, 5)
    page.set_viewport_size(size)
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


def test_the_buttons_of_a_dialog_stay_in_view_when_zoomed(visitor):
    assert_buttons_are_seen(visitor, ZOOMED)


@pytest.mark.parametrize("size", [PHONE, LAPTOP])
def test_the_buttons_of_a_dialog_stay_in_view_in_large_letters(
    browser, web_service, tmp_path, size
):
    profile = make_profile(tmp_path / "profile", LARGE)
    with using(browser, profile, web_service.url) as visitor:
        assert_buttons_are_seen(visitor, size)
