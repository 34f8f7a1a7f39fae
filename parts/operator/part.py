"""The operator part: commands, checks at startup, audit."""

import logging
import os
from functools import partial

from flask import Flask

from deeds.part import Core, Ledger, Part
from parts.operator.audit import audit
from parts.operator.commands import COMMANDS
from parts.operator.doctor import run_doctor
from parts.operator.hints import unknown_variables, warn_of_proxies
from parts.operator.serve import serve
from parts.operator.tables import check_tables
from storage.schema import READ_VERSIONS

_log = logging.getLogger("deeds")


def register(app: Flask, core: Core) -> None:
    """Warn of proxies; let workers open the SQLite file before the first request.

    `restore` then detects that the service runs.
    """
    warn_of_proxies(app, core)
    if core.settings.database_url.startswith("sqlite"):
        # gunicorn_conf.py calls this after the fork, before the first request.
        read = partial(core.database.read, READ_VERSIONS)
        app.extensions["deeds_open_file"] = read


def check_start(ledger: Ledger) -> None:
    """Warn of variables that are not settings; raise StartError if tables differ."""
    for line in unknown_variables(os.environ):  # noqa: TID251  (their names alone)
        _log.warning(line, extra={"event": "unknown_setting"})
    check_tables(ledger)


def find_violations(ledger: Ledger) -> dict[str, str]:
    """Return the places of violations by invariant."""
    return audit(ledger).violations


PART = Part(
    "operator",
    register,
    commands=(serve, run_doctor, *COMMANDS),
    check_start=check_start,
    audit=find_violations,
)
