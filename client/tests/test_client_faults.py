"""Wallets whose processes are killed and whose requests are lost.

Every unit is accounted for.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial

import httpx
import pytest
from client_support import (
    Mortal,
    copy_of,
    folder,
    live_at_once,
    pay,
    refused,
    sent,
    wallet_at,
)
from client_walk import walk

from deeds_client.errors import CallError, NoAnswerError, ProblemError
from deeds_client.values import OperationState, Units
from deeds_client.wallet import Wallet


@pytest.mark.slow
def test_random_walks_lose_and_double_nothing(sqlite_template, seed, report):
    report(walk(sqlite_template, seed, runs_count=8))


def minted(wallet):
    return wallet.mint([5, 2, 1]).item_id


def links(wallet):
    """Return two outputs whose links were handed out."""
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


# Each verb, and a function that prepares its arguments with two wallets: `ours`, whose
# process is killed, and theirs.
VERBS = {
    "mint": (Wallet.mint, lambda *_: ([5, 2],)),
    "issue": (Wallet.issue, lambda *_: (5, 2)),
    "send": (Wallet.send, lambda ours, _: (minted(ours), 4)),
    "claim": (Wallet.claim, lambda _, theirs: links(theirs)[0]),
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
    "look": (
        lambda wallet, _copied: wallet.sync(look=True),
        lambda ours, _: overtaken(ours, 4),
    ),
    "check": (
        lambda wallet, _completed: wallet.sync(),
        lambda ours, theirs: pay(theirs, traded(ours, theirs)),
    ),
}

# The others are repeated after each kill, with their reference.
UNREFERENCED = {"take_back", "withdraw", "cancel", "send what a copy has"}
UNREFERENCED |= {"look", "check"}


def is_killed_at(number, path, url, act):
    """Act in a process that is killed at this step; return whether it got that far."""

    def live():
        mortal = Mortal(number)
        mortal.watch()
        with wallet_at(path, url, mortal=mortal) as wallet:
            wallet._deeds.info()
            mortal.count = 0
            act(wallet)

    return live_at_once(live) == [True]


def summary(wallet):
    """Return the outputs and operations of a wallet, without ids and secrets."""
    outputs = wallet.outputs()
    states = wallet._deeds.check(outputs)
    names = ("amount", "state", "number", "of", "each", "spent_elsewhere", "unknown")
    counts = Counter(
        (*(getattr(output, name) for name in names), bool(output.given_at), state)
        for output, state in zip(outputs, states, strict=True)
    )
    return counts, Counter((each.kind, each.state) for each in wallet.history())


def prepared(directory, url, verb):
    """Return the path and summary of our wallet, and a function that does the verb."""
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


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_killed_at_any_step_is_as_if_it_was_not(url, verb):
    is_referenced = verb not in UNREFERENCED
    with folder() as ground:
        path, before, act = prepared(ground / "whole", url, verb)
        with wallet_at(path, url) as wallet:
            act(wallet)
            done = summary(wallet)
            wallet.sync()
            ends = (done, summary(wallet))

        was_killed, number = True, 0
        while was_killed:
            number += 1
            path, _, act = prepared(ground / str(number), url, verb)
            was_killed = is_killed_at(number, path, url, act)
            with wallet_at(path, url) as wallet:
                wallet.__enter__()
                found = summary(wallet)
                # A check or a trade may have been done in part.
                if is_referenced or found not in (before, *ends):
                    act(wallet)
                    found = summary(wallet)
            allowed = ends if is_referenced else (before, *ends)
            assert found in allowed, f"killed at {number}"

        assert number > 1
        assert found in ends


def test_what_another_process_has_sent_is_not_called_refused(open_wallet, item_id):
    other = open_wallet("anna", "/swap", "answer lost")
    anna = open_wallet("anna", "/swap", "refused", "answered", before=other.__enter__)

    anna.send(item_id, 5)

    assert anna.history()[0].state == OperationState.DONE


def test_what_a_filter_refuses_keeps_nothing_else_from_being_sent_again(tmp_path, url):
    sent = []

    def fates(request):
        if request.url.path != "/v1/mint":
            return "answered"
        sent.append(request.headers["Idempotency-Key"])
        return httpx.Response(403, html="")

    with wallet_at(tmp_path / "wallet", url, fates) as wallet:
        for _ in range(2):
            with pytest.raises(CallError):
                wallet.mint([5])
        del sent[:]

        wallet.__enter__()

        assert {each.key for each in wallet.history()} == {*sent}


def scan(open_anna, ticket, fate, **facts):
    """Claim a ticket as a door of the page does, with this fate of the request."""
    with pytest.raises(NoAnswerError):
        open_anna("/swap", fate).claim(ticket)
    wallet = open_anna()
    [begun] = wallet.history(OperationState.BEGUN)
    with wallet._store.transaction() as records:
        records.put(replace(begun, at_door=True, **facts))
    return wallet


@pytest.mark.parametrize(
    ("fate", "state", "left"),
    [("lost", "refused", "unspent"), ("answer lost", "done", "spent")],
)
def test_what_a_door_has_cancelled_is_not_sent(open_wallet, ben, fate, state, left):
    ticket = links(ben)[0]
    anna = scan(partial(open_wallet, "anna"), ticket, fate, is_cancelled=True)

    anna.__enter__()

    # The key shows that it was carried out.
    assert [each.state for each in anna.history()] == [state]
    assert ben._deeds.check([ticket]) == [left]


def test_no_verb_sends_what_a_door_has_scanned(open_wallet, ben):
    ticket = links(ben)[0]
    anna = scan(partial(open_wallet, "anna"), ticket, "lost", is_unsent=True)

    # It would wait for any other operation under way.
    with refused("not_enough"):
        anna.send(ticket.item_id, 1)

    assert ben._deeds.check([ticket]) == ["unspent"]
    # Once sent, the page must not call it unsent.
    [begun] = anna.history(OperationState.BEGUN)
    assert not anna.refresh(begun).is_unsent
