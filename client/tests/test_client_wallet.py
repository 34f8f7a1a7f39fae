"""The wallet's file: shared by processes, locked, private, and refused if invalid."""

import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from functools import cache

import pytest
from client_support import pay, refused, units

from deeds_client import store as store_module
from deeds_client.errors import InvalidInputError, NoAnswerError, WalletFileError
from deeds_client.store import Store
from deeds_client.wallet import Wallet


def test_a_check_is_not_confused_by_what_is_sent_meanwhile(item_id, open_wallet):
    sender = open_wallet("anna", "/swap", "answer lost")

    # The check has chosen its outputs by now.
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


def test_only_its_owner_reads_a_wallet_and_its_journal(anna, caplog):
    path = anna._store.path
    path.chmod(0o644)
    Store(path).close()
    assert caplog.messages == [f"Others could read {path}: it has mode 0600 now."]

    with anna._store.transaction() as records:
        records.put_note("a")
        paths = path.parent.glob("anna*")
        modes = {each.name: each.stat().st_mode & 0o777 for each in paths}

    assert modes == {"anna": 0o600, "anna-journal": 0o600}


def test_to_open_a_wallet_ends_no_lock_of_another_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_BUSY_S", 0.01)
    path = tmp_path / "wallet"
    connect = f"sqlite3.connect({str(path)!r}, 0.01)"
    other = f"import sqlite3; {connect}.execute('BEGIN IMMEDIATE')"
    with closing(Store(path)) as store, store.transaction():
        with pytest.raises(WalletFileError, match="in use"):
            Store(path)
        ended = subprocess.run(
            [sys.executable, "-c", other], check=False, capture_output=True
        )

    assert b"database is locked" in ended.stderr


def test_what_no_backup_could_hold_is_not_written_down(anna):
    with pytest.raises(InvalidInputError):
        anna.mint([1], metadata={"name": "Caf\udce9"})

    assert anna.history() == anna.outputs() == []


def by_another(statement):
    """Return a function that runs a statement on a wallet's file."""

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
def test_a_file_that_is_no_wallet_is_left_as_it_is(anna, spoil, said):
    path = anna._store.path
    anna.close()
    spoil(path)
    path.chmod(0o640)
    before = path.read_bytes()

    with pytest.raises(WalletFileError, match=f"{path} .*{said}"):
        Wallet(path, anna._deeds)

    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (before, 0o640)
