"""Takes the records of another wallet, or of an older copy of this one, into a wallet.

No secret is lost, no spent output revived, nothing that was handed out is free again, or may have
been since a file was written, and no operation that surely ended is begun again.
"""

from dataclasses import dataclass

from deeds_client.records import Record, Records

# What follows from operations here, and what the service is asked for again.
_DERIVED = ("state", "before", "operation", "neverHeld", "unknown")
_REST_STATES = ("seen", "void", "held", "offered", "given")
# To ask for a mint once more under its key is always safe; a swap that was refused must not move
# units that its wallet has counted as its own since. An offer that is open was made, whatever
# another wallet was told; once the service has said that it ended, it has.
_MINT_STATES = ("refused", "begun", "done")
_SWAP_STATES = ("begun", "refused", "open", "ended", "done")


@dataclass(frozen=True, slots=True)
class Merged:
    """Outputs that are new here, and those of them that count as handed out: they may have been."""

    added: list[Record]
    given: list[Record]


def dump(records: Records) -> dict[str, list[Record]]:
    """Return all records as the page's wallet has them."""
    outputs = records.outputs()
    for output in outputs:
        if output["state"] != "leaving":
            del output["before"]
    operations, items = records.all("operations"), records.all("items")
    return {"outputs": outputs, "operations": operations, "items": items}


def merge(records: Records, theirs: dict[str, list[Record]]) -> Merged:
    """Take in the records of a file, which were checked."""
    outputs, operations = theirs["outputs"], theirs["operations"]
    added = [output["key"] for output in outputs if not records.output(output["key"])]
    shown = _shown(operations)
    may_be_given = {output["key"] for output in outputs if _may_be_given(output, shown)}
    given = may_be_given.intersection(added)
    contested = {output["key"] for output in outputs if _is_contested(records, output)}
    for output in outputs:
        handed_out = {"givenAt": output["createdAt"]} if output["key"] in given else {}
        _merge_output(records, {**output, **handed_out})
    _merge_operations(records, operations, contested)
    for item in theirs["items"]:
        records.put("items", {**item, **records.get("items", item["key"])})
    found = [records.output(key) for key in added]
    live = [output for output in found if output["state"] not in ("spent", "void", "seen")]
    return Merged(live, [output for output in live if output["key"] in given])


def _shown(operations: list[Record]) -> set[str]:
    """Return the keys of what mints of several made: the page of a mint shows all at once."""
    mints = [each["outputs"] for each in operations if each["kind"] == "mint"]
    return {output["key"] for outputs in mints if len(outputs) > 1 for output in outputs}


def _may_be_given(output: Record, shown: set[str]) -> bool:
    """Return whether it is a link that may have been handed out since the file was written."""
    is_set_aside = output.get("each") or output.get("collectedAt")
    is_link = (output.get("number") or output["key"] in shown) and not is_set_aside
    is_held = "held" in (output["state"], output.get("before"))
    return bool(is_link and "givenAt" not in output and (is_held or output.get("spentElsewhere")))


def _is_contested(records: Records, theirs: Record) -> bool:
    """At rest in one wallet and spent in the other: a refused operation may have spent it late."""
    both = (theirs, records.output(theirs["key"]) or theirs)
    is_at_rest = any(output["state"] in _REST_STATES for output in both)
    return is_at_rest and any(output.get("spentElsewhere") for output in both)


def _merge_output(records: Records, theirs: Record) -> None:
    mine = records.output(theirs["key"])
    told = {name: theirs[name] for name in theirs if name not in _DERIVED}
    # A link may name any amount; a wallet that made or holds the output knows it.
    amount = {"amount": theirs["amount"]} if mine.get("before") == "seen" else {}
    records.put("outputs", told | records.get("outputs", theirs["key"]) | amount)


def _merge_operations(records: Records, theirs: list[Record], contested: set[str]) -> None:
    for operation in theirs:
        mine = records.get("operations", operation["key"])
        if not mine or _rank(operation) > _rank(mine):
            records.put("operations", operation)
    for operation in records.all("operations", "refused"):
        if not contested.isdisjoint(operation["inputs"]):
            records.put("operations", {**operation, "state": "begun", "code": None})
    for operation in records.all("operations", "done"):
        for key in operation["inputs"]:
            # By which operation is more than that it is spent.
            records.change(key, spentElsewhere=None)


def _rank(operation: Record) -> int:
    """Return how much more than that it was begun is known of an operation."""
    states = _MINT_STATES if operation["kind"] == "mint" else _SWAP_STATES
    is_ended = operation["state"] == "refused" and "expiresAt" in operation
    return states.index("ended" if is_ended else operation["state"])
