"""How operations end. Changes records only.

Two processes may settle one operation, and a request may be carried out long after it
was given up. So that both are told the truth, "done" may follow "refused", and nothing
follows "done".
"""

import json
from functools import cache, partial

from deeds_client.finding import Gathered, add_found
from deeds_client.records import Record, Store, key_of, now_ms

AT_REST = ("held", "offered", "given")
UNMADE = ("coming", "void")
# Told after the key was looked up, and true for ever: it was not carried out.
SURE = ("spent_input", "used_secret")
_METADATA_NAMES = ("name", "description", "image")


def note(
    records: Store,
    states: dict[str, str],
    gathered: Gathered,
    refused: str = "",
) -> list[Record]:
    """Add what was found, and note what the service says of outputs.

    Return what is new. Operations that may have been carried out after their refusal
    are begun again, but the one of the key `refused`.
    """
    found = [
        output
        for item_id, places in gathered.items()
        for output in add_found(records, item_id, places or [])
    ]
    # What was found before the last check explains nothing that is missed since.
    checked_at = records.get("notes", "check").get("at", 0)
    news = {each["key"]: each["state"] for each in found}
    last_found = cache(partial(_last_found, records))
    for key in states.keys() - news.keys():
        output, state = records.output(key), states[key]
        if is_lost(output, state):
            news[key] = state
        # What is under way may be spent by its own operation.
        if output["state"] not in ("seen", *AT_REST):
            continue
        # A copy may have spent it, if it moved something since.
        since = max(output.get("foundAt") or output["createdAt"], checked_at)
        item_id = output["itemId"]
        is_moved = gathered.get(item_id, []) is None or last_found(item_id) > since
        is_gone = state == "spent"
        records.change(
            key,
            spentElsewhere=is_gone or None,
            isUnclear=(is_gone and is_moved) or None,
            unknown=state == "unknown" or None,
        )
    _begin_again(records, news, refused)
    return found


def is_lost(output: Record, state: str) -> bool:
    """Return whether something has spent or made an output, and is not known here."""
    if output["state"] in AT_REST:
        return state == "spent"
    return output["state"] == "void" and state != "unknown"


def _last_found(records: Store, item_id: str) -> int:
    return max(int(each.get("foundAt", 0)) for each in records.outputs(item_id))


def _begin_again(records: Store, news: dict[str, str], refused: str) -> None:
    """Begin operations again of which an input is spent, or something made is there.

    That is never carried out now: the answer is that of the time when it was, or a
    refusal for good.
    """
    for operation in records.all("operations", "refused") if news else ():
        code = operation["code"]
        # Somebody may have completed an offer just before it expired.
        is_refused = operation["key"] == refused and code != "offer_expired"
        is_sure = code in SURE or is_refused
        is_spent = "spent" in map(news.get, operation["inputs"])
        is_there = not news.keys().isdisjoint(made_by(operation))
        if not is_sure and (is_spent or is_there):
            begin_again(records, operation)


def is_at_door(operation: Record) -> bool:
    """Return whether only a person at a door of the page may have it sent."""
    return "atDoor" in operation and "isCancelled" not in operation


def begin_again(records: Store, operation: Record) -> None:
    """Have an operation sent again that was refused.

    Nobody stands at the door any more: it is only asked what became of it.
    """
    begun = {**operation, "state": "begun", "code": None}
    begun["isCancelled"] = operation.get("atDoor")
    records.put("operations", begun)


def settle_done(records: Store, key: str, item_id: str | None = None) -> Record:
    """The service has carried the operation out.

    `item_id` is what a mint has made.
    """
    operation = records.get("operations", key)
    if operation["state"] == "done":
        return operation
    if item_id and operation["kind"] == "mint":
        made = _add_minted(records, operation, item_id)
        operation |= {"itemId": item_id, "outputs": made}
    records.follow(operation)
    ended = {"state": "done", "code": None, "endedAt": now_ms()}
    return records.put("operations", {**operation, **ended})


def _add_minted(records: Store, minting: Record, item_id: str) -> list[Record]:
    """Add what the mint has made, and what is known of the item.

    Its name is there offline.
    """
    metadata = minting["body"].get("metadata", {})
    # As the registry writes it.
    ordered = {name: metadata[name] for name in _METADATA_NAMES if name in metadata}
    text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
    item = {"key": item_id, "id": item_id, "total": minting["amount"]}
    item |= {"isMinted": True, "unit": minting.get("unit")}
    records.put("items", {**item, "metadata": text if ordered else None})
    made = []
    for place, part in enumerate(minting["body"]["outputs"]):
        # A secret that a person made may have been told to others by now.
        is_given = place in minting.get("own", ())
        given_at = now_ms() if is_given else None
        output = {**part, "itemId": item_id, "givenAt": given_at}
        records.change(key_of(output), **output)
        made.append({"key": key_of(output), "state": "given" if is_given else "held"})
    return made


def made_by(operation: Record) -> list[str]:
    """Return the keys of what an operation makes."""
    return [each["key"] for each in operation["outputs"]]
