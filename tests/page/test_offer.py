"""The page of an offer: what its link unfolds as, and paying and trading in a browser."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from deeds.settings import parse_rate_limits
from tests.page import steps
from tests.page.html import Html
from tests.page.test_item_page import mint_with, previewed
from tests.page.test_offers_wallet import make_offer
from tests.support.requests import ask_for, post
from tests.support.waiting import wait_until

CHOIR = {"name": "Night “Choir”", "image": "https://example.net/choir.png"}
UNKNOWN = f"offer_{26 * '0'}"


def preview(client, offer_id):
    """Return the heading of an offer's page, and title and picture of its preview."""
    answer = client.get(f"/offer/{offer_id}")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")
    page = Html(answer.text)
    assert page.one("meta", name="robots").attributes["content"] == "noindex"
    told = dict(previewed(page))
    assert told["og:title"] == page.one("h1").text
    return told["og:title"], told["og:image"]


def test_a_link_to_an_offer_unfolds_as_what_one_gives_and_gets_until_it_is_over(client):
    choir, drink = mint_with(client, CHOIR), mint_with(client, {"name": "Drink"})
    more = [mint_with(client, None) for _ in range(3)]
    request = ask_for(client, choir)
    trade = ask_for(client, drink, inputs=[f"+40.{choir}.a"])
    many = [preview(client, ask_for(client, choir, *more[:count]))[0] for count in (1, 2, 3)]

    assert preview(client, request) == ("Pay 1 unit of “Night 'Choir'”", CHOIR["image"])
    assert preview(client, trade)[0] == (
        "You give 1 unit of “Drink” and get 40 units of “Night 'Choir'”"
    )
    assert [title.count(" of “") for title in many] == [2, 2, 2]
    assert [title.rpartition(" and ")[2] for title in many[1:]] == ["1 more deed", "2 more deeds"]
    completion = {"inputs": [f"+40.{choir}.a"], "outputs": [f"+39.{choir}.c"]}
    assert post(client, f"/v1/offers/{request}/complete", completion).status_code == 200
    assert preview(client, request)[0] == "Paid: 1 unit of “Night 'Choir'”"
    assert preview(client, trade)[0].startswith("Withdrawn: 1 unit of “Drink” for 40 units")


def test_an_unknown_offer_and_too_many_requests_open_the_page_that_asks_again(settings, open_app):
    limited = replace(settings, rate_limits=parse_rate_limits("item=1/day"))
    client = open_app(limited).test_client()
    plain = client.get("/offer").text

    assert [client.get(f"/offer/{each}").text for each in (UNKNOWN, "<b>")] == [plain, plain]
    assert client.get(f"/v1/offers/{UNKNOWN}").status_code == 429


def open_offer(visitor, offer_id):
    page = visitor.go(f"/offer/{offer_id}")
    page.locator("main[data-ready]").wait_for()
    return page


def test_a_request_is_paid_with_one_tap_and_what_is_left_stays_here(visitor):
    page, item_id = steps.hold(visitor, 8, metadata=CHOIR)
    offer_id = steps.make_offer(visitor.origin, f"+5.{item_id}")
    page.set_viewport_size({"width": 390, "height": 844})
    # The page of a deed that is held shows its picture.
    visitor.requests.clear()
    visitor.errors.clear()

    page = open_offer(visitor, offer_id)

    button = page.get_by_role("button", name="Pay 5 units of “Night 'Choir'”", exact=True)
    heading = page.get_by_role("heading", name="Pay 5 units of “Night 'Choir'”")
    for each in (heading, button):
        expect(each).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Show picture from example.net")).to_be_visible()
    visitor.assert_good()
    visitor.assert_still()
    button.click()
    expect(page).to_have_title("Paid · Deeds")
    expect(page.locator("#heading")).to_be_focused()
    expect(page.locator(".good:visible, .bad:visible, #pay:visible")).to_have_count(0)
    assert steps.live_amounts(visitor.origin, page) == [3]
    page.reload()
    expect(page.locator("#lead")).to_contain_text("You paid it from this browser.")


@pytest.mark.parametrize("path", ["/offer/{}", "/mint"])
def test_a_payment_whose_answer_is_lost_is_finished_by_the_next_visit_to_any_page(visitor, path):
    page, item_id = steps.hold(visitor, 5, metadata=steps.TICKET)
    offer_id = steps.make_offer(visitor.origin, f"+5.{item_id}")
    page = open_offer(visitor, offer_id)

    def lose_answer(route):
        route.fetch()
        route.abort()

    page.route("**/complete", lose_answer)
    page.get_by_role("button", name="Pay").click()
    expect(page.locator("#heading")).to_have_text("On its way")
    page.close()
    page = visitor.open_tab(path.format(offer_id))

    page.get_by_text("is finished").wait_for()
    wait_until(lambda: steps.operations(page)[1:] == [("complete", "done")])
    assert steps.live_amounts(visitor.origin, page) == []
    keys = {each.headers["idempotency-key"] for each in visitor.asked("/complete")}
    assert (len(visitor.asked("/complete")), len(keys)) == (2, 1)
    visitor.errors.clear()


