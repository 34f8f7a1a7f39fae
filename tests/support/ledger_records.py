"""Records as the service hands them to the ledger, made up.

Also such as it would never make.
"""

import secrets

from deeds.domain.model import Item, MintRecord, Output, OutputKey, SwapRecord

ITEM_ID = "deed_00000000000000000000000000"
OTHER_ID = "deed_11111111111111111111111111"


def output(scheme_id, amount, item_id=ITEM_ID):
    """Return an output of a digest that no other has."""
    return Output(OutputKey(item_id, secrets.token_bytes(32)), scheme_id, amount)


def mint_record(*outputs, key_hashes=()):
    """Return the mint of an item with these outputs."""
    item = Item(outputs[0].item_id, sum(each.amount for each in outputs), None)
    return MintRecord(item, secrets.token_bytes(16), outputs, key_hashes)


def add_item(repository, number):
    """Mint an item of this number under the first scheme; return the operation."""
    scheme = repository.read_schemes()[0]
    return repository.record_mint(
        mint_record(output(scheme.id, 5, f"deed_{number:026}"))
    )


def swap_record(
    inputs, outputs, *, schemes_count=1, schemes_added=frozenset(), key_hashes=()
):
    """Return a swap of one item whose outputs were hashed under so many schemes."""
    return SwapRecord(
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        outputs_forbidden={},
        schemes_counts={inputs[0].item_id: schemes_count},
        schemes_added=schemes_added,
        idempotency_key_hashes=key_hashes,
    )
