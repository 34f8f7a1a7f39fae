"""What each verb of a wallet does, on the real service, and what its file is."""

import sqlite3
import stat
from contextlib import ExitStack, closing, contextmanager

import pytest
from client_walk import end_of, fork, link_of, wallet_at

from deeds_client import records as records_module
from deeds_client.errors import (
    InvalidInputError,
    NoAnswerError,
    ProblemError,
    WalletError,
    WalletFileError,
)
from deeds_client.service import Deeds
from deeds_client.values import Output
from deeds_client.wallet import Wallet


@pytest.fixture
def open_wallet(tmp_path, url):
    """A function that opens a wallet, with a fate for requests to some paths."""
    with ExitStack() as stack:

        def open_wallet(name="anna", path="", fates=lambda: "answered"):
            lines = (
                tmp_path / name,
                url,
                lambda request: path in request.url.path and fates(),
            )
            return stack.enter_context(wallet_at(*lines))

        yield open_wallet


@pytest.fixture
def anna(open_wallet):
    return open_wallet()


@pytest.fixture
def ben(open_wallet):
    return open_wallet("ben")


@contextmanager
def refused(code):
    with pytest.raises((WalletError, ProblemError)) as caught:
        yield
    assert caught.value.code == code


def units(wallet, item_id):
    return dict(wallet.balance().get(item_id, {}))


def made_by(wallet, operation):
    return wallet.outputs_of(operation)[0]


def amounts(wallet, item_id):
    return sorted(each["amount"] for each in wallet.outputs(item_id, "held"))


def minted(wallet, *parts):
    return wallet.mint(parts)["itemId"]


def test_a_mint_is_held_and_its_item_is_known_without_asking(anna):
    operation = anna.mint(
        [5, 2], metadata={"image": "https://e.example/i", "name": "Choir"}
    )

    assert (operation["state"], operation["amount"]) == ("done", 7)
    assert units(anna, operation["itemId"]) == {"held": 7}
    known = anna.item(operation["itemId"])
    assert known == anna.deeds.item(operation["itemId"])
    assert known.name == "Choir"
    with pytest.raises(InvalidInputError):
        anna.mint([])


def test_a_link_is_claimed_once_and_its_sender_sees_it(anna, ben):
    item_id = minted(anna, 5)
    link = link_of(made_by(anna, anna.send(item_id, 2)))
    assert units(anna, item_id) == {"given": 2, "held": 3}

    first = ben.claim(link)
    assert units(ben, item_id) == {"held": 2}
    with refused("already_claimed"):
        ben.claim(link)
    with refused("already_claimed"):
        ben.claim(link_of(made_by(ben, first)))
    [noticed] = anna.check()

    assert (noticed["state"], noticed["amount"]) == ("spent", 2)
    assert units(anna, item_id) == {"held": 3}


def test_links_that_were_claimed_meanwhile_are_not_taken_back_and_the_others_are(
    anna, ben
):
    item_id = minted(anna, 6)
    given = [made_by(anna, anna.send(item_id, 2)) for _ in range(3)]
    keys = [each["key"] for each in given]
    ben.claim(link_of(given[1]))

    with refused("spent_input"):
        anna.take_back(keys)
    assert units(anna, item_id) == {"given": 4}
    assert anna.take_back(keys)["amount"] == 4
    own = made_by(anna, anna.send(item_id, 3))
    assert anna.claim(link_of(own))["kind"] == "takeBack"
    with refused("not_given"):
        anna.take_back(keys)

    assert units(anna, item_id) == {"held": 4}


def test_parts_are_split_and_joined_as_many_as_fit(anna):
    item_id = minted(anna, 9)
    with refused("nothing_to_merge"):
        anna.merge(item_id)
    anna.split(item_id, [1, 2])
    assert amounts(anna, item_id) == [1, 2, 6]
    with refused("invalid_request"):
        anna.split(item_id, [1] * 5)
    anna.split(item_id, [3, 1, 1])
    assert amounts(anna, item_id) == [1, 1, 1, 1, 2, 3]

    anna.merge(item_id)

    assert amounts(anna, item_id) == [2, 3, 4]


