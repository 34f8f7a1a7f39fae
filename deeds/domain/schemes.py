"""The hash schemes of a ledger, as one process may use them.

Every (class, parameters, pepper) ever used is a row in the ledger. New outputs get the
current scheme of their secret's class; older outputs are found under the scheme they
were created with. So no change of settings strands a deed.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from deeds.domain.errors import SchemeUnavailableError, StartError
from deeds.domain.hashing import STRONG_COST, pepper_fingerprint
from deeds.domain.model import (
    Argon2Cost,
    HashScheme,
    SchemeSpec,
    SchemeUse,
    SecretClass,
)

_log = logging.getLogger("deeds")


class SchemeLedger(Protocol):
    """What the ledger says of hash schemes."""

    def register_schemes(self, specs: Sequence[SchemeSpec]) -> None:
        """Record those schemes that are new.

        Any number of processes may do so at once.
        """

    def read_schemes(self) -> tuple[HashScheme, ...]:
        """Return every scheme ever recorded."""

    def read_scheme_use(self, scheme_id: int) -> SchemeUse:
        """Return what was hashed under the scheme. May read the whole ledger."""


def current_specs(ordinary_cost: Argon2Cost, pepper: bytes | None) -> list[SchemeSpec]:
    """Return the scheme that new outputs of each class get under these settings."""
    costs = {SecretClass.ORDINARY: ordinary_cost, SecretClass.STRONG: STRONG_COST}
    fingerprint = pepper_fingerprint(pepper)
    return [SchemeSpec(each, cost, fingerprint) for each, cost in costs.items()]


class HashSchemes:
    """The current scheme of each class, and all others in the order in which to try them.

    `current` is what new outputs of each class get; `peppers` are those that this
    process was given, by their fingerprints, with None for outputs that have none.
    """

    def __init__(
        self,
        ledger: SchemeLedger,
        ordinary_cost: Argon2Cost,
        pepper: bytes | None,
        peppers_old: Sequence[bytes],
    ) -> None:
        """Read the ledger's schemes, and record the current ones; raise StartError.

        That is where unspent outputs are guarded by a pepper that the settings lack.
        """
        self._ledger = ledger
        self.peppers = {
            pepper_fingerprint(each): each for each in (None, pepper, *peppers_old)
        }
        self._logged: set[str] = set()
        self._schemes: dict[int, HashScheme] = {}
        self._read()
        current = current_specs(ordinary_cost, pepper)
        if not {scheme.spec for scheme in self._schemes.values()}.issuperset(current):
            ledger.register_schemes(current)
            self._read()
        self.current = {
            scheme.spec.secret_class: scheme
            for scheme in self._schemes.values()
            if scheme.spec in current
        }
        unusable = [
            each for each in self._schemes.values() if not self._is_usable(each)
        ]
        self._retired = {each for each in unusable if self._is_retired(each)}

    def all_of(self, secret_class: SecretClass) -> list[HashScheme]:
        """Return every scheme of the class as of now, as `in_order` does."""
        self._read()
        return self.in_order(secret_class, self._schemes)

    def in_order(
        self, secret_class: SecretClass, scheme_ids: Collection[int]
    ) -> list[HashScheme]:
        """Return those of the schemes that are of this class.

        The current one, then the newest.

        Raises SchemeUnavailableError where one needs a pepper that another process was
        given since.
        """
        if not self._schemes.keys() >= set(scheme_ids):
            self._read()
        wanted = [self._schemes[each] for each in scheme_ids]
        usable = [each for each in wanted if self._is_usable(each)]
        missing = {each for each in wanted if not self._is_usable(each)}
        # Retired ones are passed over; but an item under these alone has units, so one
        # is in use.
        if needed := missing - self._retired if usable else missing:
            self._log_missing(needed)
            raise SchemeUnavailableError
        return sorted(
            (scheme for scheme in usable if scheme.spec.secret_class is secret_class),
            key=lambda scheme: (scheme == self.current[secret_class], scheme.id),
            reverse=True,
        )

    def usable(self, scheme_id: int) -> HashScheme | None:
        """Return the scheme, unless this process was not given its pepper."""
        if scheme_id not in self._schemes:
            self._read()
        scheme = self._schemes[scheme_id]
        return scheme if self._is_usable(scheme) else None

    def _read(self) -> None:
        self._schemes = {scheme.id: scheme for scheme in self._ledger.read_schemes()}

    def _is_usable(self, scheme: HashScheme) -> bool:
        return scheme.spec.pepper_fingerprint in self.peppers

    def _is_retired(self, scheme: HashScheme) -> bool:
        """Return whether the scheme was used and guards nothing any more."""
        use = self._ledger.read_scheme_use(scheme.id)
        if use is SchemeUse.UNSPENT:
            raise StartError(
                "unspent outputs are guarded by the pepper with the fingerprint "
                f"{scheme.spec.pepper_fingerprint}; name it in DEEDS_PEPPERS_OLD (or DEEDS_PEPPER)"
            )
        return use is SchemeUse.SPENT

    def _log_missing(self, schemes: Iterable[HashScheme]) -> None:
        """Name the peppers to the operator, each once in the life of the process."""
        for fingerprint in {
            each.spec.pepper_fingerprint for each in schemes
        } - self._logged:
            self._logged.add(fingerprint)
            _log.warning(
                "this process was not given the pepper %s that guards outputs; name it in"
                " DEEDS_PEPPERS_OLD (or DEEDS_PEPPER)",
                fingerprint,
                extra={"event": "pepper_missing"},
            )
