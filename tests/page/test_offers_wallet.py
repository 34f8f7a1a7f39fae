"""Offers in My deeds.

A shop that asks to be paid, a trade, and an offer that is withdrawn.
"""

import pytest
from playwright.sync_api import expect

from tests.page import steps
from tests.page.test_wallet import come_back_until

DRINK = {"name": "A drink"}


def make_offer(page, name, **fields):
    """Fill in the dialog of a button on the page of a deed; return the dialog."""
    page.get_by_role("button", name=name).click()
    dialog = page.get_by_role("dialog")
    for label, value in fields.items():
        dialog.get_by_label(label.replace("_", " ")).fill(value)
    page.keyboard.press("Enter")
    return dialog


def shown_id(dialog, page):
    """Return the id of the offer whose code a dialog shows."""
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog.get_by_role("button", name="Copy link").click()
    expect(dialog.get_by_text("The link is copied.")).to_be_visible()
    return page.evaluate("navigator.clipboard.readText()").rpartition("/offer/")[2]


def complete(origin, offer_id, inputs, outputs=()):
    """Complete an offer as somebody at another browser."""
    body = {"inputs": list(inputs), "outputs": list(outputs)}
    assert steps.post(f"{origin}/v1/offers/{offer_id}/complete", body) == {
        "success": True
    }


def test_a_shop_asks_for_what_it_does_not_hold_and_its_code_turns_to_paid(visitor):
    item_id = steps.mint_deed(visitor.origin, DRINK, "+5.a", "+95.b")
    page = visitor.go(f"/item/{item_id}")
    page.get_by_role("link", name="Ask for it").click()
    dialog = make_offer(page, "Ask for", How_many="101")
    expect(dialog.get_by_text("There are only 100 units in all.")).to_have_class(
        "error"
    )
    dialog.get_by_label("How many?").fill("5")
    page.keyboard.press("Enter")
    offer_id = shown_id(dialog, page)
    visitor.assert_good()
    expect(page.locator(".holding-sum")).to_have_text(
        "Nothing here of 100 · 5 asked for"
    )
    # The page may be closed meanwhile.
    page = visitor.open_tab("/wallet#offers")
    row = page.locator("#offers li")
    expect(row.get_by_role("button")).to_have_text(
        ["Show link: Ask for 5 units of “A drink”"]
    )
    row.get_by_role("button").click()
    assert shown_id(page.get_by_role("dialog"), page) == offer_id

    complete(visitor.origin, offer_id, [f"+5.{item_id}.a"])

    expect(page.get_by_role("dialog").locator(".notice.good")).to_have_text("Paid.")
    expect(page.get_by_role("img", name="QR code")).to_be_hidden()
    page.get_by_role("button", name="Done").click()
    expect(row.locator(".tag.good")).to_have_text("Paid.")
    assert steps.amounts(page) == steps.amounts(page) | {"held": [5]}
    page.get_by_role("link", name="History").click()
    expect(page.locator("#history")).to_contain_text("Received 5 units of “A drink”")


@pytest.fixture
def trade(visitor):
    """Two tickets of ten, offered for three drinks.

    The page, and the ids of offer and deeds.
    """
    drinks = steps.mint_deed(visitor.origin, DRINK, "+3.a", "+97.b")
    page, item_id = steps.hold(visitor, 10, metadata=steps.TICKET)
    asked = {"do_you_give": "2", "What_do_you_want": drinks, "many_do_you_want": "3"}
    make_offer(page, "Trade", **asked)
    page.get_by_role("button", name="Make offer").click()
    dialog = page.get_by_role("dialog", name="Your offer")
    offer_id = shown_id(dialog, page)
    dialog.get_by_role("button", name="Done").click()
    return page, offer_id, drinks, item_id


def test_a_wrong_text_stays_where_it_was_typed_and_nothing_is_sent_for_it(visitor):
    page, item_id = steps.hold(visitor, 10, metadata=steps.TICKET)
    drink = steps.mint_outputs(visitor.origin, "hush", metadata=DRINK)[0]
    link = steps.link(visitor.origin, drink)
    foreign = link.replace(visitor.origin, "https://deeds.example")
    dialog = make_offer(page, "Trade", What_do_you_want="")
    what = dialog.get_by_label("What do you want?")
    wrong = {
        foreign: "to deeds.example.",
        "a drink": "no deed in",
        item_id: "the deed you give",
    }
    for text, said in wrong.items():
        what.fill(text)
        page.keyboard.press("Enter")
        expect(dialog.locator(".error:visible")).to_contain_text(said)
        expect(what).to_be_focused()
        expect(what).to_have_value(text)
    assert visitor.asked("/v1/item/") == visitor.foreign_requests() == []

    what.fill(link)
    page.keyboard.press("Enter")

    review = page.get_by_role("dialog", name="Your offer")
    said = "You give 1 unit of “A ticket” and get 1 unit of “A drink”."
    expect(review.get_by_text(said)).to_be_visible()
    expect(review.locator(".mark")).to_have_count(2)
    expect(review.get_by_text("You have not seen this deed before.")).to_be_visible()
    visitor.assert_good()
    assert not [
        each for each in visitor.requests if "hush" in (each.post_data or "") + each.url
    ]
    review.get_by_role("button", name="Cancel").click()
    expect(what).to_have_value(link)


def test_two_people_trade_and_what_is_offered_is_sent_to_nobody_meanwhile(
    trade, visit, visitor
):
    page, offer_id, drinks, _ = trade
    expect(page.locator(".holding-sum")).to_have_text("8 units of 10 · 2 offered")
    steps.send(page, "9")
    expect(page.get_by_label("How many?")).to_have_accessible_description(
        "You have 8 units."
    )
    theirs = visit().go(f"/claim#+3.{drinks}.a")
    steps.take(theirs)
    steps.wait_for_rows(theirs, "taken")

    theirs.goto(f"{visitor.origin}/offer/{offer_id}")
    theirs.get_by_role("button", name="Trade").click()

    expect(theirs.get_by_text("Yours now.")).to_be_visible()
    assert steps.live_amounts(visitor.origin, theirs) == [2]
    come_back_until(page, page.get_by_text("Traded 2 units of “A ticket”.").is_visible)
    assert steps.amounts(page) == {"held": [3, 8], "spent": [2, 10]}


def test_who_withdraws_too_late_is_told_what_came_in(trade, visitor):
    page, offer_id, drinks, item_id = trade
    page = visitor.go("/wallet#offers")
    page.get_by_role("button", name="Withdraw").click()
    visitor.assert_good()
    complete(visitor.origin, offer_id, [f"+3.{drinks}.a"], [f"+2.{item_id}.mine"])

    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()

    said = "Somebody has taken it: you got 3 units of “A drink”."
    expect(page.locator("#notices")).to_have_text(said)
    expect(page.locator("#offers .tag.good")).to_have_text("Traded.")