def test_a_trade_splits_first_and_is_completed_with_several_items_or_taken_back(
    anna, ben
):
    mine, theirs = minted(anna, 5), minted(ben, 3, 4)
    trading = anna.trade((mine, 2), (theirs, 7))
    assert (trading["state"], units(anna, mine)) == ("open", {"offered": 2, "held": 3})
    offer = anna.deeds.offer(trading["offerId"])
    with refused("own_offer"):
        anna.complete(offer)
    assert ben.complete(offer) == ben.complete(offer)
    # A withdrawal that comes too late finds it done.
    with refused("spent_input"):
        anna.take_back(trading["inputs"])
    anna.check()
    assert (units(anna, mine), units(anna, theirs)) == ({"held": 3}, {"held": 7})
    assert (units(ben, mine), units(ben, theirs)) == ({"held": 2}, {})

    second = anna.trade((mine, 3), (theirs, 1))
    anna.take_back(second["inputs"])
    anna.check()

    ended = anna.history()[1]
    assert (ended["key"], ended["code"]) == (second["key"], "offer_withdrawn")
    assert units(anna, mine) == {"held": 3}
    with refused("offer_not_open"):
        ben.complete(anna.deeds.offer(second["offerId"]))


def test_a_check_finds_what_is_lost_and_what_the_service_does_not_know(
    anna, ben, tmp_path
):
    item_id = minted(anna, 1, 2, 4)
    one, two, _ = sorted(anna.outputs(item_id), key=lambda each: each["amount"])
    ben.claim(link_of(one))
    with anna.store.transaction() as records:
        records.change(two["key"], amount=3)
    told = []

    changed = anna.check(lambda *progress: told.append(progress))

    assert {each["amount"] for each in changed} == {1, 3}
    assert units(anna, item_id) == {"unknown": 3, "held": 4}
    assert told[-1][0] == told[-1][1]


def test_a_mint_that_may_have_been_made_is_not_refused_by_a_new_limit(open_wallet):
    fates = iter(["answer lost", "refused", "refused", "answered"])
    anna = open_wallet("anna", "/mint", fates.__next__)
    with refused("body_too_large"):
        anna.mint([5])
    assert anna.resume() == []

    [finished] = anna.resume()

    assert units(anna, finished["itemId"]) == {"held": 5}


def test_what_was_refused_is_made_only_if_it_was_carried_out_late(anna, open_wallet):
    item_id = minted(anna, 2, 3)
    for amount in (2, 3):
        with refused("body_too_large"):
            open_wallet("anna", "/swap", lambda: "refused").send(item_id, amount)
    two = anna.outputs(item_id, "void")[0]
    with refused("unknown_input"):
        anna.claim(Output(1, item_id, two["secret"]))
    assert (anna.outputs(item_id, "void")[0], units(anna, item_id)) == (
        two,
        {"held": 5},
    )

    for sending in anna.history():
        if sending["kind"] == "send":
            anna.deeds.send("/v1/swap", sending["body"], sending["key"])
    # The claim spends what is not known to be made.
    anna.claim(link_of(two))
    anna.check()

    assert units(anna, item_id) == {"given": 3, "held": 2}
    assert {each["state"] for each in anna.history() if each["kind"] == "send"} == {
        "done"
    }


def test_a_check_is_not_confused_by_what_another_process_does_meanwhile(
    anna, open_wallet
):
    item_id = minted(anna, 5, 1)

    def send_on(fate):
        with pytest.raises(NoAnswerError):
            open_wallet("anna", "/swap", lambda: fate).send(item_id, 2)

    resumed_after = open_wallet("anna", "/check", lambda: anna.resume)
    open_wallet("anna", "/check", lambda: send_on("answer lost")).check()
    assert units(anna, item_id) == {"held": 4, "given": 2}
    for fate in ("answer lost", "lost"):
        send_on(fate)
        resumed_after.check()
    assert units(anna, item_id) == {"given": 6}


