"""How the rows of a ledger can be wrong, and what an audit says of it."""

ADD_OPERATION = (
    "INSERT INTO operations (id, kind, created_at_ms) VALUES ({id}, '{kind}', 0)"
)

ITEM_TOTAL = "the live outputs of an item sum to its total"
ITEM_POLICY = "an item names a hash policy that is known"
OPERATION_BALANCE = "an operation gives as many units of an item as it takes, or mints"
OPERATION_KIND = "an operation mints an item, swaps or moves nothing, as its kind says"
OFFER = (
    "an offer names what exists, and was completed in time by a swap that holds its"
    " half"
)
OFFER_MAKING = "the making of an offer has an offer, and no other operation has one"
OFFER_TIME = "an offer has the form of an id, and expires in time after its making"
OFFER_WANTS = "an offer wants something, and of no item more than there is"
ITEM_ID = "an item has the form of an id"
KIND_KNOWN = "an operation has a kind that is known"
POLICY = "a hash policy is one that a setting can ask for"
METADATA = "metadata is JSON as a mint writes it"

# What is changed behind the service's back, and all that an audit then says. In the
# ledger, operation 1 mints 5 and 3 units of {a}, 2 mints 7 of {b}, 3 splits the 5 into
# 2 and 3, and 4 trades 3 of {a} and 7 of {b}. 7 offers one item for another and 8
# completes that, {done}; 9 offers what was got by it, {open}.
TAMPERED = {
    "the id of an item": (
        (
            "UPDATE items SET id = '{a}0' WHERE id = '{a}';"
            " UPDATE outputs SET item_id = '{a}0' WHERE item_id = '{a}'"
        ),
        {ITEM_ID: "{a}0"},
    ),
    "the letters of the id of an item": (
        (
            "UPDATE items SET id = substr(id, 1, 30) || 'u' WHERE id = '{b}';"
            " UPDATE outputs SET item_id = substr(item_id, 1, 30) || 'u'"
            " WHERE item_id = '{b}'"
        ),
        {ITEM_ID: "{b:.30}u"},
    ),
    "the id of an offer": (
        (
            "UPDATE offers SET id = substr(id, 1, 31) WHERE id = '{open}';"
            " UPDATE offer_inputs SET offer_id = '{open:.31}'"
            " WHERE offer_id = '{open}';"
            " UPDATE offer_outputs SET offer_id = '{open:.31}'"
            " WHERE offer_id = '{open}'"
        ),
        {OFFER_TIME: "{open:.31}"},
    ),
    "an operation of no kind": (
        ADD_OPERATION.format(id=99, kind="gift"),
        {KIND_KNOWN: "99"},
    ),
    "a hash policy of too little memory": (
        "UPDATE hash_policies SET memory_cost_kib = 7",
        {POLICY: "0"},
    ),
    "a hash policy of no passes": (
        "UPDATE hash_policies SET time_cost = 0",
        {POLICY: "0"},
    ),
    "a pepper of no fingerprint": (
        "UPDATE hash_policies SET pepper_fingerprint = 'pepper'",
        {POLICY: "0"},
    ),
    "the total of an item": (
        "UPDATE items SET total = 9 WHERE id = '{a}'",
        {ITEM_TOTAL: "{a}", OPERATION_BALANCE: "1 ({a})"},
    ),
    "inputs are live again": (
        "UPDATE outputs SET spent_by = NULL WHERE spent_by = 3",
        {
            ITEM_TOTAL: "{a}",
            OPERATION_BALANCE: "3 ({a})",
            OPERATION_KIND: "3",
        },
    ),
    "outputs are gone": (
        "DELETE FROM outputs WHERE created_by = 4",
        {
            ITEM_TOTAL: "{a}, {b}",
            OPERATION_BALANCE: "4 ({a}), 4 ({b})",
            OPERATION_KIND: "4",
        },
    ),
    "inputs move from one swap to another": (
        "UPDATE outputs SET amount = 8 - amount WHERE created_by = 1",
        {OPERATION_BALANCE: "3 ({a}), 4 ({a})"},
    ),
    "units turn into those of another item": (
        "UPDATE outputs SET item_id = '{b}' WHERE created_by = 3 AND amount = 3",
        {
            ITEM_TOTAL: "{a}, {b}",
            OPERATION_BALANCE: "3 ({a}), 3 ({b})",
        },
    ),
    "a swap that did nothing": (
        ADD_OPERATION.format(id=99, kind="swap"),
        {OPERATION_KIND: "99"},
    ),
    "a mint that did nothing": (
        ADD_OPERATION.format(id=99, kind="mint"),
        {OPERATION_KIND: "99"},
    ),
    "a mint without an item": (
        "UPDATE operations SET kind = 'mint' WHERE id = 3",
        {OPERATION_KIND: "3"},
    ),
    "a swap that mints": (
        "UPDATE operations SET kind = 'swap' WHERE id = 2",
        {OPERATION_KIND: "2"},
    ),
    "an operation is gone": (
        "DELETE FROM operations WHERE id = 3",
        {OPERATION_KIND: "3"},
    ),
    "an item is gone": (
        "DELETE FROM items WHERE id = '{b}'",
        {OPERATION_BALANCE: "2 ({b})", OPERATION_KIND: "2"},
    ),
    "a hash policy that is not there": (
        "UPDATE items SET hash_policy_id = 99 WHERE id = '{b}'",
        {ITEM_POLICY: "{b}"},
    ),
    "a making without its offer": (
        "UPDATE operations SET kind = 'offer' WHERE id = 3",
        {OPERATION_KIND: "3", OFFER_MAKING: "3"},
    ),
    "an offer is gone": (
        "DELETE FROM offers WHERE id = '{open}'",
        {OFFER_MAKING: "9", OFFER: "{open}"},
    ),
    "a making that moves units": (
        "UPDATE outputs SET spent_by = 9 WHERE spent_by = 3",
        {
            OPERATION_BALANCE: "3 ({a}), 9 ({a})",
            OPERATION_KIND: "3, 9",
        },
    ),
    "an offer without its outputs": (
        "DELETE FROM offer_outputs WHERE offer_id = '{open}'",
        {OFFER_WANTS: "{open}"},
    ),
    "an offer of an input that is not there": (
        "UPDATE offer_inputs SET item_id = '{a}' WHERE offer_id = '{open}'",
        {OFFER: "{open}"},
    ),
    "an offer that wants an item that is not there": (
        "UPDATE offer_outputs SET item_id = 'deed_z' WHERE offer_id = '{open}'",
        {OFFER: "{open}"},
    ),
    "a completion that came too late": (
        "UPDATE offers SET expires_at_s = 1 WHERE id = '{done}'",
        {OFFER: "{done}", OFFER_TIME: "{done}"},
    ),
    "a completion that spent another input": (
        (
            "UPDATE offer_inputs SET digest ="
            " (SELECT digest FROM offer_inputs WHERE offer_id = '{open}')"
            " WHERE offer_id = '{done}'"
        ),
        {OFFER: "{done}"},
    ),
    "a completion that created another output": (
        "UPDATE offer_outputs SET item_id = '{a}' WHERE offer_id = '{done}'",
        {OFFER: "{done}"},
    ),
    "a completion that created another amount": (
        "UPDATE offer_outputs SET amount = amount - 1 WHERE offer_id = '{done}'",
        {OFFER: "{done}"},
    ),
    "an offer that expires too soon": (
        "UPDATE offers SET expires_at_s = {made_at_s} + 59 WHERE id = '{open}'",
        {OFFER_TIME: "{open}"},
    ),
    "an offer that expires too late": (
        "UPDATE offers SET expires_at_s = {made_at_s} + 2592001 WHERE id = '{open}'",
        {OFFER_TIME: "{open}"},
    ),
    "an offer whose making is not there": (
        "UPDATE offers SET created_by = 99 WHERE id = '{open}'",
        {OFFER_MAKING: "9", OFFER_TIME: "{open}"},
    ),
    "an offer that a swap has made": (
        "UPDATE offers SET created_by = 4 WHERE id = '{open}'",
        {OFFER_MAKING: "4, 9"},
    ),
    "an offer that wants nothing": (
        (
            "UPDATE offer_outputs SET amount = 4, item_id ="
            " (SELECT item_id FROM offer_inputs WHERE offer_id = '{open}')"
            " WHERE offer_id = '{open}'"
        ),
        {OFFER_WANTS: "{open}"},
    ),
    "an offer that wants more than there is": (
        "UPDATE offer_outputs SET amount = 7 WHERE offer_id = '{open}'",
        {OFFER_WANTS: "{open}"},
    ),
    "a completion before the making": (
        (
            "UPDATE offers SET created_by = 99 WHERE id = '{open}';"
            " UPDATE offers SET created_by = 9 WHERE id = '{done}';"
            " UPDATE offers SET created_by = 7 WHERE id = '{open}'"
        ),
        {OFFER: "{done}"},
    ),
    "a completion by a mint": (
        (
            "INSERT INTO operations (id, kind, created_at_ms) VALUES (99, 'mint', 0);"
            " INSERT INTO items SELECT 'deed_' || substr('{a}', 6, 25) || '{other}',"
            " 1, NULL, salt, hash_policy_id, 99 FROM items WHERE id = '{a}';"
            " INSERT INTO outputs SELECT items.id, digest, 1, 99, NULL"
            " FROM outputs, items WHERE outputs.created_by = 2"
            " AND items.created_by = 99;"
            " DELETE FROM offer_inputs WHERE offer_id = '{open}';"
            " DELETE FROM offer_outputs WHERE offer_id = '{open}';"
            " INSERT INTO offer_outputs SELECT '{open}', item_id, digest, 1"
            " FROM outputs WHERE created_by = 99;"
            " UPDATE offers SET completed_by = 99 WHERE id = '{open}'"
        ),
        {OFFER: "{open}"},
    ),
}

