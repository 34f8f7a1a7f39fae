"""Merges the records of a file into a wallet, by the rules of docs/wallet-file.md."""

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
from deeds_client.seeds import own_seed, raise_numbers, used_seeds
from deeds_client.settling import AT_REST, begin_again
from deeds_client.store import Reader, Records
from deeds_client.values import (
    NOT_OURS,
    Item,
    Kind,
    OperationState,
    Output,
    OutputState,
    Secret,
    exactly,
    parse_json,
)

_FOREIGN_BACKUP = (
    "The owner of this backup can spend what it holds, too, until you move it: merge or"
    " send it."
)

log = logging.getLogger("deeds_client")

_REST_STATES = (*NOT_OURS, *AT_REST)
_METADATA_BYTES_MAX = 2048  # Per item in a file, to be read offline.
_NAME_LENGTH_MAX = 200
_FACT = re.compile("(?:Date|Place|Valid until|Unit): .", re.DOTALL)
_GONE = (*NOT_OURS, OutputState.SPENT)
# In ascending order; of two records of an operation, the higher rank wins. "unminted"
# is a refused mint, which can always be sent again. A refused swap must not be sent
# again, because the wallet that recorded the refusal may have moved its inputs since.
_RANKS = ("unminted", "begun", "refused", "open", "ended", "done")


def dump(records: Reader) -> Contents:
    """Return all records for a backup."""
    seeds = used_seeds(records)
    keys = {seed.key for seed in seeds}
    return Contents(
        outputs=records.outputs(),
        operations=[_cut_request(operation) for operation in records.all(Operation)],
        items=[_cut_item(item) for item in records.all(Item)],
        seeds=seeds,
        numbers=[numbers for numbers in records.all(Numbers) if numbers.seed in keys],
    )


def _cut_item(item: Item) -> Item:
    """Return an item for a file, with its metadata cut."""
    metadata = cut_metadata(item.metadata)
    is_cut = item.is_cut or metadata != item.metadata
    return replace(item, metadata=metadata, is_cut=is_cut)


def _cut_request(operation: Operation) -> Operation:
    """Return an operation for a file.

    A mint's metadata is cut, unless the mint may be sent again.
    """
    body = operation.body.reveal()
    is_refused = operation.is_refused and not operation.reference
    is_over = operation.state == OperationState.DONE or is_refused
    if "metadata" in body and is_over:
        metadata = parse_json(cut_metadata(compact(body["metadata"])) or "{}")
        body = {**body, "metadata": metadata}
    return replace(operation, is_sent_again=False, body=Secret(body))


def cut_metadata(text: str | None) -> str | None:
    """Cut an item's metadata for a file: docs/wallet-file.md, "Metadata"."""
    if not text or len(text.encode()) <= _METADATA_BYTES_MAX:
        return text
    try:
        whole = exactly(dict, parse_json(text))
    except InvalidInputError:
        whole = {}
    short = {
        name: whole[name]
        for name in ("name", "description")
        if isinstance(whole.get(name), str)
    }
    if "name" in short:
        short["name"] = short["name"][:_NAME_LENGTH_MAX]
    if _is_too_long(short):
        # Keep only the last paragraph, if all its lines are facts such as “Date: …”.
        facts = short.pop("description").split("\n\n")[-1]
        with_facts = {**short, "description": facts}
        are_facts = all(map(_FACT.match, facts.split("\n")))
        if are_facts and not _is_too_long(with_facts):
            short = with_facts
    return compact(short)


def _is_too_long(metadata: dict[str, str]) -> bool:
    return len(compact(metadata).encode()) > _METADATA_BYTES_MAX


def merge(records: Records, theirs: Contents, *, is_own: bool) -> list[Output]:
    """Merge records, and return the new outputs; some may count as handed out.

    If `is_own` is false, the file may come from somebody else: its seeds are only used
    for searches, and less of it is trusted.
    """
    own = own_seed(records)
    # Check outputs too: they may come from an earlier file without operations.
    if is_own and not (records.all(Operation) or records.outputs()):
        # An unused wallet becomes another copy of the file's wallet.
        own = next((seed.key for seed in theirs.seeds if seed.is_own), own)
    else:
        theirs = _trusted(theirs, own, is_own=is_own)
    _merge_seeds(records, theirs, own)
    maybe_given = _keys_maybe_given(theirs)
    new_keys = []
    contested_keys: set[str] = set()
    for output in theirs.outputs:
        mine = records.output(output.key)
        if mine:
            records.put(_merged(mine, replace(output, unknown=False)))
        else:
            new_keys.append(output.key)
            new = output
            if output.key in maybe_given:
                given_at = output.created_at
                new = replace(output, given_at=given_at, may_be_given=True)
            records.put(new)
        # If an output is at rest in one wallet and spent in the other, a refused
        # operation may have been carried out late and spent it.
        both = (output, mine or output)
        is_missed = any(one.spent_elsewhere for one in both)
        if is_missed and any(one.state in _REST_STATES for one in both):
            contested_keys.add(output.key)
    _merge_operations(records, theirs.operations, contested_keys)
    _record_unexplained(records, theirs.outputs)
    for item in theirs.items:
        known = records.get(Item, item.id)
        # Complete metadata is not replaced.
        joined = replace(filled(known, item), is_cut=known.is_cut) if known else item
        records.put(joined)
    outputs = records.outputs_with(new_keys)
    return [output for output in outputs if output.state not in _GONE]


