"""Hashes secrets into outputs and finds outputs by their secrets. Must import no library.

As long as an item has one scheme of a secret's class, that is one evaluation and one probe per
secret. Where it has several, the current one is tried first, and the older ones for what is then
still missing or spent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from deeds.domain.errors import UnknownInputError
from deeds.domain.hashing import Hasher, HashJob
from deeds.domain.model import (
    HashScheme,
    ItemSchemes,
    Output,
    OutputKey,
    RawOutput,
    RecordedOutput,
    SecretClass,
    SwapRecord,
    SwapRequest,
)
from deeds.domain.protocols import Ledger
from deeds.domain.raw_output import is_item_id
from deeds.domain.schemes import HashSchemes
from deeds.domain.strong_secret import is_strong_secret


@dataclass(frozen=True, slots=True)
class Trial:
    """A raw output, the salt of its item and one scheme that its secret may be hashed under."""

    raw: RawOutput
    salt: bytes = field(repr=False)
    scheme: HashScheme


class Locator:
    """Turns raw outputs into what one ledger knows of them."""

    def __init__(self, ledger: Ledger, schemes: HashSchemes, hasher: Hasher) -> None:
        """Take where outputs are kept, how they were hashed, and what hashes."""
        self._ledger = ledger
        self._schemes = schemes
        self._hasher = hasher

    def read_item_schemes(self, raws: Sequence[RawOutput]) -> dict[str, ItemSchemes]:
        """Return the guards of those items of the raw outputs that exist."""
        ids = _item_ids(raws)
        return self._ledger.read_item_schemes(ids) if ids else {}

    def recall_item_schemes(self, raws: Sequence[RawOutput]) -> dict[str, ItemSchemes]:
        """Return the same, perhaps as it was before an item got another scheme."""
        return self._ledger.recall_item_schemes(_item_ids(raws))

    def trials(self, raw: RawOutput, guard: ItemSchemes) -> tuple[Trial, ...]:
        """Return the trials that can find an output, likeliest first.

        Empty where the item has no output of the secret's class: then there is nothing to find and
        nothing to hash.
        """
        schemes = self._schemes.candidates(secret_class(raw.secret), guard.scheme_ids)
        return tuple(Trial(raw, guard.salt, scheme) for scheme in schemes)

    def new_trial(self, raw: RawOutput, salt: bytes) -> Trial:
        """Return the trial under the scheme that a new output gets."""
        return Trial(raw, salt, self._schemes.current(secret_class(raw.secret)))

    def older_trials(self, new: Trial, guard: ItemSchemes) -> tuple[Trial, ...]:
        """Return the trials under which a new output's secret may be known already."""
        schemes = self._schemes.candidates(new.scheme.spec.secret_class, guard.scheme_ids)
        return tuple(
            Trial(new.raw, guard.salt, scheme) for scheme in schemes if scheme != new.scheme
        )

    def hash(self, trials: Sequence[Trial]) -> list[Output]:
        """Return the output that each trial makes, with one evaluation each.

        Raises:
            OverloadedError: too much is waiting to be hashed; nothing was hashed.
        """
        jobs = [HashJob(trial.raw.secret, trial.salt, trial.scheme) for trial in trials]
        digests = self._hasher.digests(jobs)
        return [
            Output(OutputKey(trial.raw.item_id, digest), trial.scheme.id, trial.raw.amount)
            for trial, digest in zip(trials, digests, strict=True)
        ]

    def find(
        self, raws: Sequence[RawOutput], guards: Mapping[str, ItemSchemes]
    ) -> list[RecordedOutput | None]:
        """Return for each raw output what is recorded under its secret and amount, or None.

        A secret can be there under two schemes, if it was used again while the pepper of one was
        away. Then it stands for the output that is unspent.
        """
        found: list[RecordedOutput | None] = [None] * len(raws)
        pending = {
            index: self.trials(raw, guards[raw.item_id])
            for index, raw in enumerate(raws)
            if raw.item_id in guards
        }
        while pending := {index: trials for index, trials in pending.items() if trials}:
            outputs = self.hash([trials[0] for trials in pending.values()])
            recorded = self._ledger.read_outputs([output.key for output in outputs])
            for index, output in zip(tuple(pending), outputs, strict=True):
                match = recorded.get(output.key)
                if match is not None and match.output.amount == output.amount:
                    found[index] = match
            pending = {
                index: trials[1:]
                for index, trials in pending.items()
                if not _is_unspent(found[index])
            }
        return found


def _item_ids(raws: Sequence[RawOutput]) -> set[str]:
    return {raw.item_id for raw in raws if is_item_id(raw.item_id)}


def _is_unspent(recorded: RecordedOutput | None) -> bool:
    return recorded is not None and recorded.spent_by is None


def secret_class(secret: str) -> SecretClass:
    """Tell which class of schemes a secret is hashed under."""
    return SecretClass.STRONG if is_strong_secret(secret) else SecretClass.ORDINARY


def hash_swap(
    locator: Locator,
    request: SwapRequest,
    guards: Mapping[str, ItemSchemes],
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
    locator: Locator, request: SwapRequest, guards: Mapping[str, ItemSchemes]
) -> tuple[Output, ...]:
    found = locator.find(request.inputs, guards)
    inputs = tuple(recorded.output for recorded in found if recorded is not None)
    if len(inputs) < len(found):
        raise UnknownInputError(index=found.index(None), failed_secrets_count=found.count(None))
    return inputs
