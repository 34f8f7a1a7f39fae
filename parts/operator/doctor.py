"""`deeds doctor`: checks for common mistakes of operators, with a line for each."""

import os
from collections.abc import Collection, Iterator, Set
from dataclasses import fields
from pathlib import Path
from time import time

import click

from deeds.errors import RetryLaterError, StartError
from deeds.model import Operation
from deeds.part import CommandContext, Finding, Ledger, check_limit_names
from deeds.process import (
    CONNECTIONS_MAX,
    CONNECTIONS_MIN,
    OTHER_FILES_MAX,
    open_files_max,
    print_line,
)
from deeds.settings import Settings
from parts.operator.disks import examine_backups, examine_disk
from parts.operator.hints import invalid_settings, unknown_variables
from parts.operator.public_url import PublicUrl, examine_url, read_url
from parts.operator.tables import compare_tables, refuse_differences
from storage.files import has_content, reason_unwritable
from storage.repository import read_last_operation
from storage.schema import check_versions
from storage.sqlite import sqlite_path

# NTP keeps the clocks of machines within a second of each other.
CLOCK_SECONDS_MAX = 5

_PEPPERS = ("pepper", "peppers_old")
_READ_FINGERPRINTS = "SELECT pepper_fingerprint FROM hash_policies ORDER BY id"


@click.command("doctor")
@click.option(
    "--backups",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Look at the newest backup in this directory.",
)
@click.option(
    "--url",
    metavar="URL",
    callback=read_url,
    help="Ask the service at its public address, such as https://deeds.example.org.",
)
@click.pass_obj
def run_doctor(
    context: CommandContext, backups: Path | None, url: PublicUrl | None
) -> None:
    """Examine the installation, and print one line for each check.

    A line is ok, unknown or wrong; a wrong one ends with the remedy and sets the exit
    code to 1. Changes nothing. The service can be running.
    """
    is_sound = True
    for finding in _examine(context, backups, url):
        print_line(f"{finding.state:<8} {finding.subject:<12} {finding.text}")
        is_sound = is_sound and finding.state != "wrong"
    if not is_sound:
        raise click.exceptions.Exit(1)


def _examine(
    context: CommandContext, backups: Path | None, url: PublicUrl | None
) -> Iterator[Finding]:
    environ = os.environ  # noqa: TID251  (the table of settings reads it)
    invalid = invalid_settings(environ)
    reasons = [*invalid.values(), *unknown_variables(environ)]
    ledger = None
    try:
        # Read only the valid settings; the others keep their defaults.
        names = {field.name for field in fields(Settings)} - invalid.keys()
        ledger = context.open_ledger(*names)
    except StartError as stop:
        unusable = Finding("wrong", "ledger", stop.reason)
    else:
        reasons += _wrong_limits(ledger)
    yield from _examine_settings(reasons)
    if ledger is None:
        yield unusable
    else:
        yield from _examine_ledger(ledger, invalid.keys())
    yield _examine_open_files()
    yield examine_backups(backups, ledger)
    settings = None
    if ledger is not None and not invalid:
        settings = ledger.settings
    yield from examine_url(url, settings)


def _wrong_limits(ledger: Ledger) -> list[str]:
    """Return why the service refuses the names in DEEDS_RATE_LIMITS, if it does."""
    try:
        check_limit_names(ledger.settings, ledger.parts)
    except StartError as stop:
        return [stop.reason]
    return []


def _examine_settings(reasons: Collection[str]) -> Iterator[Finding]:
    for reason in reasons:
        yield Finding("wrong", "settings", reason)
    if not reasons:
        yield Finding("ok", "settings", "all that are set are valid")


