"""Copies of a wallet find what each other has made, by their seed."""

from contextlib import ExitStack
from functools import partial
from itertools import chain, repeat

import httpx
import pytest
from client_support import (
    PASSPHRASE,
    backup_file,
    copy_of,
    pay,
    problem,
    refused,
    sent,
    units,
)

from deeds_client import seeds
from deeds_client.beginning import swap
from deeds_client.errors import FindingError, NoAnswerError
from deeds_client.records import Numbers
from deeds_client.seeds import Part
from deeds_client.values import Found, Kind


def minted(wallet, *amounts):
    """Return an item of these parts, whose links no page has shown."""
    item_id = wallet.mint([sum(amounts)]).item_id
    wallet.split(item_id, amounts[1:])
    return item_id


@pytest.fixture
def item_id(anna):
    return minted(anna, 1, 5)


@pytest.fixture
def open_copy(anna):
    """A function that opens a copy of Anna's wallet as it is now: see `copy_of`."""
    with ExitStack() as stack:
        yield lambda *about: stack.enter_context(copy_of(anna, *about))


@pytest.fixture
def copy(item_id, open_copy):
    return open_copy()


def test_links_behind_more_promised_ones_than_are_looked_for_are_found(
    anna, item_id, copy
):
    one, five = anna.outputs(item_id, "held")
    # As the page does, which makes the links later.
    with copy._store.transaction() as records:
        records.change(five, number=1, of=30, each=1)
    with anna._store.transaction() as records:
        link = Part(one.amount, item_id, is_given=True, number=31, of=31)
        records.put(swap(records, Kind.SPLIT, [one], [link]))
    anna.__enter__()

    copy.sync(look=True)

    assert 31 in [output.number for output in copy.outputs(item_id, "given")]


def test_a_look_that_finds_a_link_makes_no_claim_that_was_refused(
    item_id, copy, open_copy
):
    refusing = open_copy("third", "/swap", "refused")
    third = open_copy("third")
    link = sent(copy, item_id, 5)
    with refused("body_too_large"):
        refusing.claim(link)

    third.sync(look=True)

    copy.sync()
    assert units(third, item_id) == units(copy, item_id) == {"held": 1, "given": 5}


def test_a_link_that_a_copy_has_made_is_not_called_sent_here(anna, item_id, open_copy):
    copy = open_copy("copy", "/swap", "refused")
    link = sent(anna, item_id, 5)

    with refused("body_too_large"):
        copy.send(item_id, 5)

    assert copy.history()[0].state == "refused"
    # Both know it, and one has handed it out.
    assert [each.key for each in copy.outputs(item_id, "given")] == [link.key]


def test_an_offer_that_was_completed_as_it_expired_is_done(ben, item_id, open_wallet):
    asked = ben.ask(item_id, 5)
    offer = httpx.get(f"{ben._deeds.base_url}/v1/offers/{asked.offer_id}").json()
    offer |= {"state": "expired", "expiresAt": "2026-01-01T00:00:00Z"}
    expired = httpx.Response(200, json=offer)
    payer = open_wallet()

    open_wallet(
        "ben", "/offers/", expired, "answered", before=partial(pay, payer, asked)
    ).sync()

    assert ben.history()[0].state == "done"
    assert units(ben, item_id) == {"held": 5}


def test_what_a_stranger_has_begun_to_mint_is_not_minted_here(
    anna, ben, open_wallet, item_id, caplog
):
    with pytest.raises(NoAnswerError):
        open_wallet("anna", "/mint", "lost").mint([7])
    path = backup_file(anna)

    ben.restore(path, PASSPHRASE)
    ben.sync()
    [message] = caplog.messages
    assert message.startswith("The owner of this backup can spend what it holds, too")
    assert {each.state for each in ben.history()} == {"done"}
    # Only the registry describes an item.
    assert not ben.item(item_id).is_minted

    # An own backup is continued.
    ben.restore(path, PASSPHRASE, own=True)
    ben.sync()
    holdings = ben.balance().values()
    assert sum(each.held for each in holdings) == 6 + 7


def test_an_order_of_another_wallet_is_none_of_this_one(anna, ben):
    item_id = ben.mint([5]).item_id
    asked = anna.ask(item_id, 1, reference="order-1")
    pay(ben, asked)
    anna.sync()

    ben.restore(backup_file(anna), PASSPHRASE, own=True)

    assert ben.find("order-1") is None
    assert ben.ask(item_id, 1, reference="order-1").state == "open"


def test_a_service_without_offers_is_looked_through(item_id, copy, open_copy):
    none = problem(404, "not_found", isFinal=True)
    copy.send(item_id, 5)

    third = open_copy("third", "/offers/find", none, none)
    third.sync(look=True)

    assert units(third, item_id) == {"held": 1, "given": 5}


LIES = {
    "units that a check does not know": [Found(1, is_spent=False), None],
    "units without end": [Found(1, is_spent=True)],
}


@pytest.mark.parametrize("lies", LIES.values(), ids=LIES)
def test_a_service_that_tells_lies_changes_nothing(item_id, copy, monkeypatch, lies):
    answers = chain(lies, repeat(lies[-1]))
    monkeypatch.setattr(seeds, "_NUMBERS_MAX", 20)
    monkeypatch.setattr(
        copy._deeds, "find", lambda _, asked: [next(answers)] * len(asked)
    )
    before = copy.outputs(), copy._store.all(Numbers)

    with pytest.raises(FindingError, match="contradict each other"):
        copy.sync(look=True)

    assert (copy.outputs(), copy._store.all(Numbers)) == before
    assert copy.send(item_id, 5)
