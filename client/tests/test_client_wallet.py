"""What each verb of a wallet does, on the real service, and what its file is."""

import os
import shutil
import sqlite3
import stat
from collections import Counter
from contextlib import closing

import httpx
import pytest

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

OUTPUTS_MAX = 4


@pytest.fixture(scope="module")
def url(tmp_path_factory, sqlite_template):
    directory = tmp_path_factory.mktemp("service")
    database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
    settings = {"DATABASE_URL": f"sqlite:///{database}", "DEEDS_MAX_ARRAY": str(OUTPUTS_MAX)}
    with running_service(directory, WEB_CONCURRENCY="1", **settings) as service:
        yield service.url


@pytest.fixture(scope="module")
def deeds(url):
    with Deeds(url) as deeds:
        yield deeds


@pytest.fixture
def open_wallet(tmp_path, deeds):
    wallets = []

    def open_one(name="anna", on=deeds):
        wallets.append(Wallet(tmp_path / name, on))
        return wallets[-1]

    yield open_one
    for wallet in wallets:
        wallet.close()


@pytest.fixture
def anna(open_wallet):
    return open_wallet()


@pytest.fixture
def ben(open_wallet):
    return open_wallet("ben")


@pytest.fixture
def silent(url, open_wallet):
    """The wallet of Anna where the service carries out what it is sent, and is never heard."""
    lines = httpx.HTTPTransport()

    def lose(request):
        answer = lines.handle_request(request)
        answer.read()
        return httpx.Response(502) if request.method == "POST" else answer

    with Deeds(url, transport=httpx.MockTransport(lose), tries=1) as deaf:
        yield open_wallet(on=deaf)
    lines.close()


def units(wallet, item_id):
    return dict(wallet.balance().get(item_id, {}))


def made_by(wallet, operation, place=0):
    return wallet.outputs_of(operation)[place]


def link_of(output, amount=None):
    return Output(amount or output["amount"], output["itemId"], output["secret"])


def amounts(wallet, item_id, *states):
    return sorted(each["amount"] for each in wallet.outputs(item_id, *states))


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


def test_links_are_made_in_batches_until_all_that_were_promised_are_there(anna):
    item_id = anna.mint(links=(9, 2))["itemId"]
    assert units(anna, item_id) == {"free": 6, "set aside": 12}
    while anna.make_links(item_id):
        pass

    links = anna.outputs(item_id, "held")
    assert sorted((each["number"], each["of"], each["amount"]) for each in links) == [
        (number, 9, 2) for number in range(1, 10)
    ]
    handed_out = anna.give_out([links[0]["key"], links[1]["key"]])
    assert [each["number"] for each in handed_out] == [links[0]["number"], links[1]["number"]]
    # What is handed out is spent by no verb.
    assert units(anna, item_id) == {"given": 4, "free": 14}
    for verb in (anna.send, lambda *given: anna.split(given[0], [given[1]])):
        with pytest.raises(WalletError, match="You have 14 of 15"):
            verb(item_id, 15)
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


def test_ones_own_link_is_taken_back_by_claiming_it(anna):
    item_id = minted(anna, 5)
    given = made_by(anna, anna.send(item_id, 5))

    assert anna.claim(link_of(given))["kind"] == "takeBack"
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
    with pytest.raises(WalletError) as nothing:
        anna.take_back(keys)

    assert nothing.value.code == "not_given"
    assert units(anna, item_id) == {"free": 4, "claimed": 2}


def test_parts_are_split_and_joined_as_many_as_fit(anna):
    item_id = minted(anna, 9)
    anna.split(item_id, [1, 2])
    assert amounts(anna, item_id, "held") == [1, 2, 6]
    with pytest.raises(WalletError) as too_many:
        anna.split(item_id, [1] * 5)
    anna.split(item_id, [3, 1, 1])
    assert amounts(anna, item_id, "held") == [1, 1, 1, 1, 2, 3]

    anna.merge(item_id)

    assert too_many.value.code == "too_many"
    assert amounts(anna, item_id, "held") == [2, 3, 4]


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


