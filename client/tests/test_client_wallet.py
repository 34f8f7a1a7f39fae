"""What each verb of a wallet does, on the real service, and what its file is."""

import shutil
import sqlite3
import stat
from contextlib import ExitStack, closing

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
from deeds_client.records import key_of
from deeds_client.service import Deeds
from deeds_client.values import Output
from deeds_client.wallet import Wallet
from tests.support.serving import running_service


@pytest.fixture(scope="module")
def url(tmp_path_factory, sqlite_template):
    directory = tmp_path_factory.mktemp("service")
    database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
    settings = {"DATABASE_URL": f"sqlite:///{database}", "DEEDS_MAX_ARRAY": "4"}
    with running_service(directory, WEB_CONCURRENCY="1", **settings) as service:
        yield service.url


@pytest.fixture
def open_wallet(tmp_path, url):
    with ExitStack() as stack:
        yield lambda name="anna", **faults: stack.enter_context(
            wallet_at(tmp_path / name, url, **faults)
        )


@pytest.fixture
def anna(open_wallet):
    return open_wallet()


@pytest.fixture
def ben(open_wallet):
    return open_wallet("ben")


def units(wallet, item_id):
    return dict(wallet.balance().get(item_id, {}))


def made_by(wallet, operation, place=0):
    return wallet.outputs_of(operation)[place]


def amounts(wallet, item_id):
    return sorted(each["amount"] for each in wallet.outputs(item_id, "held"))


def minted(wallet, *parts):
    return wallet.mint(parts)["itemId"]


def test_a_mint_is_held_and_its_item_is_known_without_asking(anna):
    operation = anna.mint([5, 2], metadata={"image": "https://e.example/i", "name": "Choir"})

    assert (operation["state"], operation["amount"]) == ("done", 7)
    assert units(anna, operation["itemId"]) == {"free": 7}
    known = anna.item(operation["itemId"])
    assert known == anna.deeds.item(operation["itemId"])
    assert known.name == "Choir"
    with pytest.raises(InvalidInputError):
        anna.mint([])


def test_links_are_made_in_batches_and_what_is_handed_out_is_spent_by_no_verb(anna):
    item_id = minted(anna, 5)
    links = anna.issue("tickets", 9, 2)
    assert [(each["number"], each["of"], each["amount"]) for each in links] == [
        (number, 9, 2) for number in range(1, 10)
    ]
    assert anna.issue("tickets", 9, 2) == links
    anna.give_out([each["key"] for each in anna.outputs(item_id)])

    assert units(anna, item_id) == {"given": 5}
    assert units(anna, links[0]["itemId"]) == {"given": 18}
    with pytest.raises(WalletError, match="You have 0 of 1"):
        anna.send(item_id, 1)
    with pytest.raises(WalletError, match="nothing to merge"):
        anna.merge(item_id)


def test_a_link_is_claimed_once_and_its_sender_sees_it(anna, ben):
    item_id = minted(anna, 5)
    link = link_of(made_by(anna, anna.send(item_id, 2)))
    assert units(anna, item_id) == {"given": 2, "free": 3}

    first = ben.claim(link, "ticket")
    assert units(ben, item_id) == {"free": 2}
    with pytest.raises(WalletError) as again:
        ben.claim(link)
    with pytest.raises(WalletError) as held:
        ben.claim(link_of(made_by(ben, first)))
    [noticed] = anna.check()

    assert (again.value.code, held.value.code) == ("already_spent", "already_held")
    assert (noticed["state"], noticed["amount"]) == ("spent", 2)
    assert units(anna, item_id) == {"claimed": 2, "free": 3}


def test_what_was_only_seen_is_no_loss(anna, ben):
    item_id = minted(anna, 5)
    link = link_of(made_by(anna, anna.send(item_id, 2)))
    with pytest.raises(ProblemError, match="nknown"):
        ben.claim(Output(3, item_id, link.secret))
    anna.take_back([key_of({"itemId": item_id, "secret": link.secret})])

    with pytest.raises(ProblemError) as refused:
        ben.claim(link)
    with pytest.raises(WalletError, match="ask the sender"):
        ben.claim(link)

    assert refused.value.code == "spent_input"
    assert units(ben, item_id) == {}
    assert units(anna, item_id) == {"free": 5}


