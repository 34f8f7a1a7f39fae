"""What people hold when a phone is lost and an old backup is all there is."""

import pytest
from playwright.sync_api import expect

from deeds_client.seeds import derive
from deeds_client.service import Deeds
from deeds_client.wallet import Wallet
from tests.page.steps import (
    PASSPHRASE,
    TICKET,
    amounts,
    back_up,
    follow,
    give,
    hold,
    live_amounts,
    open_deed,
    press,
    raws,
    records,
    take_in,
)
from tests.support.api import good

pytestmark = pytest.mark.slow


def look_again(page):
    """Look, and wait until that is over."""
    press(page, "Check for missing deeds")
    expect(page.get_by_role("button", name="Check for missing deeds")).to_be_enabled()


def test_two_phones_and_a_terminal_with_one_wallet_show_the_same(
    visitor, stranger, web_service, tmp_path
):
    page, item_id = hold(visitor, 20, metadata=TICKET)
    page.go_back()
    path = back_up(page)
    other = stranger.go("/wallet")
    take_in(other, path)
    open_deed(page, item_id)
    give(page, "3")
    # The other phone knows nothing of that, and uses the same numbers.
    open_deed(other, item_id)
    give(other, "4")
    with (
        Deeds(web_service.url) as deeds,
        Wallet(tmp_path / "terminal", deeds) as terminal,
    ):
        terminal.restore(path, PASSPHRASE, own=True)
        terminal.sync()
        terminal.send(item_id, 5)
        terminal.export(tmp_path / "backup", PASSPHRASE)
        theirs = sorted(each.amount for each in terminal.outputs("", "given"))

    for phone in (page, other):
        follow(phone, "All deeds")
        look_again(phone)
    take_in(other, tmp_path / "backup", whose="")

    here = [amounts(phone) for phone in (page, other)]
    assert [theirs, [8]] == [[3, 4, 5], here[0]["held"]]
    assert [each["given"] for each in here] == [theirs, theirs]
    assert here[0]["held"] == here[1]["held"]
    assert live_amounts(visitor.api, page) == [3, 4, 5, 8]


def test_payments_behind_many_requests_that_nobody_paid_are_found(
    visitor, stranger, web_service
):
    page, item_id = hold(visitor, 1, 30)
    [customers] = [raw for raw in raws(page, "held") if raw.startswith("+30")]
    page.go_back()
    path = back_up(page)
    [seed] = records(page, "seeds")
    api = visitor.api

    def ask(first, count):
        """Ask for payments of one unit, as the shop does with these numbers."""
        numbers = range(first, first + count)
        made = [derive(seed["key"], item_id, "kept", number) for number in numbers]
        return api.offer_id([], [f"+1.{item_id}.{secret}" for secret in made])

    for first in range(0, 600, 30):
        ask(first, 30)
    good(api.complete(ask(600, 30), customers, []))

    other = stranger.go("/wallet")
    take_in(other, path)

    assert live_amounts(api, other) == [1] * 31
    [numbers] = records(other, "numbers")
    assert numbers["kept"] == 630
