"""The page of an offer.

What its link unfolds as, and paying and trading in a browser.
"""

from dataclasses import replace

from playwright.sync_api import expect

from deeds.settings import parse_rate_limits
from tests.page import steps
from tests.page.html import Html
from tests.page.test_item_page import mint_with, previewed
from tests.page.test_offers_wallet import complete
from tests.support.requests import ask_for, post
from tests.support.waiting import wait_until

CHOIR = {"name": "“Choir”", "image": "https://example.net/choir.png"}
# A name does not end the marks around it.
QUOTED = "“{0}Choir{0}”".format("\N{RIGHT SINGLE QUOTATION MARK}")
UNKNOWN = f"offer_{26 * '0'}"


def preview(client, offer_id):
    """Return title and picture of the preview of an offer's page."""
    answer = client.get(f"/offer/{offer_id}")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")
    page = Html(answer.text)
    assert page.one("meta", name="robots").attributes["content"] == "noindex"
    told = dict(previewed(page))
    assert told["og:title"] == page.one("h1").text
    return told["og:title"], told["og:image"]


def test_a_link_to_an_offer_unfolds_as_what_one_gives_and_gets_until_it_is_over(client):
    choir, drink = mint_with(client, CHOIR), mint_with(client, {"name": "Drink"})
    others = [mint_with(client, None) for _ in range(3)]
    request = ask_for(client, choir)
    trade = ask_for(client, drink, inputs=[f"+40.{choir}.a"])
    many, _ = preview(client, ask_for(client, *others, choir))

    assert preview(client, request) == (f"Pay 1 unit of {QUOTED}", CHOIR["image"])
    deal = f"You give 1 unit of “Drink” and get 40 units of {QUOTED}"
    assert preview(client, f"{trade}).")[0] == deal
    assert (many.count(" of “"), many.rpartition(" and ")[2]) == (2, "2 more deeds")
    completion = {"inputs": [f"+40.{choir}.a"], "outputs": [f"+39.{choir}.c"]}
    assert post(client, f"/v1/offers/{request}/complete", completion).status_code == 200
    assert preview(client, request)[0] == f"Paid: 1 unit of {QUOTED}"
    assert preview(client, trade)[0].startswith(
        "Withdrawn: 1 unit of “Drink” for 40 units"
    )


def test_an_unknown_offer_and_too_many_requests_open_the_page_that_asks_again(
    settings, open_app
):
    limited = replace(settings, rate_limits=parse_rate_limits("item=1/day"))
    client = open_app(limited).test_client()
    plain = client.get("/offer").text

    assert [client.get(f"/offer/{each}").text for each in (UNKNOWN, "<b>")] == [
        plain,
        plain,
    ]
    assert client.get(f"/v1/offers/{UNKNOWN}").status_code == 429


def open_offer(visitor, *wanted, inputs=()):
    """Offer the inputs for what is wanted, and open the page of that offer."""
    offer_id = steps.make_offer(visitor.origin, *wanted, inputs=inputs)
    page = visitor.go(f"/offer/{offer_id}).")
    page.locator("main[data-ready]").wait_for()
    return page, offer_id


def test_a_request_is_paid_with_one_tap_and_what_is_left_stays_here(visitor):
    page, item_id = steps.hold(visitor, 8, metadata=CHOIR)
    page.set_viewport_size({"width": 390, "height": 844})
    # The page of a deed that is held shows its picture, which no test can load.
    wait_until(lambda: page.evaluate("1") and visitor.errors)
    visitor.requests.clear()
    visitor.errors.clear()

    page, offer_id = open_offer(visitor, f"+5.{item_id}")

    name = f"Pay 5 units of {QUOTED}"
    button = page.get_by_role("button", name=name, exact=True)
    for each in (page.get_by_role("heading", name=name), button):
        expect(each).to_be_in_viewport(ratio=1)
    expect(
        page.get_by_role("button", name="Show picture from example.net")
    ).to_be_visible()
    visitor.assert_good()
    visitor.assert_still()
    button.click()
    expect(page).to_have_title("Paid · Deeds")
    expect(page.locator("#heading")).to_be_focused()
    expect(page.locator(".good:visible, .bad:visible, #pay:visible")).to_have_count(0)
    assert steps.live_amounts(visitor.origin, page) == [3]
    steps.paste(visitor.go("/claim"), f"Pay ({visitor.origin}/offer/{offer_id}).")
    expect(page.locator("#wants h2")).to_have_text("You gave")


