"""The rules that a request must keep whatever the ledger holds. Pure; checked before any hashing.

Each check returns None or raises. Storage asserts the balance once more inside its transaction.
"""

from collections import Counter
from collections.abc import Iterable

from deeds.domain.errors import (
    DuplicateInputError,
    DuplicateSecretError,
    TotalTooLargeError,
    UnbalancedError,
)
from deeds.domain.model import AMOUNT_MAX, MintRequest, Output, RawOutput, SwapRequest

# Anything with units of an item.
Amounts = Iterable[RawOutput] | Iterable[Output]


def check_mint(request: MintRequest) -> None:
    """Check that the secrets differ and the total fits.

    Raises:
        DuplicateSecretError: a secret is named twice.
        TotalTooLargeError: the total is above AMOUNT_MAX.
    """
    seen: set[str] = set()
    for index, output in enumerate(request.outputs):
        if output.secret in seen:
            raise DuplicateSecretError("this secret is named twice in the mint", index=index)
        seen.add(output.secret)
    if sum(output.amount for output in request.outputs) > AMOUNT_MAX:
        raise TotalTooLargeError(f"the amounts must add up to at most {AMOUNT_MAX}")


def check_swap(request: SwapRequest) -> None:
    """Check that no secret of an item is named twice and that every item balances.

    Raises:
        DuplicateInputError: an input is named twice.
        DuplicateSecretError: an output names a secret that an input or an earlier output names.
        UnbalancedError: inputs and outputs of an item add up to different amounts.
    """
    seen: set[tuple[str, str]] = set()
    for index, source in enumerate(request.inputs):
        if _named(source) in seen:
            raise DuplicateInputError(index=index)
        seen.add(_named(source))
    for index, output in enumerate(request.outputs):
        if _named(output) in seen:
            raise DuplicateSecretError(
                "this output needs a secret of its own: another input or output of the swap has it",
                index=index,
            )
        seen.add(_named(output))
    check_balance(request.inputs, request.outputs)


def check_balance(inputs: Amounts, outputs: Amounts) -> None:
    """Check that for every item the inputs add up to the outputs (contract 4.2, rule 1).

    Raises:
        UnbalancedError: they do not.
    """
    if _sums(inputs) != _sums(outputs):
        raise UnbalancedError


def _named(output: RawOutput) -> tuple[str, str]:
    return output.item_id, output.secret


def _sums(amounts: Amounts) -> Counter[str]:
    sums: Counter[str] = Counter()
    for each in amounts:
        sums[each.item_id] += each.amount
    return sums
