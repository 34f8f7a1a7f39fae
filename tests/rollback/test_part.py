"""The part in the application: its database, its file and its command."""

import pytest
from click.testing import CliRunner

from app import create_app
from deeds.part import CommandContext, Ledger, Retries
from deeds.settings import Settings
from parts.rollback.part import PART
from storage.schema import CORE
from tests.rollback.ledgers import lacks, lose, open_database, write_operation


@pytest.fixture
def settings(path):
    return Settings(database_url=f"sqlite:///{path}")


@pytest.fixture
def open_ledger(path, closing_all):
    """A function that opens the ledger as the application does."""

    def open_with(settings):
        database = PART.wrap_database(settings, open_database(path), Retries())
        closing_all.callback(database.close)
        return Ledger(settings, database, [CORE], [])

    return open_with


def test_the_command_lowers_the_file_of_the_ledger(open_ledger, settings, path):
    ledger = open_ledger(settings)
    ledger.database.check_start()
    lost = write_operation(ledger.database)
    ledger.database.close()
    lose(path, lost)

    [command] = PART.commands
    ran = CliRunner().invoke(
        command,
        ["--yes"],
        obj=CommandContext(lambda: open_ledger(settings), create_app),
    )

    assert command.name == "accept-rollback"
    assert lacks(1).match(ran.stdout)
    assert ran.stdout.endswith("accepted: the ledger continues after operation 0\n")
    open_ledger(settings).database.check_start()
