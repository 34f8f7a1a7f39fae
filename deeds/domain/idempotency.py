"""What a repeated request is.

The ledger is the record: an operation stores a hash of its key. A request with that key
is a repetition if it names the very outputs that the operation spent and created. So
nothing is stored that a secret could be guessed from
(docs/decisions/0003-idempotency-in-the-ledger.md).
"""

from deeds.domain.errors import IdempotencyKeyReusedError
from deeds.domain.model import Operation, SwapRecord, SwapRequest
from deeds.domain.outputs import OutputFinder

_NO_HALF = SwapRecord((), ())


def check_same(
    operation: Operation,
    request: SwapRequest,
    finder: OutputFinder,
    client: str,
    half: SwapRecord = _NO_HALF,
) -> None:
    """Raise IdempotencyKeyReusedError unless the request is what the operation did.

    It names the outputs that the operation spent and created, all of them, but for the
    half of an offer, which it must not name.
    """
    inputs_count = len(request.inputs) + len(half.inputs)
    outputs_count = len(request.outputs) + len(half.outputs)
    counts = (operation.inputs_count, operation.outputs_count)
    if counts != (inputs_count, outputs_count):
        raise IdempotencyKeyReusedError(failed_secrets_count=1)
    found = finder.find(request.raws, client)
    inputs, outputs = found[: len(request.inputs)], found[len(request.inputs) :]
    operation_ids = {each and each.spent_by for each in inputs}
    operation_ids |= {each and each.created_by for each in outputs}
    of_half = {*half.inputs, *half.outputs}
    names_half = any(each and each.output in of_half for each in found)
    if operation_ids != {operation.id} or names_half:
        raise IdempotencyKeyReusedError(failed_secrets_count=max(1, found.count(None)))
