"""Runs commands of `flask --app app deeds` in this process, which saves starting another one."""

from click.testing import CliRunner

from deeds.cli import deeds_commands
from storage.engine import make_engine, parse_database_url


def invoke(settings, *arguments, said=""):
    """Run a command as an operator does who then types what is `said`."""
    engine = make_engine(parse_database_url(settings.database_url))
    try:
        return CliRunner().invoke(deeds_commands(engine, settings), arguments, input=said)
    finally:
        engine.dispose()
