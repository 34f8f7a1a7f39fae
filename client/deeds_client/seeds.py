"""Secrets that are made from a seed, so that an old backup finds what was made since.

Contract, part 4. A number is taken when an operation is written down, and never again,
even if that is refused. No seed is ever in a log, an error or a link.
"""

import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deeds_client.records import Numbers, Seed, now
from deeds_client.store import Store
from deeds_client.values import Output, OutputState, Secret, strong_secret

# What a secret is for: what is ours, links to hand out, and numbered links.
BRANCHES = ("kept", "given", "series")
LINK_NUMBER_MAX = 1_000_000_000  # More links than anybody makes.


@dataclass(frozen=True, slots=True)
class Part:
    """An output that is to be made, before it has a secret."""

    amount: int
    item_id: str
    is_given: bool = False  # Its link is to be handed out.
    number: int | None = None  # The link's number, from 1.
    of: int | None = None

    @property
    def state(self) -> OutputState:
        """What it will be."""
        return OutputState.GIVEN if self.is_given else OutputState.HELD


def derive(seed: str, item_id: str, branch: str, number: int) -> str:
    """Return the secret of a number."""
    message = f"deeds wallet secret v1:{branch}:{item_id}:{number}"
    key = bytes.fromhex(seed)
    return strong_secret(hmac.digest(key, message.encode(), "sha256"))


def ensure_seed(records: Store) -> None:
    """Make the seed of a wallet that has none."""
    if not records.all(Seed):
        records.put(Seed(os.urandom(32).hex(), now(), is_own=True))


def own_seed(records: Store) -> str:
    """Return the seed that new secrets are made from, empty before there is one."""
    own = [each.key for each in records.all(Seed) if each.is_own]
    return own[0] if own else ""


def used_seeds(records: Store) -> list[Seed]:
    """Return all seeds that something may have been made from."""
    return [each for each in records.all(Seed) if not each.is_unused]


def next_numbers(records: Store, seed: str, item_id: str) -> Numbers:
    """Return the next number of each branch."""
    key = f"{seed}.{item_id}"
    return records.get(Numbers, key) or Numbers(key)


def raise_numbers(
    records: Store, seed: str, item_id: str, numbers: Mapping[str, int]
) -> None:
    """Write down next numbers. They never run backwards."""
    known = next_numbers(records, seed, item_id)
    raised: dict[str, Any] = {
        branch: max(getattr(known, branch), number)
        for branch, number in numbers.items()
    }
    changed = replace(known, **raised)
    if changed != known:
        records.put(changed)


def take_secret(records: Store, part: Part) -> Output:
    """Return a part with a secret; its number is taken by that.

    A numbered link has the secret of its own number, once. One that is made again is a
    link like others.
    """
    seed = own_seed(records)
    while True:
        numbers = next_numbers(records, seed, part.item_id)
        branch = "given" if part.is_given else "kept"
        number = getattr(numbers, branch)
        if part.number and part.number >= numbers.series:
            branch, number = "series", part.number
        secret = derive(seed, part.item_id, branch, number)
        raise_numbers(records, seed, part.item_id, {branch: number + 1})
        output = Output(part.amount, part.item_id, Secret(secret), state=part.state)
        # Another copy of this wallet may have handed it to us as a link.
        if not records.get(Output, output.key):
            return output
