"""How tables can differ from those of the code, on each database."""

KEY_INDEX = "CREATE UNIQUE INDEX operations_idempotency_key_hash ON operations"
TRIGGER = "CREATE TRIGGER halve AFTER INSERT ON outputs"
AMOUNT = "amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND {})"
OUTPUT_KEY = "KEY (item_id, digest) REFERENCES outputs (item_id, digest)"
PLACE = "ALTER TABLE outputs ADD COLUMN place INTEGER DEFAULT 0"
VERSION_TRIGGER = "CREATE TRIGGER look AFTER UPDATE ON schema_version"
LOOK = "EXECUTE FUNCTION suppress_redundant_updates_trigger()"
SALT_CHECK = "items_salt_check CHECK (length(salt) = 16)"
DROP_KEY_INDEX = "DROP INDEX operations_idempotency_key_hash"
INVALIDATE = (
    "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = CAST('{}' AS regclass)"
)
DROP_SALT_CHECK = "ALTER TABLE items DROP CONSTRAINT items_salt_check"


def rewritten(table, old, new):
    """Return what changes a table in SQLite in ways that it has no ALTER for."""
    rewrite = (
        "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = '{}'"
    )
    return ("PRAGMA writable_schema = ON", rewrite.format(old, new, table))


# What is changed, and what is said of it.
ON_SQLITE = {
    "an index is missing": (
        (DROP_KEY_INDEX,),
        (
            f"operations lacks {KEY_INDEX} (idempotency_key_hash)"
            " WHERE idempotency_key_hash IS NOT NULL"
        ),
    ),
    "a check is missing": (
        rewritten("items", "CHECK (length(salt) = 16)", ""),
        (
            "items lacks salt BLOB NOT NULL CHECK (length(salt) = 16),"
            " items has salt BLOB NOT NULL"
        ),
    ),
    "a check is another": (
        rewritten("outputs", str(2**53 - 1), "9"),
        f"outputs lacks {AMOUNT.format(2**53 - 1)}, outputs has {AMOUNT.format(9)}",
    ),
    "a foreign key is missing": (
        rewritten("offer_inputs", f"FOREIGN {OUTPUT_KEY}", "CHECK (amount > 0)"),
        f"offer_inputs lacks FOREIGN {OUTPUT_KEY}, offer_inputs has CHECK (amount > 0)",
    ),
    "a column is of another type": (
        rewritten("items", "metadata TEXT", "metadata BLOB"),
        "items lacks metadata TEXT, items has metadata BLOB",
    ),
    "a column more": ((PLACE,), "outputs has place INTEGER DEFAULT 0"),
    "a table is missing": (
        ("DROP TABLE offer_outputs",),
        "there is no table offer_outputs",
    ),
    "a trigger more": (
        (f"{TRIGGER} BEGIN SELECT 1, 2; END",),
        f"outputs has {TRIGGER} BEGIN SELECT 1, 2; END",
    ),
    "a unique index more": (
        ("CREATE UNIQUE INDEX one ON outputs (amount)",),
        "outputs has CREATE UNIQUE INDEX one ON outputs (amount)",
    ),
    "an index of the same name": (
        (DROP_KEY_INDEX, f"{KEY_INDEX} (fingerprint)"),
        (
            f"operations lacks {KEY_INDEX} (idempotency_key_hash)"
            " WHERE idempotency_key_hash IS NOT NULL,"
            f" operations has {KEY_INDEX} (fingerprint)"
        ),
    ),
    "the key of outputs is missing": (
        rewritten("outputs", "(item_id, digest)", "(item_id, digest, amount)"),
        (
            "outputs lacks PRIMARY KEY (item_id, digest),"
            " outputs has PRIMARY KEY (item_id, digest, amount)"
        ),
    ),
    "values may have any type": (
        rewritten("items", " STRICT", ""),
        "items lacks STRICT",
    ),
    "a generated column": (
        (f"{PLACE.partition(' INTEGER')[0]} INTEGER AS (amount * 2)",),
        "outputs has place INTEGER AS (amount * 2)",
    ),
    "a column of another collation": (
        rewritten("offers", "TEXT", "TEXT COLLATE NOCASE"),
        (
            "offers lacks id TEXT NOT NULL PRIMARY KEY,"
            " offers has id TEXT COLLATE NOCASE NOT NULL PRIMARY KEY"
        ),
    ),
    "a trigger of the table of versions": (
        (f"{VERSION_TRIGGER} BEGIN SELECT 1; END",),
        f"schema_version has {VERSION_TRIGGER} BEGIN SELECT 1; END",
    ),
}
ON_POSTGRESQL = {
    "an index is missing": (
        (DROP_KEY_INDEX,),
        (
            f"operations lacks {KEY_INDEX} USING btree (idempotency_key_hash)"
            " WHERE idempotency_key_hash IS NOT NULL"
        ),
    ),
    "a check is missing": ((DROP_SALT_CHECK,), f"items lacks {SALT_CHECK}"),
    "a check is another": (
        (DROP_SALT_CHECK, f"ALTER TABLE items ADD CONSTRAINT {SALT_CHECK} NOT VALID"),
        f"items lacks {SALT_CHECK}, items has {SALT_CHECK} NOT VALID",
    ),
    "a foreign key is missing": (
        ("ALTER TABLE offers DROP CONSTRAINT offers_created_by_fkey",),
        (
            "offers lacks offers_created_by_fkey"
            " FOREIGN KEY (created_by) REFERENCES operations(id)"
        ),
    ),
    "a check more": (
        ("ALTER TABLE outputs ADD CONSTRAINT few CHECK (amount < 9)",),
        "outputs has few CHECK (amount < 9)",
    ),
    "a column is of another type": (
        ("ALTER TABLE items ALTER metadata TYPE varchar(9)",),
        "items lacks metadata text, items has metadata character varying(9)",
    ),
    "a column may be empty": (
        ("ALTER TABLE operations ALTER kind DROP NOT NULL",),
        "operations lacks kind text NOT NULL, operations has kind text",
    ),
    "a column without its default": (
        ("ALTER TABLE operations ALTER id DROP DEFAULT",),
        (
            "operations lacks id bigint NOT NULL DEFAULT"
            " nextval('operations_id_seq'::regclass), operations has id bigint NOT NULL"
        ),
    ),
    "a column more": ((PLACE,), "outputs has place integer DEFAULT 0"),
    "a table is missing": (
        ("DROP TABLE offer_outputs",),
        "there is no table offer_outputs",
    ),
    "a table that a crash empties": (
        ("ALTER TABLE offer_outputs SET UNLOGGED",),
        "offer_outputs has UNLOGGED",
    ),
    "a trigger more": (
        (
            (
                "CREATE FUNCTION halve() RETURNS trigger LANGUAGE plpgsql"
                " AS 'BEGIN RETURN NULL; END'"
            ),
            f"{TRIGGER} FOR EACH ROW EXECUTE FUNCTION halve()",
        ),
        f"outputs has {TRIGGER} FOR EACH ROW EXECUTE FUNCTION halve()",
    ),
    "a rule": (
        ("CREATE RULE nothing AS ON INSERT TO outputs DO INSTEAD NOTHING",),
        "outputs has CREATE RULE nothing AS ON INSERT TO outputs DO INSTEAD NOTHING;",
    ),
    "a unique index more": (
        ("CREATE UNIQUE INDEX one ON outputs (amount)",),
        "outputs has CREATE UNIQUE INDEX one ON outputs USING btree (amount)",
    ),
    "an index of the same name": (
        (DROP_KEY_INDEX, f"{KEY_INDEX} (fingerprint)"),
        (
            f"operations lacks {KEY_INDEX} USING btree (idempotency_key_hash)"
            " WHERE idempotency_key_hash IS NOT NULL,"
            f" operations has {KEY_INDEX} USING btree (fingerprint)"
        ),
    ),
    "the key of outputs is missing": (
        ("ALTER TABLE outputs DROP CONSTRAINT outputs_pkey CASCADE",),
        (
            "offer_inputs lacks offer_inputs_item_id_digest_fkey"
            f" FOREIGN {OUTPUT_KEY.replace('outputs ', 'outputs')}, outputs lacks"
            " CREATE UNIQUE INDEX outputs_pkey ON outputs USING btree (item_id, digest)"
            ", outputs lacks outputs_pkey PRIMARY KEY (item_id, digest)"
        ),
    ),
    "an index that is not valid": (
        (INVALIDATE.format("operations_idempotency_key_hash"),),
        (
            f"operations lacks {KEY_INDEX} USING btree (idempotency_key_hash)"
            " WHERE idempotency_key_hash IS NOT NULL,"
            f" operations has {KEY_INDEX} USING btree (idempotency_key_hash)"
            " WHERE idempotency_key_hash IS NOT NULL, not valid"
        ),
    ),
    "a unique index more that is not valid": (
        ("CREATE UNIQUE INDEX one ON outputs (amount)", INVALIDATE.format("one")),
        (
            "outputs has CREATE UNIQUE INDEX one ON outputs USING btree (amount),"
            " not valid"
        ),
    ),
    "a table that inherits": (
        ("CREATE TABLE child () INHERITS (outputs)",),
        "outputs has the child child",
    ),
    "a table that is inherited from": (
        ("CREATE TABLE parent (kind text)", "ALTER TABLE operations INHERIT parent"),
        "operations has the parent parent",
    ),
    "row level security": (
        ("ALTER TABLE outputs ENABLE ROW LEVEL SECURITY",),
        "outputs has ROW LEVEL SECURITY",
    ),
    "a column of another collation": (
        ('ALTER TABLE operations ALTER kind TYPE text COLLATE "C"',),
        (
            "operations lacks kind text NOT NULL,"
            " operations has kind text COLLATE C NOT NULL"
        ),
    ),
    "a generated column": (
        ("ALTER TABLE outputs ADD place bigint GENERATED ALWAYS AS (amount) STORED",),
        "outputs has place bigint GENERATED DEFAULT amount",
    ),
    "an identity column": (
        ("ALTER TABLE offers ALTER expires_at_s ADD GENERATED BY DEFAULT AS IDENTITY",),
        (
            "offers lacks expires_at_s bigint NOT NULL, offers has a sequence with"
            " INCREMENT 1, offers has expires_at_s bigint NOT NULL GENERATED"
        ),
    ),
    "ids that descend": (
        ("ALTER SEQUENCE operations_id_seq INCREMENT -1",),
        (
            "operations lacks a sequence with INCREMENT 1,"
            " operations has a sequence with INCREMENT -1"
        ),
    ),
    "a trigger of the table of versions": (
        (f"{VERSION_TRIGGER} FOR EACH STATEMENT {LOOK}",),
        f"schema_version has {VERSION_TRIGGER} FOR EACH STATEMENT {LOOK}",
    ),
}
