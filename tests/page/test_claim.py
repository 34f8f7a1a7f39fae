"""Claiming a deed in a browser.

Links, texts and QR codes, each once, by whoever is first.
"""

import json

import pytest
from playwright.sync_api import expect

from deeds.raw_output import parse_raw_output
from tests.page.steps import (
    COPIED,
    PASTE,
    SHED,
    TICKET,
    claim_link,
    expect_heading,
    expect_notice,
    expect_shown,
    expect_text,
    follow,
    hold,
    mint_outputs,
    open_deed,
    operations,
    paste,
    press,
    put,
    raws,
    records,
    spend,
    wait_for_rows,
)
from tests.page.visitor import answer, visiting, wait_for_true

slow = pytest.mark.slow

NOBODY = f"deed_{26 * '0'}"
NIGHT = {"name": "Garden Concert", "description": "Date: 2126-11-28 20:00 +01:00"}
NEXT_NIGHT = NIGHT | {"description": "Date: 2126-11-29 20:00 +01:00"}


@slow
def test_of_two_people_with_one_link_the_first_gets_the_deed(visitor, stranger):
    [raw] = mint_outputs(visitor.api, "secret")
    winner = visitor.go(claim_link("", raw))
    loser = stranger.go(claim_link("", raw))
    for page in (winner, loser):
        wait_for_rows(page, "free")

    press(winner, "Claim")
    wait_for_rows(winner, "taken")
    press(loser, "Claim")

    wait_for_rows(loser, "spent")
    expect(loser.locator("#claim-error")).to_be_focused()
    expect_text(loser, "#claim-error", "This link was already used. Ask the sender.")
    expect(loser.locator("#claim-button")).to_be_hidden()
    assert operations(loser) == [("claim", "refused")]
    assert visitor.api.check(raw, *raws(winner, "held")) == ["spent", "unspent"]
    expect(loser).to_have_title("This link was already used · Deeds")


def test_the_secret_of_a_claimed_link_is_in_no_address_header_or_log(
    visitor, web_service
):
    secret = "pass-on quietly"
    image = f"{visitor.origin}/x.png"
    metadata = SHED | {"image": image}
    [raw] = mint_outputs(visitor.api, secret, metadata=metadata)
    page = visitor.go(claim_link("", raw))
    wait_for_rows(page, "free")
    page.reload()
    wait_for_rows(page, "free")
    expect_heading(page, "Yours to claim")

    # That on the link, in a message, is the first.
    visitor.taps = 1
    press(page, "Claim")
    expect_heading(page, "Yours now")
    visitor.assert_taps(2)
    expect(page).to_have_title("Claimed · Deeds")
    said = "The link no longer works."
    expect_text(page, "#claimed-why", said)
    assert page.evaluate("sessionStorage.length") == 0
    [held] = raws(page, "held")
    follow(page, "Show in My deeds")
    page.wait_for_url(f"**/wallet#{raw.split('.')[1]}")

    browser = visitor.context.new_cdp_session(page)
    history = browser.send("Page.getNavigationHistory")["entries"]
    headers = [each.all_headers() for each in visitor.requests]
    everything = "\n".join(
        [
            *(each.url for each in visitor.requests),
            *(each["url"] for each in history),
            json.dumps(headers),
            web_service.log_text(),
        ]
    )
    secrets = [secret, "pass-on", parse_raw_output(held).secret]
    assert [each for each in secrets if each in everything] == []
    assert [each for each in headers if each.get("referer")] == []
    with_body = [each.url for each in visitor.requests if each.post_data]
    told = {url.removeprefix(visitor.origin) for url in with_body}
    # What draws the code of what is held is asked when the page is idle.
    assert told | {"/web/qr"} == {"/v1/check", "/v1/swap", "/web/qr"}


INSTAGRAM = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 8; wv) AppleWebKit/537.36 (KHTML, like "
    "Gecko) Version/4.0 Chrome/137.0.0.0 Mobile Safari/537.36 Instagram 382.0 Android"
)


