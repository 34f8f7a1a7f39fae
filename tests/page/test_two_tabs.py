"""Two tabs of one profile: they show the same, and never spend one output twice."""

import time

from playwright.sync_api import expect

from tests.page.holding import amounts, hold, live_amounts, open_parts, send
from tests.page.visitor import hold_back
from tests.support.waiting import wait_until

# By when both tabs have heard when to submit.
SOON_MS = 700

SAID = "[...document.querySelectorAll('.error')].map((each) => each.textContent.trim())"

# To the tab that was later, by how much the other one had done.
REFUSALS = [
    "These units are on their way, in this or another tab.",
    "You do not hold that many units.",
]


def second_tab(visitor):
    page = visitor.open_tab("/wallet")
    page.locator("[data-holding]").first.wait_for()
    return page


def send_and_wait(page, amount):
    """Ask for a link whose swap is kept from the service; return the waiting request."""
    waiting = hold_back(page, "**/v1/swap")
    send(page, amount)
    wait_until(lambda: page.evaluate("1") and waiting)
    return waiting[0]


def said(page):
    """Return what the tab says against it."""
    return [text for text in page.evaluate(SAID) if text]


def test_two_tabs_at_once_swap_once_and_the_other_says_so(visitor):
    one, _ = hold(visitor, 5)
    other = second_tab(visitor)
    moment = time.time() * 1000 + SOON_MS

    for page in (one, other):
        page.get_by_label("Units to send").fill("5")
        page.evaluate("moment => inBrowser.submitAt(moment)", moment)
    wait_until(lambda: len(said(one) + said(other)) == 1)
    wait_until(lambda: amounts(one) == {"given": [5], "spent": [5]})

    assert (said(one) + said(other))[0] in REFUSALS
    assert len(set(visitor.swap_keys())) == 1
    assert live_amounts(visitor.origin, one) == [5]
    assert visitor.errors == []


def test_what_is_under_way_in_one_tab_cannot_be_spent_in_another(visitor):
    one, _ = hold(visitor, 5)
    other = second_tab(visitor)
    other.get_by_label("Units to send").fill("5")

    waiting = send_and_wait(one, "2")
    expect(other.locator(".holding-sum")).to_have_text("0 units here · 3 units on their way")
    # Though the page has hidden the form.
    other.evaluate("document.querySelector('[data-part=send]').requestSubmit()")

    expect(other.locator("[data-holding] [data-error]")).to_have_text(
        "These units are on their way, in this or another tab."
    )
    assert len(visitor.swap_keys()) == 1
    waiting.continue_()
    expect(other.locator(".holding-sum")).to_have_text("3 units here · 2 units in links")
    expect(other.locator("#history")).to_contain_text("Made a link of 2 units")
    assert amounts(other) == {"given": [2], "held": [3], "spent": [5]}


def test_the_focus_stays_near_when_another_tab_takes_what_had_it(visitor):
    one, _ = hold(visitor, 5)
    open_parts(one)
    one.get_by_role("button", name="Split").focus()
    other = second_tab(visitor)

    send(other, "5")

    expect(one.locator("[data-focus]")).to_be_focused()


def test_a_tab_that_opens_while_another_waits_for_an_answer_carries_nothing_out_twice(visitor):
    one, _ = hold(visitor, 5)
    waiting = send_and_wait(one, "2")

    other = second_tab(visitor)
    expect(other.locator(".holding-sum")).to_have_text("3 units here · 2 units in links")
    waiting.continue_()

    expect(one.get_by_role("dialog")).to_contain_text("2 units to hand over")
    assert len(set(visitor.swap_keys())) == 1
    assert amounts(one) == {"given": [2], "held": [3], "spent": [5]}
    assert live_amounts(visitor.origin, one) == [2, 3]