def test_what_another_process_has_settled_is_not_refused(anna, ben, open_wallet):
    item_id = minted(anna, 2)

    def settle():
        [asked] = ben.resume()
        anna.complete(anna.deeds.offer(asked["offerId"]))
        ben.check()

    asking = open_wallet("ben", "/offers", iter([settle, None]).__next__)
    unlucky = open_wallet("ben", "/offers", lambda: ben.resume() and "refused")

    assert asking.ask(item_id, 2)["state"] == "done"
    assert unlucky.ask(item_id, 1)["state"] == "open"
    assert units(ben, item_id) == {"held": 2, "coming": 1}


def test_processes_at_one_wallet_spend_nothing_twice(anna, tmp_path, url):
    item_id = minted(anna, 9)

    def live():
        with refused("not_enough"), wallet_at(tmp_path / "anna", url) as wallet:
            while wallet.send(item_id, 1)["state"] == "done":
                pass

    for child in [fork(live) for _ in range(3)]:
        end_of(child)
    assert units(anna, item_id) == {"given": 9}


def test_a_job_that_two_processes_begin_at_once_makes_one_series_of_links(
    anna, ben, open_wallet
):
    other = []
    meanwhile = open_wallet(
        "anna", "/mint", lambda: other.extend(anna.issue("a", 5, 2))
    )

    links = meanwhile.issue("a", 5, 2)
    ben.claim(link_of(links[1]))
    anna.check()

    assert [each["key"] for each in links] == [each["key"] for each in other]
    assert [each["number"] for each in anna.issue("a", 5, 2)] == [1, 3, 4, 5]
    for count, each in ((6, 2), (10, 1)):
        with pytest.raises(InvalidInputError, match="was begun with"):
            anna.issue("a", count, each)


def test_a_batch_of_links_that_was_refused_is_not_made_besides_its_successor(
    anna, open_wallet
):
    def deliver_late():
        with refused("spent_input"):
            anna.deeds.send("/v1/swap", late["body"], late["key"])

    fates = iter(["answered", "refused", deliver_late, "answered"])
    unlucky = open_wallet("anna", "/swap", fates.__next__)
    with refused("body_too_large"):
        unlucky.issue("a", 9)
    late, made = anna.history()[:2]
    anna.take_back([each["key"] for each in anna.outputs_of(made)[:3]])

    assert [each["number"] for each in unlucky.issue("a", 9)] == [4, 5, 6, 7, 8, 9]


def test_a_wallet_is_a_file_of_one_service(anna):
    path = anna.store.path
    before = path.read_bytes()
    with (
        Deeds("https://a.example") as other,
        pytest.raises(InvalidInputError, match="http://127"),
    ):
        Wallet(path, other)
    with pytest.raises(WalletFileError, match="cannot be opened"):
        Wallet(path / "below", anna.deeds)
    assert path.read_bytes() == before


def test_only_its_owner_reads_a_wallet_and_its_journal(anna):
    def modes():
        paths = anna.store.path.parent.glob("anna*")
        return {each.name: stat.S_IMODE(each.stat().st_mode) for each in paths}

    with anna.store.transaction() as records:
        records.put("notes", {"key": "a"})
        assert modes() == {"anna": 0o600, "anna-journal": 0o600}


def _to_version(version):
    def spoil(path):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")

    return spoil


def _lock(path):
    return (
        sqlite3.connect(path, isolation_level=None)
        .execute("BEGIN EXCLUSIVE")
        .connection
    )


SPOILT = {
    "a text": (lambda path: path.write_text("Dear diary, " * 99), "cannot be used"),
    "another kind": (_to_version(1), "is not a wallet"),
    "newer": (_to_version(records_module._FORMAT + 1), "newer deeds-wallet"),
    "locked": (_lock, "in use by another program"),
}


@pytest.mark.parametrize(("spoil", "said"), SPOILT.values(), ids=SPOILT)
def test_a_file_that_is_no_wallet_is_left_as_it_is(anna, monkeypatch, spoil, said):
    monkeypatch.setattr(records_module, "_BUSY_S", 0.01)
    path = anna.store.path
    anna.close()
    with ExitStack() as stack:
        if isinstance(held := spoil(path), sqlite3.Connection):
            stack.enter_context(closing(held))
        path.chmod(0o640)
        before = path.read_bytes()

        with pytest.raises(WalletFileError, match=f"{path} .*{said}"):
            Wallet(path, anna.deeds).history()

        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (before, 0o640)
