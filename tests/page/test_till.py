"""The till, and a customer who pays in another browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    COPIED,
    DRINK,
    amounts,
    choose,
    claim_link,
    expect_shown,
    expect_text,
    follow,
    hold,
    operations,
    press,
    records,
)
from tests.page.visitor import cut_off, visiting, wait_for_true
from tests.support.api import fresh, good
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

# A word for a unit has 20 letters at most.
LONGEST = {"name": "A play", "description": "Unit: Abend/Theatervorstellungen"}
FITS = "request.querySelector('.request-inner').scrollWidth <= innerWidth"


def open_till(visitor, item_id):
    page = visitor.go(f"/till#{item_id}")
    expect(page.get_by_label("Amount")).to_be_focused()
    return page


def ask(page, digits):
    """Type an amount with the keys of the page, and ask for it."""
    for digit in digits:
        press(page, digit)
    press(page, "Ask for")
    expect(page.locator("#request-code img")).to_be_visible()


def shown_offer(page):
    """Return the path of the request whose code is shown."""
    press(page, "Copy link")
    expect_shown(page, "The link is copied.")
    return "/offer/" + page.evaluate(COPIED).rpartition("/offer/")[2]


def hand_drinks(visitor, item_id):
    """Let a visitor claim ten drinks."""
    press(visitor.open_tab(claim_link("", f"+10.{item_id}.a")), "Claim")
    expect_shown(visitor.page, "Yours now")


def test_a_customer_pays_and_both_screens_say_the_same(visitor, stranger):
    item_id = visitor.api.mint("+10.a", "+90.b", metadata=DRINK)
    hand_drinks(stranger, item_id)
    page = open_till(visitor, item_id)
    visitor.taps = 0
    ask(page, "3")
    visitor.assert_taps(2)
    expect_text(page, "#request-title", "Scan to pay 3 drinks")
    expect(page.locator("#request-code")).to_be_in_viewport(ratio=1)
    visitor.assert_good()
    # That on what their camera has read.
    stranger.taps = 1
    theirs = stranger.go(shown_offer(page))

    press(theirs, "Pay 3 drinks")

    receipt = page.locator("#request-about")
    expect(receipt).to_have_text(re.compile(r"^Code [0-9A-HJKMNP-TV-Z]{4} \d"))
    expect_text(page, "#request-title", "3 drinks")
    expect_text(page, "#request-state", "Paid")
    # A minute may have passed in between.
    signs = receipt.inner_text().split()[1]
    expect(theirs.locator("#heading")).to_contain_text(f"Paid {signs}")
    expect_text(theirs, "#lead", "You have 7 drinks left.")
    stranger.assert_taps(2)
    green = "rgb(11, 107, 58)"
    expect(page.locator("#request")).to_have_css("background-color", green)
    expect(theirs.locator(".lead")).to_have_css("background-color", green)
    for each in (visitor, stranger):
        each.assert_good()
    visitor.assert_still()
    press(page, "Next customer")
    expect(page.get_by_label("Amount")).to_have_value("")
    expect_text(page, "#today", "Today: 3 drinks in 1 payment")
    expect(page.locator("#last li")).to_contain_text(signs)
    assert amounts(page)["held"] == [3]


def test_the_longest_word_for_what_was_paid_fits_the_smallest_screen(visitor):
    item_id = visitor.api.mint("+30.a", metadata=LONGEST)
    visitor.page.set_viewport_size({"width": 320, "height": 740})
    page = open_till(visitor, item_id)
    ask(page, "30")
    offer_id = shown_offer(page).rpartition("/")[2]

    good(visitor.api.complete(offer_id, [f"+30.{item_id}.a"], []))

    expect(page.locator("#request h2")).to_contain_text("Theatervorstellungen")
    expect(page.locator("#request")).to_have_attribute("data-kind", "paid")
    wait_for_true(page, FITS)


def test_the_payments_of_a_till_are_a_file(visitor):
    item_id = visitor.api.mint("+10.a", metadata=DRINK)
    page = open_till(visitor, item_id)
    ask(page, "3")
    offer_id = shown_offer(page).rpartition("/")[2]
    good(visitor.api.complete(offer_id, [f"+10.{item_id}.a"], [f"+7.{item_id}.b"]))
    press(page, "Next customer")

    with page.expect_download() as download:
        press(page, "CSV of payments")

    assert download.value.suggested_filename == "A drink payments.csv"
    text = download.value.path().read_text(encoding="utf-8-sig")
    head, line = text.splitlines()
    assert head == "time,units,code"
    assert f",3,{offer_id[-4:].upper()} " in line


def test_a_request_that_is_cancelled_cannot_be_paid(visitor, stranger):
    page, _ = hold(visitor, 25, metadata=DRINK)
    choose(page, "Till")
    ask(page, "12")
    path = shown_offer(page)
    assert operations(page)[-1] == ("ask", "open")

    press(page, "Cancel")

    expect(page.locator("#request")).to_be_hidden()
    expect_shown(page, "Cancelled. The link no longer works.")
    expect(page.get_by_label("Amount")).to_be_focused()
    expect_text(stranger.go(path), "#heading", "Cancelled")
    assert amounts(page) == {"held": [25], "spent": [25]}


def test_a_till_that_holds_nothing_says_how_a_request_ends_and_has_no_cancel(visitor):
    item_id = visitor.api.mint("+10.a", metadata=DRINK)
    page = open_till(visitor, item_id)
    # With a keyboard.
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    path = shown_offer(page)
    said = "until .*It can't be cancelled: this till has none of its own"
    expect_text(page, "#request-state", re.compile(said))
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    visitor.assert_good()
    # The phone's lock closes the page.
    page.reload()
    assert shown_offer(page) == path

    page.keyboard.press("Escape")

    expect(page.locator("#request")).to_be_hidden()
    row = page.locator("#last li")
    expect(row).to_contain_text("4 drinks. Can be paid until")
    press(row, "Show code")
    assert shown_offer(page) == path
    good(visitor.api.complete(path[7:], [f"+10.{item_id}.a"], [fresh(6, item_id)]))
    expect(page.locator("#request[data-kind=paid]")).to_be_visible()


def test_without_a_network_there_is_no_code_and_what_is_cancelled_is_not_sent(visitor):
    page, item_id = hold(visitor, 5, metadata=DRINK)
    open_till(visitor, item_id)
    cut_off(page, "**/v1/**")
    page.keyboard.type("2")
    press(page, "Ask for 2 drinks")

    expect_shown(page.locator("#request"), "The service can't be reached right now.")
    expect(page.locator("#request-code")).to_be_hidden()
    press(page, "Cancel")
    expect(page.locator("#request")).to_be_hidden()
    page.unroute("**/v1/**")
    assert operations(page)[-1] == ("ask", "refused")
    asked = len(visitor.asked("/v1/offers"))
    ask(page, "1")
    assert len(visitor.asked("/v1/offers")) > asked
    wait_until(lambda: ("ask", "open") in operations(page))
    made = [each for each in records(page, "operations") if "offerId" in each]
    assert [each["amount"] for each in made] == [1]


@pytest.fixture
def keeper(browser, web_service):
    """A person in a profile whose clock the test can move."""
    with visiting(browser, web_service.url) as visitor:
        visitor.page.clock.install()
        yield visitor


def test_a_request_that_has_expired_shows_no_code(keeper):
    item_id = keeper.api.mint("+10.a", metadata=DRINK)
    page = open_till(keeper, item_id)
    ask(page, "4")
    page.keyboard.press("Escape")
    row = page.locator("#last li")
    expect(row.get_by_role("button", name="Show code")).to_be_visible()
    press(row, "Show code")
    expect_text(page, "#request-state", re.compile("^Can be paid until"))

    page.clock.fast_forward("16:00")

    # By this device's clock; the service's own is not moved.
    expect_text(page, "#request-state", "Expired")
    expect(page.locator("#request-code")).to_be_hidden()
    page.keyboard.press("Escape")
    expect_text(page, "#last li", "4 drinks. Expired")
    cut_off(page, "**/v1/**")
    page.reload()
    expect_text(page, "#last li", "4 drinks. Expired")
    expect(page.locator("#request")).to_be_hidden()
    page.unroute("**/v1/**")


def test_a_till_offers_the_deeds_of_this_browser(visitor):
    page = visitor.go("/till")
    expect_shown(page, "There are no deeds in this browser yet.")
    visitor.assert_good()
    hold(visitor, 5, metadata=DRINK)

    follow(visitor.go("/till"), "A drink")

    press(page, "9")
    press(page, "Ask for 9 drinks")
    expect(page.get_by_text("There are only 5 drinks in all.")).to_be_visible()
    # What was refused is not continued, with neither kind of keys.
    page.keyboard.type("1.5\n")
    expect(page.get_by_text("Enter a whole number")).to_be_visible()
    press(page, "2")
    expect(page.get_by_label("Amount")).to_have_value("2")


def test_what_has_expired_is_said_at_the_till_and_to_who_pays(visitor, stranger):
    about = "At the bar.\n\nValid until: 2026-01-02 03:04 +00:00\nUnit: drink/drinks"
    metadata = DRINK | {"description": about}
    item_id = visitor.api.mint("+10.a", metadata=metadata)
    hand_drinks(stranger, item_id)
    red = "rgb(168, 35, 27)"
    expired = re.compile(r"^Expired on Fri,.Jan.2(,.2026)?.· 3:04")

    page = open_till(visitor, item_id)

    expect_text(page, "#until", expired)
    expect(page.locator("#until")).to_have_css("color", red)
    visitor.assert_good()
    ask(page, "2")
    theirs = stranger.go(shown_offer(page))
    expect_text(theirs, "#lead", expired)
    expect(theirs.locator("#lead")).to_have_css("color", red)
    stranger.assert_good()
    stranger.assert_still()
    # Whether it still counts is for the two of them to say.
    press(theirs, "Pay 2 drinks anyway")
    expect_text(theirs, "#lead", "You have 8 drinks left.")
    expect(theirs.locator("#lead")).to_have_css("color", "rgb(255, 255, 255)")


def test_a_request_that_cannot_be_cancelled_now_says_until_when_it_can_be_paid(visitor):
    page, item_id = hold(visitor, 5, metadata=DRINK)
    open_till(visitor, item_id)
    ask(page, "2")
    said = page.locator("#request-state")
    visitor.go_offline()
    expect(said).to_have_text(re.compile("You're offline. If the customer pays"))
    visitor.go_online()
    expect(said).to_have_text(re.compile("^Can be paid until"))
    cut_off(page, "**/v1/**")
    expect(said).to_have_text(re.compile("You'll see the payment once it's back.$"))

    press(page, "Cancel")

    expect(said).to_have_text(re.compile("can't be reached.*Can be paid until"))