def test_links_that_were_claimed_meanwhile_are_not_taken_back_and_the_others_are(anna, ben):
    item_id = minted(anna, 6)
    given = [made_by(anna, anna.send(item_id, 2)) for _ in range(3)]
    keys = [each["key"] for each in given]
    ben.claim(link_of(given[1]))

    with pytest.raises(ProblemError) as refused:
        anna.take_back(keys)
    assert (refused.value.code, units(anna, item_id)) == ("spent_input", {"given": 4, "claimed": 2})
    assert anna.take_back(keys)["amount"] == 4
    own = made_by(anna, anna.send(item_id, 3))
    assert anna.claim(link_of(own))["kind"] == "takeBack"
    with pytest.raises(WalletError) as nothing:
        anna.take_back(keys)

    assert nothing.value.code == "not_given"
    assert units(anna, item_id) == {"free": 4, "claimed": 2}


def test_parts_are_split_and_joined_as_many_as_fit(anna):
    item_id = minted(anna, 9)
    anna.split(item_id, [1, 2])
    assert amounts(anna, item_id) == [1, 2, 6]
    with pytest.raises(WalletError) as too_many:
        anna.split(item_id, [1] * 5)
    anna.split(item_id, [3, 1, 1])
    assert amounts(anna, item_id) == [1, 1, 1, 1, 2, 3]

    anna.merge(item_id)

    assert too_many.value.code == "too_many"
    assert amounts(anna, item_id) == [2, 3, 4]


def test_an_ask_is_paid_with_change_and_only_once(anna, ben):
    item_id = minted(anna, 5)
    asked = ben.ask(item_id, 2, expires_in=60)
    assert (asked["state"], units(ben, item_id)) == ("open", {"coming": 2})
    offer = anna.deeds.offer(asked["offerId"])
    with pytest.raises(WalletError) as own:
        ben.complete(offer)

    paid = anna.complete(offer)
    assert anna.complete(offer) == paid
    ben.check()

    assert own.value.code == "own_offer"
    assert units(anna, item_id) == {"free": 3}
    assert units(ben, item_id) == {"free": 2}


def test_a_trade_splits_first_and_is_completed_with_several_items_or_taken_back(anna, ben):
    mine, theirs = minted(anna, 5), minted(ben, 3, 4)
    trading = anna.trade((mine, 2), (theirs, 7))
    assert (trading["state"], units(anna, mine)) == ("open", {"offered": 2, "free": 3})
    ben.complete(anna.deeds.offer(trading["offerId"]))
    anna.check()
    assert (units(anna, mine), units(anna, theirs)) == ({"free": 3}, {"free": 7})
    assert (units(ben, mine), units(ben, theirs)) == ({"free": 2}, {})

    second = anna.trade((mine, 3), (theirs, 1))
    anna.take_back(second["inputs"])
    anna.check()

    ended = anna.history()[1]
    assert (ended["key"], ended["code"]) == (second["key"], "offer_withdrawn")
    assert units(anna, mine) == {"free": 3}
    with pytest.raises(WalletError) as closed:
        ben.complete(anna.deeds.offer(second["offerId"]))
    assert closed.value.code == "offer_not_open"


def test_a_withdrawal_that_comes_too_late_finds_the_trade_done(anna, ben):
    mine, theirs = minted(anna, 5), minted(ben, 1)
    trading = anna.trade((mine, 5), (theirs, 1))
    ben.complete(anna.deeds.offer(trading["offerId"]))

    with pytest.raises(ProblemError) as late:
        anna.take_back(trading["inputs"])
    anna.check()

    assert late.value.code == "spent_input"
    assert (units(anna, mine), units(anna, theirs)) == ({}, {"free": 1})


