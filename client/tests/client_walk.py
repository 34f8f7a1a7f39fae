"""People use their wallets, while processes are killed and requests are lost.

Anna's wallet is on three phones, all copies of one whose phone was lost; in one of them
two processes work at once. Ben has two wallets, which take in each other's copies. Each
life of a process is a fork and may end by SIGKILL at one of its steps.
"""

import json
import random
import shutil
from collections import Counter
from contextlib import ExitStack, closing, suppress
from functools import partial
from unittest.mock import patch

from client_support import (
    Lines,
    Mortal,
    at,
    backup_of,
    copy_of,
    folder,
    live_at_once,
    problem,
    sent,
    wallet_at,
)

from deeds_client import merging, seeds
from deeds_client.errors import (
    FindingError,
    NoAnswerError,
    ProblemError,
    WalletError,
)
from deeds_client.records import Operation, made_by
from deeds_client.service import Deeds
from deeds_client.store import Store
from deeds_client.values import (
    Kind,
    OperationState,
    Output,
    OutputState,
    Units,
)
from tests.support.ledger_view import LedgerView
from tests.support.serving import running_service

SETTINGS = {
    "DEEDS_MAX_ARRAY": "26",
    "DEEDS_RATE_LIMITS": "failures=off",
    "WEB_CONCURRENCY": "1",
}
LIVES_COUNT = 10
LINKS_COUNT = 28  # In two batches.
GAP = 52  # More numbers than a walk leaves unused.
LIVE = (OutputState.HELD, OutputState.GIVEN, OutputState.OFFERED)
OFFERS = (Kind.ASK, Kind.TRADE)
# What may happen to a request. A late one arrives some steps later.
FATES = ["answered"] * 12
FATES += ["lost", "answer lost", "answer lost", "late", "refused"]
FATES += [problem(503, "busy", "1")]
OWNERS = {"anna": "anna", "twin": "anna", "third": "anna", "ben": "ben", "phone": "ben"}
LIVES = [["anna"], ["twin"], ["anna", "anna"], ["anna", "twin"]]
LIVES += [["anna", "twin", "third"], ["twin", "ben"], ["ben"], ["phone"]]


def walk(sqlite_template, seed, runs_count):
    """Run this number of walks, with this seed and the following ones.

    Return a summary of what was done.
    """
    counts = Counter()
    with folder() as directory, patch.object(seeds, "GAP", GAP):
        database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        view = LedgerView(f"sqlite:///{database}")
        with running_service(directory, DATABASE_URL=view.url, **SETTINGS) as service:
            for number in range(runs_count):
                print(f"--seed {seed + number}")  # noqa: T201
                path = directory / str(number)
                one = Walk(service.url, view, path, seed + number)
                one.run()
                counts += one.counts
    return ", ".join(f"{count} {name}" for name, count in counts.items())


