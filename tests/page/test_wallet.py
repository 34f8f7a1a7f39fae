"""The My deeds page in a browser: what is held there, and every way in which it moves."""

import pytest
from playwright.sync_api import expect

from tests.page.accessibility import faults
from tests.page.holding import amounts, claim, hold, in_state, live_amounts, raw, records, take
from tests.page.samples import SHED, post
from tests.page.screenshots import THEMES, WIDTHS

SWAP = "**/v1/swap"


def send(page, amount):
    """Ask for a link; return the dialog that shows it."""
    page.get_by_label("Units to send").fill(amount)
    page.get_by_role("button", name="Make a link").click()
    return page.get_by_role("dialog")


def press(page, name, yes):
    """Press a button of the page, and then the one that says yes in the dialog that asks."""
    page.get_by_role("button", name=name).first.click()
    page.get_by_role("dialog").get_by_role("button", name=yes).click()


def open_parts(page):
    page.locator("[data-part=parts] > summary").click()


def answer_swaps(page, status, code):
    """Let the service refuse every swap, with a problem that it has."""
    problem = {"code": code, "status": status, "detail": "no"}
    page.route(SWAP, lambda route: route.fulfill(status=status, json=problem))


def test_a_wallet_that_holds_nothing_says_how_to_begin(visitor):
    page = visitor.go("/wallet")

    expect(page.get_by_text("There is nothing here yet.")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("link", name="Mint a deed")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("link", name="Claim a deed")).to_be_visible()
    expect(page.get_by_role("button", name="Check their state")).to_be_hidden()


def test_deeds_are_shown_by_item_with_card_and_sum(visitor):
    page, _ = hold(visitor, 3, 4, metadata=SHED)
    hold(visitor, 5, metadata={"name": "A ticket"})

    page.reload()

    cards = page.get_by_role("main").get_by_role("heading", level=3)
    expect(cards.filter(visible=True)).to_contain_text(
        ["A ticket", SHED["name"], "Write a file", "Read a file"]
    )
    expect(page.locator("[data-part=sum]")).to_have_text(["5 units", "7 units"])
    expect(page.locator("[data-holding] img[src]")).to_have_count(1)


def test_units_are_sent_as_a_link_and_the_change_comes_back(visitor):
    page, item_id = hold(visitor, 10, metadata=SHED)

    dialog = send(page, "3")

    link = dialog.get_by_label("Claim link", exact=True).input_value()
    [given] = in_state(page, "given")
    assert link == f"{visitor.origin}/claim#+3.{item_id}.{given['secret']}"
    assert dialog.get_by_label("Raw output").input_value() == raw(given)
    expect(dialog.get_by_role("img", name="QR code of the claim link")).to_be_visible()
    assert amounts(page) == {"given": [3], "held": [7], "spent": [10]}
    assert live_amounts(visitor.origin, page) == [3, 7]
    dialog.get_by_role("button", name="Done").click()
    expect(page.locator(".holding-sum")).to_have_text("7 units here · 3 units in links")


def test_a_given_secret_is_fresh_even_where_one_output_is_all_that_is_sent(visitor):
    page, _ = hold(visitor, 10)

    send(page, "10").get_by_role("button", name="Done").click()

    assert amounts(page) == {"given": [10], "spent": [10]}
    assert live_amounts(visitor.origin, page) == [10]
    expect(page.get_by_label("Units to send")).to_be_hidden()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "An amount is a whole number from 1, in digits alone."),
        ("0", "An amount is a whole number from 1, in digits alone."),
        ("1.5", "An amount is a whole number from 1, in digits alone."),
        ("11", "You do not hold that many units."),
        ("9007199254740992", "An amount is at most 9 007 199 254 740 991."),
    ],
)
def test_an_amount_that_cannot_be_sent_is_told_beside_its_field(visitor, typed, said):
    page, _ = hold(visitor, 10)

    send(page, typed)

    field = page.get_by_label("Units to send")
    expect(field).to_have_accessible_description(said.replace(" 007", "\u202f007"))
    expect(field).to_be_focused()
    assert amounts(page) == {"held": [10]}


