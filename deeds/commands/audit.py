"""The command `deeds audit`: proves that no unit was lost or made."""

import sys

import click
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from storage.audit import audit
from storage.audit_report import AuditReport
from storage.counts import LedgerCounts
from storage.failures import cause_of
from storage.schema import check_schema


def audit_command(engine: Engine) -> click.Command:
    """Return the command on an engine."""

    @click.command("audit")
    def run_audit() -> None:
        """Check every invariant of the ledger. The service may run meanwhile.

        Ends with exit code 1 where one is broken.
        """
        check_schema(engine)
        report = audit_with_progress(engine)
        click.echo(counts_text(report.counts))
        if not report.is_clean:
            raise click.ClickException(findings_text(report))
        click.echo("Every invariant holds.")

    return run_audit


def audit_with_progress(engine: Engine) -> AuditReport:
    """Audit a ledger and show how far it is, if somebody is there to see it.

    Raises:
        ClickException: the database does not answer.
    """
    hidden = not sys.stderr.isatty()
    try:
        with click.progressbar(length=1, label="Auditing", file=sys.stderr, hidden=hidden) as bar:

            def show(steps: int, steps_count: int) -> None:
                bar.length = steps_count
                bar.update(steps)

            return audit(engine, show)
    except DBAPIError as error:
        raise click.ClickException(f"the ledger cannot be read: {cause_of(error)}") from None


def counts_text(counts: LedgerCounts) -> str:
    """Return the numbers of rows, one kind a line."""
    return "\n".join(
        f"{name:<14} {number:>15,}"
        for name, number in [
            ("items", counts.items),
            ("mints", counts.mints),
            ("swaps", counts.swaps),
            ("live outputs", counts.live_outputs),
            ("spent outputs", counts.spent_outputs),
        ]
    )


def findings_text(report: AuditReport) -> str:
    """Return each invariant that is broken, and where."""
    lines = [f"  {invariant}: {finding}" for invariant, finding in report.findings.items()]
    return "\n".join(["the ledger is broken. Not so, at:", *lines])
