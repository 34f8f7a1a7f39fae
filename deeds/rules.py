"""The rules for requests that do not depend on the ledger.

Each check returns None or raises. Requests are checked before any hashing.
"""

from collections import Counter
from collections.abc import Hashable, Iterable

from deeds import errors
from deeds.model import AMOUNT_MAX, MintRequest, Output, RawOutput, SwapRequest
from deeds.raw_output import is_strong_secret

# Values that have an item id and an amount.
Amounts = Iterable[RawOutput | Output]


def check_mint(request: MintRequest) -> None:
    """Raise an error if a secret repeats, or if the total is above AMOUNT_MAX.

    These are DuplicateSecretError and TotalTooLargeError.
    """
    index = _first_repeated(output.secret for output in request.outputs)
    if index is not None:
        raise errors.DuplicateSecretError(
            "this secret is named twice in the mint", index=index
        )
    if sum(output.amount for output in request.outputs) > AMOUNT_MAX:
        raise errors.TotalTooLargeError(
            f"the amounts must add up to at most {AMOUNT_MAX}"
        )


def check_named_once(request: SwapRequest) -> None:
    """Raise DuplicateInputError or DuplicateSecretError if an item's secret repeats."""
    index = _first_repeated((raw.item_id, raw.secret) for raw in request.raws)
    if index is None:
        return
    if index < len(request.inputs):
        raise errors.DuplicateInputError(index=index)
    raise errors.DuplicateSecretError(
        "this output needs a secret of its own: another input or output of the swap"
        " has it",
        index=index - len(request.inputs),
    )


def check_balance(inputs: Amounts, outputs: Amounts) -> None:
    """Raise UnbalancedError unless each item balances (contract 4.2, rule 1)."""
    if _sums(inputs) != _sums(outputs):
        raise errors.UnbalancedError


def check_strong(secrets: Iterable[str], array: str) -> None:
    """Raise WeakSecretError for the first secret of `array` that is not strong."""
    for index, secret in enumerate(secrets):
        if not is_strong_secret(secret):
            raise errors.WeakSecretError(index=index, array=array)


def units(amounts: Amounts) -> Counter[str]:
    """Return the sum of the amounts of each item."""
    return Counter(_sums(amounts))


def _sums(amounts: Amounts) -> dict[str, int]:
    # A Counter would take three times as long.
    sums: dict[str, int] = {}
    for each in amounts:
        sums[each.item_id] = sums.get(each.item_id, 0) + each.amount
    return sums


def _first_repeated(names: Iterable[Hashable]) -> int | None:
    seen = set()
    for index, name in enumerate(names):
        if name in seen:
            return index
        seen.add(name)
    return None
