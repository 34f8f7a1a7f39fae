"""What people do often, and how many taps each takes."""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    TICKET,
    expect_shown,
    follow,
    hold,
    press,
)

pytestmark = pytest.mark.slow


def test_the_first_link_is_made_and_copied_with_three_taps(visitor):
    page = visitor.go("/")

    follow(page, "Create tickets or vouchers")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("A ticket")
    press(page, "Create")
    press(page, "Copy link")

    expect_shown(page, "Link copied")
    visitor.assert_taps(3)


CONTROLS = """[...document.querySelectorAll(
    "[data-holding] :is(button, a, input, select)")]
  .filter((each) => !each.closest(".back, .genuine, .link-row"))
  .filter((each) => each.checkVisibility())
  .map((each) => each.ariaLabel ?? each.firstChild.textContent)"""
SHOWN = [
    "Send",
    "Print",
    "Export",
    "More",
    "Search by number or note",
    "Which links to show",
]


def test_a_maker_sees_few_controls_before_the_first_link(visitor):
    page, _ = hold(visitor, links=20, metadata=TICKET)

    assert page.evaluate(CONTROLS) == SHOWN


def test_how_a_forgery_is_told_is_one_tap_away_from_a_card(visitor):
    item_id = visitor.api.mint("+1.one", metadata=TICKET)
    page = visitor.go(f"/claim/{item_id}#+1.one")
    said = page.get_by_text(f"Compare {item_id[5:9]}·{item_id[-4:]} with")
    question = page.get_by_text("Is it genuine?")

    question.click()

    expect(said).to_be_visible()
    visitor.assert_taps(1)
    page.keyboard.press("Enter")
    expect(said).to_be_hidden()
    visitor.assert_still()
