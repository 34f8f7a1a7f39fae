"""Wallets whose processes are killed and whose requests are lost.

Every unit is accounted for.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from unittest.mock import Mock

import client_walk
import pytest
from client_walk import (
    Mortal,
    Walk,
    WalkOfCopies,
    copy_of,
    live_at_once,
    pay,
    refused,
    sent,
    wallet_at,
)

from deeds_client.errors import NoAnswerError, ProblemError
from deeds_client.values import OperationState, Units
from deeds_client.wallet import Wallet


@pytest.mark.parametrize("kind", [Walk, WalkOfCopies])
@pytest.mark.parametrize(
    ("database_url", "runs_count"),
    [("sqlite", 2), pytest.param("postgresql", 8, marks=pytest.mark.slow)],
    indirect=["database_url"],
)
def test_random_walks_lose_and_double_nothing(
    database_url, runs_count, kind, gunicorn_service, seed, report
):
    report(client_walk.walk(gunicorn_service, database_url, seed, runs_count, kind))


def minted(wallet):
    return wallet.mint([5, 2, 1]).item_id


def links(wallet):
    """Return two that are given."""
    item_id = minted(wallet)
    return [sent(wallet, item_id, amount) for amount in (5, 3)]


def partly_claimed(ours, theirs):
    """Return two links of ours, of which they have claimed one."""
    first, second = links(ours)
    theirs.claim(first)
    return [first, second]


def traded(ours, theirs):
    return ours.trade(Units(minted(ours), 5), Units(minted(theirs), 1), 60)


def offered(ours, theirs):
    return ours._deeds.offer(traded(ours, theirs).offer_id)


def overtaken(ours, amount):
    """Return an item of which a copy of ours has sent this amount."""
    item_id = ours.mint([8]).item_id
    ours.split(item_id, [5, 2])
    with copy_of(ours) as copied:
        copied.send(item_id, amount)
    return item_id


# Each verb, and how what it is given is made with two wallets: `ours`, which is broken,
# and theirs.
VERBS = {
    "mint": (Wallet.mint, lambda *_: ([5, 2],)),
    "issue": (Wallet.issue, lambda *_: (5, 2)),
    "send": (Wallet.send, lambda ours, _: (minted(ours), 4)),
    "claim": (Wallet.claim, lambda _, theirs: links(theirs)[0]),
    "split": (Wallet.split, lambda ours, _: (minted(ours), [1, 3])),
    "merge": (Wallet.merge, lambda ours, _: minted(ours)),
    "take_back": (Wallet.take_back, partly_claimed),
    "ask": (Wallet.ask, lambda ours, _: (minted(ours), 2, 60)),
    "trade": (
        Wallet.trade,
        lambda ours, theirs: (Units(minted(ours), 4), Units(minted(theirs), 1), 60),
    ),
    "withdraw": (Wallet.cancel, traded),
    "cancel": (Wallet.cancel, lambda ours, _: ours.ask(minted(ours), 1)),
    "complete": (
        Wallet.complete,
        lambda ours, theirs: offered(theirs, ours),
    ),
    "send what a copy has": (
        Wallet.send,
        lambda ours, _: (overtaken(ours, 5), 5),
    ),
    "send as a copy has": (
        Wallet.send,
        lambda ours, _: (overtaken(ours, 1), 5),
    ),
    "look": (
        lambda wallet, _copied: wallet.sync(look=True),
        lambda ours, _: overtaken(ours, 4),
    ),
    "check": (
        lambda wallet, _completed: wallet.sync(),
        lambda ours, theirs: pay(theirs, traded(ours, theirs)),
    ),
}

# The others are asked for again after each fault, by their reference.
UNREFERENCED = {"take_back", "withdraw", "cancel", "send what a copy has"}
UNREFERENCED |= {"look", "check"}


def killed_at(number, path, url, act):
    """Act in a process that is killed at this step; return whether there was one."""

    def live():
        mortal = Mortal(number)
        mortal.watch()
        with wallet_at(path, url, mortal=mortal) as wallet:
            wallet._deeds.info()
            mortal.count = 0
            act(wallet)

    return live_at_once(live) == [True]


def lost_at(number, path, url, act, fate):
    """Act while the request of this number is lost; return whether there was one."""
    requests = count()

    def fates(_request):
        return fate if next(requests) == number else "answered"

    with wallet_at(path, url, fates, tries=1) as wallet:
        # The first one asks for the limits.
        wallet._deeds.info()
        with suppress(NoAnswerError):
            act(wallet)
    return next(requests) > number


FAULTS = {
    "request lost": partial(lost_at, fate="lost"),
    "answer lost": partial(lost_at, fate="answer lost"),
    "process killed": killed_at,
}


def summary(wallet):
    """Return what a wallet holds and has done, and the service says of it, less ids."""
    outputs = wallet.outputs()
    states = wallet._deeds.check(outputs)
    names = ("amount", "state", "number", "of", "each", "spent_elsewhere", "unknown")
    told = Counter(
        (*(getattr(output, name) for name in names), bool(output.given_at), state)
        for output, state in zip(outputs, states, strict=True)
    )
    return told, Counter((each.kind, each.state) for each in wallet.history())


def prepared(directory, url, verb):
    """Return a file of ours, what it holds, and a function that does the verb on it."""
    carry_out, prepare = VERBS[verb]
    options = {} if verb in UNREFERENCED else {"reference": "order-17"}
    path = directory / "ours"

    def act(wallet):
        with suppress(ProblemError):
            carry_out(wallet, *given, **options)

    with (
        wallet_at(path, url) as ours,
        wallet_at(directory / "theirs", url) as theirs,
    ):
        given = prepare(ours, theirs)
        given = given if isinstance(given, tuple) else (given,)
        return path, summary(ours), act


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "fault",
    [
        "request lost",
        "answer lost",
        pytest.param("process killed", marks=pytest.mark.slow),
    ],
)
def test_a_verb_broken_at_any_step_is_as_if_it_was_not(url, verb, fault):
    is_referenced = verb not in UNREFERENCED
    with client_walk.folder() as ground:
        path, before, act = prepared(ground / "whole", url, verb)
        with wallet_at(path, url) as wallet:
            act(wallet)
            done = summary(wallet)
            wallet.sync()
            ends = (done, summary(wallet))

        was_broken, number = True, 0
        while was_broken:
            number += 1
            path, _, act = prepared(ground / str(number), url, verb)
            was_broken = FAULTS[fault](number, path, url, act)
            with wallet_at(path, url) as wallet:
                wallet.__enter__()
                found = summary(wallet)
                # A check or a trade may have done a part.
                if is_referenced or found not in (before, *ends):
                    act(wallet)
                    found = summary(wallet)
            allowed = ends if is_referenced else (before, *ends)
            assert found in allowed, f"broken at {number}"

        assert number > 1
        assert found in ends


@pytest.mark.parametrize(
    ("path", "act"),
    [
        ("/mint", lambda wallet, _: wallet.mint([5])),
        ("/swap", lambda wallet, item_id: wallet.send(item_id, 5)),
    ],
)
def test_what_another_process_has_sent_is_not_called_refused(
    open_wallet, item_id, path, act
):
    other = open_wallet("anna", path, "answer lost")
    anna = open_wallet("anna", path, "refused", "answered", before=other.__enter__)

    act(anna, item_id)

    assert anna.history()[0].state == OperationState.DONE


@pytest.fixture
def scan(anna, ben, open_wallet):
    """A function that scans a ticket of Ben's at a door of Anna's, and returns both."""

    def scan(fate="lost", **facts):
        ticket = links(ben)[0]
        with pytest.raises(NoAnswerError):
            open_wallet("anna", "/swap", fate).claim(ticket)
        [begun] = anna._store.operations("state", OperationState.BEGUN)
        with anna._store.transaction() as records:
            return ticket, records.put(replace(begun, at_door=True, **facts))

    return scan


@pytest.mark.parametrize(
    ("fate", "flag", "state"),
    [
        ("lost", "is_unsent", "begun"),
        ("lost", "is_cancelled", "refused"),
        ("answer lost", "is_cancelled", "done"),
    ],
)
def test_what_a_door_of_the_page_has_scanned_is_not_sent(
    open_wallet, scan, fate, flag, state
):
    _, begun = scan(fate, **{flag: True})
    sent = Mock()
    wallet = open_wallet("anna", "/swap", before=sent)

    wallet.__enter__()

    assert [each.state for each in wallet.history()] == [state]
    # What was carried out is told by its key: it cannot be once more.
    assert sent.call_count == (state == "done")
    # From now on the page cannot call it unsent.
    assert not wallet.refresh(begun).is_unsent


@pytest.mark.parametrize(
    ("verb", "code"),
    [
        (lambda wallet, ticket: wallet.send(ticket.item_id, 1), "not_enough"),
        (Wallet.claim, "busy"),
    ],
)
def test_no_verb_sends_what_a_door_has_scanned(anna, ben, scan, verb, code):
    ticket, _ = scan()

    with refused(code):
        verb(anna, ticket)

    assert ben._deeds.check([ticket]) == ["unspent"]
