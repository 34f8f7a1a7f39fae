"""Carries verbs out: writes operations down, sends them, begins them again at need."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from deeds_client.beginning import UnderWayError
from deeds_client.errors import ProblemError, WalletError
from deeds_client.records import Record

if TYPE_CHECKING:
    from deeds_client.wallet import Wallet

# How often a verb is begun while another copy of the wallet is faster.
_TRIES_MAX = 4
# A number that a copy has used, or has put into the offer that is completed.
_USED = ("used_secret", "duplicate_secret")
# What these take, the wallet has chosen: it can choose again.
_CHOOSING = ("send", "split", "merge", "trade", "complete")

Given = ParamSpec("Given")


Verb = Callable[Concatenate["Wallet", Given], Record]


def carried_out(rule: Verb[Given]) -> Verb[Given]:
    """Make a verb of a rule, which writes down an operation or returns one begun."""

    @wraps(rule)
    def verb(wallet: "Wallet", /, *args: Given.args, **kwargs: Given.kwargs) -> Record:
        wallet.room = wallet.deeds.info().array_length_max
        overtaken: list[ProblemError] = []
        while True:
            try:
                return _once(wallet, lambda: rule(wallet, *args, **kwargs))
            except ProblemError as problem:
                overtaken.append(problem)
                operation = wallet.store.get("operations", problem.key or "")
                if len(overtaken) == _TRIES_MAX or not _was_overtaken(operation):
                    raise
            except WalletError:
                # Where what is left is not enough, the refusal says why.
                if not overtaken:
                    raise
                raise overtaken[-1] from None

    return verb


def _once(wallet: "Wallet", rule: Callable[[], Record]) -> Record:
    begun = None
    while begun is None:
        try:
            with wallet.store.transaction():
                begun = rule()
        except UnderWayError as other:
            try:
                wallet.finish(str(other))
            except ProblemError as problem:
                if not problem.is_final:
                    raise
    if not begun:
        return {}
    ended = wallet.finish(begun["key"], is_first="isNew" in begun)
    if ended["state"] == "refused":
        # Another process was told why.
        told = {"code": ended["code"], "detail": ended["code"], "is_final": True}
        raise ProblemError(key=ended["key"], title="Refused by the service", **told)
    return ended


def _was_overtaken(operation: Record) -> bool:
    """Return whether another copy of this wallet has been faster."""
    code, is_choosing = operation.get("code"), operation.get("kind") in _CHOOSING
    return code in _USED or (is_choosing and code == "spent_input")