# What a mint would not have written as metadata.
NO_METADATA = {
    "nothing": "",
    "no JSON": "{{",
    "deep JSON": "[" * 100_000,
    "JSON of another type": '["name"]',
    "null": "null",
    "spaces": '{"name": "a"}',
    "another order": '{"image":"ipfs://a","name":"a"}',
    "another key": '{"title":"a"}',
    "a key twice": '{"name":"a","name":"a"}',
    "a number": '{"name":5}',
    "an escape": '{"name":"\\u00e9"}',
    "a script for an image": '{"image":"javascript:a"}',
}

# Text, in the way of SQLite, that is not UTF-8, or ends early for its functions.
BAD_BYTES = {
    "metadata": (
        (
            "UPDATE items SET metadata = CAST(x'7b226e616d65223a225cff227d' AS TEXT)"
            " WHERE id = '{a}'"
        ),
        {METADATA: "{a}"},
    ),
    "an id with a NUL": (
        (
            "UPDATE items SET id = id || char(0) || '0' WHERE id = '{a}';"
            " UPDATE outputs SET item_id = item_id || char(0) || '0'"
            " WHERE item_id = '{a}'"
        ),
        {ITEM_ID: "{a}\0000"},
    ),
    "an id": (
        (
            "UPDATE items SET id = id || CAST(x'ff' AS TEXT) WHERE id = '{a}';"
            " UPDATE outputs SET item_id = item_id || CAST(x'ff' AS TEXT)"
            " WHERE item_id = '{a}'"
        ),
        {ITEM_ID: "{a}\\udcff"},
    ),
}

# A value of another type: the table, and what is set in it while it is not STRICT.
OTHER_TYPES = {
    "an item of 2.5 units": ("items", "total = 2.5"),
    "an amount of 2.5 units": ("outputs", "amount = 2.5"),
    "an amount of an offer as text": ("offer_inputs", "amount = 'all'"),
    "a digest as text": ("outputs", "digest = substr(hex(digest), 1, 32)"),
    "a digest of an offer as text": (
        "offer_outputs",
        "digest = substr(hex(digest), 1, 32)",
    ),
    "a salt as text": ("items", "salt = 'sixteen letters!'"),
    "metadata as bytes": ("items", "metadata = x'7b7d'"),
    "an id as bytes": ("offers", "id = CAST(id AS BLOB)"),
    "a kind as bytes": ("operations", "kind = CAST(kind AS BLOB)"),
    "a time as text": ("operations", "created_at_ms = 'now'"),
    "an end as a fraction": ("offers", "expires_at_s = expires_at_s + 0.5"),
    "an operation as text": ("outputs", "spent_by = 'x'"),
    "a version as text": ("schema_version", "serves_from = 'one'"),
}
