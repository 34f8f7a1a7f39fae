"""The hash policies of a ledger: costs and peppers that items were minted under.

A policy belongs to the item and never changes, so a secret of an item has one digest.
New settings are for new items (docs/security.md).
"""

import hmac
from collections.abc import Container
from typing import Protocol

from deeds.domain.errors import StartError
from deeds.domain.model import HashPolicy


class PolicyLedger(Protocol):
    """What the ledger says of hash policies."""

    def add_first_policy(self, policy: HashPolicy) -> None:
        """Record the ledger's first policy; do nothing where there is one."""

    def read_policies(self) -> list[HashPolicy]:
        """Return every policy ever recorded, the first one first."""


def open_policies(
    ledger: PolicyLedger, policy: HashPolicy, fingerprints: Container[str]
) -> HashPolicy:
    """Return the first policy of the ledger, which a new one gets from the settings.

    Raises StartError unless the settings have the pepper of every policy, by its
    fingerprint: without it nobody could spend what was minted under it.
    """
    policies = ledger.read_policies()
    if not policies:
        ledger.add_first_policy(policy)
        policies = ledger.read_policies()
    for each in policies:
        if each.pepper_fingerprint not in fingerprints:
            raise StartError(
                "items were minted under the pepper with the fingerprint"
                f" {each.pepper_fingerprint}; name it in DEEDS_PEPPERS_OLD"
                " (or DEEDS_PEPPER)"
            )
    return policies[0]


def pepper_fingerprint(pepper: bytes | None) -> str:
    """Return 16 hex digits that name a pepper and do not tell it, or "" for none."""
    if pepper is None:
        return ""
    return hmac.digest(pepper, b"deeds pepper fingerprint v1", "sha256").hex()[:16]
