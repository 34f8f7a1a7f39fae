"""Takes the records of another wallet into a wallet.

Docs/wallet-file.md has the rules.
"""

from deeds_client.errors import WalletFileError
from deeds_client.records import Record, Store
from deeds_client.seeds import (
    BRANCHES,
    LINK_NUMBER_MAX,
    SEEDS_MAX,
    own_seed,
    raise_numbers,
    used_seeds,
)
from deeds_client.settling import begin_again

_REST_STATES = ("seen", "void", "held", "offered", "given")
# What follows from operations here, and what the service is asked for again.
_DERIVED = ("state", "before", "operation", "neverHeld", "unknown")
# From what is known least to what wins. To send a mint again is always safe, but a swap
# that was refused must not move units that its wallet has counted as its own since.
_RANKS = ("unminted", "begun", "refused", "open", "ended", "done")


def dump(records: Store) -> dict[str, list[Record]]:
    """Return all records as the page's wallet has them."""
    outputs = records.outputs()
    for output in outputs:
        if output["state"] != "leaving":
            del output["before"]
    operations = records.all("operations")
    for operation in operations:
        operation.pop("isSentAgain", None)
    return {
        "outputs": outputs,
        "operations": operations,
        "items": records.all("items"),
        "seeds": used_seeds(records),
        "numbers": records.all("numbers"),
    }


def merge(
    records: Store, theirs: dict[str, list[Record]]
) -> tuple[list[Record], list[Record]]:
    """Take in checked records.

    Return the outputs that are new, and those that may be given.
    """
    may_be_given = _may_be_given(**theirs)
    _merge_seeds(records, theirs["seeds"], theirs["numbers"])
    added, contested = [], set()
    for output in theirs["outputs"]:
        key, mine = output["key"], records.output(output["key"])
        told = {name: value for name, value in output.items() if name not in _DERIVED}
        if not mine:
            added.append(key)
            if key in may_be_given:
                told |= {"givenAt": output["createdAt"], "mayBeGiven": True}
        # A link may name any amount, and another copy may have used the number for
        # another one; a wallet that holds the output knows it.
        known = records.get("outputs", key)
        is_made = mine.get("before") in ("held", "given")
        if not is_made and known.pop("amount", 0) != output["amount"]:
            # What was to be made here is not what is there.
            for name in ("number", "of", "each"):
                known.pop(name, None)
        records.put("outputs", told | known)
        # At rest in one wallet and spent in the other: a refused operation may have
        # spent it late.
        both = (output, mine or output)
        if any(each.get("spentElsewhere") for each in both):
            contested |= {key for each in both if each["state"] in _REST_STATES}
    _merge_operations(records, theirs["operations"], contested)
    for item in theirs["items"]:
        records.put("items", {**item, **records.get("items", item["key"])})
    gone = ("spent", "void", "seen")
    live = [each for each in map(records.output, added) if each["state"] not in gone]
    return live, [each for each in live if each["key"] in may_be_given]


def _merge_seeds(records: Store, seeds: list[Record], numbers: list[Record]) -> None:
    """Take in seeds, and how far their numbers are used.

    A wallet that has done nothing yet goes on with the file's own seed: it is another
    copy of that wallet from now on.
    """
    known = {each["key"] for each in [*records.all("seeds"), *seeds]}
    if len(known) > SEEDS_MAX:
        raise WalletFileError("Too many wallets are joined here already.")
    own = own_seed(records)
    theirs = [each["key"] for each in seeds if each.get("isOwn")]
    new_own = theirs[0] if theirs and not records.all("operations") else own
    if own and new_own != own:
        unused = records.get("seeds", own)
        records.put("seeds", {**unused, "isOwn": None, "isUnused": True})
    for each in seeds:
        is_own = each["key"] == new_own or None
        records.put("seeds", {**each, "isOwn": is_own, "isUnused": None})
    for each in numbers:
        seed, _, item_id = each["key"].partition(".")
        # Whatever a file says: what is counted on from here can be written and read.
        at_most = {name: min(each.get(name, 0), LINK_NUMBER_MAX) for name in BRANCHES}
        raise_numbers(records, seed, item_id, at_most)


def _may_be_given(
    outputs: list[Record], operations: list[Record], **_: object
) -> set[str]:
    """Return the keys of links that may be handed out since the file was written."""
    # The page of a mint shows all that it made at once.
    mints = [each["outputs"] for each in operations if each["kind"] == "mint"]
    shown = {output["key"] for made in mints if len(made) > 1 for output in made}
    return {
        output["key"]
        for output in outputs
        if (output.get("number") or output["key"] in shown)
        and not any(output.get(name) for name in ("each", "collectedAt", "givenAt"))
        and (
            "held" in (output["state"], output.get("before"))
            or output.get("spentElsewhere")
        )
    }


def _merge_operations(
    records: Store, theirs: list[Record], contested: set[str]
) -> None:
    for operation in theirs:
        mine = records.get("operations", operation["key"])
        told = operation if not mine or _rank(operation) > _rank(mine) else mine
        if told["state"] == "begun":
            # It may have been sent since the file was written, and cancelled anywhere.
            is_cancelled = mine.get("isCancelled") or operation.get("isCancelled")
            told = {**told, "isUnsent": None, "isCancelled": is_cancelled}
        records.put("operations", told)
    for operation in records.all("operations", "refused"):
        if not contested.isdisjoint(operation["inputs"]):
            begin_again(records, operation)
    for operation in records.all("operations", "done"):
        records.follow(operation)


def _rank(operation: Record) -> int:
    ended = "ended" if "expiresAt" in operation else "refused"
    refused = "unminted" if operation["kind"] == "mint" else ended
    return _RANKS.index(
        refused if operation["state"] == "refused" else operation["state"]
    )
