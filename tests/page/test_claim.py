"""Claiming a deed in a browser: each link once, by whoever is first."""

import json

import pytest

from deeds.domain.raw_output import parse_raw_output
from deeds.domain.strong_secret import is_strong_secret
from tests.page.accessibility import faults
from tests.page.claim_steps import PASTE, focused, mint, paste, spend, states, take, wait_for_rows
from tests.page.kept import kept_operations, kept_outputs
from tests.page.samples import SHED
from tests.support.waiting import wait_until


def test_a_minted_deed_goes_by_its_link_to_another_browser_and_is_spent_in_the_first(visit):
    minter, friend = visit(), visit()
    page = minter.go("/")
    page.get_by_label("Name").fill("A ticket")
    page.get_by_role("textbox", name="Units").fill("5")
    page.get_by_role("button", name="Mint the deed").click()
    link = page.get_by_label("Claim link").input_value()
    [minted] = kept_outputs(page, "held")

    other = friend.context.new_page()
    other.goto(link)
    wait_for_rows(other, "free")
    take(other)
    other.get_by_role("heading", name="Yours now").wait_for()

    [held] = kept_outputs(other, "held")
    assert is_strong_secret(parse_raw_output(held).secret)
    assert states(friend, [minted, held]) == ["spent", "unspent"]
    again = minter.context.new_page()
    again.goto(link)
    wait_for_rows(again, "spent")
    assert not again.get_by_role("button", name="Take custody").is_visible()


def test_a_link_shows_the_deed_and_its_state_and_one_button_takes_it(visitor):
    [raw] = mint(visitor.origin, "secret")

    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")

    row = page.locator(".found")
    assert row.get_by_role("heading").inner_text() == SHED["name"]
    assert row.locator(".deed-units").inner_text() == "5 units of 5"
    assert row.locator(".deed-about").inner_text() == SHED["description"]
    assert row.locator(".deed-image").get_attribute("src") == SHED["image"]
    assert row.get_by_role("status").inner_text().split("\n") == ["Unspent", "It can be taken."]
    assert page.get_by_text("Whoever else has the link can take it until you do.").is_visible()
    assert focused(page) == "found-title"
    take(page)
    page.get_by_role("heading", name="Yours now").wait_for()
    assert page.locator("#claimed-text").inner_text() == "5 units taken."
    assert focused(page) == "claimed-title"
    assert page.get_by_role("link", name="See my deeds").get_attribute("href") == "/wallet"


def test_the_secret_is_in_no_address_header_log_or_history(visitor, web_service):
    secret = "pass-on quietly"
    [raw] = mint(visitor.origin, secret, metadata=SHED | {"image": f"{visitor.origin}/x.png"})
    asked = []

    def note(request):
        asked.append(request)

    visitor.page.on("request", note)

    page = visitor.go(f"/claim#{raw}")
    assert page.evaluate("location.href") == f"{visitor.origin}/claim"
    wait_for_rows(page, "free")
    take(page)
    page.get_by_role("heading", name="Yours now").wait_for()
    [held] = kept_outputs(page, "held")
    page.get_by_role("link", name="See my deeds").click()
    page.wait_for_url("**/wallet")

    secrets = [secret, "pass-on", parse_raw_output(held).secret]
    told = [f"{each.url} {json.dumps(each.all_headers())}" for each in asked]
    entries = visitor.context.new_cdp_session(page).send("Page.getNavigationHistory")["entries"]
    everything = [*told, *(each["url"] for each in entries), web_service.log_text()]
    assert [text for text in everything for each in secrets if each in text] == []
    assert [each.url for each in asked if each.all_headers().get("referer")] == []
    assert page.evaluate("document.referrer") == ""
    bodies = {each.url.removeprefix(visitor.origin) for each in asked if each.post_data}
    assert bodies == {"/v1/check", "/v1/swap"}


def test_a_reload_shows_it_again_until_it_is_taken(visitor):
    [raw] = mint(visitor.origin, "secret")
    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")

    page.reload()
    wait_for_rows(page, "free")
    take(page)
    page.get_by_role("heading", name="Yours now").wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()

    page.get_by_label(PASTE).wait_for()
    wait_for_rows(page)
    assert kept_operations(page) == [("claim", "done")]


# A tab that has not heard yet what the other one did.
DEAF = "BroadcastChannel.prototype.postMessage = () => {};"


def two_tabs(visitor, raw):
    """Open a link in two tabs of one browser."""
    tabs = [visitor.page, visitor.context.new_page()]
    for tab in tabs:
        tab.goto(f"{visitor.origin}/claim#{raw}")
        wait_for_rows(tab, "free")
    return tabs


def test_two_tabs_that_claim_one_link_at_once_make_one_claim(visitor):
    visitor.context.add_init_script(DEAF)
    [raw] = mint(visitor.origin, "secret")
    first, second = two_tabs(visitor, raw)
    waiting, keys = [], []

    def note(request):
        if request.url.endswith("/v1/swap"):
            keys.append(request.headers["idempotency-key"])

    visitor.context.on("request", note)

    def hold(route):
        waiting.append(route)

    first.route("**/v1/swap", hold)

    take(first)
    wait_for_rows(first, "busy")
    wait_until(lambda: first.evaluate("1") and waiting)
    take(second)
    wait_for_rows(second, "taken")
    waiting[0].continue_()

    wait_for_rows(first, "taken")
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert kept_operations(first) == [("claim", "done")]
    [held] = kept_outputs(first, "held")
    assert states(visitor, [raw, held]) == ["spent", "unspent"]


def test_a_tab_that_claims_what_the_other_one_took_shows_that_it_is_taken(visitor):
    visitor.context.add_init_script(DEAF)
    [raw] = mint(visitor.origin, "secret")
    first, second = two_tabs(visitor, raw)
    take(first)
    wait_for_rows(first, "taken")

    take(second)

    wait_for_rows(second, "taken")
    assert not second.locator("#claim-error").is_visible()
    assert kept_operations(first) == [("claim", "done")]


def test_what_one_tab_takes_the_other_shows(visitor):
    [raw] = mint(visitor.origin, "secret")
    first, second = two_tabs(visitor, raw)

    take(first)

    wait_for_rows(second, "taken")
    assert not second.get_by_role("button", name="Take custody").is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_claiming_is_open_to_everybody_and_does_nothing_that_it_should_not(visit, theme):
    visitor = visit(color_scheme=theme, viewport={"width": 360, "height": 740})
    one, gone, two = mint(visitor.origin, "one", "gone", "two")
    spend(visitor.origin, gone)

    page = visitor.go(f"/claim#{one}")
    wait_for_rows(page, "free")
    assert faults(page) == []
    take(page)
    wait_for_rows(page, "taken")
    assert faults(page) == []
    page.get_by_role("button", name="Add another").click()
    paste(page, f"{gone}\n{two}")
    wait_for_rows(page, "spent", "free")
    assert faults(page) == []
    take(page)
    wait_for_rows(page, "spent", "taken")

    assert faults(page) == []
    assert visitor.is_still()
    assert visitor.watched("violations") == []
    assert visitor.foreign_requests() == []
    assert visitor.errors == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
