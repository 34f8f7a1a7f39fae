"""Claiming a deed in a browser.

Links, texts and QR codes, each once, by whoever is first.
"""

import json

from playwright.sync_api import expect

from deeds.domain.raw_output import is_strong_secret, parse_raw_output
from tests.page import steps
from tests.page.visitor import hold_back
from tests.support.waiting import wait_until


def test_a_minted_deed_goes_by_its_link_to_whoever_is_first_and_the_others_are_told_so(
    visitor, visit
):
    page, _ = steps.hold(visitor, 5, metadata=steps.TICKET)
    [minted] = steps.raws(page, "held")
    path = steps.link("", minted)

    winner, loser = [visit().go(path) for _ in range(2)]
    for each in (winner, loser):
        steps.wait_for_rows(each, "free")
    steps.take(winner)
    steps.wait_for_rows(winner, "taken")
    steps.take(loser)

    steps.wait_for_rows(loser, "spent")
    expect(loser.locator("#claim-error")).to_be_focused()
    expect(loser.locator("#claim-error")).to_contain_text("Already claimed.")
    expect(loser.locator("#claim-button")).to_be_hidden()
    assert steps.operations(loser) == [("claim", "refused")]
    [held] = steps.raws(winner, "held")
    assert is_strong_secret(parse_raw_output(held).secret)
    assert steps.check(visitor.origin, [minted, held]) == ["spent", "unspent"]
    again = visitor.open_tab(path)
    steps.wait_for_rows(again, "spent")
    expect(again).to_have_title("Already claimed · Deeds")


def test_one_button_takes_a_deed_whose_secret_is_in_no_address_header_log_or_history(
    visitor, web_service
):
    secret = "pass-on quietly"
    image = f"{visitor.origin}/x.png"
    [raw] = steps.mint_outputs(
        visitor.origin, secret, metadata=steps.SHED | {"image": image}
    )

    page = visitor.go(f"/claim#{raw}")
    steps.wait_for_rows(page, "free")
    page.reload()
    steps.wait_for_rows(page, "free")
    expect(page.locator(".found .deed-units")).to_have_text("5 units of 5")
    expect(page.get_by_role("heading", name="Ready to claim")).to_be_focused()
    steps.take(page)
    expect(page.get_by_role("heading", name="Yours now")).to_be_focused()
    expect(page).to_have_title("Claimed · Deeds")
    expect(
        page.get_by_text("Saved in this browser. The link no longer works.")
    ).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    [held] = steps.raws(page, "held")
    page.get_by_role("link", name="Show in My deeds").click()
    page.wait_for_url(f"**/wallet#{raw.split('.')[1]}")

    secrets = [secret, "pass-on", parse_raw_output(held).secret]
    told = [f"{each.url} {json.dumps(each.all_headers())}" for each in visitor.requests]
    entries = visitor.context.new_cdp_session(page).send("Page.getNavigationHistory")[
        "entries"
    ]
    everything = [*told, *(each["url"] for each in entries), web_service.log_text()]
    assert [text for text in everything for each in secrets if each in text] == []
    assert [
        each.url for each in visitor.requests if each.all_headers().get("referer")
    ] == []
    assert page.evaluate("document.referrer") == ""
    bodies = {
        each.url.removeprefix(visitor.origin)
        for each in visitor.requests
        if each.post_data
    }
    assert bodies == {"/v1/check", "/v1/swap"}


def test_a_browser_that_makes_no_secrets_shows_the_deed_and_leaves_the_link_as_it_was(
    visitor,
):
    [raw] = steps.mint_outputs(visitor.origin, "secret")
    # A name that is not this machine's own: what comes from there by http is not
    # trusted.
    visitor.origin = visitor.origin.replace("127.0.0.1", "deeds.test")

    page = visitor.go(steps.link("", raw))

    page.get_by_text("This page did not come by https").wait_for()
    expect(page.locator("#lead")).to_have_text(
        "Your link stays good. Open it in another browser."
    )
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#notices")).to_have_text("Copy it from the address bar.")
    assert page.url == steps.link(visitor.origin, raw)
    expect(page.locator(".found").get_by_role("heading")).to_have_text(
        steps.SHED["name"]
    )
    expect(page.locator("#claim-button")).to_be_hidden()
    assert visitor.asked("/v1/check") == []