def test_a_trade_for_a_look_alike_is_warned_of_before_it_is_shown(visitor):
    page, item_id = steps.hold(visitor, 5, metadata=steps.TICKET)
    forged = steps.mint_deed(visitor.origin, steps.TICKET, "+2.a")

    page, _ = open_offer(visitor, f"+3.{item_id}", inputs=[f"+2.{forged}.a"])

    origin = page.locator("#gives .origin:has(+ .deed)")
    expect(origin).to_contain_text("Another deed of the same name is in your wallet")
    expect(origin).to_have_class("origin notice bad")
    expect(page.locator("#wants .origin")).to_be_hidden()
    expect(origin).to_be_in_viewport(ratio=1)
    visitor.assert_good()
    anyway = page.get_by_role("button", name="Trade anyway")
    expect(anyway).to_have_class("button wide quiet")
    anyway.click()
    expect(page.locator("#gained")).to_contain_text("Yours now.")
    link = page.get_by_role("link", name="Show in My deeds")
    expect(link).to_have_attribute("href", f"/wallet#{forged}")
    assert steps.live_amounts(visitor.origin, page) == [2, 2]


def test_an_offer_that_somebody_else_takes_while_it_is_looked_at_is_not_completed(
    visitor,
):
    page, item_id = steps.hold(visitor, 5, metadata=steps.TICKET)
    shed = steps.mint_deed(visitor.origin, steps.SHED, "+2.a")
    steps.give(page, "2")
    given = steps.raws(page, "given")
    page, offer_id = open_offer(visitor, f"+2.{item_id}", inputs=[f"+2.{shed}.a"])
    button = page.get_by_role("button", name="Trade")
    expect(button).to_be_enabled()
    complete(visitor.origin, offer_id, given, [f"+2.{shed}.theirs"])

    button.click()

    expect(page.locator("#heading")).to_have_text("Already traded")
    expect(page.locator("#lead")).to_contain_text("Nothing of yours has moved.")
    assert visitor.asked("/complete") == []


def test_several_deeds_change_hands_at_once_when_there_is_enough_of_each(visitor):
    page, one = steps.hold(visitor, 4, metadata=steps.TICKET)
    other = steps.mint_deed(visitor.origin, steps.SHED, "+3.a", "+1.b")
    inputs = [f"+2.{steps.mint_deed(visitor.origin, None, '+2.a')}.a" for _ in range(2)]
    page, _ = open_offer(visitor, f"+3.{one}", f"+2.{other}", inputs=inputs)
    expect(page.locator("#lead")).to_contain_text("You still need 2 units of “A share")
    expect(page.locator("#pay")).to_be_hidden()

    tab = page.context.new_page()
    tab.goto(f"{visitor.origin}/claim#+3.{other}.a")
    steps.take(tab)
    page.get_by_role("button", name="Trade").click()

    expect(page).to_have_title("Traded · Deeds")
    assert steps.live_amounts(visitor.origin, page) == [1, 1, 2, 2]


def offer_own(visitor, page, *parts):
    """Offer what the visitor holds, of this item, for that one.

    Open the page of the offer.
    """
    page.evaluate("given => inBrowser.beginToTrade(given)", parts)
    wait_until(lambda: ("trade", "open") in steps.operations(page))
    [made] = [
        each for each in steps.records(page, "operations") if each["state"] == "open"
    ]
    return visitor.go(f"/offer/{made['offerId']}"), made["offerId"]


def test_an_own_offer_shows_its_code_until_it_is_withdrawn_or_taken(visitor):
    shed = steps.mint_deed(visitor.origin, steps.SHED, "+2.a", "+98.b")
    page, item_id = steps.hold(visitor, 1, metadata=steps.TICKET)
    parts = [{"itemId": item_id, "amount": 1}, {"itemId": shed, "amount": 2}]
    page, _ = offer_own(visitor, page, *parts)

    page.get_by_role("button", name="Show link and code").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    visitor.assert_good()
    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Withdraw").click()
    dialog.get_by_role("button", name="Withdraw").click()
    expect(page.locator("#lead")).to_contain_text("Withdrawn.")
    expect(page.locator("#pay")).to_be_hidden()
    page, offer_id = offer_own(visitor, page, *parts)
    expect(page.locator("#heading")).to_have_text("Your offer")
    complete(visitor.origin, offer_id, [f"+2.{shed}.a"], [f"+1.{item_id}.theirs"])
    look = "dispatchEvent(new Event('focus')) && document.title"

    wait_until(lambda: page.evaluate(look) == "Traded · Deeds")
    expect(page.locator("#gained")).to_contain_text("Yours now.")
    assert steps.live_amounts(visitor.origin, page) == [2]
