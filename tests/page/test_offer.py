"""The page of an offer.

What its link unfolds as, and paying and trading in a browser.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.page.html import preview, read_page
from tests.page.steps import expect_text, hold, live_amounts, paste
from tests.support.api import fresh, good

CHOIR = {"name": "“Choir”", "image": "https://example.net/choir.png"}
# A name does not end the marks around it.
QUOTED = "“{0}Choir{0}”".format("\N{RIGHT SINGLE QUOTATION MARK}")
UNKNOWN = f"offer_{26 * '0'}"


def title(api, offer_id):
    """Return the title under which the link to an offer unfolds."""
    page = read_page(api.get(f"/offer/{offer_id}"))
    shown = preview(page)
    assert shown["og:title"] == page.findtext(".//h1")
    return shown["og:title"]


def test_a_link_to_a_request_unfolds_as_what_one_pays(api):
    choir = api.mint("+2.b", metadata=CHOIR)
    offer_id = api.offer_id([], [fresh(1, choir)])

    answer = api.get(f"/offer/{offer_id}")

    assert answer.headers["Cache-Control"] == "no-cache"
    page = read_page(answer)
    assert page.find(".//meta[@name='robots']").get("content") == "noindex"
    assert preview(page)["og:image"] == CHOIR["image"]
    assert title(api, offer_id) == f"Pay 1 unit of {QUOTED}"
    good(api.complete(offer_id, [f"+2.{choir}.b"], [f"+1.{choir}.c"]))
    assert api.get(f"/offer/{offer_id}").text == api.get("/offer").text


def test_a_link_to_a_trade_unfolds_as_what_one_gives_and_gets(api):
    choir = api.mint("+40.a", metadata=CHOIR)
    drink = api.mint("+1.a", metadata={"name": "Drink"})
    offer_id = api.offer_id([f"+40.{choir}.a"], [fresh(1, drink)])

    deal = f"You give 1 unit of “Drink” and get 40 units of {QUOTED}"
    assert title(api, offer_id) == deal


def test_a_link_to_an_offer_names_two_deeds_and_counts_the_others(api):
    wanted = [fresh(1, api.mint("+1.a")) for _ in range(4)]

    said = title(api, api.offer_id([], wanted))

    assert said.count(" of “") == 2
    assert said.endswith(" and 2 more deeds")


def test_an_unknown_offer_and_too_many_requests_open_the_plain_page(limited):
    api = limited("item=1/day")

    pages = [api.get(f"/offer/{each}").text for each in (UNKNOWN, "<b>")]

    assert pages == [api.get("/offer").text] * 2
    assert api.get(f"/v1/offers/{UNKNOWN}").status_code == 429


@pytest.mark.slow
def test_a_request_is_paid_with_one_tap_and_what_is_left_stays_here(visitor):
    page, item_id = hold(visitor, 8, metadata={"name": CHOIR["name"]})
    offer_id = visitor.api.offer_id([], [fresh(5, item_id)])
    # With what stands behind the link in a message.
    visitor.go(f"/offer/{offer_id}).")
    name = f"Pay 5 units of {QUOTED}"
    button = page.get_by_role("button", name=f"Pay 5 units {QUOTED}", exact=True)
    expect(page.get_by_role("heading", name=name)).to_be_in_viewport(ratio=1)
    expect(button).to_be_in_viewport(ratio=1)
    visitor.assert_good()
    visitor.assert_still()

    button.click()

    expect(page).to_have_title(re.compile(f"^Paid {offer_id[-4:].upper()} .* Deeds$"))
    expect(page.locator("#heading")).to_be_focused()
    expect_text(page, "#lead", "You have 3 units left.")
    expect(page.locator(".good:visible, .bad:visible, #pay:visible")).to_have_count(0)
    assert live_amounts(visitor.api, page) == [3]
    paste(visitor.go("/claim"), f"Pay ({visitor.origin}/offer/{offer_id}).")
    expect_text(page, "#wants h2", "You gave")