def _record_unexplained(records: Records, theirs: Iterable[Output]) -> None:
    """Record held, given and spent outputs of a file that no operation explains."""
    ours = {output.key: output for output in records.outputs()}
    for their in theirs:
        our = ours[their.key]
        rest = _rest_state(their)
        if rest == OutputState.GIVEN and not our.given_at:
            records.change(our, given_at=their.created_at)
        if rest in AT_REST and our.before not in AT_REST:
            records.change(our, found_at=their.created_at)
        if OutputState.SPENT == their.state != our.state:
            records.change(our, spent_elsewhere=True, is_unclear=True)


def _trusted(theirs: Contents, own: str, *, is_own: bool) -> Contents:
    """Return the trusted part of a file: docs/wallet-file.md, "Merging".

    `own` is the own seed of this wallet.
    """
    seeds = {seed.key: seed.is_own for seed in theirs.seeds}
    if seeds.get(own):
        return theirs
    # References of another wallet must not count as orders of this one.
    operations = [
        replace(operation, reference=None, asked=None)
        for operation in theirs.operations
    ]
    if is_own or own in seeds:
        log.warning("This wallet was used before: it keeps its own seed.")
        return replace(theirs, operations=operations)
    log.warning(_FOREIGN_BACKUP)
    # Drop unfinished mints, which would be sent, maybe with our token. Drop the items
    # too, because the registry describes them.
    operations = [
        operation
        for operation in operations
        if operation.kind != Kind.MINT or operation.state == OperationState.DONE
    ]
    return replace(theirs, operations=operations, items=[])


def _merged(mine: Output, theirs: Output) -> Output:
    """Return one record from both wallets' records of an output.

    The file's amount counts unless this wallet holds the output. Our record may be
    wrong: a link can name any amount, and another copy may have used the same secret
    for another amount.
    """
    if mine.before not in (OutputState.HELD, OutputState.GIVEN):
        if mine.amount != theirs.amount:
            # The existing output is not the one that was planned here.
            mine = replace(mine, number=None, of=None, each=None, issue=None)
        mine = replace(mine, amount=theirs.amount)
    return filled(mine, theirs)


def _merge_seeds(records: Records, theirs: Contents, own: str) -> None:
    """Merge seeds and next numbers; `own` becomes the own seed.

    An own seed that it replaces was never used.
    """
    seeds = theirs.seeds
    unused = records.get(Seed, own_seed(records))
    if unused and unused.key != own:
        records.put(replace(unused, is_own=False, is_unused=True))
    keys = {seed.key for seed in [*used_seeds(records), *seeds]}
    if len(keys) > SEEDS_MAX:
        raise WalletFileError(
            "Too many wallets are joined here already: restore this into another"
            " wallet."
        )
    for seed in seeds:
        records.put(replace(seed, is_own=seed.key == own, is_unused=False))
    for numbers in theirs.numbers:
        raise_numbers(records, numbers)


def _keys_maybe_given(theirs: Contents) -> Container[str]:
    """Return the keys of links that may have been handed out since the file's date."""
    # The page shows all links of a mint at once.
    shown: set[str] = set()
    for operation in theirs.operations:
        if operation.kind == Kind.MINT and len(operation.outputs) > 1:
            shown.update(keys_of(operation.outputs))
    return {
        output.key
        for output in theirs.outputs
        if (output.number or output.key in shown) and _is_free(output)
    }


def _is_free(output: Output) -> bool:
    """Return whether a link is not set aside, and was held or spent elsewhere."""
    if output.each or output.collected_at or output.given_at:
        return False
    return _rest_state(output) == OutputState.HELD or output.spent_elsewhere


def _rest_state(output: Output) -> OutputState:
    """Return an output's state in a file, ignoring the operation that takes it."""
    return output.before if output.state == OutputState.LEAVING else output.state


def _merge_operations(
    records: Records, theirs: Iterable[Operation], contested_keys: set[str]
) -> None:
    """Record the later state of each operation.

    Refused operations that take one of the contested outputs are begun again.
    """
    for operation in theirs:
        mine = records.get(Operation, operation.key) or operation
        later = operation if _rank(operation) > _rank(mine) else mine
        if later.state == OperationState.BEGUN:
            # It may have been sent since the file was made, and cancelled in either
            # wallet.
            is_cancelled = mine.is_cancelled or operation.is_cancelled
            later = replace(later, is_unsent=False, is_cancelled=is_cancelled)
        records.put(later)
    for operation in records.operations("state", OperationState.REFUSED):
        if not contested_keys.isdisjoint(keys_of(operation.inputs)):
            begin_again(records, operation)
    for operation in records.operations("state", OperationState.DONE):
        records.spend(operation)


def _rank(operation: Operation) -> int:
    """Return the place of an operation's state in _RANKS."""
    if operation.state != OperationState.REFUSED:
        return _RANKS.index(operation.state)
    if operation.kind == Kind.MINT:
        return _RANKS.index("unminted")
    return _RANKS.index("ended" if operation.expires_at else "refused")