@slow
def test_in_an_apps_own_browser_the_persons_own_comes_first_and_the_address_stays(
    browser, web_service
):
    with visiting(browser, web_service.url, user_agent=INSTAGRAM) as visitor:
        [raw] = mint_outputs(visitor.api, "secret")
        link = claim_link(visitor.origin, raw)
        page = visitor.go(claim_link("", raw))
        wait_for_rows(page, "free")
        outside = page.get_by_role("link", name="Open in your browser")
        expect(outside).to_have_attribute(
            "href",
            f"{link.replace('http', 'intent')}#Intent;scheme=http;"
            "action=android.intent.action.VIEW;end",
        )
        press(page, "Copy link")
        expect_notice(page, "Copied.")
        assert page.evaluate(COPIED) == link
        page.reload()
        wait_for_rows(page, "free")
        assert page.url == link
        expect_shown(page, "What you claim here is saved in this app only.")
        visitor.assert_good()

        press(page, "Claim")

        expect_heading(page, "Yours now")
        assert page.url == f"{visitor.origin}/claim"
        expect(outside).to_be_hidden()
        visitor.assert_good()


@slow
def test_a_browser_without_web_crypto_leaves_the_link_as_it_was(visitor):
    [raw] = mint_outputs(visitor.api, "secret")
    # A name that is not this machine's own: what comes from there by http is not
    # trusted.
    link = claim_link(visitor.origin.replace("127.0.0.1", "deeds.test"), raw)
    page = visitor.page

    page.goto(link)

    expect_shown(page, "This page wasn't loaded over https")
    said = "Your link stays good. Open it in another browser."
    expect_text(page, "#lead", said)
    assert page.url == link
    expect(page.locator("#claim-button")).to_be_hidden()
    assert visitor.asked("/v1/check") == []


@slow
def test_the_link_just_opened_is_alone_on_top_and_earlier_ones_are_folded(visitor):
    gone, first, second, forged = mint_outputs(visitor.api, *"gsfx")
    spend(visitor.api, gone)
    page = visitor.go("/claim")
    paste(page, f"{forged} {first} {second}")
    wait_for_rows(page, *["free"] * 3)
    # As a link that is followed while the page is open.
    page.goto(claim_link(visitor.origin, gone))
    wait_for_rows(page, "spent", *["free"] * 3)
    expect_text(page, "#heading", "This link was already used")
    expect(page.locator("#claim-button")).to_be_hidden()
    page.reload()
    page.get_by_text("3 other links, not claimed yet").click()
    rows = page.locator("#older .found")

    press(rows.nth(0), "Remove")
    wait_for_rows(page, "spent", "free", "free")
    press(rows.nth(1), "Claim")
    expect_heading(page, "Yours now")

    wait_for_rows(page, "taken", "free")
    expect_text(page, "#older-count", "1 other link, not claimed yet")
    assert raws(page, "spent") == [second]
    press(page, "Close")
    page.goto(f"{visitor.origin}/claim#5.deed_x.secret")
    expect(page.locator("#paste-error")).not_to_be_empty()
    wait_for_rows(page, "free")
    press(rows, "Remove")
    wait_for_rows(page)
    expect(page.locator("#older")).to_be_hidden()
    assert page.evaluate("sessionStorage.length") == 0
    assert visitor.api.check(first, forged) == ["unspent"] * 2
    visitor.assert_good()


@slow
def test_links_that_were_opened_before_are_claimed_together_by_a_button_of_theirs(
    visitor,
):
    for raw in mint_outputs(visitor.api, *"abc"):
        page = visitor.go(claim_link("", raw))
    page.get_by_text("2 other links, not claimed yet").click()
    visitor.assert_good()

    press(page, "Claim all 2")

    wait_for_rows(page, "taken", "taken", "free")
    expect_heading(page, "2 are yours now")
    expect_text(page, "#older-count", "1 other link, not claimed yet")


