"""Wallets whose processes are killed and whose requests are lost.

Every unit is accounted for.
"""

import shutil
from collections import Counter
from contextlib import suppress
from itertools import count

import client_walk
import pytest
from client_walk import Mortal, end_of, fork, link_of, wallet_at

from deeds_client.errors import NoAnswerError, ProblemError
from deeds_client.wallet import Wallet

RUNS_COUNT = 10


def test_random_walks_lose_and_double_nothing(
    database_url, gunicorn_service, seed, report
):
    report(client_walk.walk(gunicorn_service, database_url, seed, RUNS_COUNT))


def _minted(wallet):
    return wallet.mint([5, 2, 1])["itemId"]


def _given(wallet):
    item_id = _minted(wallet)
    return [wallet.outputs_of(wallet.send(item_id, amount))[0] for amount in (5, 3)]


def _keys(outputs):
    return [output["key"] for output in outputs]


def _partly_claimed(ours, theirs):
    given = _given(ours)
    theirs.claim(link_of(given[0]))
    return _keys(given)


def _trade(ours, theirs):
    return ours.trade((_minted(ours), 5), (_minted(theirs), 1), 60)


def _offer(ours, theirs):
    return ours.deeds.offer(_trade(ours, theirs)["offerId"])


def _trade_and_complete(ours, theirs):
    theirs.complete(_offer(ours, theirs))
    return ()


# Each verb, and how what it is given is made with two wallets: `ours`, which is broken,
# and theirs.
VERBS = {
    "mint": (Wallet.mint, lambda *_: ([5, 2],)),
    "issue": (Wallet.issue, lambda *_: ("job", 5, 2)),
    "send": (Wallet.send, lambda ours, _: (_minted(ours), 4)),
    "claim": (Wallet.claim, lambda _, theirs: (link_of(_given(theirs)[0]),)),
    "split": (Wallet.split, lambda ours, _: (_minted(ours), [1, 3])),
    "merge": (Wallet.merge, lambda ours, _: (_minted(ours),)),
    "take_back": (Wallet.take_back, lambda *both: (_partly_claimed(*both),)),
    "ask": (Wallet.ask, lambda ours, _: (_minted(ours), 2, 60)),
    "trade": (
        Wallet.trade,
        lambda *both: ((_minted(both[0]), 4), (_minted(both[1]), 1), 60),
    ),
    "withdraw": (Wallet.take_back, lambda *both: (_trade(*both)["inputs"],)),
    "complete": (Wallet.complete, lambda ours, theirs: (_offer(theirs, ours),)),
    "check": (lambda wallet: wallet.check(), _trade_and_complete),
}


def killed(path, url, act, number):
    """Act in a process that is killed at this step; return whether there was one."""

    def live():
        mortal = Mortal(number)
        with wallet_at(path, url, mortal=mortal) as wallet:
            wallet.deeds.info()
            mortal.count = 0
            mortal.watch(wallet.store._connection)
            act(wallet)

    return end_of(fork(live))


def at_request(fate):
    """Return a function that acts while one of the requests has this fate."""

    def broken(path, url, act, number):
        requests = count()

        def fates(_request):
            # The first one asks for the limits.
            return fate if next(requests) == number else "answered"

        with wallet_at(path, url, fates, tries=1) as wallet:
            wallet.deeds.info()
            with suppress(NoAnswerError):
                act(wallet)
        return next(requests) > number

    return broken


BROKEN = {
    "process killed": killed,
    "request lost": at_request("lost"),
    "answer lost": at_request("answer lost"),
}


def summary(wallet):
    """Return what a wallet holds and has done, and the service says of it, less ids."""
    outputs = wallet.outputs()
    said = wallet.deeds.check([link_of(output) for output in outputs])
    names = ("amount", "state", "number", "of", "each", "spentElsewhere", "unknown")
    told = Counter(
        (*(output.get(name) for name in names), "givenAt" in output, state)
        for output, state in zip(outputs, said, strict=True)
    )
    return told, Counter((each["kind"], each["state"]) for each in wallet.history())


def sweep(url, directory, verb, broken):
    """Break a verb at its first step, its second and so on; return how many it has."""
    carry_out, prepare = VERBS[verb]
    path = directory / "ours"

    def begin():
        shutil.rmtree(directory, ignore_errors=True)
        with (
            wallet_at(path, url) as ours,
            wallet_at(directory / "theirs", url) as theirs,
        ):
            return prepare(ours, theirs)

    def act(wallet):
        with suppress(ProblemError):
            carry_out(wallet, *given)

    given = begin()
    with wallet_at(path, url) as wallet:
        before = summary(wallet)
        act(wallet)
        found = summary(wallet)
        wallet.check()
        ends = (found, summary(wallet))
    for number in count(1):
        if found != before:
            given = begin()
        was_broken = broken(path, url, act, number)
        with wallet_at(path, url) as wallet:
            wallet.resume()
            found = summary(wallet)
            # A check or a trade may have done a part.
            if found not in (before, *ends):
                act(wallet)
                found = summary(wallet)
        assert found in (before, *ends), f"{verb} broken at {number}"
        if not was_broken:
            assert found in ends, f"{verb} without a fault"
            return number - 1
    return 0


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_each_verb_broken_at_every_step_is_as_if_it_was_not(url, report, broken):
    with client_walk.folder() as directory:
        steps = {verb: sweep(url, directory / "ground", verb, broken) for verb in VERBS}
    report(f"{sum(steps.values())} steps of {len(VERBS)} verbs")
