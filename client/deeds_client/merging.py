"""Takes the records of another wallet into a wallet.

Docs/wallet-file.md has the rules.
"""

from deeds_client.records import Record, Store

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
    }


def merge(
    records: Store, theirs: dict[str, list[Record]]
) -> tuple[list[Record], list[Record]]:
    """Take in checked records.

    Return the outputs that are new, and those that may be given.
    """
    may_be_given = _may_be_given(**theirs)
    added, contested = [], set()
    for output in theirs["outputs"]:
        key, mine = output["key"], records.output(output["key"])
        told = {name: value for name, value in output.items() if name not in _DERIVED}
        if not mine:
            added.append(key)
            told |= {"givenAt": output["createdAt"]} if key in may_be_given else {}
        # A link may name any amount; a wallet that made or holds the output knows it.
        amount = {"amount": output["amount"]} if mine.get("before") == "seen" else {}
        records.put("outputs", told | records.get("outputs", key) | amount)
        # At rest in one wallet and spent in the other: a refused operation may have
        # spent it late.
        both = (output, mine or output)
        if any(each.get("spentElsewhere") for each in both):
            contested |= {key for each in both if each["state"] in _REST_STATES}
    _merge_operations(records, theirs["operations"], contested)
    for item in theirs["items"]:
        records.put("items", {**item, **records.get("items", item["key"])})
    found = map(records.output, added)
    live = [
        output for output in found if output["state"] not in ("spent", "void", "seen")
    ]
    return live, [output for output in live if output["key"] in may_be_given]


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
    ended = "ended" if "expiresAt" in operation else "refused"
    refused = "unminted" if operation["kind"] == "mint" else ended
    return _RANKS.index(
        refused if operation["state"] == "refused" else operation["state"]
    )