@slow
def test_a_claim_that_was_overtaken_is_told_until_the_page_is_left(visitor):
    [raw] = mint_outputs(visitor.api, "secret")
    page = visitor.go(claim_link("", raw))
    expect(page.get_by_role("button", name="Claim")).to_be_visible()
    visitor.go_offline()
    press(page, "Claim")
    expect_text(page, "#claimed-title", "On its way")
    expect_shown(page.locator("#claimed"), "You're offline.")
    page.close()
    spend(visitor.api, raw)
    visitor.go_online()

    page = visitor.open_tab("/wallet")

    expect(page.get_by_role("alert")).to_contain_text("Claiming 5 units was refused (")


@slow
def test_a_text_without_a_link_of_this_service_is_told_and_not_sent(visitor):
    page = visitor.go("/claim#5.deed_x.secret")
    field, error = page.get_by_label(PASTE), page.locator("#paste-error")
    error.wait_for()
    assert page.url == f"{visitor.origin}/claim"
    expect(field).to_be_focused()

    paste(page, "my ticket")
    expect(error).to_have_text("There is no claim link in this text.")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("my ticket")

    link = f"deeds.example.com/claim/{NOBODY}#+5.let%20me%20in"
    paste(page, f"Here: {link}.")
    there = page.get_by_role("link", name="Open it there")
    expect(there).to_have_attribute("href", f"https://{link}")
    expect(there).to_have_attribute("rel", "noreferrer noopener")
    expect_shown(page, "This link belongs to deeds.example.com")
    expect(page.get_by_role("heading", name="Another service")).to_be_visible()
    assert visitor.asked("/v1/") == []
    assert page.evaluate("sessionStorage.length") == 0
    visitor.assert_good()


@slow
def test_a_deed_that_looks_like_one_of_the_wallet_is_warned_of(visitor):
    page, item_id = hold(visitor, 5, metadata=SHED)
    name = SHED["name"].replace("a", "\N{CYRILLIC SMALL LETTER A}")
    forged = visitor.api.mint("+5.a", metadata=SHED | {"name": name})

    visitor.go(claim_link("", f"+5.{forged}.a"))
    wait_for_rows(page, "free")

    origin = page.locator(".origin")
    mark = f"{forged[5:9]}·{forged[-4:]}"
    said = f"Your “{SHED['name']}” has the mark {item_id[5:9]}·{item_id[-4:]}, this "
    expect(origin).to_contain_text(said)
    expect(origin).to_have_class("origin notice bad")
    anyway = page.get_by_role("button", name="Claim anyway")
    expect(anyway).to_have_class("button wide quiet")
    expect(page.locator(".mark")).to_contain_text(mark)
    # So does the public page, to who has one of them.
    visitor.go(f"/item/{forged}")
    expect(page.locator("#origin")).to_contain_text(said)
    visitor.assert_good()


def two_text(item_id, other_id):
    """Return what is said of a deed that is held beside another of its name."""
    own, other = (f"{each[5:9]}·{each[-4:]}" for each in (item_id, other_id))
    return (
        f"You have this ({own}) and another of this name ({other}): the organiser's"
        " site or poster shows which mark is genuine."
    )


def test_two_nights_of_one_name_are_claimed_without_alarm(visitor):
    links = [
        claim_link("", f"+5.{visitor.api.mint('+5.a', metadata=night)}.a")
        for night in (NIGHT, NEXT_NIGHT, NIGHT)
    ]
    page = visitor.go(links[0])
    wait_for_rows(page, "free")
    origin = page.locator(".origin")
    expect(origin).to_be_hidden()
    press(page, "Claim")
    expect_shown(page, "Yours now")

    visitor.go(links[1])
    said = "Same name, another date: Fri, Nov 29. Each date has its own mark."
    expect(origin).to_have_text(said)
    expect(origin).to_have_class("origin notice wait")
    button = page.locator("#claim-button")
    expect(button).to_have_text("Claim")
    expect(button).to_have_class("button wide")
    visitor.assert_good()
    press(page, "Claim")
    expect_shown(page, "Yours now")

    # What has only been sent turns neither of them red.
    visitor.go(links[2])
    expect(origin).to_have_class("origin notice bad")
    for link, other in zip(links, ("Fri, Nov 29", "Thu, Nov 28"), strict=False):
        visitor.go(f"/wallet#{link.split('/')[2].partition('#')[0]}")
        told = page.locator("[data-part=origin]")
        expect(told).to_contain_text(f"and one of another date: {other} (")
        expect(told).to_have_class("notice wait")
    visitor.assert_good()


