"""Seeds: secrets are those of the page, and copies of a wallet find each other's."""

import json
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, repeat
from operator import attrgetter
from unittest.mock import Mock, patch

import httpx
import pytest
from client_walk import (
    PASSPHRASE,
    backup_file,
    copy_of,
    pay,
    problem,
    refused,
    sent,
    units,
)

from deeds_client import checking, merging, seeds
from deeds_client.beginning import swap
from deeds_client.errors import FindingError, NoAnswerError, WalletFileError
from deeds_client.records import Numbers, Seed, now
from deeds_client.seeds import Part, derive, next_numbers, own_seed, used_seeds
from deeds_client.values import Found, Kind, Output
from tests.support.serving import REPOSITORY

VECTORS = json.loads((REPOSITORY / "tests/support/wallet_vectors.json").read_text())


def minted(wallet, *amounts):
    """Return an item of these parts, which no page has shown."""
    item_id = wallet.mint([sum(amounts)]).item_id
    wallet.split(item_id, amounts[1:])
    return item_id


@pytest.fixture
def item_id(anna):
    return minted(anna, 1, 5)


@pytest.fixture
def open_copy(anna):
    """A function that opens a copy of what Anna has now: see `copy_of`."""
    with ExitStack() as stack:
        yield lambda *about: stack.enter_context(copy_of(anna, *about))


@pytest.fixture
def copy(item_id, open_copy):
    return open_copy()


@pytest.mark.parametrize("vector", VECTORS)
def test_a_secret_is_that_of_its_number(vector):
    place = (vector[name] for name in ("seed", "itemId", "branch", "number"))

    assert derive(*place) == vector["secret"]


def test_a_backup_finds_what_was_done_since(anna, ben, open_wallet, open_copy):
    unlucky = open_wallet("anna", "/swap", "lost")
    with pytest.raises(NoAnswerError):
        # The mint is done, and no link is made.
        unlucky.issue(10, reference="vouchers")
    vouchers = anna.find("vouchers").item_id
    ticket = sent(ben, ben.mint([2]).item_id, 1)
    anna.claim(ticket)
    copy = open_copy()
    links = [each.output for each in anna.issue(10, reference="vouchers")]
    for link in links[:2]:
        ben.claim(link)
    anna.send(ticket.item_id, 1)

    copy.sync(look=True)

    anna.sync()
    for item_id in (vouchers, ticket.item_id):
        assert units(copy, item_id) == units(anna, item_id)
    kept = copy.outputs(vouchers, "given")
    numbered = attrgetter("key", "number", "of")
    assert set(map(numbered, kept)) == set(map(numbered, links[2:]))
    lost = [each for each in copy.outputs() if each.spent_elsewhere]
    assert all(each.is_unclear for each in lost)
    # It goes on where the other copy is.
    assert copy.sync(look=True) == []


def test_links_behind_more_promised_ones_than_are_looked_for_are_found(
    anna, item_id, copy
):
    one, five = anna.outputs(item_id, "held")
    # As the page does, which makes them later.
    with copy._store.transaction() as records:
        records.change(five, number=1, of=30, each=1)
    with anna._store.transaction() as records:
        link = Part(one.amount, item_id, is_given=True, number=31, of=31)
        records.put(swap(records, Kind.SPLIT, [one], [link]))
    anna.__enter__()

    copy.sync(look=True)

    assert 31 in [output.number for output in copy.outputs(item_id, "given")]


def test_what_a_copy_has_moved_is_found_where_it_is_missed(
    anna, item_id, copy, open_copy
):
    third = open_copy("third")
    copy.merge(item_id)
    copy.send(item_id, 2)

    # One chooses again, one is checked.
    assert third.send(item_id, 4)
    anna.sync()

    assert units(anna, item_id) == {"given": 6}
    third.sync()
    assert units(third, item_id) == {"given": 6}
    # What is left is not enough to choose again.
    with refused("spent_input"):
        copy.send(item_id, 4)


def test_what_a_copy_has_sent_before_is_found_when_it_is_carried_out_late(
    anna, item_id, copy, open_copy
):
    with pytest.raises(NoAnswerError):
        open_copy("copy", "/swap", "lost").send(item_id, 5)
    copy.send(item_id, 1)
    anna.sync(look=True)
    copy.__enter__()

    known = anna.outputs()
    found = [each for each in anna.sync(look=True) if each not in known]
    assert [each.amount for each in found] == [5]


def test_a_link_of_a_copy_is_found_although_its_claim_was_refused(
    item_id, copy, open_copy
):
    third = open_copy("third", "/swap", "lost")
    refusing = open_copy("third", "/swap", "refused")
    link = sent(copy, item_id, 5)
    with pytest.raises(NoAnswerError):
        third.claim(link)
    third.sync(look=True)

    refusing.__enter__()

    assert units(third, item_id) == units(copy, item_id) == {"held": 1, "given": 5}


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


