"""The rules that a request must keep whatever the ledger holds.

Pure; checked before any hashing. Each check returns None or raises. Storage asserts the
balance once more inside its transaction.
"""

from collections import Counter
from collections.abc import Container, Hashable, Iterable

from deeds.domain import errors
from deeds.domain.model import AMOUNT_MAX, MintRequest, Output, RawOutput, SwapRequest
from deeds.domain.raw_output import ITEM_ID_PREFIX, is_id, is_strong_secret

# Anything with units of an item.
Amounts = Iterable[RawOutput | Output]


def check_mint(request: MintRequest) -> None:
    """Raise DuplicateSecretError, or TotalTooLargeError above AMOUNT_MAX."""
    repeated = _first_repeated(output.secret for output in request.outputs)
    if repeated is not None:
        raise errors.DuplicateSecretError(
            "this secret is named twice in the mint", index=repeated
        )
    if sum(output.amount for output in request.outputs) > AMOUNT_MAX:
        raise errors.TotalTooLargeError(
            f"the amounts must add up to at most {AMOUNT_MAX}"
        )


def check_swap(request: SwapRequest) -> None:
    """Raise as `check_named_once`, and UnbalancedError unless every item balances."""
    check_named_once(request)
    check_balance(request.inputs, request.outputs)


def check_offer(half: SwapRequest) -> None:
    """Raise as `check_named_once`, and for a half of a swap that cannot be offered.

    WeakSecretError where an output's secret is not a strong one; NotAnOfferError where
    it wants nothing.
    """
    check_named_once(half)
    check_strong([raw.secret for raw in half.outputs], "outputs")
    if not excess(half.outputs, half.inputs):
        raise errors.NotAnOfferError


def check_strong(secrets: Iterable[str], array: str) -> None:
    """Raise WeakSecretError for the first secret of an array that no machine made."""
    for index, secret in enumerate(secrets):
        if not is_strong_secret(secret):
            raise errors.WeakSecretError(index=index, array=array)


def check_named_once(request: SwapRequest) -> None:
    """Raise DuplicateInputError or DuplicateSecretError where a secret repeats."""
    repeated = _first_repeated((raw.item_id, raw.secret) for raw in request.raws)
    if repeated is not None:
        output_index = repeated - len(request.inputs)
        if output_index < 0:
            raise errors.DuplicateInputError(index=repeated)
        raise errors.DuplicateSecretError(
            "this output needs a secret of its own: another input or output of the"
            " swap has it",
            index=output_index,
        )


def check_balance(inputs: Amounts, outputs: Amounts) -> None:
    """Raise UnbalancedError unless each item balances (contract 4.2, rule 1)."""
    if _sums(inputs) != _sums(outputs):
        raise errors.UnbalancedError


def item_ids_of(raws: Iterable[RawOutput]) -> set[str]:
    """Return the ids in the raw outputs, but those of a form that no item has."""
    return {raw.item_id for raw in raws if is_id(ITEM_ID_PREFIX, raw.item_id)}


def check_items(request: SwapRequest, item_ids: Container[str]) -> None:
    """Raise UnknownItemError for the first input, else output, of none of the items."""
    for name, raws in (("inputs", request.inputs), ("outputs", request.outputs)):
        unknown = [
            index for index, raw in enumerate(raws) if raw.item_id not in item_ids
        ]
        if unknown:
            raise errors.UnknownItemError(
                index=unknown[0],
                array=name,
                failed_secrets_count=len(unknown) if name == "inputs" else 0,
            )


def excess(some: Amounts, others: Amounts = ()) -> dict[str, int]:
    """Return by how many units some are more than the others, by item id, in order."""
    return dict(sorted((_sums(some) - _sums(others)).items()))


def expires_at_s(created_at_ms: int, expires_in_s: int) -> int:
    """Return when an offer expires, in seconds since 1970-01-01 UTC, rounded up."""
    return -(-created_at_ms // 1000) + expires_in_s


def _first_repeated(names: Iterable[Hashable]) -> int | None:
    seen = set()
    for index, name in enumerate(names):
        if name in seen:
            return index
        seen.add(name)
    return None


def _sums(amounts: Amounts) -> Counter[str]:
    sums: Counter[str] = Counter()
    for each in amounts:
        sums[each.item_id] += each.amount
    return sums