def test_a_trade_for_a_look_alike_is_warned_of_before_it_is_shown(visitor):
    page, item_id = steps.hold(visitor, 5, metadata=steps.TICKET)
    forged = steps.mint_deed(visitor.origin, steps.TICKET, "+2.a")
    wanted, given = f"+3.{item_id}", f"+2.{forged}.a"

    page = open_offer(visitor, steps.make_offer(visitor.origin, wanted, inputs=[given]))

    origin = page.locator("#gives .origin")
    expect(origin).to_contain_text("Another deed of the same name is in your wallet")
    expect(origin).to_have_class("origin notice bad")
    assert page.locator("#gives .origin + .deed").count() == 1
    expect(page.locator("#wants .origin")).to_be_hidden()
    visitor.assert_good()
    anyway = page.get_by_role("button", name="Trade anyway")
    expect(anyway).to_have_class("button wide quiet")
    anyway.click()
    expect(page.get_by_text("Yours now.")).to_be_visible()
    expect(page.get_by_role("link", name="Show in My deeds")).to_have_attribute(
        "href", f"/wallet#{forged}"
    )
    assert steps.live_amounts(visitor.origin, page) == [2, 2]


def test_an_offer_that_somebody_else_takes_while_it_is_looked_at_is_not_paid(visitor):
    page, item_id = steps.hold(visitor, 5, metadata=steps.TICKET)
    drink = steps.mint_deed(visitor.origin, steps.SHED, "+2.a")
    steps.send(page, "2").get_by_role("button", name="Done").click()
    [theirs] = steps.raws(page, "given")
    offer = steps.make_offer(visitor.origin, f"+2.{item_id}", inputs=[f"+2.{drink}.a"])
    page = open_offer(visitor, offer)
    button = page.get_by_role("button", name="Trade")
    expect(button).to_be_enabled()
    taken = {"inputs": [theirs], "outputs": [f"+2.{drink}.theirs"]}
    steps.post(f"{visitor.origin}/v1/offers/{offer}/complete", taken)

    button.click()

    expect(page.locator("#heading")).to_have_text("Already traded")
    expect(page.locator("#lead")).to_contain_text("Nothing of yours has moved.")
    assert visitor.asked("/complete") == []
    assert steps.live_amounts(visitor.origin, page) == [3]


def test_several_deeds_change_hands_at_once_if_there_is_enough_of_each(visitor):
    page, one = steps.hold(visitor, 4, metadata=steps.TICKET)
    other = steps.mint_deed(visitor.origin, steps.SHED, "+3.a", "+1.b")
    gains = [steps.mint_deed(visitor.origin, None, "+2.a") for _ in range(2)]
    inputs = [f"+2.{each}.a" for each in gains]
    offer = steps.make_offer(visitor.origin, f"+3.{one}", f"+2.{other}", inputs=inputs)
    page = open_offer(visitor, offer)
    expect(page.locator("#lead")).to_have_text(
        "You need 2 units of “A share in the garden shed” more."
    )
    expect(page.locator("#pay")).to_be_hidden()

    tab = page.context.new_page()
    tab.goto(f"{visitor.origin}/claim#+3.{other}.a")
    steps.take(tab)
    tab.get_by_role("heading", name="Yours now").wait_for()
    page.get_by_role("button", name="Trade").click()

    expect(page).to_have_title("Traded · Deeds")
    assert steps.live_amounts(visitor.origin, page) == [1, 1, 2, 2]


def test_an_own_offer_shows_its_code_and_is_withdrawn(visitor):
    drink = steps.mint_deed(visitor.origin, steps.SHED)
    page, _ = steps.hold(visitor, 5, metadata=steps.TICKET)
    asked = {"do_you_give": "2", "What_do_you_want": drink, "many_do_you_want": "1"}
    make_offer(page, "Trade", **asked)
    page.get_by_role("button", name="Make offer").click()
    page.get_by_role("img", name="QR code").wait_for()
    [offer_id] = [
        each["offerId"] for each in steps.records(page, "operations") if "offerId" in each
    ]

    page = open_offer(visitor, offer_id)
    expect(page.get_by_role("heading", name="Your offer")).to_be_visible()
    page.get_by_role("button", name="Show link and code").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    visitor.assert_good()
    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()

    expect(page.locator("#lead")).to_contain_text("Withdrawn.")
    expect(page.locator("#pay")).to_be_hidden()
    assert steps.live_amounts(visitor.origin, page) == [2, 3]
