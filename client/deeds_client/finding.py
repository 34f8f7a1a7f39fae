"""Finds what is ours although this wallet has not made it.

An older copy of it, or the wallet of another seed that was taken in, has moved units
since. Each secret that it may have used is asked for, until there are no more: part 4
of the contract.
"""

from itertools import product

from deeds_client.errors import FindingError, ProblemError
from deeds_client.records import Record, Store, key_of, now_ms, output_of
from deeds_client.seeds import (
    BRANCHES,
    LINK_NUMBER_MAX,
    derive,
    next_numbers,
    raise_numbers,
    used_seeds,
)
from deeds_client.service import Deeds

GAP = 512  # So many numbers in a row that nobody has used are the end.
_NUMBERS_MAX = 100_000  # More than anybody has made of an item since a backup.
# The service has such an item, but not this one; or cannot tell at present.
_PASSED_OVER = ("unknown_item", "item_not_found", "scheme_unavailable")
_NOT_OURS = ("seen", "void")


# What was found of each item that was looked at. Nothing, where it did not add up.
Gathered = dict[str, list[Record] | None]


def gather(store: Store, deeds: Deeds, item_id: str, refused: str = "") -> list[Record]:
    """Return the places of secrets of an item that were used. Nothing is written.

    `refused` is the key of an operation whose numbers a copy may have used. Raise
    `FindingError` where the answers do not add up.
    """
    with store.transaction() as records:
        outputs = records.outputs(item_id)
        item = records.get("items", item_id)
        seeds = [each["key"] for each in used_seeds(records)]
        numbers = {seed: next_numbers(records, seed, item_id) for seed in seeds}
    ours = {each["key"] for each in outputs if _is_ours(each, refused)}
    promised = 0
    if any("each" in each for each in outputs):
        # Behind links that are still to be made others may have been.
        promised = 1 + max(each.get("of", 0) for each in outputs)
    found: list[Record] = []
    try:
        for seed, branch in product(seeds, BRANCHES):
            least = max(numbers[seed][branch], promised if branch == "series" else 0)
            found += _scan(deeds, (seed, item_id, branch), least, ours)
        _update_states(deeds, found)
        _check_sum(found, item.get("total") or deeds.item(item_id).total)
    except ProblemError as problem:
        if problem.code in _PASSED_OVER:
            return []
        raise
    return found


def _scan(
    deeds: Deeds, row: tuple[str, str, str], least: int, ours: set[str]
) -> list[Record]:
    """Return what is found in a row, until there are so many without any.

    And none before `least`. Those below are asked for too: what a copy has written
    down and sent late may be there.
    """
    seed, item_id, branch = row
    about: Record = {"itemId": item_id, "seed": seed, "branch": branch}
    size = deeds.info().array_length_max
    found: list[Record] = []
    number, end = max(0, least - _NUMBERS_MAX), least + GAP
    while number < end:
        if number - least > _NUMBERS_MAX:
            raise FindingError
        places: list[Record] = []
        while number < end and len(places) < size:
            place = {**about, "number": number, "secret": derive(*row, number)}
            if key_of(place) not in ours:
                places.append(place)
            number += 1
        answers = deeds.find(item_id, [each["secret"] for each in places])
        for place, answer in zip(places, answers, strict=True):
            if answer:
                place |= {"amount": answer.amount, "isSpent": answer.is_spent}
                found.append(place)
                end = max(end, place["number"] + 1 + GAP)
    return found


def _is_ours(output: Record, refused: str) -> bool:
    # What was refused here may have been made by another copy, which uses its number.
    is_refused = output["before"] == "coming" and output["operation"] == refused
    return not is_refused and output["before"] not in _NOT_OURS


def _update_states(deeds: Deeds, found: list[Record]) -> None:
    """Bring what was found to its states at one moment.

    Another copy may have moved units in between. Raise `FindingError` for a wrong
    amount, which would hide an output for ever.
    """
    unspent = [each for each in found if not each["isSpent"]]
    states = deeds.check([output_of(each) for each in unspent])
    for place, state in zip(unspent, states, strict=True):
        if state == "unknown":
            raise FindingError
        place["isSpent"] = state == "spent"


def _check_sum(found: list[Record], total: int) -> None:
    """Raise `FindingError` for more than the item has."""
    unspent = sum(each["amount"] for each in found if not each["isSpent"])
    if max([unspent, *(each["amount"] for each in found)]) > total:
        raise FindingError


def add_found(records: Store, item_id: str, found: list[Record]) -> list[Record]:
    """Add what was found of an item, and count on from there. Return what is new."""
    for place in reversed(found):
        used = {place["branch"]: place["number"] + 1}
        raise_numbers(records, place["seed"], item_id, used)
    # Of how many a link is one, others of its series tell.
    series = {each["of"] for each in records.outputs(item_id) if "of" in each}
    links = [each["number"] for each in found if each["branch"] == "series"]
    if max(links, default=0) > max(series, default=0):
        series.add(max(links))
    added = []
    for place in found:
        key = key_of(place)
        known = records.output(key)
        if not known or (known["before"] in _NOT_OURS and known["state"] != "spent"):
            records.change(key, **_facts_of(place, known, series))
            added.append(records.output(key))
    return added


def _facts_of(place: Record, known: Record, series: set[int]) -> Record:
    """Return what is known by now of an output that was found."""
    now, number = now_ms(), place["number"]
    facts = {name: place[name] for name in ("itemId", "secret", "amount")}
    facts |= {"foundAt": now, "givenAt": None if place["branch"] == "kept" else now}
    if place["branch"] == "series":
        of = min(each for each in series if each >= number)
        facts |= {"number": number, "of": of} if of <= LINK_NUMBER_MAX else {}
        # A copy may have made a link and not have handed it out yet.
        facts["mayBeGiven"] = True
    elif known.get("amount") != place["amount"]:
        # It is not what was to be made here.
        facts |= dict.fromkeys(("number", "of", "each"))
    # Our own claim may be what has spent it.
    if place["isSpent"] and known.get("state") != "leaving":
        facts |= {"spentElsewhere": True, "isUnclear": True}
    return facts


def ask_for_look(records: Store, *item_ids: str) -> list[str]:
    """Note that these items are to be looked at, or all, and return what is left."""
    all_of = item_ids or [each["itemId"] for each in records.outputs()]
    left = list(dict.fromkeys([*items_to_look_at(records), *all_of]))
    records.put("notes", {"key": "look", "left": left})
    return left


def items_to_look_at(records: Store) -> list[str]:
    """Return what is left of a look that is due."""
    return list(records.get("notes", "look").get("left", []))
