"""Derives secrets from seeds, and searches the service for them (contract 8 and 9).

A wallet restored from an old backup can therefore find the outputs made after it. The
secrets of a seed are numbered. Each number is used once, even if its operation is
refused. No seed is ever in a log, an error or a link.

A search (a “look”) finds units that a copy of this wallet, or a wallet merged into it,
has moved. It asks for every secret that they may have used.
"""

import hmac
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deeds_client.errors import FindingError, ProblemError
from deeds_client.records import Numbers, Seed, now
from deeds_client.service import Deeds
from deeds_client.store import Reader, Records, Store
from deeds_client.values import (
    NOT_OURS,
    CheckState,
    Item,
    Output,
    OutputState,
    Secret,
    strong_secret,
)

# Uses of a secret: outputs to keep, links to hand out, and numbered links.
_BRANCHES = ("kept", "given", "series")
_LINK_NUMBER_MAX = 1_000_000_000  # More links than anyone makes.
GAP = 512  # A search ends after this many unused numbers in a row.
_NUMBERS_MAX = 100_000  # More than anyone makes of an item after a backup.
# Skip an item if the service does not know it or lacks its pepper.
_PASSED_OVER = ("unknown_item", "item_not_found", "scheme_unavailable")


@dataclass(frozen=True, slots=True)
class Part:
    """An output to be made, without a secret yet."""

    amount: int
    item_id: str
    is_given: bool = False  # Its link is to be handed out.
    number: int | None = None  # The link's number, from 1.
    of: int | None = None
    issue: int | None = None
    note: str | None = None


def derive(seed: str, item_id: str, branch: str, number: int) -> str:
    """Return the strong secret of a number in a branch (contract 8). `seed` is hex."""
    message = f"deeds wallet secret v1:{branch}:{item_id}:{number}"
    key = bytes.fromhex(seed)
    return strong_secret(hmac.digest(key, message.encode(), "sha256"))


def ensure_seed(records: Records) -> None:
    """Create the own seed of a wallet if it has none."""
    if not records.all(Seed):
        records.put(Seed(os.urandom(32).hex(), now(), is_own=True))


def own_seed(records: Reader) -> str:
    """Return the seed that new secrets are derived from, or "" if there is none yet."""
    own = [seed.key for seed in records.all(Seed) if seed.is_own]
    return own[0] if own else ""


def used_seeds(records: Reader) -> list[Seed]:
    """Return all seeds from which secrets may have been derived."""
    return [seed for seed in records.all(Seed) if not seed.is_unused]


def next_numbers(records: Reader, seed: str, item_id: str) -> Numbers:
    """Return the next number of each branch."""
    key = f"{seed}.{item_id}"
    return records.get(Numbers, key) or Numbers(key)


def raise_numbers(records: Records, numbers: Numbers) -> None:
    """Raise the next numbers to at least these. They never decrease.

    They are capped at _LINK_NUMBER_MAX, so that a file cannot exhaust the numbers.
    """
    current = next_numbers(records, numbers.seed, numbers.item_id)
    highest: dict[str, Any] = {}
    for branch in _BRANCHES:
        number = min(getattr(numbers, branch), _LINK_NUMBER_MAX)
        highest[branch] = max(getattr(current, branch), number)
    new = replace(current, **highest)
    if new != current:
        records.put(new)


def take_secret(records: Records, part: Part) -> Output:
    """Return the output of a part with a new secret, and record its number as used.

    The first issue of a numbered link has the secret of its own number, in branch
    "series". Later issues take the next number of branch "given".
    """
    seed = own_seed(records)
    state = OutputState.GIVEN if part.is_given else OutputState.HELD
    while True:
        numbers = next_numbers(records, seed, part.item_id)
        branch = "given" if part.is_given or part.number else "kept"
        number = getattr(numbers, branch)
        if part.number and not part.issue and part.number >= numbers.series:
            branch, number = "series", part.number
        secret = derive(seed, part.item_id, branch, number)
        following: Any = {branch: number + 1}
        records.put(replace(numbers, **following))
        output = Output(part.amount, part.item_id, Secret(secret), state=state)
        # Skip a secret that is known already: another copy of this wallet may have sent
        # it to us in a link.
        if not records.get(Output, output.key):
            return output


