"""What programs build on: references, waiting, and values that show no secret."""

import logging
from threading import Event
from unittest.mock import Mock

import pytest
from client_walk import pay, problem, refused, units
from flask import Flask, jsonify

from deeds_client import wallet
from deeds_client.errors import (
    InvalidInputError,
    NoAnswerError,
    WalletError,
    WalletFileError,
)
from deeds_client.values import Output, Secret, Units
from tests.support.marker import MARK

REFERENCE = "order-17"


@pytest.fixture
def quick(monkeypatch):
    """Waits are counted, and are short."""
    monkeypatch.setattr(wallet, "_WAIT_S", 0.001)


def test_a_reference_names_one_operation_with_what_it_was_asked_for(anna, item_id):
    sent = anna.send(item_id, 4, reference=REFERENCE, note="for Ben")

    again = anna.send(item_id, 4, reference=REFERENCE)
    for other in (
        lambda: anna.send(item_id, 3, reference=REFERENCE),
        lambda: anna.split(item_id, [1], reference=REFERENCE),
    ):
        with refused("reference_used"):
            other()

    assert again == sent
    found = anna.find(REFERENCE)
    assert (found.kind, found.amount, found.note) == ("send", 4, "for Ben")
    assert units(anna, item_id) == {"held": 4, "given": 4}


def test_what_was_refused_is_begun_once_more_under_its_reference(
    anna, ben, item_id, open_wallet
):
    refusing = open_wallet("anna", "/swap", "refused", "answered")
    with refused("body_too_large"):
        refusing.send(item_id, 4, reference=REFERENCE)
    first = anna.find(REFERENCE)

    refusing.send(item_id, 4, reference=REFERENCE)

    # The same request: were the first one carried out late, it would be this one.
    assert [each.key for each in anna.history()[:-1]] == [first.key]
    link = anna.send(item_id, 1).output
    ben.claim(link)
    for code in ("spent_input", "not_given"):
        with refused(code):
            anna.take_back([link], reference="order-18")


def test_what_was_carried_out_after_its_refusal_is_not_refused_again(
    anna, item_id, open_wallet
):
    refusing = open_wallet("anna", "/swap", "refused", "refused", "answered")
    with refused("body_too_large"):
        refusing.send(item_id, 4, reference=REFERENCE)
    late = anna.find(REFERENCE)
    anna._deeds.send("/v1/swap", late.body.reveal(), late.key)

    refusing.send(item_id, 4, reference=REFERENCE)

    assert anna.find(REFERENCE).state == "done"


@pytest.mark.parametrize("reference", ["", "a\0b", "\ud800", 17])
def test_a_reference_is_a_text_of_one_line(anna, item_id, reference):
    with pytest.raises(InvalidInputError):
        anna.merge(item_id, reference=reference)

    assert len(anna.history()) == 1


def test_what_was_given_since_a_refusal_is_not_taken_from_its_receiver(
    anna, item_id, open_wallet
):
    refusing = open_wallet("anna", "/swap", "refused")
    with refused("body_too_large"):
        refusing.send(item_id, 4, reference=REFERENCE)
    [given] = anna.find(REFERENCE).inputs
    anna.give(given)

    with refused("busy"):
        anna.send(item_id, 4, reference=REFERENCE)

    assert anna._deeds.check([given]) == ["unspent"]


def test_a_payment_is_waited_for(anna, ben, item_id, open_wallet, quick):
    asked = ben.ask(item_id, 2)

    def pay_it():
        pay(anna, asked)

    # Lost twice, and busy twice: more often than a call is sent.
    fates = ["lost"] * 2 + [problem(503, "overloaded")] * 2 + [pay_it, "answered"]
    waiter = open_wallet("ben", "/offers", *fates)

    assert waiter.wait_paid(asked).state == "done"


def test_waiting_ends_with_the_time_the_offer_or_by_hand(
    anna, item_id, open_wallet, ledger, quick
):
    asked = anna.ask(item_id, 2)
    stop = Event()
    stop.set()

    assert anna.wait_paid(asked, timeout=0.01).state == "open"
    assert anna.wait_paid(asked, stop=stop).state == "open"
    with pytest.raises(NoAnswerError):
        open_wallet("anna", "/offers", "lost").wait_paid(asked, timeout=0.01)
    ledger.expire_offers()
    assert anna.wait_paid(asked).code == "offer_expired"