def test_a_check_finds_what_is_lost_and_what_the_service_does_not_know(anna, ben, tmp_path):
    item_id = minted(anna, 1, 2, 4)
    one, two, _ = sorted(anna.outputs(item_id), key=lambda each: each["amount"])
    ben.claim(link_of(one))
    with anna.store.transaction() as records:
        records.change(two["key"], amount=3)
    told = []

    changed = anna.check(lambda *progress: told.append(progress))

    assert {each["amount"] for each in changed} == {1, 3}
    assert units(anna, item_id) == {"lost": 1, "unknown": 3, "free": 4}
    assert told[-1][0] == told[-1][1]


def test_a_mint_that_may_have_been_made_is_not_refused_by_a_new_limit(open_wallet):
    fates = iter(["answered", "answer lost", "refused", "refused"])
    anna = open_wallet(fates=lambda _request: next(fates, "answered"))
    with pytest.raises(ProblemError) as refused:
        anna.mint([5])
    assert (refused.value.code, anna.resume()) == ("body_too_large", [])

    [finished] = anna.resume()

    assert units(anna, finished["itemId"]) == {"free": 5}


def test_a_payment_that_was_carried_out_after_its_refusal_is_found(open_wallet, ben):
    anna = open_wallet(fates=lambda request: "refused" if "complete" in request.url.path else "")
    item_id = minted(anna, 2)
    offer = anna.deeds.offer(ben.ask(item_id, 2)["offerId"])
    with pytest.raises(ProblemError, match="too large"):
        anna.complete(offer)
    [refused, _] = anna.history()
    ben.deeds.send(f"/v1/offers/{offer.id}/complete", refused["body"], refused["key"])

    anna.check()
    [paid] = open_wallet().resume()

    assert (paid["key"], paid["state"]) == (refused["key"], "done")
    assert units(anna, item_id) == {}


def test_a_payment_with_what_is_spent_elsewhere_is_refused(anna, ben, open_wallet):
    item_id = minted(anna, 2)
    thief = open_wallet("thief")
    thief.claim(link_of(anna.outputs(item_id)[0]))

    with pytest.raises(ProblemError) as refused:
        anna.complete(anna.deeds.offer(ben.ask(item_id, 2)["offerId"]))

    assert (refused.value.code, anna.history()[0]["state"]) == ("spent_input", "refused")
    assert units(anna, item_id) == {"lost": 2}


def test_a_send_that_was_refused_is_made_only_if_it_was_carried_out_late(open_wallet):
    fates = iter(["answered", "answered", "refused"])
    anna = open_wallet(fates=lambda _request: next(fates, "answered"))
    item_id = minted(anna, 5)
    with pytest.raises(ProblemError, match="too large"):
        anna.send(item_id, 2)
    [void] = [each for each in anna.outputs(item_id, "void") if each["amount"] == 2]

    for amount in (2, 3):
        with pytest.raises(ProblemError, match="nknown"):
            anna.claim(Output(amount, item_id, void["secret"]))

    assert anna.outputs_of({"outputs": [void]})[0]["amount"] == 2
    assert units(anna, item_id) == {"free": 5}
    [refused] = [each for each in anna.history() if each["kind"] == "send"]
    anna.deeds.send("/v1/swap", refused["body"], refused["key"])
    anna.check()
    assert units(anna, item_id) == {"given": 2, "free": 3}


def test_a_check_is_not_confused_by_what_another_process_does_meanwhile(anna, open_wallet):
    item_id = minted(anna, 5, 1)
    deaf = open_wallet(fates=lambda request: "answer lost" if "swap" in request.url.path else "")

    def send_before(request):
        if request.url.path == "/v1/check":
            with pytest.raises(NoAnswerError):
                deaf.send(item_id, 2)

    def resume_after(request):
        return open_wallet().resume if request.url.path == "/v1/check" else ""

    open_wallet(fates=send_before).check()
    assert units(anna, item_id) == {"free": 1, "coming": 3}
    open_wallet(fates=resume_after).check()
    assert units(anna, item_id) == {"free": 4, "given": 2}
    lost = open_wallet(fates=lambda request: "lost" if "swap" in request.url.path else "")
    with pytest.raises(NoAnswerError):
        lost.send(item_id, 2)
    open_wallet(fates=resume_after).check()
    assert units(anna, item_id) == {"given": 4, "free": 2}


