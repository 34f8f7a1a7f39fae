"""Takes the records of another wallet into a wallet.

Docs/wallet-file.md has the rules.
"""

import logging
import re
from collections.abc import Container, Iterable
from dataclasses import replace

from deeds_client.errors import InvalidInputError, WalletFileError
from deeds_client.record_format import compact
from deeds_client.records import (
    SEEDS_MAX,
    Contents,
    Numbers,
    Operation,
    Seed,
    filled,
    keys_of,
)
from deeds_client.seeds import (
    own_seed,
    raise_numbers,
    used_seeds,
)
from deeds_client.settling import AT_REST, begin_again
from deeds_client.store import Reader, Records
from deeds_client.values import (
    Item,
    Kind,
    OperationState,
    Output,
    OutputState,
    Secret,
    exactly,
    parse_json,
)

_OF_A_STRANGER = (
    "The owner of this backup can spend what it holds, too, until you move it: merge or"
    " send it."
)

log = logging.getLogger("deeds_client")

_REST_STATES = (OutputState.SEEN, OutputState.VOID, *AT_REST)
_METADATA_BYTES_MAX = 2048  # Of an item in a file: it is read offline.
_NAME_LENGTH_MAX = 200
_FACT = re.compile("(?:Date|Place|Valid until|Unit): .", re.DOTALL)
_GONE = (OutputState.SPENT, OutputState.VOID, OutputState.SEEN)
# From what is known least to what wins. To send a mint again is always safe, but a swap
# that was refused must not move units that its wallet has counted as its own since.
_RANKS = ("unminted", "begun", "refused", "open", "ended", "done")


def dump(records: Reader) -> Contents:
    """Return all records for a backup."""
    seeds = _seeds_for_file(used_seeds(records))
    keys = {seed.key for seed in seeds}
    return Contents(
        outputs=records.outputs(),
        operations=[_cut_request(operation) for operation in records.all(Operation)],
        items=[_cut_item(item) for item in records.all(Item)],
        seeds=seeds,
        numbers=[
            each for each in records.all(Numbers) if each.key.split(".")[0] in keys
        ],
    )


def _seeds_for_file(seeds: list[Seed]) -> list[Seed]:
    """Return the own seed and the latest, no more than readers take.

    A wallet of before may have joined more.
    """
    ranked = sorted(seeds, key=lambda seed: (seed.is_own, seed.created_at))
    kept = ranked[-SEEDS_MAX:]
    return [seed for seed in seeds if seed in kept]


def _cut_item(item: Item) -> Item:
    metadata = cut_metadata(item.metadata)
    is_cut = item.is_cut or metadata != item.metadata
    return replace(item, metadata=metadata, is_cut=is_cut)


def _cut_request(operation: Operation) -> Operation:
    """Return an operation for a file. Of a mint that may be sent again all is kept."""
    body = operation.body.reveal()
    is_refused = operation.is_refused and not operation.reference
    is_over = operation.state == OperationState.DONE or is_refused
    if "metadata" in body and is_over:
        metadata = parse_json(cut_metadata(compact(body["metadata"])) or "{}")
        body = {**body, "metadata": metadata}
    return replace(operation, is_sent_again=False, body=Secret(body))


def cut_metadata(text: str | None) -> str | None:
    """Return of an item's metadata what a file keeps: docs/wallet-file.md."""
    if not text or len(text.encode()) <= _METADATA_BYTES_MAX:
        return text
    try:
        found = exactly(dict, parse_json(text))
    except InvalidInputError:
        found = {}
    kept = {
        name: found[name]
        for name in ("name", "description")
        if isinstance(found.get(name), str)
    }
    if "name" in kept:
        kept["name"] = kept["name"][:_NAME_LENGTH_MAX]
    if _is_too_long(kept):
        # Its last paragraph, if that is facts as the page reads them.
        facts = kept.pop("description").split("\n\n")[-1]
        with_facts = {**kept, "description": facts}
        are_facts = all(map(_FACT.match, facts.split("\n")))
        if are_facts and not _is_too_long(with_facts):
            kept = with_facts
    return compact(kept)


def _is_too_long(metadata: dict[str, str]) -> bool:
    return len(compact(metadata).encode()) > _METADATA_BYTES_MAX


def merge(records: Records, theirs: Contents, *, is_own: bool) -> list[Output]:
    """Take in records, and return the outputs that are new; some may be given.

    Of a file that is not `is_own` the seeds are only looked for, and less is believed.
    """
    own = own_seed(records)
    # A file may bring outputs and no operations.
    if is_own and not (records.all(Operation) or records.outputs()):
        # A wallet that has done nothing yet is another copy of that one from now on.
        own = next((seed.key for seed in theirs.seeds if seed.is_own), own)
    else:
        theirs = _believed(theirs, own, is_own=is_own)
    _merge_seeds(records, theirs, own)
    may_be_given = _may_be_given(theirs)
    added = []
    contested: set[str] = set()
    for output in theirs.outputs:
        mine = records.output(output.key)
        if mine:
            records.put(_merged(mine, replace(output, unknown=False)))
        else:
            told = output
            added.append(output.key)
            if output.key in may_be_given:
                given_at = output.created_at
                told = replace(told, given_at=given_at, may_be_given=True)
            records.put(told)
        # At rest in one wallet and spent in the other: a refused operation may have
        # spent it late.
        both = (output, mine or output)
        is_missed = any(each.spent_elsewhere for each in both)
        if is_missed and any(each.state in _REST_STATES for each in both):
            contested.add(output.key)
    _merge_operations(records, theirs.operations, contested)
    _keep_word(records, theirs.outputs)
    for item in theirs.items:
        known = records.get(Item, item.id)
        # What is whole stays whole.
        joined = replace(filled(known, item), is_cut=known.is_cut) if known else item
        records.put(joined)
    new = records.known(added)
    return [output for output in new if output.state not in _GONE]


