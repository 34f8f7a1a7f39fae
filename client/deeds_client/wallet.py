"""A wallet: what a person holds, and how it moves.

Every verb is first written down whole, then sent, then settled. Whenever the program
dies in between, `resume` sends it again with the same Idempotency-Key, which the
service carries out once.
"""

import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, Self

from deeds_client import file, merging
from deeds_client.errors import (
    InvalidInputError,
    ProblemError,
    WalletError,
    WalletFileError,
)
from deeds_client.links import claim_link
from deeds_client.records import Record, Store, key_of, now_ms, output_of
from deeds_client.service import WEEK_S, Deeds, Metadata
from deeds_client.settling import Settler
from deeds_client.values import (
    WRONG_FORM,
    Item,
    Offer,
    Output,
    check_amount,
    check_id,
    make_secret,
)

Given = ParamSpec("Given")
Chosen = tuple[list[Record], list[Record]]
Verb = Callable[Concatenate["Wallet", Given], Record]
_amount: Callable[[Record], int] = itemgetter("amount")


class _UnderWayError(Exception):
    """An operation has to end first, of which this is the key.

    Its change may be enough.
    """


def _carried_out(rule: Verb[Given]) -> Verb[Given]:
    """Make a verb of a rule, which writes down an operation or returns one begun."""

    @wraps(rule)
    def verb(wallet: "Wallet", /, *args: Given.args, **kwargs: Given.kwargs) -> Record:
        wallet.room = wallet.deeds.info().array_length_max
        begun = None
        while begun is None:
            try:
                with wallet.store.transaction():
                    begun = rule(wallet, *args, **kwargs)
            except _UnderWayError as other:
                try:
                    wallet.finish(str(other))
                except ProblemError as problem:
                    if not problem.is_final:
                        raise
        if not begun:
            return {}
        ended = wallet.finish(begun["key"], is_first="isNew" in begun)
        if ended["state"] == "refused":
            # Another process was told why.
            about = {"title": "Refused by the service", "detail": ended["code"]}
            code = ended["code"]
            raise ProblemError(key=ended["key"], code=code, is_final=True, **about)
        return ended

    return verb


