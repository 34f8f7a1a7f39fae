"""Claiming a deed in a browser: each link once, by whoever is first."""

import json

from playwright.sync_api import expect

from deeds.domain.raw_output import is_strong_secret, parse_raw_output
from tests.page.claim_steps import PASTE, TAKE, take, wait_for_rows
from tests.page.holding import operations, raws
from tests.page.samples import SHED, check, mint_outputs, spend
from tests.page.visitor import hold_back
from tests.support.waiting import wait_until


def test_a_minted_deed_goes_by_its_link_to_another_browser_and_is_spent_in_the_first(
    visitor, visit
):
    minter, friend = visitor, visit()
    page = minter.go("/")
    page.get_by_label("Name").fill("A ticket")
    page.get_by_role("textbox", name="Units").fill("5")
    page.get_by_role("button", name="Mint the deed").click()
    link = page.get_by_label("Claim link").input_value()
    [minted] = raws(page, "held")

    other = friend.go(link.removeprefix(friend.origin))
    wait_for_rows(other, "free")
    take(other)
    wait_for_rows(other, "taken")

    [held] = raws(other, "held")
    assert is_strong_secret(parse_raw_output(held).secret)
    assert check(friend.origin, [minted, held]) == ["spent", "unspent"]
    again = minter.open_tab(link.removeprefix(minter.origin))
    wait_for_rows(again, "spent")
    expect(again.get_by_role("button", name=TAKE)).to_be_hidden()


def test_a_link_shows_the_deed_and_its_state_and_one_button_takes_it(visitor):
    [raw] = mint_outputs(visitor.origin, "secret")

    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")

    row = page.locator(".found")
    expect(row.get_by_role("heading")).to_have_text(SHED["name"])
    expect(row.locator(".deed-units")).to_have_text("5 units of 5")
    expect(row.locator(".deed-about")).to_have_text(SHED["description"])
    expect(row.locator(".deed-image")).to_have_attribute("src", SHED["image"])
    expect(row.get_by_role("status")).to_have_text("UnspentIt can be taken.")
    expect(page.locator("#found-title")).to_be_focused()
    take(page)
    expect(page.locator("#claimed-title")).to_be_focused()
    expect(page.locator("#claimed-text")).to_have_text("5 units taken.")
    expect(page.get_by_role("link", name="See my deeds")).to_have_attribute("href", "/wallet")


def test_the_secret_is_in_no_address_header_log_or_history(visitor, web_service):
    secret = "pass-on quietly"
    image = f"{visitor.origin}/x.png"
    [raw] = mint_outputs(visitor.origin, secret, metadata=SHED | {"image": image})

    page = visitor.go(f"/claim#{raw}")
    assert page.evaluate("location.href") == f"{visitor.origin}/claim"
    wait_for_rows(page, "free")
    take(page)
    wait_for_rows(page, "taken")
    [held] = raws(page, "held")
    page.get_by_role("link", name="See my deeds").click()
    page.wait_for_url("**/wallet")

    secrets = [secret, "pass-on", parse_raw_output(held).secret]
    told = [f"{each.url} {json.dumps(each.all_headers())}" for each in visitor.requests]
    entries = visitor.context.new_cdp_session(page).send("Page.getNavigationHistory")["entries"]
    everything = [*told, *(each["url"] for each in entries), web_service.log_text()]
    assert [text for text in everything for each in secrets if each in text] == []
    assert [each.url for each in visitor.requests if each.all_headers().get("referer")] == []
    assert page.evaluate("document.referrer") == ""
    bodies = {each.url.removeprefix(visitor.origin) for each in visitor.requests if each.post_data}
    assert bodies == {"/v1/check", "/v1/swap"}


def test_a_reload_shows_it_again_until_it_is_taken(visitor):
    [raw] = mint_outputs(visitor.origin, "secret")
    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")

    page.reload()
    wait_for_rows(page, "free")
    take(page)
    wait_for_rows(page, "taken")
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()

    page.get_by_label(PASTE).wait_for()
    wait_for_rows(page)
    assert operations(page) == [("claim", "done")]


