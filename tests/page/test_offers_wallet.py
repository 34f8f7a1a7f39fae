"""Offers in My deeds.

A shop that asks to be paid, a trade, and an offer that is cancelled.
"""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    COPIED,
    TICKET,
    amounts,
    choose,
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
from tests.page.test_claim_scan import DETECTOR, SEE
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


def test_offers_tell_that_a_request_was_paid(visitor):
    item_id = visitor.api.mint("+5.a", "+95.b", metadata=DRINK)
    page = visitor.go(f"/item/{item_id}")
    follow(page, "Ask for it")
    expect(page.get_by_label("Amount")).to_be_focused()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    expect(page.locator("#request-code img")).to_be_visible()
    # The page may be closed meanwhile.
    page = visitor.open_tab("/wallet#offers", HURRY)
    row = page.locator("#offers li")
    expect(row).to_contain_text("Ask for 5 units of “A drink”")
    press(row, "Show link")
    dialog = page.get_by_role("dialog")
    offer_id = shown_id(dialog)

    good(visitor.api.complete(offer_id, [f"+5.{item_id}.a"], []))

    receipt = f"Paid {offer_id[-4:].upper()} "
    expect(dialog.locator(".notice.good")).to_contain_text(receipt)
    expect(page.get_by_role("img", name="QR code")).to_be_hidden()
    press(page, "Done")
    expect(row.locator(".tag.good")).to_contain_text(receipt)
    assert amounts(page)["held"] == [5]


@pytest.fixture
def trade(visitor):
    """The view of an offer of two tickets of ten for three drinks, and a drink.

    What is wanted was named by a claim link to drinks of somebody else.
    """
    [drink] = mint_outputs(visitor.api, "hush", metadata=DRINK)
    page, _ = hold(visitor, 10, metadata=TICKET)
    choose(page, "Trade")
    choice = page.get_by_role("dialog", name="What do you want for “A ticket”?")
    choice.get_by_label("paste a link").fill(claim_link(visitor.origin, drink))
    press(choice, "Continue")
    offer = page.get_by_role("dialog", name="Your offer")
    offer.get_by_label("do you give").fill("2")
    offer.get_by_label("do you want").fill("3")
    return offer, drink


def test_a_trade_is_seen_before_it_is_offered(trade, visitor):
    offer, _ = trade

    said = "You give 2 units of “A ticket” and get 3 units of “A drink”."
    expect_shown(offer, said)
    expect(offer.locator(".mark")).to_have_count(2)
    visitor.assert_good()
    sent = [each.url + (each.post_data or "") for each in visitor.requests]
    assert [each for each in sent if "hush" in each] == []
    press(offer, "Cancel")
    # What was only looked up may be forged.
    choose(visitor.page, "Trade")
    choice = visitor.page.get_by_role("dialog", name="What do you want")
    expect(choice.locator(".mark")).to_have_count(0)


def test_what_is_wanted_is_named_by_the_code_on_its_page(visitor):
    drink = visitor.api.mint("+5.a", metadata=DRINK)
    visitor.context.grant_permissions(["camera"])
    hold(visitor, 10, metadata=TICKET)
    page = visitor.open_tab(visitor.page.url.removeprefix(visitor.origin), DETECTOR)
    choose(page, "Trade")
    press(page, "Scan a QR code")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    visitor.assert_good()

    page.evaluate(SEE, f"{visitor.origin}/item/{drink}")

    expect(page.locator("video")).to_have_count(0)
    offer = page.get_by_role("dialog", name="Your offer")
    expect_shown(offer, "You give 1 unit of “A ticket” and get 1 unit of “A drink”.")


def test_two_people_trade(trade, stranger, visitor):
    offer, drink = trade
    press(offer, "Make offer")
    offer_id = shown_id(visitor.page.get_by_role("dialog", name="Your offer"))
    expect_sum(visitor.page, "8 units of 10 · 2 offered")
    page = visitor.go(f"/offer/{offer_id}")
    theirs = stranger.go(f"/offer/{offer_id}")
    expect(theirs.locator("#pay")).to_be_hidden()
    press(stranger.open_tab(claim_link("", drink)), "Claim")
    notice = theirs.locator("#gives .origin:has(+ .deed)")
    expect(notice).to_contain_text("Anyone can use this name.")
    expect(notice).to_be_in_viewport(ratio=1)
    expect(theirs.locator("#wants .origin")).to_be_hidden()

    press(theirs, "Trade")

    expect_shown(theirs, "Yours now.")
    assert live_amounts(visitor.api, theirs) == [2, 2]
    come_back_until(page, "Yours now.")
    assert amounts(page) == {"held": [3, 8], "spent": [2, 10]}
