"""What programs build on: references, waiting, and values that show no secret."""

import logging
from threading import Event
from unittest.mock import Mock

import pytest
from client_support import pay, problem, refused, units
from flask import Flask, jsonify

from deeds_client import wallet
from deeds_client.errors import (
    InvalidInputError,
    NoAnswerError,
    WalletFileError,
)
from deeds_client.values import Output, Secret
from tests.support.marker import MARK

REFERENCE = "order-17"


@pytest.fixture
def quick(monkeypatch):
    """Make the waits of `wait_paid` short."""
    monkeypatch.setattr(wallet, "_WAIT_S", 0.001)


def test_what_was_refused_is_begun_once_more_under_its_reference(
    anna, item_id, open_wallet
):
    refusing = open_wallet("anna", "/swap", "refused", "answered")
    with refused("body_too_large"):
        refusing.send(item_id, 4, reference=REFERENCE)
    first = anna.find(REFERENCE)

    refusing.send(item_id, 4, reference=REFERENCE)

    # The same request: if the first one arrives late, it is this one.
    assert [each.key for each in anna.history()[:-1]] == [first.key]


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


@pytest.mark.parametrize("reference", ["", "a\0b"])
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
        assert pay(anna, asked) == pay(anna, asked)

    # Lost twice, and busy twice: more often than one call is repeated.
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
    assert (waits[0], waits[-1], sorted(waits)) == (2, 15, waits)


def test_a_request_whose_end_was_not_answered_is_ended_by_the_next_call(
    anna, item_id, open_wallet
):
    asked = anna.ask(item_id, 3)
    with pytest.raises(NoAnswerError):
        open_wallet("anna", "/swap", "answer lost").cancel(asked)

    assert anna.cancel(asked).code == "offer_withdrawn"
    assert units(anna, item_id) == {"held": 8}


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


def test_a_record_that_is_damaged_is_told_in_a_sentence(anna, item_id):
    anna._store._execute("UPDATE records SET record = '[]' WHERE kind = 'operations'")

    with pytest.raises(WalletFileError, match=f"{anna._store.path} is damaged"):
        anna.history()