class Wallet:
    """The wallet in a file, at one service. Threads and processes may share it.

    `with Wallet(...)` resumes at its start and closes the file at its end. Verbs return
    the record of their operation (docs/wallet-file.md). They raise `WalletError` when
    nothing was written down, `ProblemError` when the service has refused, and where no
    answer came, or one that asks to wait, `NoAnswerError` or `ProblemError`: `resume`
    goes on with what is written down.
    """

    def __init__(self, path: str | os.PathLike[str], deeds: Deeds) -> None:
        self.store, self.deeds = Store(path), deeds
        settler = Settler(self.store, deeds)
        self.resume, self.finish, self.check = (
            settler.resume,
            settler.finish,
            settler.check,
        )
        self.outputs = self.store.outputs
        self.room = 1  # How many inputs or outputs the service takes at once.
        with self.store.transaction():
            here = {"key": "service", "url": deeds.base_url}
            home = self.store.get("notes", "service") or self.store.put("notes", here)
        if home["url"] != deeds.base_url:
            self.close()
            raise InvalidInputError(
                f"This wallet is for {home['url']}, not {deeds.base_url}."
            )

    def __enter__(self) -> Self:
        self.resume()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    @_carried_out
    def mint(
        self,
        amounts: Sequence[int],
        *,
        metadata: Metadata = None,
        job: str | None = None,
    ) -> Record:
        """Mint an item in outputs of these amounts, its id in `itemId`.

        A `job` does so once.
        """
        note = {"key": f"job {job!a}"}
        begun = self.store.get(
            "operations", self.store.get("notes", note["key"]).get("mint", "")
        )
        if begun and begun["state"] != "refused":
            return begun
        if not amounts:
            raise InvalidInputError("Say how many units to make.")
        parts = [
            {"amount": check_amount(amount), "secret": make_secret()}
            for amount in amounts
        ]
        body = {"outputs": parts} | ({"metadata": metadata} if metadata else {})
        amount = check_amount(_sum(parts))
        operation = self._begin("mint", inputs=[], outputs=[], body=body, amount=amount)
        if job is not None:
            self.store.put("notes", {**note, "mint": operation["key"]})
        return operation

    def issue(
        self,
        job: str,
        count: int,
        each: int = 1,
        metadata: Metadata = None,
        told: Callable[[int, int], None] = lambda _done, _of: None,
    ) -> list[Record]:
        """Mint an item as `count` links of `each` units.

        Return those that nobody has claimed.

        They are numbered, and handed out as soon as they are made. However often it is
        broken off, the same `job` goes on where it was. `told` is called with how many
        are made, of how many.
        """
        minting = self.mint([check_amount(count) * each], metadata=metadata, job=job)
        if minting["amount"] != count * each:
            raise InvalidInputError(f"This was begun with {minting['amount']} units.")
        while made := self._make_links(minting["itemId"], count, each):
            told(max(map(_number, self.outputs_of(made))), count)
        return [
            part
            for part in self.outputs(minting["itemId"], "given")
            if "number" in part
        ]

    @_carried_out
    def _make_links(self, item_id: str, count: int, each: int) -> Record:
        """Make the next links of a series; nothing when all are made."""
        made = [part for part in self.store.outputs(item_id) if part["state"] != "void"]
        for part in made:
            if part.get("of", count) != count:
                raise InvalidInputError(f"This was begun with {part['of']} links.")
            if part["state"] == "coming" and _number(part):
                return self.store.get("operations", part["operation"])
        first = 1 + max(map(_number, made))
        # The change takes the place of one.
        last = min(count, first + self.room - 2)
        if first > count:
            return {}
        # A batch that was refused, and may be carried out late, took the oldest too.
        inputs, change = self._choose(
            item_id, (last - first + 1) * each, are_oldest=True
        )
        about = {"amount": each, "of": count, "givenAt": now_ms()}
        links = [{**about, "number": number} for number in range(first, last + 1)]
        return self._swap("split", inputs, [*links, *change])

    @_carried_out
    def send(self, item_id: str, amount: int) -> Record:
        """Make an output to give away, the operation's first; change comes back."""
        inputs, change = self._choose(item_id, amount)
        made = [{"amount": amount, "givenAt": now_ms()}, *change]
        return self._swap("send", inputs, made, amount=amount)

    @_carried_out
    def claim(self, output: Output) -> Record:
        """Make an output that somebody handed over ours."""
        part = {
            "itemId": output.item_id,
            "amount": output.amount,
            "secret": output.secret,
        }
        known = self.store.output(key_of(part))
        state = known.get("state", "seen")
        if state in ("coming", "leaving"):
            return self.store.get("operations", known["operation"])
        if state in ("held", "offered", "spent"):
            said = "Already claimed. If it wasn't you, ask the sender."
            raise WalletError("already_claimed", said)
        if state == "given":
            return self._join("takeBack", [known])
        if state == "seen":
            # The link before it may have named another amount.
            self.store.change(key_of(part), **part)
        return self._join("claim", [self.store.output(key_of(part))])

    @_carried_out
    def split(self, item_id: str, amounts: Sequence[int]) -> Record:
        """Make parts of these amounts out of what is free.

        Change comes back, as the last.
        """
        parts = [{"amount": check_amount(amount)} for amount in amounts]
        inputs, change = self._choose(item_id, _sum(parts))
        return self._swap("split", inputs, [*parts, *change])

    @_carried_out
    def merge(self, item_id: str) -> Record:
        """Join what is free and not numbered, smallest parts first, as many as fit."""
        loose = [part for part in self._free(item_id) if "number" not in part]
        inputs = sorted(loose, key=_amount)[: self.room]
        if len(inputs) <= 1:
            raise WalletError("nothing_to_merge", "There is nothing to merge.")
        return self._join("merge", inputs)

    @_carried_out
    def take_back(self, keys: Sequence[str]) -> Record:
        """Make links worthless that were handed out, but those claimed meanwhile.

        Or end a trade of ours: the `keys` are those of outputs, here the inputs of the
        trade.
        """
        outputs = [self.store.output(key) for key in keys]
        for state, kind in (("given", "takeBack"), ("offered", "withdraw")):
            if inputs := [each for each in outputs if each.get("state") == state]:
                return self._join(kind, inputs)
        for output in outputs:
            if output.get("state") == "leaving":
                return self.store.get("operations", output["operation"])
        said = (
            "Nothing to take back: it was claimed or never handed out, or is a payment"
            " request."
        )
        raise WalletError("not_given", said)

    @_carried_out
    def ask(self, item_id: str, amount: int, expires_in: int = WEEK_S) -> Record:
        """Ask anybody for units.

        Make an offer that gives nothing, the operation's `offerId`.
        """
        made = [{"itemId": item_id, "amount": check_amount(amount)}]
        return self._swap("ask", [], made, terms={"expiresIn": expires_in})

    def trade(
        self, give: tuple[str, int], want: tuple[str, int], expires_in: int = WEEK_S
    ) -> Record:
        """Offer units for others, each an item id and an amount.

        The offer is `offerId`.

        What is not offered stays free: where no part is just as much, one is split off
        first.
        """
        if give[0] == want[0]:
            raise InvalidInputError("Choose another deed to trade for.")
        while (operation := self._trade(give, want, expires_in))["kind"] == "split":
            pass
        return operation

    @_carried_out
    def _trade(
        self, give: tuple[str, int], want: tuple[str, int], expires_in: int
    ) -> Record:
        made = [{"itemId": want[0], "amount": check_amount(want[1])}]
        inputs, change = self._choose(*give)
        if change:
            return self._swap("split", inputs, [{"amount": give[1]}, *change])
        return self._swap("trade", inputs, made, terms={"expiresIn": expires_in})

    @_carried_out
    def complete(self, offer: Offer) -> Record:
        """Give what an offer wants, and get what it gives."""
        for operation in self.store.all("operations"):
            if operation.get("offerId") == offer.id and operation["kind"] != "complete":
                raise WalletError("own_offer", "This is your own offer.")
            if operation.get("offerId") == offer.id and operation["state"] != "refused":
                return operation
        if offer.state != "open":
            raise WalletError("offer_not_open", f"This offer is {offer.state}.")
        inputs = []
        made = [{"itemId": each.item_id, "amount": each.amount} for each in offer.gives]
        for each in offer.wants:
            chosen, change = self._choose(each.item_id, each.amount)
            inputs += chosen
            made += change
        return self._swap(
            "complete", inputs, made, offerId=offer.id, amount=offer.wants[0].amount
        )

    def item(self, item_id: str) -> Item:
        """Return an item, which never changes, from the wallet's file if there."""
        if known := self.store.get("items", item_id):
            return Item(known["id"], known["total"], known.get("metadata"))
        item = self.deeds.item(item_id)
        known = {
            "key": item.id,
            "id": item.id,
            "total": item.total,
            "metadata": item.metadata,
        }
        with self.store.transaction():
            self.store.put("items", {**known, **self.store.get("items", item_id)})
        return item

    def link(self, output: Record) -> str:
        """Return the claim link of an output."""
        return claim_link(self.deeds.base_url, output_of(output))

    def outputs_of(self, operation: Record) -> list[Record]:
        """Return what an operation has made."""
        return [self.store.output(made["key"]) for made in operation["outputs"]]

    def history(self) -> list[Record]:
        """Return all operations, the latest first."""
        return self.store.all("operations")[::-1]

    def balance(self) -> dict[str, Counter[str]]:
        """Return the units of each item by state.

        Those "held" can be spent, "given" wait in links, "offered" are in open offers,
        and "coming" are under way or what an offer gets. "unknown" the service never
        had.
        """
        sums: dict[str, Counter[str]] = {}
        for output in self.outputs("", "held", "given", "offered", "coming"):
            state = "unknown" if output.get("unknown") else output["state"]
            sums.setdefault(output["itemId"], Counter())[state] += output["amount"]
        return sums

    def export(self, passphrase: str) -> str:
        """Return an encrypted file of all records as text; the page reads it too."""
        with self.store.transaction():
            whole = {**merging.dump(self.store), "service": self.deeds.base_url}
        return file.export_wallet(whole, passphrase)

    def restore(self, text: str, passphrase: str) -> tuple[list[Record], list[Record]]:
        """Take in the file of another wallet, the page's too, or of an older copy.

        Return the outputs that are new here, and those of them that count as handed
        out.
        """
        theirs = file.import_wallet(text, passphrase)
        home = theirs.get("service", self.deeds.base_url)
        # What one service must not be told is not told to another.
        if home != self.deeds.base_url:
            raise WalletFileError(
                f"This backup is for {home!r}, not for {self.deeds.base_url}."
            )
        with self.store.transaction():
            return merging.merge(self.store, theirs)

    def _choose(self, item_id: str, amount: int, *, are_oldest: bool = False) -> Chosen:
        """Return the outputs to spend for an amount, and the change that they leave.

        One of just that amount, else the fewest, or the oldest; links with numbers only
        at need.
        """
        free = self._free(item_id)
        if _sum(free) < check_amount(amount):
            for part in self.store.outputs(item_id, "leaving"):
                raise _UnderWayError(part["operation"])
            raise WalletError("not_enough", f"You have {_sum(free)} of {amount} units.")
        plain = [part for part in free if "number" not in part]
        pool = plain if _sum(plain) >= amount else free
        if not are_oldest:
            # Nothing reaches a sum with fewer parts than the largest do.
            pool.sort(
                key=lambda part: (part["amount"] == amount, part["amount"]),
                reverse=True,
            )
        inputs: list[Record] = []
        missing = amount
        while missing > 0:
            inputs.append(pool[len(inputs)])
            missing -= inputs[-1]["amount"]
        return inputs, [{"itemId": item_id, "amount": -missing}] if missing else []

    def _join(self, kind: str, inputs: list[Record]) -> Record:
        return self._swap(kind, inputs, [{"amount": _sum(inputs)}])

    def _swap(
        self,
        kind: str,
        inputs: list[Record],
        made: list[Record],
        terms: Any = None,
        **about: Any,
    ) -> Record:
        """Begin a swap, or half of one.

        Reserve its inputs and write down what it makes.
        """
        item_id = [*inputs, *made][0]["itemId"]
        outputs = [
            {"itemId": item_id, **part, "secret": make_secret()} for part in made
        ]
        ends = []
        for part in outputs:
            self.store.change(key_of(part), **part)
            ends.append(
                {"key": key_of(part), "state": "given" if "givenAt" in part else "held"}
            )
        body = {"inputs": _raws(inputs), **(terms or {}), "outputs": _raws(outputs)}
        about = {
            "itemId": item_id,
            "amount": _sum(inputs or made),
            **about,
            "body": body,
        }
        return self._begin(
            kind, inputs=[each["key"] for each in inputs], outputs=ends, **about
        )

    def _begin(self, kind: str, **about: Any) -> Record:
        new = {"key": str(uuid.uuid4()), "kind": kind, **about, "state": "begun"}
        begun = self.store.put("operations", {**new, "begunAt": now_ms()})
        # What no backup can hold would make all backups worthless.
        try:
            file.check_operation(begun)
        except WRONG_FORM:
            raise InvalidInputError(
                "A text or a number in this is not valid."
            ) from None
        return {**begun, "isNew": True}

    def _free(self, item_id: str) -> list[Record]:
        # What the service does not know would spoil a swap.
        held = self.store.outputs(check_id("deed", item_id), "held")
        return [part for part in held if not part.get("unknown")]


def _raws(outputs: Iterable[Record]) -> list[str]:
    return [output_of(each).raw for each in outputs]


def _number(part: Record) -> int:
    return int(part.get("number", 0))


def _sum(parts: Iterable[Record]) -> int:
    return sum(map(_amount, parts))
