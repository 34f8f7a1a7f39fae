"""What the operator's part has for others."""

import logging
import os

from deeds.part import Ledger, Part
from parts.operator.audit import audit
from parts.operator.commands import COMMANDS
from parts.operator.doctor import run_doctor
from parts.operator.hints import register, unknown_variables
from parts.operator.serve import serve
from parts.operator.tables import check_tables

_log = logging.getLogger("deeds")


def check_start(ledger: Ledger) -> None:
    """Warn of variables that are not settings; raise StartError as `check_tables`."""
    for line in unknown_variables(os.environ):  # noqa: TID251  (their names alone)
        _log.warning(line, extra={"event": "unknown_setting"})
    check_tables(ledger)


def find_violations(ledger: Ledger) -> dict[str, str]:
    """Return where each invariant is violated, by its sentence."""
    return audit(ledger).findings


PART = Part(
    "operator",
    register,
    commands=(serve, run_doctor, *COMMANDS),
    check_start=check_start,
    audit=find_violations,
)
