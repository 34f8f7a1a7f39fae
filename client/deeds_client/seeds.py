"""Secrets that are made from a seed, so that an old backup finds what was made since.

Contract, part 4. A number is taken when an operation is written down, and never again,
even if that is refused. No seed is ever in a log, an error or a link.
"""

import hmac
import os
import re
from collections.abc import Mapping

from deeds_client.records import Record, Store, key_of, now_ms
from deeds_client.values import strong_secret

# What a secret is for: what is ours, links to hand out, and numbered links.
BRANCHES = ("kept", "given", "series")
NUMBER_MAX = 2**48 - 1  # What is counted on from here stays exact in JavaScript.
LINK_NUMBER_MAX = 1_000_000_000  # More links than anybody makes.
SEEDS_MAX = 100  # More wallets than anybody joins; each is looked for.


def derive(seed: str, item_id: str, branch: str, number: int) -> str:
    """Return the secret of a number."""
    message = f"deeds wallet secret v1:{branch}:{item_id}:{number}"
    key = bytes.fromhex(seed)
    return strong_secret(hmac.digest(key, message.encode(), "sha256"))


def is_seed(value: str) -> bool:
    """Return whether a text is a seed: 32 bytes in hexadecimal digits."""
    return re.fullmatch("[0-9a-f]{64}", value) is not None


def ensure_seed(records: Store) -> None:
    """Make the seed of a wallet that has none."""
    if not records.all("seeds"):
        new = {"key": os.urandom(32).hex(), "isOwn": True, "createdAt": now_ms()}
        records.put("seeds", new)


def own_seed(records: Store) -> str:
    """Return the seed that new secrets are made from, empty before there is one."""
    own = [each["key"] for each in records.all("seeds") if each.get("isOwn")]
    return own[0] if own else ""


def used_seeds(records: Store) -> list[Record]:
    """Return the records of all seeds that something may have been made from."""
    return [each for each in records.all("seeds") if not each.get("isUnused")]


def next_numbers(records: Store, seed: str, item_id: str) -> dict[str, int]:
    """Return the next number of each branch."""
    known = records.get("numbers", f"{seed}.{item_id}")
    return {branch: known.get(branch, 0) for branch in BRANCHES}


def raise_numbers(
    records: Store, seed: str, item_id: str, numbers: Mapping[str, int]
) -> None:
    """Write down next numbers. They never run backwards."""
    known = next_numbers(records, seed, item_id)
    raised = {name: max(known[name], numbers.get(name, 0)) for name in BRANCHES}
    if raised != known:
        used = {name: number for name, number in raised.items() if number}
        records.put("numbers", {"key": f"{seed}.{item_id}", **used})


def take_secret(records: Store, part: Record) -> str:
    """Return a secret for what an operation makes; its number is taken by that.

    A numbered link has the secret of its own number, once. One that is made again is a
    link like others.
    """
    seed, item_id, link = own_seed(records), part["itemId"], part.get("number", 0)
    while True:
        numbers = next_numbers(records, seed, item_id)
        branch = "given" if link or "givenAt" in part else "kept"
        if link and link >= numbers["series"]:
            branch, numbers["series"] = "series", link
        secret = derive(seed, item_id, branch, numbers[branch])
        raise_numbers(records, seed, item_id, {branch: numbers[branch] + 1})
        # Another copy of this wallet may have handed it to us as a link.
        if not records.get("outputs", key_of({**part, "secret": secret})):
            return secret
