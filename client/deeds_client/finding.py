"""Finds what is ours although this wallet has not made it.

An older copy of it, or the wallet of another seed that was taken in, has moved units
since. Each secret that it may have used is asked for, until there are no more: part 4
of the contract.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from deeds_client.errors import FindingError, ProblemError
from deeds_client.records import now
from deeds_client.seeds import (
    BRANCHES,
    LINK_NUMBER_MAX,
    derive,
    next_numbers,
    raise_numbers,
    used_seeds,
)
from deeds_client.service import Deeds
from deeds_client.store import Store
from deeds_client.values import (
    CheckState,
    Item,
    Output,
    OutputState,
    Secret,
    check_id,
)

GAP = 512  # So many numbers in a row that nobody has used are the end.
_NUMBERS_MAX = 100_000  # More than anybody has made of an item since a backup.
# The service has such an item, but not this one; or cannot tell at present.
_PASSED_OVER = ("unknown_item", "item_not_found", "scheme_unavailable")
_NOT_OURS = (OutputState.SEEN, OutputState.VOID)


@dataclass(frozen=True, slots=True)
class Row:
    """The secrets of a seed, an item and a branch."""

    seed: str
    item_id: str
    branch: str


@dataclass(frozen=True, slots=True)
class Place:
    """An output that was found at a number of a row."""

    row: Row
    number: int
    output: Output
    is_spent: bool


# What was found of each item that was looked at. None, where it did not add up.
Gathered = dict[str, list[Place] | None]


def gather(store: Store, deeds: Deeds, item_id: str, refused: str = "") -> list[Place]:
    """Return the places of secrets of an item that were used. Nothing is written.

    `refused` is the key of an operation whose numbers a copy may have used. Raise
    `FindingError` where the answers do not add up.
    """
    with store.transaction() as records:
        outputs = records.outputs(item_id)
        item = records.get(Item, item_id)
        seeds = [seed.key for seed in used_seeds(records)]
        numbers = {seed: next_numbers(records, seed, item_id) for seed in seeds}
    ours = {output.key for output in outputs if _is_ours(output, refused)}
    # Behind links that are still to be made others may have been.
    is_promised = any(output.each for output in outputs)
    promised = 1 + max((output.of or 0 for output in outputs), default=0)
    found: list[Place] = []
    try:
        for seed, branch in product(seeds, BRANCHES):
            least = getattr(numbers[seed], branch)
            if branch == "series" and is_promised:
                least = max(least, promised)
            found += _scan(deeds, Row(seed, item_id, branch), least, ours)
        found = _at_one_moment(deeds, found)
        _check_sum(found, (item or deeds.item(item_id)).total)
    except ProblemError as problem:
        if problem.code in _PASSED_OVER:
            return []
        raise
    return found


def _scan(deeds: Deeds, row: Row, least: int, ours: set[str]) -> list[Place]:
    """Return what is found in a row, until there are so many without any.

    And none before `least`. Those below are asked for too: what a copy has written
    down and sent late may be there.
    """
    size = deeds.info().array_length_max
    found: list[Place] = []
    number, end = max(0, least - _NUMBERS_MAX), least + GAP
    while number < end:
        if number - least > _NUMBERS_MAX:
            raise FindingError
        secrets: dict[Secret[str], int] = {}
        while number < end and len(secrets) < size:
            secret = derive(row.seed, row.item_id, row.branch, number)
            if f"{row.item_id}.{secret}" not in ours:
                secrets[Secret(secret)] = number
            number += 1
        answers = deeds.find(row.item_id, list(secrets))
        for asked, answer in zip(secrets, answers, strict=True):
            if answer:
                output = Output(answer.amount, row.item_id, asked)
                place = Place(row, secrets[asked], output, answer.is_spent)
                found.append(place)
                end = max(end, place.number + 1 + GAP)
    return found


def _is_ours(output: Output, refused: str) -> bool:
    # What was refused here may have been made by another copy, which uses its number.
    is_coming = output.before == OutputState.COMING
    if is_coming and output.operation == refused:
        return False
    return output.before not in _NOT_OURS


def _at_one_moment(deeds: Deeds, found: Sequence[Place]) -> list[Place]:
    """Return what was found with its states at one moment.

    Another copy may have moved units in between. Raise `FindingError` for a wrong
    amount, which would hide an output for ever.
    """
    unspent = [place.output for place in found if not place.is_spent]
    states = dict(zip(unspent, deeds.check(unspent), strict=True))
    if CheckState.UNKNOWN in states.values():
        raise FindingError
    return [
        replace(place, is_spent=states.get(place.output) != CheckState.UNSPENT)
        for place in found
    ]


def _check_sum(found: Sequence[Place], total: int) -> None:
    """Raise `FindingError` for more than the item has."""
    unspent = sum(place.output.amount for place in found if not place.is_spent)
    largest = max((place.output.amount for place in found), default=0)
    if max(unspent, largest) > total:
        raise FindingError


def add_found(records: Store, item_id: str, found: Sequence[Place]) -> list[Output]:
    """Add what was found of an item, and count on from there. Return what is new."""
    for place in reversed(found):
        used = {place.row.branch: place.number + 1}
        raise_numbers(records, place.row.seed, item_id, used)
    # Of how many a link is one, others of its series tell.
    series = {output.of for output in records.outputs(item_id) if output.of}
    links = [place.number for place in found if place.row.branch == "series"]
    if max(links, default=0) > max(series, default=0):
        series.add(max(links))
    added = []
    for place in found:
        known = records.output(place.output.key)
        if known and (
            known.before not in _NOT_OURS or known.state == OutputState.SPENT
        ):
            continue
        records.change(place.output, **_facts_of(place, known, series))
        added.append(place.output.key)
    return records.known(added)


def _facts_of(place: Place, known: Output | None, series: Iterable[int]) -> Any:
    """Return what is known by now of an output that was found."""
    at, number, branch = now(), place.number, place.row.branch
    facts: dict[str, Any] = {"amount": place.output.amount, "found_at": at}
    facts["given_at"] = None if branch == "kept" else at
    if branch == "series":
        of = min(each for each in series if each >= number)
        if of <= LINK_NUMBER_MAX:
            facts |= {"number": number, "of": of}
        # A copy may have made a link and not have handed it out yet.
        facts["may_be_given"] = True
    elif not known or known.amount != place.output.amount:
        # It is not what was to be made here.
        facts |= dict.fromkeys(("number", "of", "each"))
    # Our own claim may be what has spent it.
    is_leaving = known is not None and known.state == OutputState.LEAVING
    if place.is_spent and not is_leaving:
        facts |= {"spent_elsewhere": True, "is_unclear": True}
    return facts


def ask_for_look(records: Store, *item_ids: str) -> list[str]:
    """Note that these items are to be looked at, or all, and return what is left."""
    all_of = item_ids or [output.item_id for output in records.outputs()]
    left = list(dict.fromkeys([*items_to_look_at(records), *all_of]))
    records.put_note("look", left=left)
    return left


def items_to_look_at(records: Store) -> list[str]:
    """Return what is left of a look that is due."""
    return [check_id("deed", each) for each in records.note("look").get("left", [])]
