"""Offers in My deeds.

A shop that asks to be paid, a trade, and an offer that is cancelled.
"""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    COPIED,
    DRINK,
    TICKET,
    amounts,
    choose,
    claim,
    claim_link,
    come_back_until,
    expect_shown,
    expect_sum,
    follow,
    hold,
    live_amounts,
    mint_outputs,
    press,
)
from tests.support.api import good

pytestmark = pytest.mark.slow


def shown_id(dialog):
    """Return the id of the offer whose code a dialog shows."""
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    press(dialog, "Copy link")
    expect_shown(dialog, "The link is copied.")
    copied = dialog.page.evaluate(COPIED)
    return copied.rpartition("/offer/")[2]


def test_offers_tell_that_a_request_was_paid(visitor):
    item_id = visitor.api.mint("+5.a", "+95.b", metadata=DRINK)
    page = visitor.go(f"/item/{item_id}")
    follow(page, "Ask for it")
    expect(page.get_by_label("Amount")).to_be_focused()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    expect(page.locator("#request-code img")).to_be_visible()
    # The page may be closed meanwhile.
    visitor.go("/wallet#offers")
    row = page.locator("#offers li")
    expect(row).to_contain_text("Ask for 5 drinks of “A drink”")
    press(row, "Show link")
    dialog = page.get_by_role("dialog")
    offer_id = shown_id(dialog)

    good(visitor.api.complete(offer_id, [f"+5.{item_id}.a"], []))

    receipt = f"Paid {offer_id[-4:].upper()} "
    come_back_until(page, receipt, dialog)
    expect(page.get_by_role("img", name="QR code")).to_be_hidden()
    press(page, "Done")
    expect(row.locator(".tag.good")).to_contain_text(receipt)
    assert amounts(page)["held"] == [5]


def test_a_trade_is_seen_before_it_is_offered_and_can_be_cancelled(visitor):
    [drink] = mint_outputs(visitor.api, "hush", metadata=DRINK)
    page, _ = hold(visitor, 10, metadata=TICKET)
    choose(page, "Trade")
    choice = page.get_by_role("dialog", name="What do you want for “A ticket”?")
    expect(choice.get_by_role("button", name="Scan a QR code")).to_be_visible()
    choice.get_by_label("paste a link").fill(claim_link(visitor.origin, drink))
    press(choice, "Continue")
    offer = page.get_by_role("dialog", name="Your offer")
    offer.get_by_label("do you give").fill("2")
    offer.get_by_label("do you want").fill("3")
    expect_shown(offer, "You give 2 units of “A ticket” and get 3 drinks of “A drink”.")
    expect(offer.locator(".mark")).to_have_count(2)
    visitor.assert_good()
    press(offer, "Make offer")
    offer_id = shown_id(page.get_by_role("dialog", name="Your offer"))
    sent = [each.url + (each.post_data or "") for each in visitor.requests]
    assert [each for each in sent if "hush" in each] == []

    visitor.go(f"/offer/{offer_id}")
    press(page, "Show link and code")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    press(dialog, "Done")
    press(page, "Cancel offer")
    press(dialog, "Cancel offer")
    expect(page.locator("#lead")).to_contain_text("Cancelled.")
    expect(page.locator("#pay")).to_be_hidden()


def test_two_people_trade_with_four_taps_and_two_though_one_is_warned(
    visitor, stranger
):
    item_id = stranger.api.mint("+5.a", "+1.b", metadata=DRINK)
    claim(stranger, f"+5.{item_id}.a")
    hold(stranger, 5, metadata=TICKET)
    claim(visitor, f"+1.{item_id}.b")
    page, _ = hold(visitor, 10, metadata=TICKET)
    visitor.taps = 0

    choose(page, "Trade")
    page.get_by_label("do you give").fill("2")
    page.get_by_label("do you want").fill("3")
    press(page, "Make offer")
    offer_id = shown_id(page.get_by_role("dialog", name="Your offer"))
    visitor.assert_taps(4)
    expect_sum(page, "8 units of 10 · 2 offered")
    visitor.go(f"/offer/{offer_id}")

    theirs = stranger.go(f"/offer/{offer_id}")
    # The stranger made another “A ticket”.
    origin = theirs.locator("#gives .origin:has(+ .deed)")
    expect(origin).to_have_class("origin notice bad")
    expect(origin).to_be_in_viewport(ratio=1)
    expect(theirs.locator("#wants .origin")).to_be_hidden()
    stranger.assert_good()
    anyway = theirs.get_by_role("button", name="Trade anyway")
    expect(anyway).to_have_class("button wide quiet")
    # That on the link, in a message, is the first.
    stranger.taps = 1
    anyway.click()
    expect_shown(theirs, "Yours now.")
    stranger.assert_taps(2)
    assert live_amounts(visitor.api, theirs) == [2, 2, 5]
    come_back_until(page, "Yours now.")
    assert amounts(page) == {"held": [1, 3, 8], "spent": [1, 2, 10]}
