"""Hashes all the secrets of a swap before its transaction. Must import no library."""

from collections.abc import Mapping
from itertools import chain, islice

from deeds.domain.errors import UnknownInputError
from deeds.domain.locator import Locator
from deeds.domain.records import ItemGuard, Output, SwapRecord
from deeds.domain.values import SwapRequest


def hash_swap(
    locator: Locator,
    request: SwapRequest,
    guards: Mapping[str, ItemGuard],
    idempotency_key_hashes: tuple[bytes, ...],
) -> SwapRecord:
    """Return what the swap writes. `guards` holds every item of the request.

    Inputs, outputs and the older forms of outputs go into one batch of evaluations. Only where an
    input may have been hashed under several schemes, the inputs are looked up first.

    Raises:
        UnknownInputError: an input cannot be in the ledger.
        OverloadedError: too much is waiting to be hashed.
    """
    sources = [locator.trials(raw, guards[raw.item_id]) for raw in request.inputs]
    hopeless = [index for index, trials in enumerate(sources) if not trials]
    if hopeless:
        raise UnknownInputError(index=hopeless[0], failed_secrets_count=len(hopeless))
    new = [locator.new_trial(raw, guards[raw.item_id].salt) for raw in request.outputs]
    older = [locator.older_trials(trial, guards[trial.raw.item_id]) for trial in new]
    certain = all(len(trials) == 1 for trials in sources)
    inputs = () if certain else _find_inputs(locator, request, guards)
    first = [trials[0] for trials in sources] if certain else []
    hashed = iter(locator.hash([*first, *new, *chain.from_iterable(older)]))
    # In the order of the batch: each line takes its part from the same iterator.
    inputs = inputs or tuple(islice(hashed, len(first)))
    outputs = tuple(islice(hashed, len(new)))
    return SwapRecord(
        inputs=inputs,
        outputs=outputs,
        outputs_forbidden=tuple(
            tuple(output.key for output in islice(hashed, len(trials))) for trials in older
        ),
        schemes_counts={item_id: len(guard.scheme_ids) for item_id, guard in guards.items()},
        schemes_added=frozenset(
            (output.item_id, output.scheme_id)
            for output in outputs
            if output.scheme_id not in guards[output.item_id].scheme_ids
        ),
        idempotency_key_hashes=idempotency_key_hashes,
    )


def _find_inputs(
    locator: Locator, request: SwapRequest, guards: Mapping[str, ItemGuard]
) -> tuple[Output, ...]:
    found = locator.find(request.inputs, guards)
    inputs = tuple(recorded.output for recorded in found if recorded is not None)
    if len(inputs) < len(found):
        raise UnknownInputError(index=found.index(None), failed_secrets_count=found.count(None))
    return inputs
