"""Takes the records of another wallet, or of an older copy of this one, into a wallet.

It is a union: no secret is lost, no spent output revived, nothing that was handed out is free
again, or may have been since a file was written, and no operation that ended is begun again.
"""

from dataclasses import dataclass

from deeds_client.records import Record, Records

_FACTS = ("givenAt", "collectedAt", "number", "of", "each", "note", "spentElsewhere")
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
    added, given = [], []
    for output in theirs["outputs"]:
        mine = records.output(output["key"])
        whole = {name: mine.get(name, output.get(name)) for name in _FACTS}
        names = ("key", "itemId", "amount", "secret", "createdAt", "changedAt")
        whole |= {name: output[name] for name in names}
        # A link may name any amount; a wallet that made or holds the output knows it.
        if mine and mine["before"] != "seen":
            whole["amount"] = mine["amount"]
        if not mine:
            added.append(output["key"])
            is_link = (
                output.get("number") and not output.get("each") and not output.get("collectedAt")
            )
            if is_link and not output.get("givenAt"):
                given.append(output["key"])
                whole["givenAt"] = output["createdAt"]
        records.put("outputs", {**records.get("outputs", output["key"]), **whole})
    for operation in theirs["operations"]:
        mine = records.get("operations", operation["key"])
        states = _MINT_STATES if operation["kind"] == "mint" else _SWAP_STATES
        if not mine or states.index(_end_of(operation)) > states.index(_end_of(mine)):
            records.put("operations", operation)
    for item in theirs["items"]:
        records.put("items", {**item, **records.get("items", item["key"])})
    live = [records.output(key) for key in added]
    live = [output for output in live if output["state"] not in ("spent", "void", "seen")]
    return Merged(live, [output for output in live if output["key"] in given])


def _end_of(operation: Record) -> str:
    is_ended = operation["state"] == "refused" and "expiresAt" in operation
    return "ended" if is_ended else str(operation["state"])
