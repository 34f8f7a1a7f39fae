"""A wallet: what a person holds, and how it moves.

Every verb is first written down whole, then sent, then settled. Whenever the program
dies in between, `resume` sends it again with the same Idempotency-Key, which the
service carries out once.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Self

from deeds_client import file, merging
from deeds_client.beginning import (
    amount_of,
    begin,
    choose,
    free_of,
    join,
    number_of,
    sum_of,
    swap,
)
from deeds_client.carrying_out import carried_out
from deeds_client.checking import Checker, Told, untold
from deeds_client.errors import InvalidInputError, WalletError, WalletFileError
from deeds_client.finding import ask_for_look, items_to_look_at
from deeds_client.links import claim_link
from deeds_client.records import Record, Store, item_of, key_of, now_ms, output_of
from deeds_client.seeds import ensure_seed
from deeds_client.service import WEEK_S, Deeds, Metadata
from deeds_client.settling import is_at_door
from deeds_client.values import Item, Offer, Output, check_amount, make_secret


class Wallet:
    """The wallet in a file, at one service. Threads and processes may share it.

    `with Wallet(...)` resumes at its start and closes the file at its end. Verbs return
    the record of their operation (docs/wallet-file.md). They raise `WalletError` when
    nothing was written down, `ProblemError` when the service has refused, and where no
    answer came, or one that asks to wait, `NoAnswerError` or `ProblemError`: `resume`
    goes on with what is written down. Where another copy of the wallet was faster, a
    verb is begun again with what a look has found.
    """

    def __init__(self, path: str | os.PathLike[str], deeds: Deeds) -> None:
        self.store, self.deeds = Store(path), deeds
        checker = Checker(self.store, deeds)
        self.resume, self.finish = checker.resume, checker.finish
        self.check, self.look = checker.check, checker.look
        self.outputs = self.store.outputs
        self.room = 1  # How many inputs or outputs the service takes at once.
        with self.store.transaction():
            here = {"key": "service", "url": deeds.base_url}
            ensure_seed(self.store)
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

    @carried_out
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
        job_key = f"job {job!a}"
        known = self.store.get("notes", job_key)
        begun = self.store.get("operations", known.get("mint", ""))
        if begun and begun["state"] != "refused":
            return begun
        if not amounts:
            raise InvalidInputError("Say how many units to make.")
        parts = [
            {"amount": check_amount(amount), "secret": make_secret()}
            for amount in amounts
        ]
        body = {"outputs": parts} | ({"metadata": metadata} if metadata else {})
        about = {"body": body, "amount": check_amount(sum_of(parts))}
        operation = begin(self.store, "mint", inputs=[], outputs=[], **about)
        if job is not None:
            self.store.put("notes", {"key": job_key, "mint": operation["key"]})
        return operation

    def issue(
        self,
        job: str,
        count: int,
        each: int = 1,
        metadata: Metadata = None,
        told: Told = untold,
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
            told(max(map(number_of, self.outputs_of(made))), count)
        links = self.outputs(minting["itemId"], "given")
        return [link for link in links if "number" in link]

    @carried_out
    def _make_links(self, item_id: str, count: int, each: int) -> Record:
        """Make the next links of a series; nothing when all are made."""
        made = [part for part in self.store.outputs(item_id) if part["state"] != "void"]
        for part in made:
            if part.get("of", count) != count and "foundAt" in part:
                # A look did not know how many there would be.
                self.store.change(part["key"], of=count)
            elif part.get("of", count) != count:
                raise InvalidInputError(f"This was begun with {part['of']} links.")
            if part["state"] == "coming" and number_of(part):
                return self.store.get("operations", part["operation"])
        first = 1 + max(map(number_of, made))
        # The change takes the place of one.
        last = min(count, first + self.room - 2)
        if first > count:
            return {}
        # A batch that was refused, and may be carried out late, took the oldest too.
        amount = (last - first + 1) * each
        inputs, change = choose(self.store, item_id, amount, are_oldest=True)
        about = {"amount": each, "of": count, "givenAt": now_ms()}
        links = [{**about, "number": number} for number in range(first, last + 1)]
        return swap(self.store, "split", inputs, [*links, *change])

    @carried_out
    def send(self, item_id: str, amount: int) -> Record:
        """Make an output to give away, the operation's first; change comes back."""
        inputs, change = choose(self.store, item_id, amount)
        made = [{"amount": amount, "givenAt": now_ms()}, *change]
        return swap(self.store, "send", inputs, made, amount=amount)

    @carried_out
    def claim(self, output: Output) -> Record:
        """Make an output that somebody handed over ours."""
        part = {"itemId": output.item_id, "amount": output.amount}
        part["secret"] = output.secret
        known = self.store.output(key_of(part))
        state = known.get("state", "seen")
        if state in ("coming", "leaving"):
            begun = self.store.get("operations", known["operation"])
            if is_at_door(begun):
                raise WalletError("busy", "It was scanned at a door. Claim it there.")
            return begun
        if state in ("held", "offered", "spent"):
            said = "Already claimed. If it wasn't you, ask the sender."
            raise WalletError("already_claimed", said)
        if state == "given":
            return join(self.store, "takeBack", [known])
        if state == "seen":
            # The link before it may have named another amount.
            self.store.change(key_of(part), **part)
        return join(self.store, "claim", [self.store.output(key_of(part))])

    @carried_out
    def split(self, item_id: str, amounts: Sequence[int]) -> Record:
        """Make parts of these amounts out of what is free.

        Change comes back, as the last.
        """
        parts = [{"amount": check_amount(amount)} for amount in amounts]
        inputs, change = choose(self.store, item_id, sum_of(parts))
        return swap(self.store, "split", inputs, [*parts, *change])

    @carried_out
    def merge(self, item_id: str) -> Record:
        """Join what is free and not numbered, smallest parts first, as many as fit."""
        loose = [part for part in free_of(self.store, item_id) if "number" not in part]
        inputs = sorted(loose, key=amount_of)[: self.room]
        if len(inputs) <= 1:
            raise WalletError("nothing_to_merge", "There is nothing to merge.")
        return join(self.store, "merge", inputs)

    @carried_out
    def take_back(self, keys: Sequence[str]) -> Record:
        """Make links worthless that were handed out, but those claimed meanwhile.

        Or end a trade of ours: the `keys` are those of outputs, here the inputs of the
        trade.
        """
        outputs = [self.store.output(key) for key in keys]
        for state, kind in (("given", "takeBack"), ("offered", "withdraw")):
            if inputs := [each for each in outputs if each.get("state") == state]:
                return join(self.store, kind, inputs)
        for output in outputs:
            if output.get("state") == "leaving":
                return self.store.get("operations", output["operation"])
        said = (
            "Nothing to take back: it was claimed or never handed out, or is a payment"
            " request."
        )
        raise WalletError("not_given", said)

    @carried_out
    def ask(self, item_id: str, amount: int, expires_in: int = WEEK_S) -> Record:
        """Ask anybody for units.

        Make an offer that gives nothing, the operation's `offerId`.
        """
        made = [{"itemId": item_id, "amount": check_amount(amount)}]
        return swap(self.store, "ask", [], made, terms={"expiresIn": expires_in})

    def trade(
        self, give: tuple[str, int], want: tuple[str, int], expires_in: int = WEEK_S
    ) -> Record:
        """Offer units for others, each an item id and an amount: the `offerId`.

        What is not offered stays free: where no part is just as much, one is split off
        first.
        """
        if give[0] == want[0]:
            raise InvalidInputError("Choose another deed to trade for.")
        while (operation := self._trade(give, want, expires_in))["kind"] == "split":
            pass
        return operation

    @carried_out
    def _trade(
        self, give: tuple[str, int], want: tuple[str, int], expires_in: int
    ) -> Record:
        made = [{"itemId": want[0], "amount": check_amount(want[1])}]
        inputs, change = choose(self.store, *give)
        if change:
            return swap(self.store, "split", inputs, [{"amount": give[1]}, *change])
        return swap(self.store, "trade", inputs, made, terms={"expiresIn": expires_in})

    @carried_out
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
            chosen, change = choose(self.store, each.item_id, each.amount)
            inputs += chosen
            made += change
        about = {"offerId": offer.id, "amount": offer.wants[0].amount}
        return swap(self.store, "complete", inputs, made, **about)

    def item(self, item_id: str) -> Item:
        """Return an item, which never changes, from the wallet's file if there."""
        if known := self.store.get("items", item_id):
            return item_of(known)
        item = self.deeds.item(item_id)
        known = {"key": item.id, **asdict(item)}
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
        out. A look is due then, for what was made since: `look`.
        """
        theirs = file.import_wallet(text, passphrase)
        home = theirs.get("service", self.deeds.base_url)
        # What one service must not be told is not told to another.
        if home != self.deeds.base_url:
            raise WalletFileError(
                f"This backup is for {home!r}, not for {self.deeds.base_url}."
            )
        with self.store.transaction():
            added = merging.merge(self.store, theirs)
            ask_for_look(self.store)
        return added

    def is_look_due(self) -> bool:
        """Return whether a restore asks for a look, or one was broken off."""
        return bool(items_to_look_at(self.store))
