"""Two tabs of one profile: they show the same, and never spend one output twice."""

import time

import pytest
from playwright.sync_api import expect

from tests.page.holding import amounts, give, hold, live_amounts, open_parts, operations, send
from tests.page.visitor import hold_back
from tests.support.waiting import wait_until

SWAP = "**/v1/swap"

SOON_MS = 700

SAID = "[...document.querySelectorAll('.error')].map((each) => each.textContent.trim())"


def second_tab(visitor):
    page = visitor.open_tab("/wallet")
    page.locator("[data-holding]").first.wait_for()
    return page


def swap_keys(visitor):
    """Return the Idempotency-Key of every swap that any tab asked for."""
    return [each.headers["idempotency-key"] for each in visitor.asked("/v1/swap")]


def send_and_wait(page, amount):
    """Ask for a link whose swap is kept from the service; return the waiting request."""
    waiting = hold_back(page, SWAP)
    send(page, amount)
    wait_until(lambda: page.evaluate("1") and waiting)
    return waiting[0]


def prepare_send(page):
    page.get_by_label("Units to send").fill("5")


def prepare_split(page):
    open_parts(page)
    page.get_by_role("button", name="Split").click()
    page.get_by_label("Units of part 1").fill("2")


def prepare_merge(page):
    open_parts(page)
    page.get_by_role("button", name="Merge into one").click()


def prepare_take_back(page):
    if page.get_by_role("button", name="Take back").count() == 0:
        give(page, "5")
    page.get_by_role("button", name="Take back").click()


def said(page):
    """Return what the tab says against it."""
    return [text for text in page.evaluate(SAID) if text]


RACES = {
    "send": ([5], prepare_send, {"given": [5], "spent": [5]}),
    "split": ([5], prepare_split, {"held": [2, 3], "spent": [5]}),
    "merge": ([2, 3], prepare_merge, {"held": [5], "spent": [2, 3]}),
    "takeBack": ([5], prepare_take_back, {"held": [5], "spent": [5, 5]}),
}

REFUSALS = {
    "These units are on their way, in this or another tab.",
    "You do not hold that many units.",
    "You do not hold these units.",
    "There is nothing to merge.",
    "These units are not handed out.",
}


@pytest.mark.parametrize("verb", RACES)
def test_two_tabs_at_once_swap_once_and_the_other_says_so(visitor, verb):
    held, prepare, left = RACES[verb]
    one, _ = hold(visitor, *held)
    prepare(one)
    other = second_tab(visitor)
    prepare(other)
    begun = len(swap_keys(visitor))

    moment = time.time() * 1000 + SOON_MS
    for page in (one, other):
        page.evaluate("moment => inBrowser.submitAt(moment)", moment)
    wait_until(lambda: len(said(one) + said(other)) == 1)
    wait_until(lambda: amounts(one) == left)

    assert {*said(one), *said(other)} <= REFUSALS
    assert len(set(swap_keys(visitor)[begun:])) == 1
    assert [kind for kind, _ in operations(one)].count(verb) == 1
    assert live_amounts(visitor.origin, one) == sorted(left.get("held", []) + left.get("given", []))
    assert visitor.errors == []


def test_what_is_under_way_in_one_tab_cannot_be_spent_in_another(visitor):
    one, _ = hold(visitor, 5)
    other = second_tab(visitor)
    prepare_send(other)

    waiting = send_and_wait(one, "2")
    expect(other.locator(".holding-sum")).to_have_text("0 units here · 3 units on their way")
    # Though the page has hidden the form.
    other.evaluate("document.querySelector('[data-part=send]').requestSubmit()")

    expect(other.locator("[data-holding] [data-error]")).to_have_text(
        "These units are on their way, in this or another tab."
    )
    assert len(swap_keys(visitor)) == 1
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
    assert len(set(swap_keys(visitor))) == 1
    assert amounts(one) == {"given": [2], "held": [3], "spent": [5]}
    assert live_amounts(visitor.origin, one) == [2, 3]
