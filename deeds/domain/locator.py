"""Hashes secrets into outputs and finds outputs by their secrets. Must import no library.

As long as an item has one scheme of a secret's class, that is one evaluation and one probe per
secret. Where it has several, the current one is tried first, and the older ones for what is then
still missing or spent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deeds.domain.hashing import Hasher, HashJob
from deeds.domain.item_id import is_item_id
from deeds.domain.ledger import Ledger
from deeds.domain.records import (
    HashScheme,
    ItemGuard,
    Output,
    OutputKey,
    RecordedOutput,
    SecretClass,
)
from deeds.domain.scheme_book import SchemeBook
from deeds.domain.strong_secret import is_strong_secret
from deeds.domain.values import RawOutput


@dataclass(frozen=True, slots=True)
class Trial:
    """A raw output, the salt of its item and one scheme that its secret may be hashed under."""

    raw: RawOutput
    salt: bytes = field(repr=False)
    scheme: HashScheme


class Locator:
    """Turns raw outputs into what one ledger knows of them."""

    def __init__(self, ledger: Ledger, schemes: SchemeBook, hasher: Hasher) -> None:
        """Take where outputs are kept, how they were hashed, and what hashes."""
        self._ledger = ledger
        self._schemes = schemes
        self._hasher = hasher

    def read_guards(self, raws: Sequence[RawOutput]) -> dict[str, ItemGuard]:
        """Return the guards of those items of the raw outputs that exist."""
        ids = _item_ids(raws)
        return self._ledger.read_guards(ids) if ids else {}

    def recall_guards(self, raws: Sequence[RawOutput]) -> dict[str, ItemGuard]:
        """Return the same, perhaps as it was before an item got another scheme."""
        return self._ledger.recall_guards(_item_ids(raws))

    def trials(self, raw: RawOutput, guard: ItemGuard) -> tuple[Trial, ...]:
        """Return the trials that can find an output, likeliest first.

        Empty where the item has no output of the secret's class: then there is nothing to find and
        nothing to hash.
        """
        schemes = self._schemes.candidates(secret_class(raw.secret), guard.scheme_ids)
        return tuple(Trial(raw, guard.salt, scheme) for scheme in schemes)

    def new_trial(self, raw: RawOutput, salt: bytes) -> Trial:
        """Return the trial under the scheme that a new output gets."""
        return Trial(raw, salt, self._schemes.current(secret_class(raw.secret)))

    def older_trials(self, new: Trial, guard: ItemGuard) -> tuple[Trial, ...]:
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
        self, raws: Sequence[RawOutput], guards: Mapping[str, ItemGuard]
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