def test_secrets_of_any_characters_arrive_by_their_links_in_an_open_page_too(visitor):
    secret = ' a.b+c Grüße 東京 🎟 50% %41"\\<b> '
    both = steps.mint_outputs(visitor.origin, secret, "two")
    page = visitor.go(f"/claim#{both[1]}")
    steps.wait_for_rows(page, "free")
    item_id = both[0].split(".", 2)[1]
    output = {"amount": 5, "itemId": item_id, "secret": secret}
    link = page.evaluate("output => inBrowser.claimLink(output)", output)

    # As links of earlier releases are: the page is not left.
    page.evaluate(
        "link => { location = link; }", link.replace(f"/{item_id}#+5", f"#+5.{item_id}")
    )

    steps.wait_for_rows(page, "free", "free")
    assert page.url == f"{visitor.origin}/claim"
    page.get_by_role("button", name="Claim all 2").click()
    steps.wait_for_rows(page, "taken", "taken")
    assert steps.check(visitor.origin, both) == ["spent", "spent"]


def test_several_are_pasted_after_one_was_put_away_and_those_that_are_left_are_taken(
    visitor,
):
    first, gone, one, two = steps.mint_outputs(
        visitor.origin, "first", "gone", "one", "two"
    )
    steps.spend(visitor.origin, gone)
    page = visitor.go(f"/claim#{first}")
    steps.wait_for_rows(page, "free")
    field = page.get_by_label(steps.PASTE)
    expect(field).to_be_hidden()

    page.get_by_role("button", name="Add another").click()
    expect(field).to_be_focused()
    steps.paste(page, gone)
    steps.wait_for_rows(page, "free", "spent")
    page.get_by_role("button", name="Clear list").click()
    steps.wait_for_rows(page)
    expect(field).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0
    links = f"<{visitor.origin}/claim?fbclid=x%23{one}>. And\n\n{two}"
    steps.paste(page, f"Two for you: {gone}\n{links}\n+1.deed_{26 * '0'}.x")
    steps.wait_for_rows(page, "spent", "free", "free", "unknown")
    expect(field).to_have_value("")
    page.get_by_role("button", name="Claim all 2").click()
    page.get_by_role("heading", name="2 are yours now").wait_for()
    expect(page.get_by_role("link", name="Show in My deeds")).to_have_class("button")

    steps.wait_for_rows(page, "spent", "taken", "taken", "unknown")
    assert steps.operations(page) == [("claim", "done")] * 2
    assert sorted(steps.raws(page, "spent")) == sorted([one, two])
    assert (
        steps.check(visitor.origin, [first, *steps.raws(page, "held")])
        == ["unspent"] * 3
    )


def test_what_is_no_deed_of_this_service_is_told_and_nothing_of_it_is_sent(visitor):
    page = visitor.go("/claim#5.deed_x.secret")
    field, error = page.get_by_label(steps.PASTE), page.locator("#paste-error")
    error.wait_for()
    assert page.url == f"{visitor.origin}/claim"
    expect(field).to_be_focused()

    real = steps.mint_deed(visitor.origin, steps.TICKET)
    visitor.go(f"/claim/{real}#+1.deed_{26 * '0'}.s")
    expect(error).to_have_text("This link names two deeds. Ask for another.")
    expect(page.get_by_text(steps.TICKET["name"])).to_be_hidden()
    expect(page).to_have_url(f"{visitor.origin}/claim")

    steps.paste(page, "my ticket")

    expect(error).to_have_text("There is no claim link in this text.")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("my ticket")

    link = f"deeds.example.com/claim#+5.deed_{26 * '0'}.let%20me%20in"
    steps.paste(page, f"Here: {link}.")
    there = page.get_by_role("link", name="Open it there")
    expect(there).to_have_attribute("href", f"https://{link}")
    expect(there).to_have_attribute("rel", "noreferrer noopener")
    expect(page.get_by_text("This link belongs to deeds.example.com")).to_be_visible()
    expect(page.get_by_role("heading", name="Another service")).to_be_visible()
    assert visitor.asked("/v1/") == []
    assert page.evaluate("sessionStorage.length") == 0
    visitor.assert_good()