def test_a_link_that_another_profile_claims_shows_as_taken(visit, visitor):
    page, _ = hold(visitor, 10, metadata={"name": "A ticket"})
    send(page, "3").get_by_role("button", name="Done").click()
    expect(page.get_by_text("waiting", exact=True)).to_be_visible()

    assert claim(visit(), in_state(page, "given")[0]) == "done"
    page.get_by_role("button", name="Check their state").click()

    expect(page.locator("#checked")).to_have_text(
        "A link was claimed: 3 units of “A ticket” are somebody else's now."
        "Checked: 1 part is unspent."
    )
    expect(page.get_by_text("taken", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Take back")).to_have_count(0)
    assert live_amounts(visitor.origin, page) == [7]


def test_a_link_that_nobody_has_claimed_is_taken_back_and_worth_nothing_then(visitor):
    page, _ = hold(visitor, 10)
    send(page, "3").get_by_role("button", name="Done").click()
    [given] = in_state(page, "given")

    press(page, "Take back", "Take back")

    expect(page.get_by_text("3 units are yours again.")).to_be_visible()
    expect(page.locator("[data-part=sum]")).to_have_text("10 units")
    assert amounts(page) == {"held": [3, 7], "spent": [3, 10]}
    check = post(f"{visitor.origin}/v1/check", {"outputs": [raw(given)]})
    assert check == {"states": ["spent"]}


def test_a_link_that_was_claimed_cannot_be_taken_back(visitor):
    page, _ = hold(visitor, 10)
    send(page, "3").get_by_role("button", name="Done").click()
    take(visitor.origin, in_state(page, "given")[0])

    press(page, "Take back", "Take back")

    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("These units were taken already.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("taken", exact=True)).to_be_visible()
    assert live_amounts(visitor.origin, page) == [7]


def test_an_output_is_split_into_amounts_and_what_is_left(visitor):
    page, _ = hold(visitor, 10)
    open_parts(page)

    page.get_by_role("button", name="Split").click()
    dialog = page.get_by_role("dialog")
    page.keyboard.type("2")
    dialog.get_by_role("button", name="Add a part").click()
    page.keyboard.type("3")
    expect(dialog.get_by_text("What is left stays one part: 5 units.")).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.locator(".part-units strong")).to_have_text(["5 units", "3 units", "2 units"])
    assert amounts(page) == {"held": [2, 3, 5], "spent": [10]}
    assert live_amounts(visitor.origin, page) == [2, 3, 5]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["x"], "An amount is a whole number from 1, in digits alone."),
        ([""], "An amount is a whole number from 1, in digits alone."),
        (["4", "7"], "Together they are more than 10."),
        (["10"], "That is all of it: a part is less."),
    ],
)
def test_amounts_that_an_output_cannot_be_split_into_are_told(visitor, parts, said):
    page, _ = hold(visitor, 10)
    open_parts(page)

    page.get_by_role("button", name="Split").click()
    dialog = page.get_by_role("dialog")
    for place, part in enumerate(parts):
        if place:
            dialog.get_by_role("button", name="Add a part").click()
        page.keyboard.type(part)
    dialog.get_by_role("button", name="Split").click()

    expect(dialog.get_by_role("textbox").last).to_have_accessible_description(said)
    expect(dialog.get_by_role("textbox").last).to_be_focused()
    assert amounts(page) == {"held": [10]}


def test_parts_are_merged_into_one(visitor):
    page, _ = hold(visitor, 2, 3, 5)
    open_parts(page)

    press(page, "Merge into one", "Merge")

    expect(page.locator(".part-units strong")).to_have_text(["10 units"])
    assert amounts(page) == {"held": [10], "spent": [2, 3, 5]}
    assert live_amounts(visitor.origin, page) == [10]


