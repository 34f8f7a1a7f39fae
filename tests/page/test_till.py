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
)
from tests.page.visitor import cut_off, visiting, wait_for_true
from tests.support.api import good

pytestmark = pytest.mark.slow

# A word for a unit has 20 letters at most.
LONGEST = {"name": "A play", "description": "Unit: Abend/Theatervorstellungen"}
FITS = "request.querySelector('.request-inner').scrollWidth <= innerWidth"


def open_till(visitor, item_id):
    page = visitor.go(f"/till#{item_id}")
    expect_till(page)
    return page


def expect_till(page):
    """Wait until the till takes keys; it sets the focus last."""
    expect(page.get_by_label("Amount")).to_be_focused()


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


def test_a_customer_pays_and_both_screens_say_the_same(visitor, stranger):
    item_id = visitor.api.mint("+10.a", "+90.b", metadata=DRINK)
    press(stranger.open_tab(claim_link("", f"+10.{item_id}.a")), "Claim")
    expect_shown(stranger.page, "Yours now")
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
    assert_payment_is_listed(page, signs)


def assert_payment_is_listed(page, signs):
    """Of three drinks, on the page and in the file."""
    expect(page.get_by_label("Amount")).to_have_value("")
    expect_text(page, "#today", "Today: 3 drinks in 1 payment")
    expect(page.locator("#last li")).to_contain_text(signs)
    assert amounts(page)["held"] == [3]
    with page.expect_download() as download:
        press(page, "CSV of payments")
    assert download.value.suggested_filename == "A drink payments.csv"
    text = download.value.path().read_text(encoding="utf-8-sig")
    head, line = text.splitlines()
    assert head == "time,units,code"
    assert f",3,{signs} " in line


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


def test_a_till_says_what_it_cannot_do_now_and_cancels_a_request(visitor, stranger):
    page, _ = hold(visitor, 5, metadata=DRINK)
    choose(page, "Till")
    expect_till(page)
    said = page.locator("#request-state")
    cut_off(page, "**/v1/**")
    page.keyboard.type("2")
    press(page, "Ask for 2 drinks")
    expect(said).to_contain_text("The service can't be reached right now.")
    expect(page.locator("#request-code")).to_be_hidden()
    press(page, "Cancel")
    expect(page.locator("#request")).to_be_hidden()
    assert operations(page) == [("mint", "done"), ("ask", "refused")]
    page.unroute("**/v1/**")
    ask(page, "1")
    path = shown_offer(page)
    visitor.go_offline()
    expect(said).to_have_text(re.compile("You're offline. If the customer pays"))
    visitor.go_online()
    expect(said).to_have_text(re.compile("^Can be paid until"))
    cut_off(page, "**/v1/**")
    expect(said).to_have_text(re.compile("You'll see the payment once it's back.$"))

    press(page, "Cancel")

    expect(said).to_have_text(re.compile("can't be reached.*Can be paid until"))
    page.unroute("**/v1/**")
    expect_shown(page, "Cancelled. The link no longer works.")
    expect(page.locator("#request")).to_be_hidden()
    expect(page.get_by_label("Amount")).to_be_focused()
    expect_text(stranger.go(path), "#heading", "Cancelled")
    assert amounts(page)["held"] == [5]


def test_a_request_of_a_till_that_holds_nothing_is_kept_until_it_expires(
    browser, web_service
):
    with visiting(browser, web_service.url) as keeper:
        keeper.page.clock.install()
        item_id = keeper.api.mint("+10.a", metadata=DRINK)
        page = open_till(keeper, item_id)
        # With a keyboard.
        page.keyboard.type("4")
        page.keyboard.press("Enter")
        path = shown_offer(page)
        said = "until .*It can't be cancelled: this till has none of its own"
        expect_text(page, "#request-state", re.compile(said))
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
        keeper.assert_good()
        # The phone's lock closes the page.
        page.reload()
        assert shown_offer(page) == path
        page.keyboard.press("Escape")
        expect(page.locator("#request")).to_be_hidden()
        row = page.locator("#last li")
        expect(row).to_contain_text("4 drinks. Can be paid until")
        press(row, "Show code")
        assert shown_offer(page) == path

        page.clock.fast_forward("16:00")

        # By this device's clock; the service's own is not moved.
        expect_text(page, "#request-state", "Expired")
        expect(page.locator("#request-code")).to_be_hidden()
        cut_off(page, "**/v1/**")
        page.reload()
        expect_text(row, "span", "4 drinks. Expired")
        expect(page.locator("#request")).to_be_hidden()


def test_a_till_offers_the_deeds_of_this_browser_and_says_which_have_expired(visitor):
    page = visitor.go("/till")
    expect_shown(page, "There are no deeds in this browser yet.")
    visitor.assert_good()
    about = "At the bar.\n\nValid until: 2026-01-02 03:04 +00:00\nUnit: drink/drinks"
    hold(visitor, 5, metadata=DRINK | {"description": about})

    follow(visitor.go("/till"), "A drink")

    expect_till(page)
    expired = re.compile(r"^Expired on Fri,.Jan.2(,.2026)?.· 3:04")
    expect_text(page, "#until", expired)
    expect(page.locator("#until")).to_have_css("color", "rgb(168, 35, 27)")
    visitor.assert_good()
    press(page, "9")
    press(page, "Ask for 9 drinks")
    expect(page.get_by_text("There are only 5 drinks in all.")).to_be_visible()
    # What was refused is not continued, with neither kind of keys.
    page.keyboard.type("1.5\n")
    expect(page.get_by_text("Enter a whole number")).to_be_visible()
    press(page, "2")
    expect(page.get_by_label("Amount")).to_have_value("2")
