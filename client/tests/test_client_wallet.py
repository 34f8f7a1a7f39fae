"""What each verb of a wallet does, on the real service, and what its file is."""

import sqlite3
from contextlib import closing, suppress
from functools import cache

import psutil
import pytest
from client_walk import pay, refused, sent, units

from deeds_client import store as store_module
from deeds_client.errors import InvalidInputError, NoAnswerError, WalletFileError
from deeds_client.service import Deeds
from deeds_client.values import Units
from deeds_client.wallet import Wallet


def test_a_mint_is_held_and_its_item_is_known_without_asking(anna):
    metadata = {"image": "https://e.example/i", "name": "Choir"}

    operation = anna.mint([5, 2], metadata=metadata)

    assert units(anna, operation.item_id) == {"held": 7}
    known, told = anna.item(operation.item_id), anna._deeds.item(operation.item_id)
    assert (known.metadata, known.total) == (told.metadata, told.total)
    assert (known.name, known.is_minted) == ("Choir", True)


def test_a_link_is_claimed_once_and_its_sender_sees_it(anna, ben, item_id):
    given = sent(anna, item_id, 3)

    claimed = ben.claim(given)

    assert units(ben, item_id) == {"held": 3}
    with refused("already_claimed"):
        ben.claim(given)
    with refused("already_held"):
        ben.claim(ben.outputs(claimed)[0])
    [noticed] = anna.sync()
    assert (noticed.state, noticed.amount) == ("spent", 3)
    assert units(anna, item_id) == {"held": 5}


def test_a_trade_is_completed_with_several_parts_once(anna, ben, item_id):
    theirs = ben.mint([3, 4]).item_id
    trading = anna.trade(Units(item_id, 3), Units(theirs, 7))
    assert units(anna, item_id) == {"offered": 3, "held": 5}
    with refused("own_offer"):
        pay(anna, trading)

    assert pay(ben, trading) == pay(ben, trading)

    # A withdrawal that comes too late finds it done.
    assert anna.cancel(trading).state == "done"
    assert (units(anna, item_id), units(anna, theirs)) == ({"held": 5}, {"held": 7})
    assert (units(ben, item_id), units(ben, theirs)) == ({"held": 3}, {})


def test_a_check_finds_what_is_lost_and_what_the_service_does_not_know(
    anna, ben, item_id
):
    one, two, _ = sorted(anna.outputs(item_id), key=lambda each: each.amount)
    ben.claim(one)
    with anna._store.transaction() as records:
        records.change(two, amount=3)

    changed = anna.sync()

    assert {each.amount for each in changed} == {1, 3}
    assert units(anna, item_id) == {"unknown": 3, "held": 5}


def test_what_was_refused_and_carried_out_late_is_made(anna, item_id, open_wallet):
    refusing = open_wallet("anna", "/swap", "refused")
    for amount in (2, 5):
        with refused("body_too_large"):
            refusing.send(item_id, amount)
    two = anna.outputs(item_id, "void")[0]

    for sending in anna.history()[:2]:
        anna._deeds.send("/v1/swap", sending.body.reveal(), sending.key)
    # The claim spends what is not known to be made.
    anna.claim(two)
    anna.sync()

    assert units(anna, item_id) == {"given": 5, "held": 3}
    sendings = [each for each in anna.history() if each.kind == "send"]
    assert [each.state for each in sendings] == ["done", "done"]


@pytest.mark.parametrize("fate", ["answered", "answer lost"])
def test_a_check_is_not_confused_by_what_is_sent_meanwhile(item_id, open_wallet, fate):
    sender = open_wallet("anna", "/swap", fate)

    # What is to be asked for is known by now.
    @cache
    def send():
        with suppress(NoAnswerError):
            sender.send(item_id, 3)

    open_wallet("anna", "/check", before=send).sync()

    assert units(sender, item_id) == {"held": 5, "given": 3}


def test_what_another_process_has_settled_is_not_refused(
    anna, ben, item_id, open_wallet
):
    def settle():
        [asked] = ben.__enter__().history()
        pay(anna, asked)
        ben.sync()

    asking = open_wallet("ben", "/offers", settle, "answered")
    unlucky = open_wallet("ben", "/offers", "refused", before=ben.__enter__)

    assert asking.ask(item_id, 2).state == "done"
    assert unlucky.ask(item_id, 1).state == "open"
    assert units(ben, item_id) == {"held": 2, "coming": 1}


def test_a_series_that_two_processes_begin_at_once_makes_one_series(
    anna, ben, open_wallet
):
    def issue(wallet=anna):
        return wallet.issue(5, 2, reference="a")

    links = issue(open_wallet("anna", "/mint", before=issue))
    ben.claim(links[1].output)
    anna.sync()

    assert [each.output.number for each in links] == [1, 2, 3, 4, 5]
    assert issue() == links[:1] + links[2:]


def test_a_refused_batch_of_links_is_not_made_besides_its_successor(anna, open_wallet):
    def deliver_late():
        with refused("spent_input"):
            anna._deeds.send("/v1/swap", late.body.reveal(), late.key)

    fates = ("answered", "refused", deliver_late, "answered")
    unlucky = open_wallet("anna", "/swap", *fates)
    with refused("body_too_large"):
        unlucky.issue(9, reference="a")
    late, made = anna.history()[:2]
    anna.take_back(anna.outputs(made)[:3])

    left = unlucky.issue(9, reference="a")
    assert [each.output.number for each in left] == [4, 5, 6, 7, 8, 9]


def test_a_wallet_is_a_file_of_one_service(anna):
    path = anna._store.path
    before = path.read_bytes()
    with (
        Deeds("https://a.example") as other,
        pytest.raises(InvalidInputError, match="http://127"),
    ):
        Wallet(path, other)
    with pytest.raises(WalletFileError, match="cannot be opened"):
        Wallet(path / "below", anna._deeds)
    assert path.read_bytes() == before


def test_only_its_owner_reads_a_wallet_and_its_journal(anna):
    with anna._store.transaction() as records:
        records.put_note("a")
        paths = anna._store.path.parent.glob("anna*")
        modes = {path.name: path.stat().st_mode & 0o777 for path in paths}

    assert modes == {"anna": 0o600, "anna-journal": 0o600}


def by_another(statement):
    """Return a function that spoils a wallet by this statement."""

    def spoil(path):
        with closing(sqlite3.connect(path)) as other:
            other.execute(statement)

    return spoil


SPOILT = {
    "another file": (
        lambda path: path.write_text("Dear diary, " * 99),
        "cannot be used",
    ),
    "another kind": (by_another("PRAGMA user_version = 1"), "is not a wallet"),
    "newer": (
        by_another(f"PRAGMA user_version = {store_module._FORMAT + 1}"),
        "newer deeds-wallet",
    ),
}


@pytest.mark.parametrize(("spoil", "said"), SPOILT.values(), ids=SPOILT)
def test_a_file_that_is_no_wallet_is_left_as_it_is_and_closed(anna, spoil, said):
    path = anna._store.path
    anna.close()
    spoil(path)
    path.chmod(0o640)
    before = path.read_bytes()

    # Its traceback keeps what was not closed.
    with pytest.raises(WalletFileError, match=f"{path} .*{said}") as refused:
        Wallet(path, anna._deeds)

    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (before, 0o640)
    assert str(path) not in [each.path for each in psutil.Process().open_files()]
    assert refused.tb is not None