@dataclass(frozen=True, slots=True)
class Place:
    """An output that was found at a number of a branch."""

    branch: str
    number: int
    output: Output
    is_spent: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """The outputs found of an item, and the next numbers of each seed."""

    places: Sequence[Place] = ()
    next: Sequence[Numbers] = ()


# The finding of each item, or None if the answers contradict each other.
Gathered = dict[str, Finding | None]


def gather(store: Store, deeds: Deeds, item_id: str, refused: str = "") -> Finding:
    """Search for an item's used secrets; write nothing.

    `refused` is the key of a refused operation, whose numbers a copy of this wallet may
    have used. Raise `FindingError` if the answers contradict each other.
    """
    with store.transaction() as records:
        outputs = records.outputs(item_id)
        item = records.get(Item, item_id)
        seeds = [
            next_numbers(records, seed.key, item_id) for seed in used_seeds(records)
        ]
    ours = {output.key for output in outputs if _is_ours(output, refused)}
    # If a series is not complete here, a copy may have made any of its other links.
    is_incomplete = any(output.each for output in outputs)
    series_end = 1 + max((output.of or 0 for output in outputs), default=0)
    places: list[Place] = []
    next_of_seeds = []
    try:
        for numbers in seeds:
            following: dict[str, Any] = {}
            for branch in _BRANCHES:
                least = getattr(numbers, branch)
                if branch == "series" and is_incomplete:
                    least = max(least, series_end)
                found, following[branch] = _scan(deeds, numbers, branch, least, ours)
                places += found
            next_of_seeds.append(replace(numbers, **following))
        places = _at_one_moment(deeds, places)
        unspent = sum(place.output.amount for place in places if not place.is_spent)
        if unspent > (item or deeds.item(item_id)).total:
            raise FindingError
    except ProblemError as problem:
        if problem.code in _PASSED_OVER:
            return Finding()
        raise
    return Finding(places, next_of_seeds)


def _scan(
    deeds: Deeds, numbers: Numbers, branch: str, least: int, ours: set[str]
) -> tuple[list[Place], int]:
    """Search a branch. Return the outputs, and the number after the last used one.

    The search starts at most _NUMBERS_MAX numbers below `least`, because a copy of this
    wallet may have sent an old operation late. It ends once GAP numbers in a row, from
    `least` on, are unused: neither the ledger nor an offer knows their secrets.
    """
    item_id = numbers.item_id
    places: list[Place] = []
    following = 0
    number, end = max(0, least - _NUMBERS_MAX), least + GAP
    while number < end:
        if number - least > _NUMBERS_MAX:
            raise FindingError
        secrets = _secrets(numbers, branch, range(number, end))
        number = end
        unknown = [
            at for at in secrets if f"{item_id}.{secrets[at].reveal()}" not in ours
        ]
        answers = deeds.find(item_id, [secrets[at] for at in unknown])
        for at, answer in zip(unknown, answers, strict=True):
            if answer:
                output = Output(answer.amount, item_id, secrets[at])
                places.append(Place(branch, at, output, answer.is_spent))
                following = at + 1
        # Outputs of offers, change included, are in this branch.
        if branch == "kept" and following + GAP <= end:
            following = max(following, _next_offered(deeds, numbers, end))
        end = max(end, following + GAP)
    return places, following


def _next_offered(deeds: Deeds, numbers: Numbers, end: int) -> int:
    """Return the number after the last one that an offer has named, or 0.

    Only the GAP numbers before `end` are asked for, the last ones first. A shop asks
    for many payments that are never made, so their numbers are in no output.
    """
    size = deeds.info().array_length_max
    first = max(0, end - GAP)
    for stop in range(end, first, -size):
        secrets = _secrets(numbers, "kept", range(max(first, stop - size), stop))
        try:
            offered = deeds.find_offered(numbers.item_id, list(secrets.values()))
        except ProblemError as problem:
            if problem.code == "not_found":
                return 0  # The service has no offers.
            raise
        for at, is_named in reversed([*zip(secrets, offered, strict=True)]):
            if is_named:
                return at + 1
    return 0


