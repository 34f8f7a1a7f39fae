"""Code shared by all commands: opens the wallet, prints results and errors."""

import json
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from deeds_client import rows, terminal
from deeds_client.errors import CallError, DeedsError, FindingError, WalletError
from deeds_client.service import Deeds
from deeds_client.terminal import say
from deeds_client.values import OperationState, parse_mint_token
from deeds_client.version import __version__
from deeds_client.wallet import Wallet

_DONE, _REFUSED, _BAD_INPUT, _NO_ANSWER, _STOPPED = 0, 1, 2, 3, 130
_STOPPED_MESSAGE = "Stopped. The next command continues what was begun."
_BUT_DONE = (
    "But it is done, or the next command continues it: see deeds-wallet history, and"
    " deeds-wallet balance DEED for links."
)
_SPENT = "Spent already: claimed, or moved by another copy of this wallet."
_NEEDS_TOKEN = "This service mints with a token only: see --token-file."
# Clearer than what the library says, by the code of an error.
_MESSAGES = {"spent_input": _SPENT, "mint_token_required": _NEEDS_TOKEN}
_LINK = re.compile(r"(#|%23)(\+|%2B)|^\+[0-9]", re.IGNORECASE)

_INTERRUPTS = (KeyboardInterrupt, click.Abort)


@dataclass(frozen=True, slots=True)
class Result:
    """The records that a command prints, and its exit code."""

    records: Sequence[rows.Record]
    code: int = _DONE


class _Service(Deeds):
    """The service, which records whether a change was sent."""

    has_sent = False

    def send(self, *arguments: Any, **options: Any) -> Any:
        self.has_sent = True
        return super().send(*arguments, **options)


class _NoService(_Service):
    """Replaces the service for commands that work offline."""

    def _ask(self, *_request: Any) -> Any:
        raise WalletError("nothing_here", "Nothing of this deed is here.")


class Command(click.Command):
    """A command, whose callback takes the wallet and returns a Result."""

    service: type[_Service] = _Service

    def invoke(self, context: click.Context) -> None:
        """Open the wallet, call the callback, print its result and exit."""
        options = context.find_root().params
        path = options["path"]
        try:
            with self.service(options["url"]) as deeds:
                context.find_root().obj = deeds
                # Do not create a wallet for a service that does not exist.
                if not path.exists():
                    deeds.info()
                with closing(Wallet(path, deeds)) as wallet:
                    code = self._call(wallet, deeds, context.params)
        except BrokenPipeError:
            # For example `| head`, which stops reading.
            code = _BAD_INPUT
        except (DeedsError, OSError, UnicodeError, *_INTERRUPTS) as error:
            message, code = outcome(error)
            say(message)
        context.exit(code)

    def _call(self, wallet: Wallet, deeds: _Service, arguments: dict[str, Any]) -> int:
        """Resume begun operations, call the callback and print its result."""
        if self.service is _Service:
            _resume(wallet)
        deeds.has_sent = False
        try:
            if arguments.get("item_id") is not None:
                arguments["item_id"] = find(wallet, arguments["item_id"])
            result: Result = self.callback(wallet, **arguments)  # type: ignore[misc]
            show(wallet, result)
        except (DeedsError, OSError) as error:
            message, code = outcome(error)
            if code != _BAD_INPUT or not deeds.has_sent:
                raise
            say(f"{message} {_BUT_DONE}")
            return _NO_ANSWER
        return result.code


def _resume(wallet: Wallet) -> None:
    """Resume begun operations, and report those that have ended."""
    begun = {operation.key for operation in wallet.history(OperationState.BEGUN)}
    wallet.__enter__()
    for operation in wallet.history() if begun else ():
        if operation.key in begun and operation.state != OperationState.BEGUN:
            verb = rows.verb_of(operation)
            say(f"Begun: {verb} {operation.amount}, {operation.state}.")


class OfflineCommand(Command):
    """A command that reads the wallet's file only."""

    service = _NoService


