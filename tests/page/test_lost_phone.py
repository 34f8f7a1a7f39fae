"""What people hold when a phone is lost and an old backup is all there is."""

import pytest
from playwright.sync_api import expect

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
    take_in,
)

pytestmark = pytest.mark.slow


def look_again(page):
    """Look, and wait until that is over."""
    press(page, "Look again")
    expect(page.get_by_role("button", name="Look again")).to_be_enabled()


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
    take_in(other, tmp_path / "backup")

    here = [amounts(phone) for phone in (page, other)]
    assert [theirs, [8]] == [[3, 4, 5], here[0]["held"]]
    assert [each["given"] for each in here] == [theirs, theirs]
    assert here[0]["held"] == here[1]["held"]
    assert live_amounts(visitor.api, page) == [3, 4, 5, 8]