def test_a_raw_output_is_copied_with_a_word_of_care(visitor):
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, _ = hold(visitor, 10)
    open_parts(page)

    page.get_by_role("button", name="Copy").first.click()

    expect(page.get_by_text("Whoever has this raw output can take 10 units.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == raw(records(page)[0])


def test_a_link_is_copied_and_shared_from_its_dialog(visitor):
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.context.add_init_script("navigator.share = async (data) => { window.shared = data; };")
    page, _ = hold(visitor, 10, metadata={"name": "A ticket"})

    dialog = send(page, "3")
    link = dialog.get_by_label("Claim link", exact=True).input_value()
    dialog.get_by_role("button", name="Copy the claim link").click()
    expect(dialog.get_by_role("status")).to_have_text("The link to 3 units is copied.")
    dialog.get_by_role("button", name="Share").click()

    assert page.evaluate("navigator.clipboard.readText()") == link
    assert page.evaluate("window.shared") == {"text": "3 units of “A ticket”", "url": link}


def test_what_somebody_else_has_spent_is_said_plainly(visitor):
    page, _ = hold(visitor, 3, 4, metadata={"name": "A ticket"})
    [three] = [record for record in records(page) if record["amount"] == 3]
    take(visitor.origin, three)

    page.get_by_role("button", name="Check their state").click()

    expect(page.locator("#checked")).to_have_text(
        "Spent elsewhere: 3 units of “A ticket”. Whoever had a copy was faster."
        "Checked: 1 part is unspent."
    )
    expect(page.locator("[data-part=sum]")).to_have_text("4 units")
    expect(page.get_by_text("Some of it was spent elsewhere")).to_be_visible()
    open_parts(page)
    expect(page.get_by_text("spent elsewhere", exact=True)).to_be_visible()


def test_what_was_spent_since_the_last_visit_is_said_without_asking(visitor):
    page, _ = hold(visitor, 3, metadata={"name": "A ticket"})
    take(visitor.origin, records(page)[0])

    page.reload()

    expect(page.locator("#checked")).to_contain_text("Spent elsewhere: 3 units of “A ticket”.")
    expect(page.locator("[data-part=sum]")).to_have_text("Nothing")


def test_a_check_without_an_answer_says_that_nothing_was_checked(visitor):
    page, _ = hold(visitor, 3)
    visitor.context.set_offline(True)

    page.get_by_role("button", name="Check their state").click()

    expect(page.locator("#checked")).to_contain_text("Nothing was checked. There was no answer.")


def test_a_refused_send_says_why_and_gives_the_units_back(visitor):
    page, _ = hold(visitor, 10)
    answer_swaps(page, 400, "spent_input")

    send(page, "3")

    expect(page.get_by_label("Units to send")).to_have_accessible_description(
        "These units were taken already. The link or secret is worth nothing now."
    )
    assert amounts(page) == {"held": [10], "void": [3, 7]}
    expect(page.locator("#history")).to_contain_text("refused")


@pytest.mark.parametrize("fate", ["lost", "busy"])
def test_a_send_without_an_answer_is_sent_again_until_it_has_one(visitor, fate):
    page, _ = hold(visitor, 10)
    if fate == "busy":
        answer_swaps(page, 503, "overloaded")
    else:
        page.route(SWAP, lambda route: route.abort())

    send(page, "3")
    expect(page.locator("[data-holding] [data-error]")).to_contain_text("It is being sent again.")
    expect(page.get_by_role("heading", name="Not finished yet")).to_be_visible()
    page.unroute(SWAP)

    expect(page.get_by_role("dialog")).to_contain_text("3 units to hand over", timeout=20_000)
    expect(page.get_by_role("heading", name="Not finished yet")).to_be_hidden()
    assert amounts(page) == {"given": [3], "held": [7], "spent": [10]}


def test_what_an_earlier_visit_began_is_finished_and_told(visitor):
    page, _ = hold(visitor, 10, metadata={"name": "A ticket"})
    page.route(SWAP, lambda route: route.abort())
    send(page, "3")
    expect(page.get_by_role("heading", name="Not finished yet")).to_be_visible()
    page.close()

    page = visitor.context.new_page()
    page.goto(f"{visitor.origin}/wallet")

    expect(page.locator("#notices")).to_have_text("Finished: Made a link of 3 units of “A ticket”.")
    expect(page.locator(".holding-sum")).to_have_text("7 units here · 3 units in links")
    assert amounts(page) == {"given": [3], "held": [7], "spent": [10]}


def test_the_history_tells_what_was_done(visitor):
    page, _ = hold(visitor, 10, metadata={"name": "A ticket"})

    send(page, "3").get_by_role("button", name="Done").click()
    press(page, "Take back", "Take back")
    expect(page.get_by_text("3 units are yours again.")).to_be_visible()

    expect(page.locator("#history > li > p:first-child")).to_have_text(
        [
            "Took back 3 units of “A ticket”",
            "Made a link of 3 units of “A ticket”",
            "Minted 10 units of “A ticket”",
        ]
    )


def test_dialogs_and_mistakes_are_open_to_everybody(visitor):
    page, _ = hold(visitor, 2, 3, metadata=SHED)
    open_parts(page)

    send(page, "x")
    found = faults(page)
    send(page, "4")
    found += faults(page)
    page.keyboard.press("Escape")
    for name in ["Take back", "Split", "Merge into one"]:
        if page.get_by_role("button", name=name).first.is_visible():
            page.get_by_role("button", name=name).first.click()
            found += faults(page)
            page.keyboard.press("Escape")

    assert found == []
    assert visitor.errors == []
    assert visitor.watched("violations") == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_a_wallet_with_deeds_is_open_to_everybody_and_still(visit, theme, width):
    visitor = visit(color_scheme=theme, viewport={"width": width, "height": 740})
    page, _ = hold(visitor, 10, metadata=SHED)
    send(page, "3").get_by_role("button", name="Done").click()

    visitor.go("/wallet")
    visitor.rest()
    assert visitor.is_still()
    open_parts(page)

    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert visitor.watched("violations") == []
    assert visitor.errors == []


def test_the_focus_goes_back_to_where_a_dialog_was_opened(visitor):
    page, _ = hold(visitor, 5)
    open_parts(page)
    split = page.get_by_role("button", name="Split")

    split.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Units of part 1")).to_be_focused()
    page.keyboard.press("Escape")
    expect(split).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("2")
    page.keyboard.press("Enter")

    # The button is gone with its part, so the heading above it has it.
    expect(page.locator("[data-focus]")).to_be_focused()


def test_what_is_typed_stays_when_something_else_changes(visitor):
    page, _ = hold(visitor, 5)
    page.get_by_label("Units to send").fill("4")

    hold_more = visitor.context.new_page()
    hold_more.goto(f"{visitor.origin}/wallet")
    hold_more.get_by_label("Units to send").fill("1")
    hold_more.get_by_role("button", name="Make a link").click()
    expect(hold_more.get_by_role("dialog")).to_be_visible()

    expect(page.locator("[data-part=sum]")).to_have_text("4 units")
    expect(page.get_by_label("Units to send")).to_have_value("4")