def test_it_is_asked_for_ever_more_slowly(anna, item_id):
    stop = Mock()
    stop.is_set.side_effect = [False] * 20 + [True]

    anna.wait_paid(anna.ask(item_id, 2), stop=stop)

    waits = [each.args[0] for each in stop.wait.call_args_list]
    assert waits[:3] == [2, 2.5, 3.125]
    assert waits[-1] == max(waits) == 15


def test_a_request_is_ended_by_who_holds_a_part(anna, ben, item_id):
    asked = anna.ask(item_id, 3, reference=REFERENCE)

    ended = anna.cancel(asked)

    assert (ended.state, ended.code) == ("refused", "offer_withdrawn")
    assert anna._deeds.offer(asked.offer_id).state == "void"
    assert units(anna, item_id) == {"held": 8}
    assert anna.cancel(asked) == anna.ask(item_id, 3, reference=REFERENCE) == ended
    # Who holds nothing has to wait.
    other = ben.mint([1]).item_id
    with pytest.raises(WalletError, match=r"paid until 2\d\d\d-.* UTC"):
        anna.cancel(anna.ask(other, 1))


def test_a_request_whose_end_was_not_answered_is_ended_by_the_next_call(
    anna, item_id, open_wallet
):
    asked = anna.ask(item_id, 3)
    with pytest.raises(NoAnswerError):
        open_wallet("anna", "/swap", "answer lost").cancel(asked)

    assert anna.cancel(asked).code == "offer_withdrawn"
    assert units(anna, item_id) == {"held": 8}


def test_a_trade_that_could_not_be_begun_splits_nothing(anna, item_id):
    for want, expires_in in ((0, 60), (1, 0)):
        with pytest.raises(InvalidInputError):
            anna.trade(Units(item_id, 4), Units("deed_a", want), expires_in)

    assert len(anna.history()) == 1


def test_nothing_shows_a_secret_but_a_link(anna, item_id, caplog):
    caplog.set_level(logging.DEBUG)
    own = Output(3, "deed_", Secret(MARK))
    [minted] = anna._deeds.mint([own])
    claimed = anna.claim(minted, reference=MARK[:5])
    given = anna.give(anna.outputs(claimed)[0])
    secrets = [each.secret.reveal() for each in anna.outputs()]
    shown = [own, minted, claimed, given, *anna.outputs(), *anna.history()]
    shown += [anna.balance(), anna._deeds.info(), anna._store.all(type(claimed))]

    for value in shown:
        logging.getLogger("shop").info("%s", value)
    with Flask("shop").test_request_context():
        texts = [jsonify(value).get_data(as_text=True) for value in shown]
    texts += [record.getMessage() for record in caplog.records]

    secrets += [each.asked.reveal() for each in anna.history() if each.asked]
    assert given.output.secret.reveal() in given.link
    assert [text for text in texts if any(each in text for each in secrets)] == []


def test_what_is_held_is_given_as_it_is_by_a_call_of_its_own(anna, ben, item_id):
    [one] = [each for each in anna.outputs(item_id) if each.amount == 1]

    given = anna.give(one)

    assert units(anna, item_id) == {"held": 7, "given": 1}
    assert anna.give(one).link == given.link
    ben.claim(given.output)
    anna.sync()
    with refused("not_held"):
        anna.give(one)


@pytest.mark.parametrize("record", ["[]", '{"key": "x"}'])
def test_a_record_that_is_damaged_is_told_in_a_sentence(anna, item_id, record):
    sql = "UPDATE records SET record = ? WHERE kind = 'operations'"
    anna._store._execute(sql, (record,))

    with pytest.raises(WalletFileError, match=f"{anna._store.path} is damaged"):
        anna.history()


def test_resumptions_are_told(anna, item_id, open_wallet, caplog):
    caplog.set_level(logging.INFO, logger="deeds_client")
    with pytest.raises(NoAnswerError):
        open_wallet("anna", "/swap", "answer lost").send(item_id, 1)

    anna.__enter__()

    assert "Resumed: send is done" in caplog.text
