"""Wallets whose processes are killed and whose requests are lost: every unit is accounted for."""

import shutil
from collections import Counter
from contextlib import suppress
from itertools import count

import client_walk
import pytest
from client_walk import Mortal, end_of, fork, link_of, wallet_at

from deeds_client import merging
from deeds_client.errors import NoAnswerError, ProblemError
from tests.support.serving import running_service

RUNS_COUNT = 10


def test_random_walks_lose_and_double_nothing(database_url, gunicorn_service, seed, report):
    report(client_walk.walk(gunicorn_service, database_url, seed, RUNS_COUNT))


# What each verb begins with, and the verb itself: `ours` and `theirs` are wallets.


def holding(*amounts):
    def prepare(ours, _theirs):
        return ours.mint(amounts)["itemId"]

    return prepare


def _given(ours, _theirs):
    item_id = ours.mint([2, 3])["itemId"]
    given = ours.give_out([each["key"] for each in ours.outputs(item_id)])
    return sorted(given, key=lambda output: output["amount"])


def _given_and_partly_claimed(ours, theirs):
    given = _given(ours, theirs)
    theirs.claim(link_of(given[0]))
    return given


def _link_of_theirs(ours, theirs):
    return link_of(_given(theirs, ours)[0])


def _offer_of_theirs(ours, theirs):
    mine, wanted = ours.mint([5])["itemId"], theirs.mint([4])["itemId"]
    return ours.deeds.offer(theirs.trade((wanted, 4), (mine, 2), 60)["offerId"])


def _trade_of_ours(ours, theirs):
    mine, wanted = ours.mint([5])["itemId"], theirs.mint([4])["itemId"]
    return ours.trade((mine, 5), (wanted, 1), 60)


def _completed_trade_of_ours(ours, theirs):
    trading = _trade_of_ours(ours, theirs)
    theirs.complete(ours.deeds.offer(trading["offerId"]))


def _copy_of_theirs(ours, theirs):
    _given(theirs, ours)
    with theirs.store.transaction() as records:
        return merging.dump(records)


def _two_items(ours, theirs):
    return ours.mint([5])["itemId"], theirs.mint([4])["itemId"]


def _restore(wallet, copy):
    with wallet.store.transaction() as records:
        merging.merge(records, copy)


VERBS = {
    "mint": (lambda *_: None, lambda wallet, _: wallet.mint([5, 2], metadata={"name": "a"})),
    "issue": (lambda *_: None, lambda wallet, _: wallet.issue("job", 7, 2)),
    "send": (holding(5, 1), lambda wallet, item_id: wallet.send(item_id, 2)),
    "claim": (_link_of_theirs, lambda wallet, link: wallet.claim(link)),
    "split": (holding(5), lambda wallet, item_id: wallet.split(item_id, [1, 2])),
    "merge": (holding(5, 2, 1), lambda wallet, item_id: wallet.merge(item_id)),
    "give_out": (
        holding(5, 2),
        lambda wallet, item_id: wallet.give_out([each["key"] for each in wallet.outputs(item_id)]),
    ),
    "take_back": (
        _given,
        lambda wallet, given: wallet.take_back([each["key"] for each in given]),
    ),
    "take_back of what was claimed": (
        _given_and_partly_claimed,
        lambda wallet, given: wallet.take_back([each["key"] for each in given]),
    ),
    "ask": (holding(5), lambda wallet, item_id: wallet.ask(item_id, 2, 60)),
    "trade": (_two_items, lambda wallet, two: wallet.trade((two[0], 2), (two[1], 1), 60)),
    "withdraw": (
        _trade_of_ours,
        lambda wallet, trade: wallet.take_back(trade["inputs"]),
    ),
    "complete": (_offer_of_theirs, lambda wallet, offer: wallet.complete(offer)),
    "check": (_completed_trade_of_ours, lambda wallet, _: wallet.check()),
    "restore": (_copy_of_theirs, _restore),
}


def killed(path, url, act, number):
    """Act in a process that is killed at this step; return whether there was one."""

    def live():
        mortal = Mortal(number)
        with wallet_at(path, url, mortal=mortal) as wallet:
            wallet.deeds.info()
            mortal.count = 0
            wallet.store._connection.set_trace_callback(mortal.step)
            act(wallet)

    return end_of(fork(live))


def at_request(befall):
    """Return a function that acts while something befalls one of the requests."""

    def broken(path, url, act, number):
        requests = count(0)

        def fates(_request):
            # The first one asks for the limits.
            return befall(path, url) if next(requests) == number else "answered"

        with wallet_at(path, url, fates, tries=1) as wallet:
            wallet.deeds.info()
            with suppress(NoAnswerError):
                act(wallet)
        return next(requests) > number

    return broken


def another(verb):
    """Return what another process at the same file does before a request is sent."""

    def befall(path, url):
        with wallet_at(path, url) as wallet:
            getattr(wallet, verb)()
        return "answered"

    return befall


def another_then(verb):
    """Return what it does when the request was carried out, and that is not known yet."""
    return lambda path, url: lambda: another(verb)(path, url)


BROKEN = {
    "process killed": killed,
    "request lost": at_request(lambda *_: "lost"),
    "answer lost": at_request(lambda *_: "answer lost"),
    "another resumes": at_request(another("resume")),
    "another has resumed": at_request(another_then("resume")),
    "another checks": at_request(another("check")),
    "another has checked": at_request(another_then("check")),
}


class Ground:
    """A folder with two wallets, in which a verb is prepared."""

    def __init__(self, url, directory, prepare):
        shutil.rmtree(directory, ignore_errors=True)
        self.path = directory / "ours"
        with wallet_at(self.path, url) as ours, wallet_at(directory / "theirs", url) as theirs:
            self.given = prepare(ours, theirs)


def summary(wallet):
    """Return what a wallet holds and has done, and what the service says of it, but for ids."""
    outputs = wallet.outputs()
    said = wallet.deeds.check([link_of(output) for output in outputs])
    names = ("amount", "state", "number", "of", "each", "spentElsewhere", "unknown")
    told = Counter(
        (*(output.get(name) for name in names), "givenAt" in output, state)
        for output, state in zip(outputs, said, strict=True)
    )
    return told, Counter((each["kind"], each["state"]) for each in wallet.history())


def sweep(url, directory, verb, broken):
    """Break a verb at its first step, its second and so on, and return how many it has."""
    prepare, carry_out = VERBS[verb]

    def act(wallet):
        with suppress(ProblemError):
            carry_out(wallet, ground.given)

    ground = Ground(url, directory, prepare)
    with wallet_at(ground.path, url) as wallet:
        before = summary(wallet)
        act(wallet)
        after = summary(wallet)
        wallet.check()
        ends = (after, summary(wallet))
    found = after
    for number in count(1):
        if found != before:
            ground = Ground(url, directory, prepare)
        was_broken = broken(ground.path, url, act, number)
        with wallet_at(ground.path, url) as wallet:
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


@pytest.fixture(scope="module")
def url(sqlite_template):
    with client_walk.folder() as directory:
        database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        settings = {**client_walk.SETTINGS, "DATABASE_URL": f"sqlite:///{database}"}
        with running_service(directory, WEB_CONCURRENCY="1", **settings) as service:
            yield service.url


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_each_verb_broken_at_every_step_is_as_if_it_was_not(url, report, broken):
    with client_walk.folder() as directory:
        steps = {verb: sweep(url, directory / "ground", verb, broken) for verb in VERBS}
    report(f"{sum(steps.values())} steps of {len(VERBS)} verbs")