def test_a_forged_deed_is_red_where_the_true_one_was_minted_and_a_link_is_taken_back(
    visitor,
):
    page, item_id = steps.hold(visitor, 5, metadata=steps.SHED)
    steps.give(page, "5")
    [raw] = steps.raws(page, "given")
    forged = {
        **steps.SHED,
        "name": steps.SHED["name"].replace("a", "\N{CYRILLIC SMALL LETTER A}"),
    }
    other = steps.mint_deed(visitor.origin, forged, "+5.a", "+5.b")

    visitor.go(steps.link("", f"+5.{other}.a"))
    steps.wait_for_rows(page, "free")

    origin = page.locator(".origin")
    expect(origin).to_contain_text("Another deed of the same name is in your wallet")
    expect(origin).to_have_class("origin notice bad")
    expect(page.get_by_role("button", name="Claim anyway")).to_have_class(
        "button wide quiet"
    )
    expect(page.locator(".mark")).to_contain_text(f"{other[5:9]}·{other[-4:]}")
    visitor.assert_good()
    page.get_by_role("button", name="Add another").click()
    steps.paste(page, f"+5.{item_id}.wrong")
    steps.wait_for_rows(page, "free", "unknown")
    expect(origin.filter(has_text="You made this")).to_have_count(1)
    page.get_by_role("button", name="Clear list").click()
    steps.paste(page, raw)
    steps.wait_for_rows(page, "own")
    expect(page.locator("#lead")).to_contain_text("You made this link.")
    page.get_by_role("button", name="Take it back").click()
    steps.wait_for_rows(page, "back")
    expect(page.get_by_role("heading", name="Taken back")).to_be_visible()
    assert steps.operations(page)[-1] == ("takeBack", "done")


def test_what_the_page_says_of_a_deed_stands_before_what_its_maker_wrote_and_links_to(
    visitor,
):
    said = "x\n" * 60 + "Same deed as the one you minted." + "\n" * 60
    image = "https://images.example.com/seat.png"
    metadata = {"name": "W" * 5000, "description": said, "image": image}
    [raw] = steps.mint_outputs(visitor.origin, "s", metadata=metadata)
    visitor.page.route(image, lambda route: route.fulfill(status=404))

    page = visitor.go(steps.link("", raw).replace("#", "/#"))
    steps.wait_for_rows(page, "free")

    origin = page.get_by_text("You have not seen this deed before.")
    expect(origin).to_be_in_viewport(ratio=1)
    assert page.locator(".origin + .deed").count() == 1
    height = "document.documentElement.scrollHeight"
    assert page.evaluate(height) < 2000
    assert visitor.foreign_requests() == []
    with page.expect_request(image):
        page.get_by_role("button", name="Show picture from images.example.com").click()
    page.get_by_role("button", name="More").click()
    assert page.evaluate(height) > 3000
    expect(page.get_by_role("button", name="Less")).to_be_focused()


def test_the_button_is_in_view_however_much_there_is_to_claim(visitor):
    raws = steps.mint_outputs(visitor.origin, *(f"s{number}" for number in range(30)))
    in_view = "button => button.getBoundingClientRect().bottom <= innerHeight"

    page = visitor.go(steps.link("", raws[0]))
    steps.wait_for_rows(page, "free")
    button = page.get_by_role("button", name=steps.TAKE, exact=True)
    assert button.evaluate(in_view)
    page.get_by_role("button", name="Add another").click()
    steps.paste(page, "\n".join(raws))
    steps.wait_for_rows(page, *["free"] * 30)

    button = page.get_by_role("button", name="Claim all 30")
    assert button.evaluate(in_view)
    # What has the focus, and what is told for a moment, is not behind it and not before
    # it.
    look = "[getComputedStyle(document.documentElement).scrollPaddingBottom, "
    look += "getComputedStyle(document.getElementById('notices')).bottom]"
    assert page.evaluate(look) == ["96px", "88px"]
    expect(page.get_by_role("heading", name="30 of 30 ready to claim")).to_be_focused()
    asked = [len(each.post_data_json["outputs"]) for each in visitor.asked("/v1/check")]
    assert (asked, len(visitor.asked("/v1/item/"))) == ([1, 30], 1)


def test_a_deed_stays_where_it_is_shown_while_another_is_still_loading(visitor):
    [late] = steps.mint_outputs(visitor.origin, "late", metadata=steps.TICKET)
    [raw] = steps.mint_outputs(visitor.origin, "secret")
    page = visitor.page
    held = hold_back(page, f"**/v1/item/{late.split('.')[1]}")

    page.goto(f"{steps.link(visitor.origin, raw)},{late}", wait_until="commit")

    expect(page.locator(".found [data-card=units]:visible")).to_have_text("5 units")
    wait_until(lambda: page.evaluate("1") and held)
    held[0].continue_()
    steps.wait_for_rows(page, "free", "free")
    visitor.assert_still()
