"""What people do often, and how many taps each takes."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    COPIED,
    DRINK,
    TICKET,
    claim,
    expect_shown,
    follow,
    hold,
    press,
)

pytestmark = pytest.mark.slow


def test_the_first_link_is_made_and_copied_with_three_taps(visitor):
    page = visitor.go("/")

    follow(page, "Make tickets or vouchers")
    press(page, "Create")
    press(page, "Copy link")

    expect_shown(page, "Link copied")
    visitor.assert_taps(3)


@pytest.mark.parametrize("path", ["/item/{item_id}", "/claim/{item_id}#+1.one"])
def test_how_a_forgery_is_told_is_one_tap_away_from_a_card(visitor, path):
    item_id = visitor.api.mint("+1.one", metadata=TICKET)
    page = visitor.go(path.format(item_id=item_id))
    said = page.get_by_text(f"Compare {item_id[5:9]}·{item_id[-4:]} with")
    question = page.get_by_text("Is it genuine?")

    question.click()

    expect(said).to_be_visible()
    visitor.assert_taps(1)
    page.keyboard.press("Enter")
    expect(said).to_be_hidden()
    visitor.assert_still()


def test_a_trade_is_made_with_four_taps_at_most_and_taken_with_two(visitor, stranger):
    item_id = stranger.api.mint("+5.a", metadata=DRINK)
    claim(stranger, f"+5.{item_id}.a")
    visitor.go(f"/till#{item_id}").locator("main[data-ready]").wait_for()
    page, _ = hold(visitor, 10, metadata=TICKET)
    visitor.taps = 0

    press(page, "Trade")
    press(page.get_by_role("dialog"), "A drink")
    press(page, "Make offer")
    press(page.get_by_role("dialog", name="Your offer"), "Copy link")
    expect_shown(page, "The link is copied.")
    visitor.assert_taps(4)

    path = page.evaluate(COPIED).removeprefix(visitor.origin)
    stranger.taps = 1
    press(stranger.go(path), "Trade")
    expect_shown(stranger.page, "Yours now.")
    stranger.assert_taps(2)