def test_what_another_process_has_settled_is_not_refused(anna, open_wallet):
    item_id = minted(anna, 2)

    def fates(request):
        if request.url.path == "/v1/offers":
            other = open_wallet("ben")
            [asked] = other.resume()
            anna.complete(anna.deeds.offer(asked["offerId"]))
            other.check()

    ben = open_wallet("ben", fates=fates)

    assert ben.ask(item_id, 2)["state"] == "done"
    assert units(ben, item_id) == {"free": 2}


def test_processes_at_one_wallet_spend_nothing_twice(anna, tmp_path, url):
    item_id = minted(anna, *[1] * 4)

    def spend():
        with wallet_at(tmp_path / "anna", url) as wallet:
            while wallet.send(item_id, 1)["state"] == "done":
                pass

    def live():
        with pytest.raises(WalletError, match="You have 0 of 1"):
            spend()

    for child in [fork(live) for _ in range(3)]:
        end_of(child)
    assert units(anna, item_id) == {"given": 4}


def test_a_job_that_two_processes_begin_at_once_makes_one_deed(anna, open_wallet):
    other = []

    def fates(request):
        if request.url.path == "/v1/mint":
            other.extend(open_wallet().issue("a", 3))
        return "answered"

    links = open_wallet(fates=fates).issue("a", 3)

    assert [each["key"] for each in links] == [each["key"] for each in other]
    assert {each["kind"]: each["state"] for each in anna.history()} == {"mint": "done"}


def test_a_wallet_belongs_to_one_service(anna):
    before = anna.store.path.read_bytes()
    with (
        Deeds("https://other.example") as other,
        pytest.raises(InvalidInputError, match="http://127"),
    ):
        Wallet(anna.store.path, other)
    assert anna.store.path.read_bytes() == before


def test_only_its_owner_reads_a_wallet_and_its_journal(anna):
    def modes():
        paths = anna.store.path.parent.glob("anna*")
        return {each.name: stat.S_IMODE(each.stat().st_mode) for each in paths}

    with anna.store.transaction() as records:
        records.put("notes", {"key": "a"})
        assert modes() == {"anna": 0o600, "anna-journal": 0o600}


def _text(path):
    path.write_text("Dear diary, " * 99)
    path.chmod(0o640)


def _of_another_kind(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    path.chmod(0o640)


def _folder(path):
    path.unlink()
    path.mkdir()


def _newer(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {records_module._FORMAT + 1}")


def _damaged(path):
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


def _locked(path):
    return sqlite3.connect(path, isolation_level=None).execute("BEGIN EXCLUSIVE").connection


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_text, "cannot be used"),
        (_folder, "cannot be opened"),
        (_of_another_kind, "is not a wallet"),
        (_newer, "newer deeds-wallet"),
        (_damaged, "cannot be used"),
        (_locked, "in use by another program"),
    ],
    ids=["a text", "a folder", "another kind", "newer", "damaged", "locked"],
)
def test_a_file_that_is_no_wallet_is_left_as_it_is(tmp_path, url, monkeypatch, spoil, said):
    monkeypatch.setattr(records_module, "_BUSY_S", 0.01)
    path = tmp_path / "wallet"
    with Deeds(url) as deeds:
        Wallet(path, deeds).close()
        held = spoil(path)
        before = path.is_file() and (path.read_bytes(), path.stat().st_mode)

        with pytest.raises(WalletFileError, match=said) as failed:
            Wallet(path, deeds).history()

    if held:
        held.close()
    assert before == (path.is_file() and (path.read_bytes(), path.stat().st_mode))
    assert str(path) in str(failed.value)
