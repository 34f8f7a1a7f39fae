"""Runs commands of `flask --app app deeds` in this process, which saves starting another one."""

from click.testing import CliRunner, Result

from deeds.cli import deeds_commands
from deeds.settings import Settings
from storage.engine import make_engine, parse_database_url


def invoke(settings: Settings, *arguments: str, said: str = "") -> Result:
    """Run a command as an operator does who then types what is `said`."""
    engine = make_engine(parse_database_url(settings.database_url))
    try:
        return CliRunner().invoke(deeds_commands(engine, settings), arguments, input=said)
    finally:
        engine.dispose()