def _secrets(
    numbers: Numbers, branch: str, places: Iterable[int]
) -> dict[int, Secret[str]]:
    """Return the secrets of these numbers of a branch, by number."""
    seed, item_id = numbers.seed, numbers.item_id
    return {at: Secret(derive(seed, item_id, branch, at)) for at in places}


def _is_ours(output: Output, refused: str) -> bool:
    """Return whether an output is the wallet's, so that no search has to find it."""
    # Another copy of this wallet may have used the numbers of a refused operation.
    is_coming = output.before == OutputState.COMING
    is_refused = is_coming and output.operation == refused
    return not is_refused and output.before not in NOT_OURS


def _at_one_moment(deeds: Deeds, places: Sequence[Place]) -> list[Place]:
    """Return the places with their states at one moment.

    Another copy may have moved units during the search. Raise `FindingError` for a
    wrong amount, which would hide an output forever.
    """
    unspent = [place.output for place in places if not place.is_spent]
    states = dict(zip(unspent, deeds.check(unspent), strict=True))
    if CheckState.UNKNOWN in states.values():
        raise FindingError
    return [
        replace(place, is_spent=states.get(place.output) != CheckState.UNSPENT)
        for place in places
    ]


def add_found(records: Records, item_id: str, finding: Finding) -> list[Output]:
    """Add the outputs found of an item, and raise the next numbers.

    Return the new outputs.
    """
    for numbers in finding.next:
        raise_numbers(records, numbers)
    # The lengths of the item's series, by links known here, and by the last one found.
    lengths = {output.of for output in records.outputs(item_id) if output.of}
    places = finding.places
    links = [place.number for place in places if place.branch == "series"]
    if max(links, default=0) > max(lengths, default=0):
        lengths.add(max(links))
    keys = []
    for place in places:
        known = records.output(place.output.key)
        if known and (known.before not in NOT_OURS or known.state == OutputState.SPENT):
            continue
        records.change(place.output, **_fields_of(place, known, lengths))
        keys.append(place.output.key)
    return records.outputs_with(keys)


def _fields_of(place: Place, known: Output | None, lengths: Iterable[int]) -> Any:
    """Return the fields to set for an output that was found.

    `known` is its record so far, and `lengths` are those of the item's series.
    """
    at, amount, is_kept = now(), place.output.amount, place.branch == "kept"
    # Only an output of the same amount can be split into the planned links.
    each = known.each if known and known.amount == amount else None
    number = of = None
    if place.branch == "series":
        number = place.number
        of = min(length for length in lengths if length >= number)
    elif known and (each or not is_kept):
        number, of = known.number, known.of
    if of is None or of > _LINK_NUMBER_MAX:
        number = of = None
    fields: dict[str, Any] = {"amount": amount, "found_at": at, "each": each}
    fields |= {"number": number, "of": of}
    known_at = known.given_at if known else None
    fields["given_at"] = None if is_kept else known_at or at
    # A copy may have made it, or taken it back, without handing it out.
    fields["may_be_given"] = not is_kept
    if place.is_spent:
        fields |= {"spent_elsewhere": True, "is_unclear": True}
    return fields


def schedule_look(records: Records, *item_ids: str) -> list[str]:
    """Schedule a search for these items, or for all. Return all scheduled items."""
    new = item_ids or [output.item_id for output in records.outputs()]
    left = list(dict.fromkeys([*items_to_look_at(records), *new]))
    records.put_note("look", left=left)
    return left


def items_to_look_at(records: Reader) -> list[str]:
    """Return the items that are still to be searched."""
    left: list[str] = records.note("look").get("left", [])
    return left
