"""What people do often, and how many taps each takes."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import expect_shown, follow, press
from tests.page.visitor import wait_for_true

pytestmark = pytest.mark.slow


def assert_taps(visitor, count):
    wait_for_true(visitor.page, "true")
    assert visitor.taps == count


def test_the_first_link_is_made_and_copied_with_three_taps(visitor):
    page = visitor.go("/")

    follow(page, "Make tickets or vouchers")
    press(page, "Create")
    press(page, "Copy link")

    expect_shown(page, "The link to 1 unit is copied.")
    assert_taps(visitor, 3)


def test_a_link_is_claimed_with_two_taps(visitor):
    """The first is that on the link, in a message."""
    visitor.taps = 1
    item_id = visitor.api.mint("+1.one")
    page = visitor.go(f"/claim#+1.{item_id}.one")

    press(page, "Claim")

    expect(page.locator("[data-state=taken]")).to_be_visible()
    assert_taps(visitor, 2)
