"""Offers in My deeds.

A shop that asks to be paid, a trade, and an offer that is withdrawn.
"""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    COPIED,
    TICKET,
    amounts,
    claim_link,
    come_back_until,
    expect_shown,
    expect_sum,
    expect_text,
    follow,
    hold,
    live_amounts,
    mint_outputs,
    press,
)
from tests.support.api import good

pytestmark = pytest.mark.slow

DRINK = {"name": "A drink"}
# A page that asks every 2.5 seconds whether it is paid asks ten times as often.
HURRY = """const wait = setTimeout;
window.setTimeout = (run, ms, ...given) => wait(run, ms / 10, ...given);"""


def shown_id(dialog):
    """Return the id of the offer whose code a dialog shows."""
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    press(dialog, "Copy link")
    expect_shown(dialog, "The link is copied.")
    copied = dialog.page.evaluate(COPIED)
    return copied.rpartition("/offer/")[2]


def test_a_shop_asks_for_what_it_does_not_hold_and_is_told_when_it_is_paid(visitor):
    item_id = visitor.api.mint("+5.a", "+95.b", metadata=DRINK)
    page = visitor.go(f"/item/{item_id}")
    follow(page, "Ask for it")
    press(page, "Ask for")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("How many?").fill("5")
    page.keyboard.press("Enter")
    offer_id = shown_id(dialog)
    visitor.assert_good()
    expect_sum(page, "Nothing here of 100 · 5 asked for")
    # The page may be closed meanwhile.
    page = visitor.open_tab("/wallet#offers", HURRY)
    row = page.locator("#offers li")
    expect(row).to_contain_text("Ask for 5 units of “A drink”")
    press(row, "Show link")
    dialog = page.get_by_role("dialog")
    assert shown_id(dialog) == offer_id

    good(visitor.api.complete(offer_id, [f"+5.{item_id}.a"], []))

    expect_text(dialog, ".notice.good", "Paid.")
    expect(page.get_by_role("img", name="QR code")).to_be_hidden()
    press(page, "Done")
    expect_text(row, ".tag.good", "Paid.")
    assert amounts(page)["held"] == [5]


@pytest.fixture
def trade(visitor):
    """The review of an offer of two tickets of ten for three drinks, and a drink.

    What is wanted was named by a claim link to drinks of somebody else.
    """
    [drink] = mint_outputs(visitor.api, "hush", metadata=DRINK)
    page, _ = hold(visitor, 10, metadata=TICKET)
    press(page, "Trade")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("do you give").fill("2")
    dialog.get_by_label("What do you want?").fill(claim_link(visitor.origin, drink))
    dialog.get_by_label("many do you want").fill("3")
    page.keyboard.press("Enter")
    return page.get_by_role("dialog", name="Your offer"), drink


def test_a_trade_is_reviewed_before_it_is_offered(trade, visitor):
    review, drink = trade

    said = "You give 2 units of “A ticket” and get 3 units of “A drink”."
    expect_shown(review, said)
    expect(review.locator(".mark")).to_have_count(2)
    expect_shown(review, "You have not seen this before.")
    visitor.assert_good()
    sent = [each.url + (each.post_data or "") for each in visitor.requests]
    assert [each for each in sent if "hush" in each] == []
    press(review, "Cancel")
    what = visitor.page.get_by_label("What do you want?")
    expect(what).to_have_value(claim_link(visitor.origin, drink))


def test_two_people_trade(trade, stranger, visitor):
    review, drink = trade
    press(review, "Make offer")
    offer_id = shown_id(visitor.page.get_by_role("dialog", name="Your offer"))
    expect_sum(visitor.page, "8 units of 10 · 2 offered")
    page = visitor.go(f"/offer/{offer_id}")
    theirs = stranger.go(f"/offer/{offer_id}")
    expect(theirs.locator("#pay")).to_be_hidden()
    press(stranger.open_tab(claim_link("", drink)), "Claim")

    press(theirs, "Trade")

    expect_shown(theirs, "Yours now.")
    assert live_amounts(visitor.api, theirs) == [2, 2]
    come_back_until(page, "Yours now.")
    assert amounts(page) == {"held": [3, 8], "spent": [2, 10]}
