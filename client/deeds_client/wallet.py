"""A wallet: what a person holds, and how it moves."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event
from typing import Self, Unpack

from deeds_client import beginning, carrying_out, file, merging
from deeds_client.carrying_out import About, Order
from deeds_client.checking import Checker
from deeds_client.errors import InvalidInputError
from deeds_client.links import Sent, is_same_service
from deeds_client.records import Holding, Operation, add_up, keys_of, made_by
from deeds_client.seeds import ask_for_look, ensure_seed, items_to_look_at
from deeds_client.service import WEEK_S, Deeds, Metadata
from deeds_client.store import Store
from deeds_client.values import (
    Item,
    Kind,
    Offer,
    Output,
    OutputState,
    Units,
)


class Wallet:
    """The wallet in a file, at one service. Threads and processes may share it.

        with Deeds("https://deeds.example.com") as deeds:
            wallet = Wallet("shop.wallet", deeds)
            request = wallet.ask(item_id, 5, reference="order-17")
            paid = wallet.wait_paid(request, timeout=600)

    `with Wallet(...)` resumes at its start and closes the file at its end. Verbs write
    the whole operation down, send it and settle it, so that a program may be killed
    anywhere: `resume` goes on with what was begun.

    A verb may have a `reference`, a text that is unique in the wallet, such as the
    number of an order: the same verb with the same reference goes on with what was
    begun, and `find` returns it. One that the service refused is begun once more, but
    no request that has ended. A `note` is kept with an operation.

    Verbs raise `InvalidInputError` or `WalletError` when nothing was begun,
    `ProblemError` when the service has refused and nothing has moved, and where no
    answer came, or one that asks to wait, `NoAnswerError` or `ProblemError`: then the
    operation is written down, and goes on. Where another copy of the wallet was faster,
    a verb is begun again with what a look has found.
    """

    def __init__(self, path: str | os.PathLike[str], deeds: Deeds) -> None:
        """Open the file at `path`, or make it.

        Raise `WalletFileError` when it is locked, damaged, of another kind or newer,
        `InvalidInputError` when it is for another service.
        """
        self.store, self.deeds = Store(path), deeds
        self._checker = Checker(self.store, deeds)
        with self.store.transaction() as records:
            ensure_seed(records)
            home = records.note("service").get("url", deeds.base_url)
            if is_same_service(home, deeds.base_url):
                home = deeds.base_url
                records.put_note("service", url=home)
        if home != deeds.base_url:
            self.close()
            raise InvalidInputError(f"This wallet is for {home}, not {deeds.base_url}.")

    def __enter__(self) -> Self:
        self.resume()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    def mint(
        self,
        amounts: Sequence[int],
        *,
        metadata: Metadata = None,
        **about: Unpack[About],
    ) -> Operation:
        """Make an item in outputs of these amounts, its id in `item_id`.

        `metadata` may have a `name`, a `description` and an `image`, a URI.
        """
        order = Order(Kind.MINT, ([*amounts], dict(metadata or {})), **about)
        return self._run(order, lambda: beginning.mint(amounts, metadata))

    def issue(
        self,
        count: int,
        each: int = 1,
        *,
        reference: str,
        metadata: Metadata = None,
    ) -> list[Sent]:
        """Make an item as `count` numbered links of `each` units.

        Return those that are not claimed, as far as the last `check` knows. They count
        as handed out as soon as they are made. However often it is broken off, the same
        reference goes on where it was.
        """
        order = Order(Kind.MINT, (count, each, dict(metadata or {})), reference)
        issued = carrying_out.issue(self._checker, order, count, each, metadata)
        return list(map(self._sent, issued))

    def send(self, item_id: str, amount: int, **about: Unpack[About]) -> Sent:
        """Make a link of this amount to give away. Change comes back."""
        order = Order(Kind.SEND, (item_id, amount), **about)
        sending = self._run(order, lambda: beginning.send(self.store, item_id, amount))
        return self._sent(self.outputs_of(sending)[0])

    def give(self, output: Output) -> Sent:
        """Hand out an output that is held as it is, and count it as given from now on.

        Nothing is sent to the service. One that is given already has the same link.
        """
        with self.store.transaction() as records:
            return self._sent(beginning.give(records, output))

    def claim(self, output: Output, **about: Unpack[About]) -> Operation:
        """Make an output ours that somebody handed over: see `links.read_claims`.

        A link of this wallet is taken back.
        """
        order = Order(Kind.CLAIM, (output.raw,), **about)
        return self._run(order, lambda: beginning.claim(self.store, output))

    def split(
        self, item_id: str, amounts: Sequence[int], **about: Unpack[About]
    ) -> Operation:
        """Make parts of these amounts out of what is free. Change comes back, last."""
        order = Order(Kind.SPLIT, (item_id, [*amounts]), **about)
        return self._run(order, lambda: beginning.split(self.store, item_id, amounts))

    def merge(self, item_id: str, **about: Unpack[About]) -> Operation:
        """Join what is free and not numbered, smallest parts first, as many as fit."""
        room = self.deeds.info().array_length_max
        order = Order(Kind.MERGE, (item_id,), **about)
        return self._run(order, lambda: beginning.merge(self.store, item_id, room))

    def take_back(self, outputs: Sequence[Output], **about: Unpack[About]) -> Operation:
        """Make links worthless that were handed out, but those claimed meanwhile."""
        order = Order(Kind.TAKE_BACK, tuple(keys_of(outputs)), **about)
        return self._run(order, lambda: beginning.take_back(self.store, outputs))

    def ask(
        self,
        item_id: str,
        amount: int,
        expires_in: int = WEEK_S,
        **about: Unpack[About],
    ) -> Operation:
        """Ask anybody for units, for so many seconds: 60 to 2592000.

        The operation is open, with the `offer_id` of the request, until it is paid
        (`done`) or has expired (`refused`): see `wait_paid` and `links.offer_link`.
        """
        order = Order(Kind.ASK, (item_id, amount), **about)
        return self._run(
            order, lambda: beginning.ask(self.store, item_id, amount, expires_in)
        )

    def trade(
        self, give: Units, want: Units, expires_in: int = WEEK_S, **about: Unpack[About]
    ) -> Operation:
        """Offer units for units of another item, for so many seconds: the `offer_id`.

        What is not offered stays free: where no part is just as much, one is split off
        first.
        """
        if give.item_id == want.item_id:
            raise InvalidInputError("Choose another deed to trade for.")
        sides = (give.item_id, give.amount, want.item_id, want.amount)
        order = Order(Kind.TRADE, sides, **about)
        return self._run(
            order, lambda: beginning.trade(self.store, give, want, expires_in)
        )

    def complete(self, offer: Offer, **about: Unpack[About]) -> Operation:
        """Give what an offer wants, and get what it gives: see `Deeds.offer`."""
        order = Order(Kind.COMPLETE, (offer.id,), **about)
        return self._run(order, lambda: beginning.complete(self.store, offer))

    def cancel(self, operation: Operation) -> Operation:
        """End a request or a trade of ours, and return it as it is then.

        The service ends an offer when something that it needs is used: a trade when one
        of its inputs is spent, a request when the secret that it waits for is. For the
        latter the wallet swaps the largest part of the same item that it holds. Raise
        `WalletError` where it holds none, which says until when the request can still
        be paid. One that was paid meanwhile is `done`.
        """
        return carrying_out.cancel(self._checker, operation.key)

    def wait_paid(
        self,
        operation: Operation,
        timeout: float | None = None,
        stop: Event | None = None,
    ) -> Operation:
        """Ask for a request or a trade until it ends, and return it as it is then.

        It is asked for after 2 s, then ever more slowly, up to 15 s. After `timeout`
        seconds or when `stop` is set it is returned as it is: `open` is not paid yet.
        Where the last answer was none of the service,
        `NoAnswerError` is raised, or `ProblemError` where it asks to wait.
        """
        return carrying_out.wait(self.finish, operation, timeout, stop)

    def find(self, reference: str) -> Operation | None:
        """Return the operation of a reference as it is in the file."""
        return carrying_out.find(self.store, reference)

    def finish(self, operation: Operation) -> Operation:
        """Send what was begun, or ask for an offer of ours; return it as it is then.

        A claim at a door of the page is sent too.
        """
        return self._checker.finish(operation.key)

    def resume(self) -> list[Operation]:
        """Send again what was begun, and return what has ended by that.

        What has no answer stays begun. A claim at a door is left to that door.
        """
        return self._checker.resume()

    def check(self) -> list[Output]:
        """Ask what of ours is still unspent, and what became of open offers.

        Return the outputs that changed.
        """
        return self._checker.check()

    def look(self) -> list[Output]:
        """Look for what other copies of this wallet have moved, then check.

        Or go on with a look that was broken off. Return what was found. Raise
        `FindingError` at the end, of items of which the answer cannot be true. The log
        tells how many items were looked at.
        """
        return self._checker.look()

    def is_look_due(self) -> bool:
        """Return whether a restore asks for a look, or one was broken off."""
        return bool(items_to_look_at(self.store))

    def item(self, item_id: str) -> Item:
        """Return an item, which never changes, from the wallet's file if there."""
        known = self.store.get(Item, item_id)
        if known:
            return known
        item = self.deeds.item(item_id)
        with self.store.transaction() as records:
            return records.get(Item, item_id) or records.put(item)

    def outputs(self, item_id: str = "", *states: OutputState) -> list[Output]:
        """Return the outputs of an item or all, in these states or any, oldest first.

        Those `held` are free to spend; `give` hands one out as it is.
        """
        return self.store.outputs(item_id, *states)

    def outputs_of(self, operation: Operation) -> list[Output]:
        """Return what an operation has made, as it is now."""
        return self.store.known(made_by(operation))

    def history(self) -> list[Operation]:
        """Return all operations, the latest first."""
        return self.store.all(Operation)[::-1]

    def balance(self) -> dict[str, Holding]:
        """Return what the wallet holds of each item, by its id."""
        return add_up(self.outputs())

    def export(self, passphrase: str) -> str:
        """Return an encrypted file of all records as text; the page reads it too."""
        with self.store.transaction() as records:
            whole = replace(merging.dump(records), service=self.deeds.base_url)
        return file.export_wallet(whole, passphrase)

    def restore(self, text: str, passphrase: str) -> tuple[list[Output], list[Output]]:
        """Take in the file of another wallet, the page's too, or of an older copy.

        Return the outputs that are new here, and those of them that count as handed
        out. A look is due then, for what was made since: `look`. Raise
        `WalletFileError` where the file or the passphrase is wrong.
        """
        theirs = file.import_wallet(text, passphrase, self.deeds.base_url)
        with self.store.transaction() as records:
            added = merging.merge(records, theirs)
            ask_for_look(records)
        return added

    def _run(self, order: Order, begin: Callable[[], Operation]) -> Operation:
        return carrying_out.carry_out(self._checker, order, begin)

    def _sent(self, output: Output) -> Sent:
        return Sent(output, self.deeds.base_url)