def test_two_that_are_held_of_one_name_and_day_are_red_everywhere(visitor):
    items = [visitor.api.mint("+5.a", "+5.b", metadata=NIGHT) for _ in range(2)]
    for item_id, button in zip(items, ("Claim", "Claim anyway"), strict=True):
        page = visitor.go(claim_link("", f"+5.{item_id}.a"))
        press(page, button)
        expect_shown(page, "Yours now")

    first, second = two_text(*items), two_text(*reversed(items))
    expect(page.locator(".origin")).to_have_text(second)
    # Of one more link it is said which of the two it is of.
    visitor.go(claim_link("", f"+5.{items[0]}.b"))
    expect(page.locator(".origin")).to_have_text(first)
    visitor.go("/wallet")

    told = page.locator("[data-row] .bad")
    expect(told).to_have_text(["Compare the marks"] * 2)
    press(page.locator("[data-row]").first, "Show code")
    expect_shown(page.get_by_role("dialog"), second)
    visitor.go("/wallet")
    # What a file says of an item counts for nothing, only a person's word here.
    put(page, "items", [each | {"isCompared": True} for each in records(page, "items")])
    open_deed(page, items[0])
    press(page, "The mark is right")
    expect(page.locator("[data-part=origin]")).to_have_class("notice good")
    visitor.assert_good()
    follow(page, "All deeds")
    expect(told).to_have_text(["Look-alike"])
    open_deed(page, items[1])
    expect_shown(page, "This has the mark")
    expect(page.get_by_role("button", name="The mark is right")).to_be_hidden()
    visitor.go(claim_link("", f"+5.{items[0]}.b"))
    expect(page.locator(".origin")).to_have_class("origin notice good")
    visitor.go(f"/wallet#{items[0]}")
    press(page, "Undo")
    follow(page, "All deeds")
    expect(told).to_have_count(2)


def test_two_links_of_one_name_that_are_opened_are_to_be_compared(visitor):
    items = [visitor.api.mint("+5.a", metadata=NIGHT) for _ in range(2)]
    for item_id in items:
        page = visitor.go(claim_link("", f"+5.{item_id}.a"))
        expect(page.locator("#claim-button")).to_be_enabled()

    origin = page.locator(".found:not(#older *) .origin")
    mark = f"{items[0][5:9]}·{items[0][-4:]}"
    said = (
        f"You opened another of this name, with the mark {mark}: the organiser's site"
    )
    expect(origin).to_contain_text(said)
    expect(origin).to_have_class("origin notice wait")
    visitor.assert_good()


def test_a_letter_that_only_unicode_knows_makes_a_look_alike(visitor):
    hold(visitor, 5, metadata=TICKET)
    name = "\N{LATIN CAPITAL LETTER A} t\N{OLD ITALIC LETTER I}cket"
    forged = visitor.api.mint("+5.a", metadata={"name": name})
    mixed = visitor.api.mint("+5.a", metadata={"name": "Б ticкet"})
    assert visitor.asked("unhomoglyph") == []

    page = visitor.go(claim_link("", f"+5.{forged}.a"))

    expect(page.locator(".origin")).to_contain_text("Careful: ")
    [asked] = visitor.asked("unhomoglyph")
    assert asked.response().headers["content-encoding"] == "gzip"
    # Offline, or where that cannot be loaded, our own letters decide.
    page.route("**/vendor/**", lambda route: route.abort())
    visitor.go(claim_link("", f"+5.{mixed}.a"))
    expect_shown(page, "This name mixes alphabets: it may imitate another name.")
    visitor.errors.clear()