def test_tabs_that_claim_one_link_make_one_claim(visit):
    visitor = visit()
    # No tab hears what another one did.
    visitor.context.add_init_script("BroadcastChannel.prototype.postMessage = () => {};")
    [raw] = mint_outputs(visitor.origin, "secret")
    first, second, late = [visitor.open_tab(f"/claim#{raw}") for _ in range(3)]
    for tab in (first, second, late):
        wait_for_rows(tab, "free")
    waiting = hold_back(first, "**/v1/swap")

    take(first)
    wait_for_rows(first, "busy")
    wait_until(lambda: first.evaluate("1") and waiting)
    take(second)
    wait_for_rows(second, "taken")
    waiting[0].continue_()

    wait_for_rows(first, "taken")
    take(late)
    wait_for_rows(late, "taken")
    expect(late.locator("#claim-error")).to_be_hidden()
    assert (len(visitor.swap_keys()), len(set(visitor.swap_keys()))) == (2, 1)
    assert operations(first) == [("claim", "done")]
    [held] = raws(first, "held")
    assert check(visitor.origin, [raw, held]) == ["spent", "unspent"]


def test_the_loser_of_a_race_is_told_so(visitor):
    [raw] = mint_outputs(visitor.origin, "secret")
    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")

    spend(visitor.origin, raw)
    take(page)

    wait_for_rows(page, "spent")
    expect(page.locator("#claim-error")).to_be_focused()
    expect(page.locator("#claim-error")).to_contain_text("These units were taken already.")
    expect(page.get_by_role("button", name=TAKE)).to_be_hidden()
    assert operations(page) == [("claim", "refused")]


def refuse_once(page, pattern, status, code):
    """Answer the next such request with a problem that names 40 seconds to wait."""
    problem = {"code": code, "status": status}

    def refuse(route):
        route.fulfill(status=status, json=problem, headers={"Retry-After": "40"})

    page.route(pattern, refuse, times=1)


def test_a_service_that_refuses_for_a_while_is_asked_again_no_sooner_than_it_says(visit):
    visitor = visit()
    [raw] = mint_outputs(visitor.origin, "secret")
    page = visitor.page
    page.clock.install()
    refuse_once(page, "**/v1/check", 429, "too_many_failures")
    refuse_once(page, "**/v1/swap", 503, "overloaded")

    visitor.go(f"/claim#{raw}")
    page.get_by_text("Too many wrong secrets came from your network.").wait_for()
    expect(page.locator(".found").get_by_role("heading")).to_have_text(SHED["name"])
    expect(page.get_by_role("button", name=TAKE)).to_be_hidden()
    page.clock.run_for(41_000)
    wait_for_rows(page, "free")
    take(page)
    wait_for_rows(page, "busy")
    page.get_by_text("It is sent again.").wait_for()
    page.clock.run_for(39_000)
    page.evaluate("0")
    assert len(visitor.asked("/v1/swap")) == 1
    page.clock.run_for(2_000)

    wait_for_rows(page, "taken")
    assert (len(visitor.swap_keys()), len(set(visitor.swap_keys()))) == (2, 1)


def test_a_browser_that_makes_no_secrets_shows_the_deed_and_says_why_no_more(visitor):
    [raw] = mint_outputs(visitor.origin, "secret")
    # A name that is not this machine's own: what comes from there by http is not trusted.
    visitor.origin = visitor.origin.replace("127.0.0.1", "deeds.test")

    page = visitor.go(f"/claim#{raw}")

    page.get_by_text("This page did not come by https").wait_for()
    page.get_by_text("Not asked: that would send the secret unprotected.").wait_for()
    expect(page.locator(".found").get_by_role("heading")).to_have_text(SHED["name"])
    expect(page.get_by_role("button", name=TAKE)).to_be_hidden()
    assert page.url == f"{visitor.origin}/claim"
    assert visitor.asked("/v1/check") == []
