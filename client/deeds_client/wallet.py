"""The wallet as programs use it. `help(Wallet)` fits on few screens: keep it so.

A verb of beginning.py begins an operation, which carrying_out.py records and sends.
"""

from __future__ import annotations  # Keeps signatures in help() short.

from dataclasses import replace
from math import inf
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Self, Unpack

from deeds_client import beginning, file, merging
from deeds_client.carrying_out import (
    About,
    Begin,
    Order,
    SplitFirstError,
    carry_out,
    find,
    finish_first,
)
from deeds_client.checking import Checker
from deeds_client.errors import (
    CallError,
    InvalidInputError,
    ProblemError,
    WalletError,
)
from deeds_client.links import Sent
from deeds_client.records import (
    ENDED,
    Holding,
    Operation,
    keys_of,
    made_by,
    milliseconds,
    now,
)
from deeds_client.seeds import ensure_seed, schedule_look
from deeds_client.service import WEEK_S, Deeds, Metadata, Outputs, is_same_service
from deeds_client.store import Store
from deeds_client.values import (
    Item,
    Kind,
    Offer,
    OperationState,
    Output,
    OutputState,
    Units,
    parse_amount,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeds_client.file import StrPath

_WAIT_S = 2.0  # Pause between queries of an offer: the first, and the longest.
_WAIT_S_MAX = 15.0
_BACK_OFF = 1.25


class Wallet:
    """A wallet's file, for one service. Threads and processes may share it.

    Verbs, such as `send`, move units; with a `reference` they do so once. After
    InvalidInputError and WalletError nothing was begun. After ProblemError
    nothing moved. After NoAnswerError, `with`, `refresh` or `sync` resume it.
    """

    __slots__ = ("_checker", "_deeds", "_store")

    def __init__(self, path: StrPath, deeds: Deeds) -> None:
        """Open or create the file; raise WalletFileError or InvalidInputError."""
        self._deeds, self._store = deeds, Store(path)
        self._checker = Checker(self._store, deeds)
        with self._store.transaction() as records:
            ensure_seed(records)
            known_url = records.note("service").get("url", deeds.base_url)
            is_same = is_same_service(known_url, deeds.base_url)
            if is_same:
                records.put_note("service", url=deeds.base_url)
        if not is_same:
            self.close()
            raise InvalidInputError(
                f"This wallet is for {known_url}, not {deeds.base_url}."
            )

    def __enter__(self) -> Self:
        self._checker.resume_all()
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
        """Mint an item. Metadata: a name, a description and an image."""
        return self._run(
            Kind.MINT,
            ([*amounts], dict(metadata or {})),
            about,
            lambda _: beginning.mint(amounts, metadata),
        )

    def issue(
        self, count: int, each: int = 1, *, reference: str, metadata: Metadata = None
    ) -> list[Sent]:
        """Mint an item as numbered links; return the unclaimed ones."""
        total = parse_amount(parse_amount(count) * parse_amount(each))
        minting = self._run(
            Kind.MINT,
            (count, each, dict(metadata or {})),
            {"reference": reference},
            lambda _: beginning.mint([total], metadata),
        )
        room = self._deeds.info().array_length_max
        while True:
            operation = self._run(
                Kind.SPLIT,
                (),
                {},
                lambda records: beginning.links(records, minting, count, each, room),
            )
            # Once all links are made, `links` returns the mint.
            if operation.kind == Kind.MINT:
                break
        links = self.outputs(minting.item_id, OutputState.GIVEN)
        return [self._sent(output) for output in links if output.number]

    def send(self, item_id: str, amount: int, **about: Unpack[About]) -> Sent:
        """Make a link of this amount to hand out."""
        sending = self._run(
            Kind.SEND,
            (item_id, amount),
            about,
            lambda records: beginning.send(records, item_id, amount),
        )
        return self._sent(self.outputs(sending)[0])

    def give(self, output: Output) -> Sent:
        """Return a held output's link, marked as handed out. Works offline."""
        with self._store.transaction() as records:
            return self._sent(beginning.give(records, output))

    def claim(self, output: Output, **about: Unpack[About]) -> Operation:
        """Claim a received output, or take back a link of this wallet."""
        return self._run(
            Kind.CLAIM,
            (output.raw,),
            about,
            lambda records: beginning.claim(records, output),
        )

    def split(
        self, item_id: str, amounts: Sequence[int], **about: Unpack[About]
    ) -> Operation:
        """Split free units into parts of these amounts and change."""
        return self._run(
            Kind.SPLIT,
            (item_id, [*amounts]),
            about,
            lambda records: beginning.split(records, item_id, amounts),
        )

    def merge(self, item_id: str, **about: Unpack[About]) -> Operation:
        """Join free parts without a number, smallest first, as many as fit."""
        room = self._deeds.info().array_length_max
        return self._run(
            Kind.MERGE,
            (item_id,),
            about,
            lambda records: beginning.merge(records, item_id, room),
        )

    def take_back(self, outputs: Outputs, **about: Unpack[About]) -> Operation:
        """Take back links that were handed out and not claimed."""
        return self._run(
            Kind.TAKE_BACK,
            keys_of(outputs),
            about,
            lambda records: beginning.take_back(records, outputs),
        )

    def ask(
        self,
        item_id: str,
        amount: int,
        expires_in: int = WEEK_S,
        **about: Unpack[About],
    ) -> Operation:
        """Request a payment, for 60 to 2592000 seconds: see `wait_paid`."""
        return self._run(
            Kind.ASK,
            (item_id, amount),
            about,
            lambda records: beginning.ask(records, item_id, amount, expires_in),
        )

    def trade(
        self, give: Units, want: Units, expires_in: int = WEEK_S, **about: Unpack[About]
    ) -> Operation:
        """Offer units for those of another item; expires as in `ask`."""
        sides = (give.item_id, give.amount, want.item_id, want.amount)
        while True:
            try:
                return self._run(
                    Kind.TRADE,
                    sides,
                    about,
                    lambda records: beginning.trade(records, give, want, expires_in),
                )
            except SplitFirstError:
                self.split(give.item_id, [give.amount])

    def complete(self, offer: Offer, **about: Unpack[About]) -> Operation:
        """Complete an offer from `Deeds.offer`."""
        return self._run(
            Kind.COMPLETE,
            (offer.id,),
            about,
            lambda records: beginning.complete(records, offer),
        )

    def cancel(self, operation: Operation) -> Operation:
        """Cancel a request or trade if it is still open; return its new state."""
        for begun in self.history(OperationState.BEGUN):
            if begun.kind == Kind.CANCEL:
                finish_first(self._checker, begun.key)
        try:
            if self.refresh(operation).state == OperationState.OPEN:
                self._run(
                    Kind.CANCEL,
                    (),
                    {},
                    lambda records: beginning.cancel(records, operation.key),
                )
        except (ProblemError, WalletError):
            # It may just have been paid.
            if self.refresh(operation).state == OperationState.OPEN:
                raise
        return self.refresh(operation)

    def find(self, reference: str) -> Operation | None:
        """Return the operation with this reference, or None. Works offline."""
        return find(self._store, reference)

    def refresh(self, operation: Operation) -> Operation:
        """Send a begun operation or query an open offer; return it."""
        return self._checker.finish(operation.key)

    def wait_paid(
        self,
        operation: Operation,
        timeout: float | None = None,
        stop: Event | None = None,
    ) -> Operation:
        """Refresh every 2 to 15 s until it ends, `timeout` s pass, or `stop`."""
        stop = stop or Event()
        gives_up_at = monotonic() + (inf if timeout is None else timeout)
        wait_s = _WAIT_S
        while True:
            call_error = None
            try:
                operation = self.refresh(operation)
            except CallError as error:
                if error.is_final:
                    raise
                call_error = error
            left_s = gives_up_at - monotonic()
            if operation.state in ENDED or left_s <= 0 or stop.is_set():
                break
            retry_after_s = call_error.retry_after_s if call_error else 0
            stop.wait(min(max(wait_s, retry_after_s), left_s))
            wait_s = min(wait_s * _BACK_OFF, _WAIT_S_MAX)
        if call_error:
            raise call_error
        return operation

    def sync(self, *, look: bool = False) -> list[Output]:
        """Update all outputs; `look` searches for unknown ones; return changes."""
        return self._checker.sync(look=look)

    def item(self, item_id: str) -> Item:
        """Return an item; it never changes and is kept in the file."""
        known = self._store.get(Item, item_id)
        if known:
            return known
        item = self._deeds.item(item_id)
        with self._store.transaction() as records:
            return records.get(Item, item_id) or records.put(item)

    def outputs(self, of: str | Operation = "", *states: OutputState) -> list[Output]:
        """Return outputs: all, of an item, or made by an operation."""
        if isinstance(of, str):
            return self._store.outputs(of, *states)
        outputs = self._store.outputs_with(made_by(of))
        return [output for output in outputs if not states or output.state in states]

    def history(self, state: OperationState | None = None) -> list[Operation]:
        """Return operations, all or in this state, latest first."""
        if state:
            operations = self._store.operations("state", state)
        else:
            operations = self._store.all(Operation)
        return operations[::-1]

    def balance(self) -> dict[str, Holding]:
        """Return the holding of each item, by item id."""
        return self._store.holdings()

    def show(self, item_id: str, number: int | None = None) -> Sent:
        """Return a held output's link for a door; it stays held."""
        with self._store.transaction() as records:
            return self._sent(beginning.show(records, item_id, number))

    def export(self, path: StrPath, passphrase: str) -> None:
        """Write an encrypted backup. Passphrase: four random words or more."""
        at = milliseconds(now())
        with self._store.transaction() as records:
            contents = replace(merging.dump(records), service=self._deeds.base_url)
        file.save_wallet(path, contents, passphrase)
        with self._store.transaction() as records:
            records.put_note("backup", at=at)

    def restore(
        self, path: StrPath, passphrase: str, *, own: bool = False
    ) -> list[Output]:
        """Merge a backup (`own`: yours); return new outputs. Call `sync` next."""
        theirs = file.load_wallet(path, passphrase, self._deeds.base_url)
        with self._store.transaction() as records:
            if not records.outputs():
                # The wallet is empty, so the file backs up everything in it.
                records.put_note("backup", at=milliseconds(now()))
            new = merging.merge(records, theirs, is_own=own)
            schedule_look(records)
        return new

    def _run(
        self, kind: Kind, arguments: Sequence[object], about: About, begin: Begin
    ) -> Operation:
        return carry_out(self._checker, Order(kind, arguments, **about), begin)

    def _sent(self, output: Output) -> Sent:
        return Sent(output, self._deeds.base_url)