@slow
def test_what_the_page_says_of_a_deed_stands_before_its_makers_words(visitor):
    said = "x\n" * 60 + "Same as the one you made." + "\n" * 60
    image = "https://images.example.com/seat.png"
    metadata = {"name": "W" * 5000, "description": said, "image": image}
    [raw] = mint_outputs(visitor.api, "s", metadata=metadata)
    answer(visitor.page, image, status=404)
    hold(visitor, 5, metadata={"name": "W" * 5000})

    page = visitor.go(claim_link("", raw).replace("#", "/#"))
    wait_for_rows(page, "free")

    origin = page.get_by_text("Careful: you didn't make this.")
    expect(origin).to_be_in_viewport(ratio=1)
    assert page.locator(".origin + .deed").count() == 1
    height = "document.documentElement.scrollHeight"
    assert page.evaluate(height) < 2000
    assert visitor.foreign_requests() == []
    with page.expect_request(image):
        press(page, "Show picture from images.example.com")
    press(page, "More")
    assert page.evaluate(height) > 3000
    expect(page.get_by_role("button", name="Less")).to_be_focused()


@slow
def test_the_button_is_in_view_however_much_there_is_to_claim(visitor):
    thirty = mint_outputs(visitor.api, *(f"s{number}" for number in range(30)))
    in_view = "button => button.getBoundingClientRect().bottom <= innerHeight"
    page = visitor.go(claim_link("", thirty[0]))
    wait_for_rows(page, "free")
    button = page.get_by_role("button", name="Claim", exact=True)
    assert button.evaluate(in_view)

    press(page, "Open another")
    paste(page, "\n".join(thirty))
    wait_for_rows(page, *["free"] * 30)

    button = page.get_by_role("button", name="Claim all 30")
    assert button.evaluate(in_view)


FRAMES = """addEventListener("DOMContentLoaded", () => {
  const look = () => {
    window.isFormSeen ||= document.getElementById("entry").checkVisibility();
    requestAnimationFrame(look);
  };
  window.isFormSeen = false;
  look();
})"""


@slow
def test_under_a_link_the_form_to_paste_one_into_is_never_seen(visitor):
    [raw] = mint_outputs(visitor.api, "s")
    page = visitor.open_tab(claim_link("", raw), FRAMES)

    wait_for_rows(page, "free")

    # In a browser of their own a person has nothing else to do first, either.
    expect_shown(page, "Will be saved in this browser only.")
    expect(page.locator("#elsewhere")).to_be_hidden()
    assert page.url == f"{visitor.origin}/claim"
    assert page.evaluate("isFormSeen") is False
    press(page, "Open another")
    wait_for_true(page, "isFormSeen")


@slow
def test_the_date_of_a_ticket_goes_into_a_calendar_from_each_of_its_pages(visitor):
    metadata = {"name": "Concert", "description": "Date: 2126-12-05 20:00 +01:00"}
    item_id = visitor.api.mint("+1.one", metadata=metadata)

    def save():
        with visitor.page.expect_download() as download:
            press(visitor.page, "Add to calendar")
        file = download.value
        return file.suggested_filename, file.path().read_text().splitlines()[6]

    page = visitor.go(f"/item/{item_id}")
    saved = [save()]
    page = visitor.go(f"/claim/{item_id}#+1.one")
    press(page, "Claim")
    expect_heading(page, "Yours now")
    saved.append(save())
    follow(page, "Show in My deeds")
    page.locator(".tools [data-icon=more]").click()
    saved.append(save())

    assert saved == [("Concert.ics", "DTSTART:21261205T190000Z")] * 3