def test_what_a_copy_has_made_by_the_number_of_an_expired_offer_is_found(
    anna, ben, ledger, open_copy
):
    item_id = minted(ben, 1, 5)
    link, other = (sent(ben, item_id, amount) for amount in (1, 2))
    anna.claim(link)
    copy = open_copy()
    copy.ask(item_id, 3)
    anna.claim(other)
    ledger.expire_offers()

    copy.sync()

    assert copy.history()[0].code == "offer_expired"
    assert units(copy, item_id) == units(anna, item_id) == {"held": 3}


def test_a_mint_tells_the_amount_better_than_a_link(anna, open_wallet, open_copy):
    with pytest.raises(NoAnswerError):
        open_wallet("anna", "/mint", "answer lost").mint([5])
    [made] = open_copy().__enter__().history()[:1]
    [minted] = made.outputs
    with refused("unknown_input"):
        anna.claim(Output(6, minted.item_id, minted.secret))

    anna.__enter__()

    assert units(anna, minted.item_id) == {"held": 5}


def test_an_offer_that_was_completed_as_it_expired_is_done(ben, item_id, open_wallet):
    asked = ben.ask(item_id, 5)
    told = httpx.get(f"{ben._deeds.base_url}/v1/offers/{asked.offer_id}").json()
    told |= {"state": "expired", "expiresAt": "2026-01-01T00:00:00Z"}
    expired = httpx.Response(200, json=told)
    payer = open_wallet()

    open_wallet(
        "ben", "/offers/", expired, "answered", before=partial(pay, payer, asked)
    ).sync()

    assert ben.history()[0].state == "done"
    assert units(ben, item_id) == {"held": 5}


def test_a_payment_of_what_a_copy_has_moved_is_not_called_made(
    anna, ben, item_id, open_copy
):
    offer = ben._deeds.offer(ben.ask(item_id, 5).offer_id)
    copy = open_copy("copy", "/complete", "refused")
    anna.send(item_id, 5)

    with refused("body_too_large"):
        copy.complete(offer)

    assert copy.history()[0].state == "refused"


def test_what_is_claimed_after_a_look_is_not_called_unclear(
    anna, ben, item_id, open_copy
):
    link = sent(anna, item_id, 2)
    copy = open_copy()
    anna.merge(item_id)
    copy.sync(look=True)
    ben.claim(link)

    [claimed] = copy.sync()

    assert (claimed.spent_elsewhere, claimed.is_unclear) == (True, False)


def test_another_wallet_joins_and_is_looked_for(anna, ben, item_id):
    mine = minted(ben, 2, 1)
    backup = backup_file(anna)
    anna.send(item_id, 2)

    ben.restore(backup, PASSPHRASE)
    ben.sync(look=True)

    assert own_seed(anna._store) != own_seed(ben._store)
    assert units(ben, item_id) == {"held": 4, "given": 2}
    # What is used next is of the own seed.
    [joined] = ben.outputs(ben.merge(item_id))
    assert joined.secret.reveal() == derive(own_seed(ben._store), item_id, "kept", 0)
    assert units(ben, mine) == {"held": 3}


def test_a_strangers_backup_takes_over_no_wallet(anna, ben, item_id, caplog):
    anna.split(item_id, [3])
    seed = own_seed(ben._store)

    added = ben.restore(backup_file(anna), PASSPHRASE)

    assert {each.amount for each in added} == {1, 2, 3}
    assert own_seed(ben._store) == seed
    [told] = caplog.messages
    assert told.startswith("The owner of this backup can spend what it holds, too")
    # Once moved it is of a secret that nobody else can make.
    [moved] = ben.outputs(ben.merge(item_id))
    assert moved.secret.reveal() == derive(seed, item_id, "kept", 0)


def test_after_a_partial_backup_its_seed_is_looked_for_whatever_is_restored_next(
    anna, ben, open_wallet, item_id
):
    dump = merging.dump
    with patch.object(
        merging, "dump", lambda records: replace(dump(records), operations=[])
    ):
        partial = backup_file(anna)
    anna.send(item_id, 2)
    dora = open_wallet("dora")

    dora.restore(partial, PASSPHRASE, own=True)
    dora.restore(backup_file(ben), PASSPHRASE, own=True)
    dora.sync(look=True)

    assert units(dora, item_id) == units(anna, item_id)


def test_no_more_than_eight_wallets_are_joined(anna, ben, item_id):
    with anna._store.transaction() as records:
        for at in range(7):
            records.put(Seed(f"{at:064x}", now()))
    full = backup_file(anna)
    joined = {each.key for each in used_seeds(anna._store)}

    with pytest.raises(WalletFileError, match="Too many wallets"):
        ben.restore(full, PASSPHRASE)

    assert not ben.outputs(item_id)
    # Of a wallet that has joined more, the file has what a reader takes.
    with anna._store.transaction() as records:
        records.put(Seed("ff" * 32, datetime.fromtimestamp(0, UTC)))
        records.put(Numbers(f"{'ff' * 32}.{item_id}", kept=1))
    ben.restore(backup_file(anna), PASSPHRASE, own=True)
    assert {each.key for each in used_seeds(ben._store)} == joined


