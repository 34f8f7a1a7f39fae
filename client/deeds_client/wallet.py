"""A wallet: what a person holds, and how it moves."""

from __future__ import annotations  # Its help has short signatures.

from dataclasses import replace
from typing import TYPE_CHECKING, Self, Unpack

from deeds_client import beginning, carrying_out, file, merging
from deeds_client.carrying_out import About, Begin, Order
from deeds_client.checking import Checker
from deeds_client.errors import InvalidInputError
from deeds_client.links import Sent, is_same_service
from deeds_client.records import (
    Holding,
    Operation,
    keys_of,
    made_by,
    milliseconds,
    now,
)
from deeds_client.seeds import ask_for_look, ensure_seed
from deeds_client.service import WEEK_S, Deeds, Metadata, Outputs
from deeds_client.store import Store
from deeds_client.values import (
    Item,
    Kind,
    Offer,
    OperationState,
    Output,
    OutputState,
    Units,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from deeds_client.file import Place


class Wallet:
    """A file, at one service. Threads and processes may share it.

    `about` is a `reference`, for which a verb is carried out once, and a
    `note`. InvalidInputError and WalletError: nothing was begun. ProblemError:
    nothing has moved. NoAnswerError: `with`, `refresh` or `sync` go on with it.
    """

    __slots__ = ("_checker", "_deeds", "_store")

    def __init__(self, path: Place, deeds: Deeds) -> None:
        """Open the file or make it; raise WalletFileError or InvalidInputError."""
        self._deeds, self._store = deeds, Store(path)
        self._checker = Checker(self._store, deeds)
        with self._store.transaction() as records:
            ensure_seed(records)
            home = records.note("service").get("url", deeds.base_url)
            if is_same_service(home, deeds.base_url):
                home = deeds.base_url
                records.put_note("service", url=home)
        if home != deeds.base_url:
            self.close()
            raise InvalidInputError(f"This wallet is for {home}, not {deeds.base_url}.")

    def __enter__(self) -> Self:
        self._checker.go_on()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def mint(
        self,
        amounts: Sequence[int],
        *,
        metadata: Metadata = None,
        **about: Unpack[About],
    ) -> Operation:
        """Make an item in these outputs, with a name, a description, an image."""
        order = Order(Kind.MINT, ([*amounts], dict(metadata or {})), **about)
        return self._run(order, lambda _: beginning.mint(amounts, metadata))

    def issue(
        self, count: int, each: int = 1, *, reference: str, metadata: Metadata = None
    ) -> list[Sent]:
        """Make an item as numbered links; return those that nobody has claimed."""
        order = Order(Kind.MINT, (count, each, dict(metadata or {})), reference)
        issued = carrying_out.issue(self._checker, order, count, each, metadata)
        return list(map(self._sent, issued))

    def send(self, item_id: str, amount: int, **about: Unpack[About]) -> Sent:
        """Make a link of this amount to give away; change comes back."""
        order = Order(Kind.SEND, (item_id, amount), **about)
        sending = self._run(
            order, lambda records: beginning.send(records, item_id, amount)
        )
        return self._sent(self.outputs(sending)[0])

    def give(self, output: Output) -> Sent:
        """Hand out what is held as it is: nothing is sent to the service."""
        with self._store.transaction() as records:
            return self._sent(beginning.give(records, output))

    def claim(self, output: Output, **about: Unpack[About]) -> Operation:
        """Make ours what somebody handed over, or take an own link back."""
        order = Order(Kind.CLAIM, (output.raw,), **about)
        return self._run(order, lambda records: beginning.claim(records, output))

    def split(
        self, item_id: str, amounts: Sequence[int], **about: Unpack[About]
    ) -> Operation:
        """Make parts of these amounts of what is free, change behind them."""
        order = Order(Kind.SPLIT, (item_id, [*amounts]), **about)
        return self._run(
            order, lambda records: beginning.split(records, item_id, amounts)
        )

    def merge(self, item_id: str, **about: Unpack[About]) -> Operation:
        """Join what is free without a number, the smallest parts, as many as fit."""
        room = self._deeds.info().array_length_max
        order = Order(Kind.MERGE, (item_id,), **about)
        return self._run(order, lambda records: beginning.merge(records, item_id, room))

    def take_back(self, outputs: Outputs, **about: Unpack[About]) -> Operation:
        """Make links worthless that were handed out and nobody has claimed."""
        order = Order(Kind.TAKE_BACK, tuple(keys_of(outputs)), **about)
        return self._run(order, lambda records: beginning.take_back(records, outputs))

    def ask(
        self,
        item_id: str,
        amount: int,
        expires_in: int = WEEK_S,
        **about: Unpack[About],
    ) -> Operation:
        """Ask to be paid within 60 to 2592000 seconds: see `wait_paid`."""
        order = Order(Kind.ASK, (item_id, amount), **about)
        return self._run(
            order, lambda records: beginning.ask(records, item_id, amount, expires_in)
        )

    def trade(
        self, give: Units, want: Units, expires_in: int = WEEK_S, **about: Unpack[About]
    ) -> Operation:
        """Offer units for those of another item, as long as `ask`."""
        if give.item_id == want.item_id:
            raise InvalidInputError("Choose another deed to trade for.")
        sides = (give.item_id, give.amount, want.item_id, want.amount)
        order = Order(Kind.TRADE, sides, **about)
        return carrying_out.trade(self._checker, order, give, want, expires_in)

    def complete(self, offer: Offer, **about: Unpack[About]) -> Operation:
        """Give what an offer wants, get what it gives: see `Deeds.offer`."""
        order = Order(Kind.COMPLETE, (offer.id,), **about)
        return self._run(order, lambda records: beginning.complete(records, offer))

    def cancel(self, operation: Operation) -> Operation:
        """End an ask or trade, unless it was paid, as far as the wallet can."""
        return carrying_out.cancel(self._checker, operation.key)

    def find(self, reference: str) -> Operation | None:
        """Return the operation of a reference as it is in the file."""
        return carrying_out.find(self._store, reference)

    def refresh(self, operation: Operation) -> Operation:
        """Send what was begun, ask for an open offer; return it as it is then."""
        return self._checker.finish(operation.key)

    def wait_paid(
        self,
        operation: Operation,
        timeout: float | None = None,
        stop: Event | None = None,
    ) -> Operation:
        """Refresh every 2 to 15 s until it ends, so many seconds, or `stop`."""
        return carrying_out.wait(self.refresh, operation, timeout, stop)

    def sync(self, *, look: bool = False) -> list[Output]:
        """Ask what became of all, also by other copies; return what changed."""
        return self._checker.sync(look=look)

    def item(self, item_id: str) -> Item:
        """Return an item, which never changes, from the file if it is there."""
        known = self._store.get(Item, item_id)
        if known:
            return known
        item = self._deeds.item(item_id)
        with self._store.transaction() as records:
            return records.get(Item, item_id) or records.put(item)

    def outputs(self, of: str | Operation = "", *states: OutputState) -> list[Output]:
        """Return all outputs, those of an item, or what an operation has made."""
        if isinstance(of, str):
            return self._store.outputs(of, *states)
        made = self._store.known(made_by(of))
        return [output for output in made if not states or output.state in states]

    def history(self, state: OperationState | None = None) -> list[Operation]:
        """Return the operations, all or in this state, the latest first."""
        if state:
            return self._store.operations("state", state)[::-1]
        return self._store.all(Operation)[::-1]

    def balance(self) -> dict[str, Holding]:
        """Return what the wallet holds of each item, by its id."""
        return self._store.holdings()

    def show(self, item_id: str, number: int | None = None) -> Sent:
        """Return the link of what is held, for a door; it is not handed out."""
        with self._store.transaction() as records:
            return self._sent(beginning.show(records, item_id, number))

    def export(self, path: Place, passphrase: str) -> None:
        """Write all to a new encrypted file, which the page reads too."""
        at = milliseconds(now())
        with self._store.transaction() as records:
            whole = replace(merging.dump(records), service=self._deeds.base_url)
        file.save_wallet(path, whole, passphrase)
        with self._store.transaction() as records:
            records.put_note("backup", at=at)

    def restore(
        self, path: Place, passphrase: str, *, own: bool = False
    ) -> list[Output]:
        """Take in a file, maybe your own; return what is new. Then `sync`."""
        theirs = file.load_wallet(path, passphrase, self._deeds.base_url)
        with self._store.transaction() as records:
            if not records.outputs():
                # All that will be here is in this file.
                records.put_note("backup", at=milliseconds(now()))
            added = merging.merge(records, theirs, is_own=own)
            ask_for_look(records)
        return added

    def _run(self, order: Order, begin: Begin) -> Operation:
        return carrying_out.carry_out(self._checker, order, begin)

    def _sent(self, output: Output) -> Sent:
        return Sent(output, self._deeds.base_url)