class MintCommand(Command):
    """A command that mints, with a mint token if the service requires one."""

    def _call(self, wallet: Wallet, deeds: _Service, arguments: dict[str, Any]) -> int:
        file = arguments.pop("token_file")
        is_person = terminal.is_terminal(sys.stdin)
        if file or (is_person and deeds.info().needs_mint_token):
            deeds.mint_token = parse_mint_token(terminal.read_token(file))
        return super()._call(wallet, deeds, arguments)


class Commands(click.Group):
    """The group of all commands, which checks their arguments."""

    command_class = Command

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run a command. Report it in a sentence if click itself cannot print."""
        try:
            return super().main(*arguments, **options)
        except OSError as error:
            message, code = outcome(error)
            say(message)
            sys.exit(code)

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Refuse links in arguments before an error message quotes one."""
        if any(map(_LINK.search, args)):
            raise click.UsageError(
                "A link is cash, and other programs can read arguments: see `claim`."
            )
        return super().parse_args(context, args)


def find(wallet: Wallet, text: str) -> str:
    """Return the id of the deed that an argument names: see `rows.find`."""
    return rows.find(wallet, text, is_minted=option("is_minted"))


def option(name: str) -> Any:
    """Return the value of a global option."""
    return click.get_current_context().find_root().params[name]


def show(wallet: Wallet, result: Result) -> None:
    """Print a result, and on a terminal the QR code of a single link.

    Raise OSError if standard output cannot be written.
    """
    table = [rows.row_of(wallet, record) for record in result.records]
    is_json = option("is_json")
    lines = [json.dumps(table, indent=2)] if is_json else rows.lines_of(table)
    if terminal.is_terminal(sys.stdout) and not is_json and len(table) == 1:
        link = table[0].get("link")
        # An ASCII terminal cannot show block characters.
        if link and "█".encode(sys.stdout.encoding, "ignore"):
            lines += rows.code_of(str(link), shutil.get_terminal_size().columns)
    terminal.write("\n".join(lines))


def outcome(error: BaseException) -> tuple[str, int]:
    """Return the message for an error, and the exit code."""
    if isinstance(error, _INTERRUPTS):
        return _STOPPED_MESSAGE, _STOPPED
    if isinstance(error, OSError):
        return f"{error.filename or 'Standard output'}: {error.strerror}.", _BAD_INPUT
    message = str(error)
    if isinstance(error, CallError | FindingError) and not error.is_final:
        if isinstance(error, CallError) and error.key:
            message += " The next command continues it."
        return message, _NO_ANSWER
    code = getattr(error, "code", "")  # Set by a refusal.
    message = _MESSAGES.get(code, message)
    return message, _REFUSED if code else _BAD_INPUT


FILE = click.Path(dir_okay=False, path_type=Path, resolve_path=True)
_HOME = Path(click.get_app_dir("deeds-wallet")) / "wallet.sqlite3"
_LOCAL = "http://127.0.0.1:8000"

amount = click.argument("amount", type=int)
amounts = click.argument("amounts", type=int, nargs=-1)
deed = click.argument("item_id", metavar="DEED")
reference = click.option(
    "--reference",
    help="A unique text, such as an order number; a repeat does nothing new.",
)
token_file = click.option(
    "--token-file",
    type=FILE,
    envvar="DEEDS_MINT_TOKEN_FILE",
    help="A file with the mint token, if the service requires one.",
)
note = click.option("--note", help="A text to keep with the operation.")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--wallet",
    "path",
    type=FILE,
    envvar="DEEDS_WALLET",
    default=_HOME,
    help="The wallet's file.",
)
@click.option(
    "--url", envvar="DEEDS_URL", default=_LOCAL, help="The address of its service."
)
@click.option(
    "--json", "is_json", is_flag=True, help="Print a JSON array, for programs."
)
@click.option(
    "--minted",
    "is_minted",
    is_flag=True,
    help="Match names of deeds minted by this wallet only.",
)
@click.version_option(__version__, message="deeds-wallet %(version)s")
def main(**_options: Any) -> None:
    """Hold and move deeds. A DEED is its id, or the start of its name or mark."""