class Walk:
    """One random walk at a service, and the judgement at its end."""

    def __init__(self, url, view, directory, seed):
        self._url, self._view, self._directory = url, view, directory
        self._rng = random.Random(seed)
        self._items_before = len(view.read("SELECT id FROM items"))
        self._copies = {"anna": [], "ben": []}
        self.counts = Counter(runs=1)
        (directory / "late").mkdir(parents=True)

    def run(self):
        rng = self._rng
        self._begin()
        for _ in range(LIVES_COUNT):
            names = rng.choice(LIVES)
            lives = [
                partial(self._live, name, random.Random(rng.randrange(2**32)))
                for name in names
            ]
            self.counts.update(killed=sum(live_at_once(*lives)), lives=len(lives))
            dumped = self._look(lambda records: [backup_of(records)], names[0])
            self._copies[OWNERS[names[0]]] += dumped
            if rng.random() < 0.5:
                self._deliver_late(1)
            if rng.random() < 0.1:
                self._view.expire_offers()
        self._end()

    def _begin(self):
        copies = [name for name, owner in OWNERS.items() if owner == "anna"]
        with self._wallet("first") as first, self._wallet("ben") as ben:
            item_id = ben.mint([9, 12]).item_id
            first.claim(sent(ben, item_id, 4))
            first.send(first.mint([30]).item_id, 3)
            # The series is not complete. A copy of the file continues what was begun, a
            # copy of a backup does not.
            unlucky = self._wallet("first", "/swap", "lost")
            with suppress(NoAnswerError), unlucky as unlucky:
                unlucky.issue(LINKS_COUNT, 2, reference="job")
            for name in copies:
                if self._rng.random() < 0.5:
                    shutil.copy(first._store.path, self._directory / name)
                else:
                    with copy_of(first, name):
                        pass

    def _wallet(self, name, *fates):
        return wallet_at(self._directory / name, self._url, at(*fates))

    def _look(self, read, *names):
        found = []
        for name in names or OWNERS:
            with (
                closing(Store(self._directory / name)) as store,
                store.transaction() as records,
            ):
                found += read(records)
        return found

    def _live(self, name, rng):
        # The child process has its own random numbers.
        self._rng = rng
        mortal = Mortal(rng.choice([0, rng.randint(1, 50), rng.randint(1, 150)]))
        mortal.watch()
        fates = FATES if rng.random() < 0.7 else ["answered"]
        path, late = self._directory / name, self._directory / "late"
        with wallet_at(
            path, self._url, lambda _: rng.choice(fates), late, mortal
        ) as wallet:
            if rng.random() < 0.5:
                wallet.__enter__()
            for _ in range(rng.randint(1, 8)):
                with suppress(WalletError, ProblemError, NoAnswerError, FindingError):
                    self._act(wallet, OWNERS[name])

    def _act(self, wallet, owner):
        own = wallet.outputs()
        held = [each for each in own if each.state == OutputState.HELD]
        one = self._rng.choice(held or own or [Output.fresh(1, "deed_a")])
        item_id, amount = one.item_id, self._rng.randint(1, one.amount)
        verbs = [
            lambda: wallet.mint([amount, 20]),
            lambda: wallet.issue(LINKS_COUNT, 2, reference="job"),
            lambda: wallet.send(item_id, amount + self._rng.randint(0, 9)),
            lambda: wallet.split(item_id, [amount, 1]),
            lambda: wallet.merge(item_id),
            lambda: self._take_back(wallet, own),
            lambda: self._cancel(wallet),
            lambda: self._ask(wallet, item_id, amount),
            *[lambda: self._trade(wallet, item_id, amount)] * 2,
            *[lambda: self._complete(wallet)] * 3,
            *[lambda: self._claim(wallet)] * 3,
            lambda: self._restore(wallet, owner),
            wallet.sync,
            lambda: wallet.sync(look=True),
            wallet.__enter__,
        ]
        self._rng.choice(verbs)()

    def _pick(self, options):
        if not options:
            raise WalletError(
                "nothing_there", "Nothing is there yet that a verb needs."
            )
        return self._rng.choice(options)

    def _ask(self, wallet, item_id, amount):
        for _ in range(self._rng.choice([1, 1, GAP + 1])):
            wallet.ask(item_id, amount, 60)

    def _take_back(self, wallet, own):
        given = [each for each in own if each.state == OutputState.GIVEN]
        item_id = self._pick(given).item_id
        links = [each for each in given if each.item_id == item_id]
        wallet.take_back(self._rng.sample(links, min(len(links), 2)))

    def _cancel(self, wallet):
        offers = [each for each in wallet.history() if each.kind in OFFERS]
        wallet.cancel(self._pick(offers))

    def _trade(self, wallet, item_id, amount):
        held = self._look(lambda records: records.outputs("", OutputState.HELD))
        other = self._pick([each for each in held if each.item_id != item_id])
        wanted = self._rng.randint(1, other.amount)
        wallet.trade(Units(item_id, amount), Units(other.item_id, wanted), 3600)

    def _complete(self, wallet):
        states = self._rng.choice([["open"]] * 4 + [["open", "done", "refused"]])
        known = self._look(lambda records: records.all(Operation))
        offers = [each for each in known if each.offer_id and each.state in states]
        wallet.complete(wallet._deeds.offer(self._pick(offers).offer_id))

    def _claim(self, wallet):
        outputs = self._look(Store.outputs)
        link = self._pick([each for each in outputs if each.given_at])
        wrong = self._rng.choice([0, 0, 0, 1])
        wallet.claim(Output(link.amount + wrong, link.item_id, link.secret))

    def _restore(self, wallet, owner):
        with wallet._store.transaction() as records:
            merging.merge(records, self._pick(self._copies[owner]), is_own=True)

    def _deliver_late(self, count=None):
        paths = sorted((self._directory / "late").iterdir())[:count]
        lines = Lines(self._url, at())
        with Deeds(self._url, transport=lines) as deeds:
            for path in paths:
                with suppress(ProblemError):
                    deeds.send(*json.loads(path.read_text()))
                path.unlink()
                self.counts["delivered late"] += 1

    def _end(self):
        """Let every wallet finish, twice, without faults, and check the result."""
        self._deliver_late()
        is_over = self._rng.random() < 0.5
        with ExitStack() as stack:
            wallets = {name: stack.enter_context(self._wallet(name)) for name in OWNERS}
            for turn in range(2):
                if is_over and turn:
                    self._view.expire_offers()
                for wallet in wallets.values():
                    wallet.__enter__()
                for wallet in wallets.values():
                    wallet.sync(look=turn)
            mints = self._done(wallets.values(), is_over=is_over)
            live = self._assert_true(wallets)
            self._assert_alike(wallets)
        self._view.assert_sound()
        assert live == mints

    def _assert_true(self, wallets):
        """Assert that all states are right, and that each unit belongs to one person.

        Return the units of each item that are in a wallet.
        """
        owned = [
            (OWNERS[name], output)
            for name, wallet in wallets.items()
            for output in wallet.outputs()
        ]
        known = list({output for _, output in owned})
        states = dict(zip(known, wallets["anna"]._deeds.check(known), strict=True))
        expected = {"void": "unknown", "coming": "unknown", "spent": "spent"}
        expected |= dict.fromkeys(LIVE, "unspent")
        owners = {output: set() for output in known if states[output] == "unspent"}
        for owner, output in owned:
            # A link may have named any amount.
            if output.before != OutputState.SEEN:
                assert states[output] == expected.get(output.state)
            if output.state in LIVE:
                assert not output.unknown
                owners[output].add(owner)
        assert [some for some in owners.values() if len(some) != 1] == []
        live = Counter()
        for output in owners:
            live[output.item_id] += output.amount
        return live

    def _done(self, wallets, *, is_over):
        """Return the mints; assert that no operation is left without an end.

        The ledger has made no other item. That each unit is in a wallet shows that
        nothing else was carried out twice, or without a wallet that knows it.
        """
        mints = {}
        for operation in (each for wallet in wallets for each in wallet.history()):
            if operation.state != OperationState.DONE:
                assert operation.state in ("refused", "" if is_over else "open")
            elif operation.kind == Kind.MINT:
                # Several copies may have sent the same mint.
                mints[operation.item_id] = operation.amount
        items = self._view.read("SELECT id, total FROM items ORDER BY created_by")
        assert mints.items() == set(items[self._items_before :])
        self.counts["mint"] += len(mints)
        return mints

    def _assert_alike(self, wallets):
        """Assert that all copies hold the same outputs of the items that all know.

        Outputs of mints, whose secrets come from no seed, and later issues may differ.
        """
        copies = [wallets[name] for name, owner in OWNERS.items() if owner == "anna"]
        minted = {
            key
            for copy in copies
            for each in copy.history()
            if each.kind == Kind.MINT
            for key in made_by(each)
        }
        # If a copy took a link back, the others still call it handed out.
        minted |= {each.key for copy in copies for each in copy.outputs() if each.issue}
        items = [{each.item_id for each in copy.outputs()} for copy in copies]
        common = set.intersection(*items)
        held = [
            {
                (output.key, output.amount, output.given_at is not None)
                for output in copy.outputs("", *LIVE)
                if output.item_id in common and output.key not in minted
            }
            for copy in copies
        ]
        assert held[0] == held[1] == held[2]
        self.counts["held by all copies"] += len(held[0])
