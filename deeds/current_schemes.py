"""What the settings say of hashing: the scheme that new outputs get, and the peppers at hand."""

from deeds.domain.hashing import STRONG_COST, pepper_fingerprint
from deeds.domain.records import SchemeSpec, SecretClass
from deeds.settings import Settings


def current_schemes(settings: Settings) -> dict[SecretClass, SchemeSpec]:
    """Return the scheme that new outputs of each class get."""
    fingerprint = pepper_fingerprint(settings.pepper) if settings.pepper else ""
    return {
        SecretClass.ORDINARY: SchemeSpec(SecretClass.ORDINARY, settings.ordinary_cost, fingerprint),
        SecretClass.STRONG: SchemeSpec(SecretClass.STRONG, STRONG_COST, fingerprint),
    }


def peppers_at_hand(settings: Settings) -> dict[str, bytes]:
    """Return the peppers by fingerprint, the current one first."""
    current = (settings.pepper,) if settings.pepper else ()
    return {pepper_fingerprint(pepper): pepper for pepper in (*current, *settings.peppers_old)}
