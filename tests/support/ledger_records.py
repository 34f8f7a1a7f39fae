"""Records as the service hands them to the ledger, made up.

Also such as it would never make.
"""

import secrets

from deeds.domain.model import (
    Argon2Cost,
    HashPolicy,
    Item,
    ItemHashing,
    MintRecord,
    Output,
    OutputKey,
)

ITEM_ID = "deed_00000000000000000000000000"
OTHER_ID = "deed_11111111111111111111111111"
POLICY = HashPolicy(Argon2Cost(8, 1, 1), "")


def output(amount, item_id=ITEM_ID):
    """Return an output of a digest that no other has."""
    return Output(OutputKey(item_id, secrets.token_bytes(32)), amount)


def mint_record(*outputs, key_hash=None, policy=POLICY):
    """Return the mint of an item with these outputs."""
    item = Item(outputs[0].item_id, sum(each.amount for each in outputs), None)
    hashing = ItemHashing(secrets.token_bytes(16), policy, item.total)
    return MintRecord(item, hashing, outputs, key_hash)


def add_item(repository, number):
    """Mint an item of this number; return the operation."""
    return repository.record_mint(mint_record(output(5, f"deed_{number:026}")))