def _examine_ledger(ledger: Ledger, invalid: Set[str]) -> Iterator[Finding]:
    """Yield findings on the ledger, its disk, clock and peppers, and those of parts.

    `invalid` are the names of invalid settings.
    """
    url = ledger.settings.database_url
    path = sqlite_path(url) if url.startswith("sqlite") else None
    if path is not None:
        # Do this before opening the ledger, which may truncate its WAL.
        yield examine_disk(path)
    try:
        if path is not None:
            _check_file(path)
        check_versions(ledger.database, ledger.schemas)
        # Further indexes, which a start warns of, are no finding.
        differences, _ = compare_tables(ledger)
        refuse_differences(differences)
        last = read_last_operation(ledger.database)
        rows = ledger.database.read(_READ_FINGERPRINTS)
    except (StartError, RetryLaterError) as error:
        advice = "see the log of its server"
        if path is not None:
            advice = "if that lasts, restore a backup (docs/backups.md)"
        reason = getattr(error, "reason", f"{error}; {advice}")
        yield Finding("wrong", "ledger", reason)
        yield Finding("unknown", "pepper", "the ledger cannot be read")
    else:
        state = f"operation {last.id} of {last.created_at}" if last.id else "empty"
        yield Finding("ok", "ledger", f"{ledger.database.name}, {state}")
        yield _examine_clock(last)
        fingerprints = [fingerprint for (fingerprint,) in rows]
        yield _examine_peppers(ledger.settings, fingerprints, invalid)
    for part in ledger.parts:
        if part.examine is not None:
            yield from part.examine(ledger)


def _check_file(path: Path) -> None:
    """Raise StartError unless there is an SQLite file that this user may write."""
    if reason := _reason_unusable(path):
        raise StartError(f"DATABASE_URL: {reason}")


def _reason_unusable(path: Path) -> str:
    """Return why the file is missing or may not be written, else ""."""
    directory = path.parent.absolute()
    if reason := reason_unwritable(directory):
        return reason
    if not directory.is_dir():
        return f"there is no directory {directory}; is its disk mounted?"
    if not has_content(path):
        return (
            f"there is no ledger at {path.absolute()}; is its disk mounted? The first"
            " start of the service makes a new one"
        )
    return reason_unwritable(path)


def _examine_clock(last: Operation) -> Finding:
    ahead_s = last.created_at_ms / 1000 - time()
    if ahead_s <= CLOCK_SECONDS_MAX:
        return Finding("ok", "clock", "not behind the newest operation")
    return Finding(
        "wrong",
        "clock",
        f"it is {ahead_s:,.0f} s behind the newest operation; let NTP set it"
        " (timedatectl set-ntp true)",
    )


def _examine_peppers(
    settings: Settings, fingerprints: Collection[str], invalid: Set[str]
) -> Finding:
    """Compare the peppers of the settings with those of items, by fingerprints."""
    if not invalid.isdisjoint(_PEPPERS):
        return Finding("unknown", "pepper", "a setting of peppers is invalid")
    missing = [name for name in fingerprints if name not in settings.peppers]
    if missing:
        return Finding(
            "wrong",
            "pepper",
            "items were minted under the pepper with the fingerprint"
            f" {', '.join(missing)}; without it they are lost: name it in"
            " DEEDS_PEPPERS_OLD (or DEEDS_PEPPER)",
        )
    current = settings.hash_policy.pepper_fingerprint
    if current:
        text = f"new items get {current}, and those of all items are there"
    elif any(fingerprints):
        text = "those of all items are there; new items get none: set DEEDS_PEPPER"
    else:
        text = "none is used; with one, a stolen ledger does not help to guess secrets"
    return Finding("ok", "pepper", text)


def _examine_open_files() -> Finding:
    """Compare the shell's limit of open files with the need of a worker."""
    files_max = open_files_max()
    needed = CONNECTIONS_MAX + OTHER_FILES_MAX
    if files_max >= needed:
        text = f"this shell permits the {needed} that a process needs; a unit of"
        return Finding("ok", "open files", f"{text} systemd has its own LimitNOFILE=")
    least = CONNECTIONS_MIN + OTHER_FILES_MAX
    effect = "takes fewer connections" if files_max >= least else "does not start"
    return Finding(
        "wrong",
        "open files",
        f"this shell permits {files_max}, with which the service {effect}; set"
        f" ulimit -n, or LimitNOFILE= of its unit, to {needed}",
    )
