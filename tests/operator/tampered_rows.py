"""How the rows of a ledger can be wrong, and what an audit says of it."""

ITEM_TOTAL = "the live outputs of an item sum to its total"
ITEM_POLICY = "an item names a hash policy that is known"
OPERATION_BALANCE = "an operation gives as many units of an item as it takes, or mints"
OPERATION_KIND = "an operation mints an item, swaps or moves nothing, as its kind says"
OPERATION_TIME = "an operation was made between 1970 and the year 9999"
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
# 2 and 3, and 4 trades 3 of {a} and 7 of {b}. 5 mints 4 of {c} and 6 mints 6 of {d}. 7
# offers one for the other and 8 completes that, {done}; 9 offers what was got, {open}.
TAMPERED = {
    "ids that are none": (
        """
        UPDATE items SET id = '{a}0' WHERE id = '{a}';
        UPDATE outputs SET item_id = '{a}0' WHERE item_id = '{a}';
        UPDATE items SET id = substr(id, 1, 30) || 'u' WHERE id = '{b}';
        UPDATE outputs SET item_id = substr(item_id, 1, 30) || 'u'
        WHERE item_id = '{b}';
        UPDATE offers SET id = substr(id, 1, 31) WHERE id = '{open}';
        UPDATE offer_inputs SET offer_id = '{open:.31}' WHERE offer_id = '{open}';
        UPDATE offer_outputs SET offer_id = '{open:.31}' WHERE offer_id = '{open}'
        """,
        {ITEM_ID: "{a}0, {b:.30}u", OFFER_TIME: "{open:.31}"},
    ),
    "an operation of no kind before 1970": (
        "INSERT INTO operations (id, kind, created_at_ms) VALUES (99, 'gift', -1)",
        {KIND_KNOWN: "99", OPERATION_TIME: "99"},
    ),
    "hash policies of no setting": (
        "INSERT INTO hash_policies VALUES (1, 7, 1, 1, ''), (2, 8, 1, 1, 'pepper')",
        {POLICY: "1, 2"},
    ),
    "the total of an item": (
        "UPDATE items SET total = 9 WHERE id = '{a}'",
        {ITEM_TOTAL: "{a}", OPERATION_BALANCE: "1 ({a})"},
    ),
    "inputs are live again": (
        "UPDATE outputs SET spent_by = NULL WHERE spent_by = 3",
        {ITEM_TOTAL: "{a}", OPERATION_BALANCE: "3 ({a})", OPERATION_KIND: "3"},
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
        {ITEM_TOTAL: "{a}, {b}", OPERATION_BALANCE: "3 ({a}), 3 ({b})"},
    ),
    "operations that did something else than their kind": (
        """
        UPDATE operations SET kind = 'swap' WHERE id = 2;
        UPDATE operations SET kind = 'mint' WHERE id IN (3, 8);
        INSERT INTO operations (id, kind, created_at_ms)
        VALUES (98, 'mint', 0), (99, 'swap', 0)
        """,
        {OPERATION_KIND: "2, 3, 8, 98, 99", OFFER: "{done}"},
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
    "offers of other makings": (
        """
        UPDATE offers SET created_by = 4, expires_at_s = expires_at_s - 600
        WHERE id = '{open}';
        UPDATE offers SET created_by = 99 WHERE id = '{done}'
        """,
        {OFFER_MAKING: "4, 7, 9", OFFER_TIME: "{done}", OFFER: "{done}"},
    ),
    "an input that is not there and a completion that created another output": (
        """
        UPDATE offer_inputs SET item_id = '{a}' WHERE offer_id = '{open}';
        UPDATE offer_outputs SET item_id = '{a}' WHERE offer_id = '{done}'
        """,
        {OFFER: "{open}, {done}"},
    ),
    "an item that is not there and a completion that spent another input": (
        """
        UPDATE offer_outputs SET item_id = 'deed_z' WHERE offer_id = '{open}';
        UPDATE offer_inputs SET digest =
            (SELECT digest FROM offer_inputs WHERE offer_id = '{open}')
        WHERE offer_id = '{done}'
        """,
        {OFFER: "{open}, {done}"},
    ),
    "offers that want nothing or more than there is": (
        """
        UPDATE offer_outputs SET amount = 7 WHERE offer_id = '{done}';
        UPDATE offer_outputs SET amount = 4, item_id =
            (SELECT item_id FROM offer_inputs WHERE offer_id = '{open}')
        WHERE offer_id = '{open}'
        """,
        {OFFER_WANTS: "{open}, {done}", OFFER: "{done}"},
    ),
    "offers that expire too soon or too late": (
        """
        UPDATE offers SET expires_at_s = expires_at_s - 1 WHERE id = '{done}';
        UPDATE offers SET expires_at_s = expires_at_s + 1 WHERE id = '{open}'
        """,
        {OFFER_TIME: "{open}, {done}"},
    ),
    "a completion that came too late": (
        "UPDATE offers SET expires_at_s = 1 WHERE id = '{done}'",
        {OFFER: "{done}", OFFER_TIME: "{done}"},
    ),
    "metadata that no mint writes": (
        """
        UPDATE items SET metadata = '{{' WHERE id = '{a}';
        UPDATE items SET metadata = '{{"name": "a"}}' WHERE id = '{b}';
        UPDATE items SET metadata = '{{"title":"a"}}' WHERE id = '{c}';
        UPDATE items SET metadata = '{deep_json}' WHERE id = '{d}'
        """,
        {METADATA: "{a}, {b}, {c}, {d}"},
    ),
}