def test_what_was_begun_is_finished_at_the_next_start(anna, silent, open_wallet):
    item_id = minted(anna, 5)
    with pytest.raises(NoAnswerError) as unanswered:
        silent.send(item_id, 2)
    assert units(anna, item_id) == {"coming": 3}
    assert [each["state"] for each in silent.resume()] == []

    with open_wallet() as again:
        [latest, _] = again.history()
        assert (latest["key"], latest["state"]) == (unanswered.value.key, "done")
        assert units(again, item_id) == {"given": 2, "free": 3}
    assert Counter(each["state"] for each in anna.history()) == {"done": 2}


def test_a_mint_that_may_have_been_made_is_not_refused_by_a_new_limit(url, open_wallet, silent):
    def refuse(request):
        return httpx.Response(400, json={"code": "invalid_request", "title": "Invalid"})

    with pytest.raises(NoAnswerError):
        silent.mint([5])
    with Deeds(url, transport=httpx.MockTransport(refuse), tries=1) as strict:
        open_wallet(on=strict).resume()
    assert [each["state"] for each in silent.history()] == ["begun"]

    [finished] = open_wallet().resume()
    assert units(silent, finished["itemId"]) == {"free": 5}


def test_two_processes_at_one_wallet_spend_nothing_twice_and_both_get_answers(anna, url, tmp_path):
    item_id = minted(anna, *[1] * 4)

    def spend():
        with Deeds(url) as deeds, Wallet(tmp_path / "anna", deeds) as wallet:
            for _ in range(4):
                wallet.send(item_id, 1)

    processes = []
    minted(anna, 1), anna.split(item_id, [1] * 4)
    for _ in range(2):
        processes.append(os.fork())
        if not processes[-1]:
            ends = 1
            try:
                spend()
            except WalletError as error:
                ends = 42 if error.code == "not_enough" else 2
            finally:
                os._exit(ends)
    ends = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in processes]

    assert units(anna, item_id) == {"given": 4}
    assert set(ends) <= {1, 42}


def test_a_wallet_belongs_to_one_service(anna, open_wallet):
    before = anna.store.path.read_bytes()
    with (
        Deeds("https://other.example") as other,
        pytest.raises(InvalidInputError, match="http://127"),
    ):
        open_wallet(on=other)
    assert anna.store.path.read_bytes() == before


def test_only_its_owner_reads_a_wallet_and_its_journal(anna, deeds):
    def modes():
        paths = anna.store.path.parent.glob("anna*")
        return {each.name: stat.S_IMODE(each.stat().st_mode) for each in paths}

    with anna.store.transaction() as records:
        records.put("notes", {"key": "a"})
        assert modes() == {"anna": 0o600, "anna-journal": 0o600}


def _text(path, deeds):
    path.write_text("Dear diary, " * 99)
    path.chmod(0o640)


def _folder(path, deeds):
    path.mkdir()


def _locked(path, deeds):
    Wallet(path, deeds).close()
    return sqlite3.connect(path, isolation_level=None).execute("BEGIN EXCLUSIVE").connection


def _of_another_kind(path, deeds):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    path.chmod(0o640)


def _newer(path, deeds):
    Wallet(path, deeds).close()
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 1}")


def _damaged(path, deeds):
    Wallet(path, deeds).close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


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
def test_a_file_that_is_no_wallet_is_left_as_it_is(tmp_path, deeds, monkeypatch, spoil, said):
    monkeypatch.setattr(records_module, "_BUSY_S", 0.01)
    path = tmp_path / "wallet"
    held = spoil(path, deeds)
    before = path.is_file() and (path.read_bytes(), path.stat().st_mode)

    with pytest.raises(WalletFileError, match=said) as failed:
        Wallet(path, deeds).history()

    if held:
        held.close()
    assert before == (path.is_file() and (path.read_bytes(), path.stat().st_mode))
    assert str(path) in str(failed.value)