def test_what_a_stranger_has_begun_to_mint_is_not_minted_here(
    anna, ben, open_wallet, item_id
):
    with pytest.raises(NoAnswerError):
        open_wallet("anna", "/mint", "lost").mint([7])
    path = backup_file(anna)

    ben.restore(path, PASSPHRASE)
    ben.sync()
    assert {each.state for each in ben.history()} == {"done"}
    # What an item is, the registry tells.
    assert not ben.item(item_id).is_minted

    # What is one's own goes on.
    ben.restore(path, PASSPHRASE, own=True)
    ben.sync()
    told = ben.balance().values()
    assert sum(each.held for each in told) == 6 + 7


def test_an_order_of_another_wallet_is_none_of_this_one(anna, ben):
    item_id = ben.mint([5]).item_id
    asked = anna.ask(item_id, 1, reference="order-1")
    pay(ben, asked)
    anna.sync()

    ben.restore(backup_file(anna), PASSPHRASE, own=True)

    assert ben.find("order-1") is None
    assert ben.ask(item_id, 1, reference="order-1").state == "open"


def test_an_own_backup_makes_a_copy_of_a_wallet_that_made_nothing(
    anna, ben, item_id, caplog
):
    ben.restore(backup_file(anna), PASSPHRASE, own=True)

    assert caplog.messages == []
    assert [each.key for each in used_seeds(ben._store)] == [own_seed(anna._store)]
    # An older copy of its own numbers takes none of them back.
    before = ben._store.all(Numbers)
    ben.send(item_id, 1)
    raised = ben._store.all(Numbers)
    ben.restore(backup_file(anna), PASSPHRASE, own=True)
    assert ben._store.all(Numbers) == raised != before


def test_a_shop_finds_what_was_paid_behind_requests_that_nobody_paid(
    anna, ben, ledger, open_copy
):
    item_id = minted(ben, 9, 2, 3)
    anna.claim(sent(ben, item_id, 1))
    copy = open_copy()
    # Each takes a number of the seed, and a look passes over 8.
    for _ in range(20):
        anna.ask(item_id, 1, 60)
    ledger.expire_offers()
    pay(ben, anna.ask(item_id, 2))
    late = anna.ask(item_id, 3)

    copy.sync(look=True)

    assert units(copy, item_id) == {"held": 3}
    # No number is used twice: what is paid late is not taken for another order's.
    seed = own_seed(anna._store)
    ways = [next_numbers(each._store, seed, item_id) for each in (anna, copy)]
    assert [numbers.kept for numbers in ways] == [23, 23]
    pay(ben, late)
    copy.sync(look=True)
    assert units(copy, item_id) == {"held": 6}


def test_a_service_without_offers_is_looked_through(item_id, copy, open_copy):
    none = problem(404, "not_found", isFinal=True)
    copy.send(item_id, 5)

    third = open_copy("third", "/offers/find", none, none)
    third.sync(look=True)

    assert units(third, item_id) == {"held": 1, "given": 5}


LIES = {
    "more than there is": [Found(1, False), Found(1, False), None],
    "without an end": [Found(1, True)],
}


@pytest.mark.parametrize("lies", LIES.values(), ids=LIES)
def test_a_service_that_tells_lies_changes_nothing(item_id, copy, monkeypatch, lies):
    told = chain(lies, repeat(lies[-1]))
    monkeypatch.setattr(seeds, "_NUMBERS_MAX", 20)
    monkeypatch.setattr(copy._deeds, "find", lambda _, asked: [next(told)] * len(asked))
    before = copy.outputs(), copy._store.all(Numbers)

    with pytest.raises(FindingError, match="contradict each other"):
        copy.sync(look=True)

    assert (copy.outputs(), copy._store.all(Numbers)) == before
    assert copy.send(item_id, 5)


def test_a_look_that_was_broken_off_goes_on(anna, open_copy):
    items = [minted(anna, 2, 5) for _ in range(2)]
    copy = open_copy()
    for item_id in items:
        anna.merge(item_id)

    broken = Mock(side_effect=[[], KeyboardInterrupt])
    with patch.object(checking, "gather", broken), pytest.raises(KeyboardInterrupt):
        copy.sync(look=True)

    # Without being told to.
    with patch.object(checking, "gather", wraps=checking.gather) as gather:
        copy.sync()
    assert gather.call_args_list[0].args[2] == items[1]
    assert units(copy, items[1]) == {"held": 7}
