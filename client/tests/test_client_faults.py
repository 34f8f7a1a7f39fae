"""Wallets whose processes are killed and whose requests are lost: every unit is accounted for."""

import shutil
from collections import Counter
from contextlib import suppress
from itertools import count

import client_walk
import pytest
from client_walk import Mortal, end_of, fork, wallet_at

from deeds_client import merging
from deeds_client.errors import NoAnswerError, ProblemError
from deeds_client.values import Output
from tests.support.ledger_view import ledger_view
from tests.support.serving import running_service

RUNS_COUNT = 10


def walk(url, database_url, seed, report, runs_count=RUNS_COUNT):
    counts = Counter()
    with ledger_view(database_url) as view:
        for number in range(runs_count):
            print(f"seed {seed + number}")  # noqa: T201
            with client_walk.folder() as directory:
                one = client_walk.Walk(url, view, directory, seed + number)
                one.run()
            counts += one.counts
    report(", ".join(f"{count} {name}" for name, count in counts.items()))


@pytest.fixture
def walked_service(database_url, gunicorn_service):
    return gunicorn_service(
        DATABASE_URL=database_url,
        DEEDS_MAX_ARRAY=str(client_walk.OUTPUTS_MAX),
        DEEDS_RATE_LIMITS="failures=off",
    )


def test_random_walks_lose_and_double_nothing(database_url, walked_service, seed, report):
    walk(walked_service.url, database_url, seed, report)


# What each verb begins with, and the verb itself: `ours` and `theirs` are wallets.


def holding(*amounts):
    def prepare(ours, _theirs):
        return ours.mint(amounts)["itemId"]

    return prepare


def _links(ours, _theirs):
    return ours.mint(links=(9, 2))["itemId"]


def _given(ours, _theirs):
    item_id = ours.mint([2, 3])["itemId"]
    given = ours.give_out([each["key"] for each in ours.outputs(item_id)])
    return sorted(given, key=lambda output: output["amount"])


def _given_and_partly_claimed(ours, theirs):
    given = _given(ours, theirs)
    theirs.claim(_link(given[0]))
    return given


def _link_of_theirs(ours, theirs):
    return _link(_given(theirs, ours)[0])


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


def _link(output):
    return Output(output["amount"], output["itemId"], output["secret"])


def _restore(wallet, copy):
    with wallet.store.transaction() as records:
        merging.merge(records, copy)


VERBS = {
    "mint": (lambda *_: None, lambda wallet, _: wallet.mint([5, 2], metadata={"name": "a"})),
    "mint of links": (lambda *_: None, lambda wallet, _: wallet.mint(links=(9, 2))),
    "make_links": (_links, lambda wallet, item_id: wallet.make_links(item_id)),
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
    "check": (_given_and_partly_claimed, lambda wallet, _: wallet.check()),
    "check of an offer": (_completed_trade_of_ours, lambda wallet, _: wallet.check()),
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


def losing(fate):
    def lost(path, url, act, number):
        """Act while this request is lost, or its answer; return whether there was one."""
        requests = count(1)

        def fates(_request):
            return fate if next(requests) == number + 1 else "answered"

        with wallet_at(path, url, fates, tries=1) as wallet:
            wallet.deeds.info()
            with suppress(NoAnswerError):
                act(wallet)
        return next(requests) > number + 1

    return lost


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
    said = wallet.deeds.check([_link(output) for output in outputs])
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
    found = after
    for number in count(1):
        if found != before:
            ground = Ground(url, directory, prepare)
        was_broken = broken(ground.path, url, act, number)
        with wallet_at(ground.path, url) as wallet:
            wallet.resume()
            found = summary(wallet)
            # A check or a trade may have done a part.
            if found not in (before, after):
                act(wallet)
                found = summary(wallet)
            assert found in (before, after), f"{verb} broken at {number}"
        if not was_broken:
            assert found == after, f"{verb} without a fault"
            return number - 1
    return 0


@pytest.fixture(scope="module")
def url(tmp_path_factory, sqlite_template):
    with client_walk.folder() as directory:
        database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        settings = {"DATABASE_URL": f"sqlite:///{database}", "DEEDS_RATE_LIMITS": "failures=off"}
        limits = {"DEEDS_MAX_ARRAY": str(client_walk.OUTPUTS_MAX), "WEB_CONCURRENCY": "1"}
        with running_service(directory, **settings, **limits) as service:
            yield service.url


@pytest.mark.parametrize(
    "broken",
    [killed, losing("lost"), losing("answer lost")],
    ids=["process killed", "request lost", "answer lost"],
)
def test_each_verb_broken_at_every_step_is_as_if_it_was_not(url, report, broken):
    with client_walk.folder() as directory:
        steps = {verb: sweep(url, directory / "ground", verb, broken) for verb in VERBS}
    report(f"{sum(steps.values())} steps, {steps}")