def _keep_word(records: Records, theirs: Iterable[Output]) -> None:
    """Keep ours what a file calls ours, and spent what it calls spent.

    No operation may tell of it.
    """
    known = {output.key: output for output in records.outputs()}
    for told in theirs:
        output = known[told.key]
        rest = _rest_told(told)
        if rest == OutputState.GIVEN and not output.given_at:
            records.change(output, given_at=told.created_at)
        if rest in AT_REST and output.before not in AT_REST:
            records.change(output, found_at=told.created_at)
        if OutputState.SPENT == told.state != output.state:
            records.change(output, spent_elsewhere=True, is_unclear=True)


def _believed(theirs: Contents, own: str, *, is_own: bool) -> Contents:
    """Return of a file what is believed of it: docs/wallet-file.md, "Merging".

    `own` is the seed of this wallet.
    """
    seeds = {seed.key: seed.is_own for seed in theirs.seeds}
    if seeds.get(own):
        return theirs
    # The orders of another wallet are none of this one.
    operations = [
        replace(each, reference=None, asked=None) for each in theirs.operations
    ]
    if is_own or own in seeds:
        log.warning("This wallet was used before: it goes on with its own seed.")
        return replace(theirs, operations=operations)
    log.warning(_OF_A_STRANGER)
    # What they have begun to mint would be sent, maybe with our token. What an item is,
    # the registry tells.
    done = [
        each
        for each in operations
        if each.kind != Kind.MINT or each.state == OperationState.DONE
    ]
    return replace(theirs, operations=done, items=[])


def _merged(mine: Output, theirs: Output) -> Output:
    """Return what both wallets know of an output.

    A link may name any amount, and another copy may have used the number for another
    one; a wallet that holds the output knows it.
    """
    if mine.before not in (OutputState.HELD, OutputState.GIVEN):
        if mine.amount != theirs.amount:
            # What was to be made here is not what is there.
            mine = replace(mine, number=None, of=None, each=None, issue=None)
        mine = replace(mine, amount=theirs.amount)
    return filled(mine, theirs)


def _merge_seeds(records: Records, theirs: Contents, own: str) -> None:
    """Take in seeds, of which `own` is the own one now, and how far numbers are used.

    An own one of before was never used.
    """
    seeds = theirs.seeds
    unused = records.get(Seed, own_seed(records))
    if unused and unused.key != own:
        records.put(replace(unused, is_own=False, is_unused=True))
    known = {seed.key for seed in [*used_seeds(records), *seeds]}
    if len(known) > SEEDS_MAX:
        raise WalletFileError(
            "Too many wallets are joined here already: restore this into another"
            " wallet."
        )
    for seed in seeds:
        records.put(replace(seed, is_own=seed.key == own, is_unused=False))
    for each in theirs.numbers:
        raise_numbers(records, each)


def _may_be_given(theirs: Contents) -> Container[str]:
    """Return the keys of links that may be handed out since the file was written."""
    # The page of a mint shows all that it made at once.
    mints = [each for each in theirs.operations if each.kind == Kind.MINT]
    shown = {
        key for each in mints if len(each.outputs) > 1 for key in keys_of(each.outputs)
    }
    return {
        output.key
        for output in theirs.outputs
        if (output.number or output.key in shown) and _is_free(output)
    }


def _is_free(output: Output) -> bool:
    """Return whether a link that is held was not set aside."""
    if output.each or output.collected_at or output.given_at:
        return False
    return _rest_told(output) == OutputState.HELD or output.spent_elsewhere


def _rest_told(output: Output) -> OutputState:
    """Return what a file calls an output if nothing takes it."""
    return output.before if output.state == OutputState.LEAVING else output.state


def _merge_operations(
    records: Records, theirs: Iterable[Operation], contested: set[str]
) -> None:
    for operation in theirs:
        mine = records.get(Operation, operation.key) or operation
        told = operation if _rank(operation) > _rank(mine) else mine
        if told.state == OperationState.BEGUN:
            # It may have been sent since the file was written, and cancelled anywhere.
            is_cancelled = mine.is_cancelled or operation.is_cancelled
            told = replace(told, is_unsent=False, is_cancelled=is_cancelled)
        records.put(told)
    for operation in records.operations("state", OperationState.REFUSED):
        if not contested.isdisjoint(keys_of(operation.inputs)):
            begin_again(records, operation)
    for operation in records.operations("state", OperationState.DONE):
        records.spend(operation)


def _rank(operation: Operation) -> int:
    if operation.state != OperationState.REFUSED:
        return _RANKS.index(operation.state)
    if operation.kind == Kind.MINT:
        return _RANKS.index("unminted")
    return _RANKS.index("ended" if operation.expires_at else "refused")
