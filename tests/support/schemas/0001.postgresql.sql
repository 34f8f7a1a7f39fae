CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.hash_schemes (
    id bigint NOT NULL,
    secret_class text NOT NULL,
    memory_cost_kib integer NOT NULL,
    time_cost integer NOT NULL,
    parallelism integer NOT NULL,
    pepper_fingerprint text NOT NULL,
    key_salt bytea NOT NULL,
    CONSTRAINT ck_hash_schemes_key_salt CHECK ((length(key_salt) = 16)),
    CONSTRAINT ck_hash_schemes_secret_class CHECK ((secret_class = ANY (ARRAY['ordinary'::text, 'strong'::text])))
);
CREATE SEQUENCE public.hash_schemes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hash_schemes_id_seq OWNED BY public.hash_schemes.id;
CREATE TABLE public.item_schemes (
    item_id text NOT NULL,
    scheme_id bigint NOT NULL
);
CREATE TABLE public.items (
    id text NOT NULL,
    total bigint NOT NULL,
    metadata text,
    salt bytea NOT NULL,
    created_by bigint NOT NULL,
    CONSTRAINT ck_items_salt CHECK ((length(salt) = 16)),
    CONSTRAINT ck_items_total CHECK (((total >= 1) AND (total <= '9007199254740991'::bigint)))
);
CREATE TABLE public.operations (
    id bigint NOT NULL,
    kind text NOT NULL,
    idempotency_key_hash bytea,
    inputs_count integer NOT NULL,
    outputs_count integer NOT NULL,
    created_at_ms bigint NOT NULL,
    CONSTRAINT ck_operations_idempotency_key_hash CHECK ((length(idempotency_key_hash) = 32)),
    CONSTRAINT ck_operations_kind CHECK ((((kind = 'mint'::text) AND (inputs_count = 0)) OR ((kind = 'swap'::text) AND (inputs_count > 0)))),
    CONSTRAINT ck_operations_outputs_count CHECK ((outputs_count > 0))
);
CREATE SEQUENCE public.operations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.operations_id_seq OWNED BY public.operations.id;
CREATE TABLE public.outputs (
    item_id text NOT NULL,
    digest bytea NOT NULL,
    scheme_id bigint NOT NULL,
    amount bigint NOT NULL,
    created_by bigint NOT NULL,
    spent_by bigint,
    CONSTRAINT ck_outputs_amount CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint))),
    CONSTRAINT ck_outputs_digest CHECK ((length(digest) = 32)),
    CONSTRAINT ck_outputs_spent_by CHECK ((spent_by > created_by))
);
ALTER TABLE ONLY public.hash_schemes ALTER COLUMN id SET DEFAULT nextval('public.hash_schemes_id_seq'::regclass);
ALTER TABLE ONLY public.operations ALTER COLUMN id SET DEFAULT nextval('public.operations_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0001');
INSERT INTO public.hash_schemes VALUES (1, 'ordinary', 8, 1, 1, '', '\x9a6d7ea1bd77a3006bf6e0d7afd96304');
INSERT INTO public.hash_schemes VALUES (2, 'strong', 8, 1, 1, '', '\x2cb0cdbbb268440de7caa471ddc4fe8b');
INSERT INTO public.hash_schemes VALUES (3, 'ordinary', 16, 1, 1, '29ab3e070841e8c3', '\x45907e091816344d85e5b1ac7ee86459');
INSERT INTO public.hash_schemes VALUES (4, 'strong', 8, 1, 1, '29ab3e070841e8c3', '\xb025ae97cad4252c8573c06170753ac7');
INSERT INTO public.hash_schemes VALUES (5, 'ordinary', 8, 2, 1, 'e3ef202359988ebe', '\x223a1d82f60a537e45ed824e58b23772');
INSERT INTO public.hash_schemes VALUES (6, 'strong', 8, 1, 1, 'e3ef202359988ebe', '\xc7712a061ad77ee50a75fc16f2010f5b');
INSERT INTO public.item_schemes VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', 1);
INSERT INTO public.item_schemes VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', 2);
INSERT INTO public.item_schemes VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', 1);
INSERT INTO public.item_schemes VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', 2);
INSERT INTO public.item_schemes VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', 3);
INSERT INTO public.item_schemes VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', 4);
INSERT INTO public.item_schemes VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', 3);
INSERT INTO public.item_schemes VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', 6);
INSERT INTO public.item_schemes VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', 5);
INSERT INTO public.item_schemes VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', 6);
INSERT INTO public.item_schemes VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', 5);
INSERT INTO public.item_schemes VALUES ('deed_bh0xncq4gdp4zj9zmx8m53gyrp', 5);
INSERT INTO public.items VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', 100, '{"name":"Anteil am Gartenhäuschen 🌱","image":"https://example.org/a.png"}', '\xc8fa70731f6e67f4af931dbe57581380', 1);
INSERT INTO public.items VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', 9007199254740991, NULL, '\x47d699758475db26d01fbda592da7109', 3);
INSERT INTO public.items VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', 6, '{"description":"three"}', '\xe7e857835a3045ef8e8684a359d297b5', 6);
INSERT INTO public.items VALUES ('deed_bh0xncq4gdp4zj9zmx8m53gyrp', 7, NULL, '\x8ff6606465094c274a83e6f3bf5d0214', 10);
INSERT INTO public.operations VALUES (1, 'mint', '\x145cc66be4176440d7c6ef45537dc45503717705203e32cb1e115dbd13c389a1', 0, 2, 1795245034558);
INSERT INTO public.operations VALUES (2, 'swap', NULL, 1, 2, 1795245034568);
INSERT INTO public.operations VALUES (3, 'mint', '\xbd3733ff08f75f559a44ad0e68b19e053fbf52f8cb3ecd163078e86e41519838', 0, 2, 1795245034586);
INSERT INTO public.operations VALUES (4, 'swap', '\x375a6cab8803167013e98f68b6bdd8eafe22452593f630313f98d6f1a78c52dd', 1, 1, 1795245034639);
INSERT INTO public.operations VALUES (5, 'swap', '\x9ae3f5cf885c60133ce41e1fad35edcb91c6bff535bd548de4c2eea459b8ab6f', 1, 1, 1795245034648);
INSERT INTO public.operations VALUES (6, 'mint', NULL, 0, 3, 1795245034654);
INSERT INTO public.operations VALUES (7, 'swap', '\x6b5169cfb5170111054391e634919c6ddb49f8f9e6d5955077500a0ad5e10c73', 3, 3, 1795245034714);
INSERT INTO public.operations VALUES (9, 'swap', NULL, 2, 1, 1795245034729);
INSERT INTO public.operations VALUES (10, 'mint', '\xa9484a2ad8a74cd578a650305d213320f8e8487b627017d13922ee9026b10dd5', 0, 1, 1795245034736);
INSERT INTO public.outputs VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', '\xd6a5390d0d5709b3b8a7ca1237038df12b20d1b699631e30bd6f6943b62532a2', 2, 40, 1, NULL);
INSERT INTO public.outputs VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', '\x8168c4a69dc5fb37c22b5816f28f5a0c005349aa1b10ae91bd664de7eb953e66', 1, 20, 2, NULL);
INSERT INTO public.outputs VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', '\x2c0edbd3a2293db76b41d8a78a58a7aa06e551c5f4da8f90e600020264d825af', 1, 60, 1, 2);
INSERT INTO public.outputs VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', '\x452a8619a19229db215614424de7af71ea282aac3d9f3a999cf5c59badfd1b50', 1, 9007199254740491, 3, NULL);
INSERT INTO public.outputs VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', '\x1273053aa8c82dc6dd134c36d8e9d60b92c585b3c025d210c67858683a683b45', 1, 40, 2, 4);
INSERT INTO public.outputs VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', '\xd10c61240c62c14058385de8fe9edfc7896017c7ca359ab124de486a2230bfa8', 2, 500, 3, 5);
INSERT INTO public.outputs VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', '\x05a33a990e991ae1aade0878bcbe81a9300c1108a4db0a7b56526b12bfef93c3', 6, 1, 7, NULL);
INSERT INTO public.outputs VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', '\x1e83427f506b6625c021a9479168a0cdc6635b4d36d4e69df73cffc21ee32aa6', 5, 500, 7, NULL);
INSERT INTO public.outputs VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', '\x4cd16c4e5456d828f271b97185f67e1e446a5fbf9f34f8b4be30cbb1c5e25164', 6, 40, 7, NULL);
INSERT INTO public.outputs VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', '\xf79d4a2ab06a4ce61cc40af23d08e5d6ed2c0f9e378d6c2ec9874c59d52264b7', 3, 1, 6, 7);
INSERT INTO public.outputs VALUES ('deed_9t0wpq2eqar3rhmwmb9z52cxkd', '\x979acf9255fcdc223588e66b1320d88cacbd4ac31365d232720b5b4903591a37', 4, 500, 5, 7);
INSERT INTO public.outputs VALUES ('deed_a3jcjg3azyfgqyc67tcqhbcmpn', '\xc1cf84144a85c5ff532e2460bd858f30425e11293aadf32da07d91c066668148', 3, 40, 4, 7);
INSERT INTO public.outputs VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', '\x318bad0f6080c777604d4c71cd5099dd7c10209951a0a6039db342de7f980fa0', 5, 5, 9, NULL);
INSERT INTO public.outputs VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', '\x54b7a16847e0e05e11cc783660b539db794dce34d3effb95666d821f48f09786', 3, 2, 6, 9);
INSERT INTO public.outputs VALUES ('deed_9n83v8cnfdgsbm8gj1ybzfz9y0', '\x588251f66d1815fb1eb73017552100642ff5abd8ffe310a2e5aaf213717b2129', 3, 3, 6, 9);
INSERT INTO public.outputs VALUES ('deed_bh0xncq4gdp4zj9zmx8m53gyrp', '\xd30764393e93ecdc567b39c578e074d86192c9ce2eb30290a28c747f17182a7b', 5, 7, 10, NULL);
SELECT pg_catalog.setval('public.hash_schemes_id_seq', 6, true);
SELECT pg_catalog.setval('public.operations_id_seq', 10, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.hash_schemes
    ADD CONSTRAINT pk_hash_schemes PRIMARY KEY (id);
ALTER TABLE ONLY public.item_schemes
    ADD CONSTRAINT pk_item_schemes PRIMARY KEY (item_id, scheme_id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT pk_items PRIMARY KEY (id);
ALTER TABLE ONLY public.operations
    ADD CONSTRAINT pk_operations PRIMARY KEY (id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT pk_outputs PRIMARY KEY (item_id, digest);
ALTER TABLE ONLY public.hash_schemes
    ADD CONSTRAINT uq_hash_schemes_secret_class UNIQUE (secret_class, memory_cost_kib, time_cost, parallelism, pepper_fingerprint);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT uq_items_created_by UNIQUE (created_by);
ALTER TABLE ONLY public.operations
    ADD CONSTRAINT uq_operations_idempotency_key_hash UNIQUE (idempotency_key_hash);
ALTER TABLE ONLY public.item_schemes
    ADD CONSTRAINT fk_item_schemes_item_id FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.item_schemes
    ADD CONSTRAINT fk_item_schemes_scheme_id FOREIGN KEY (scheme_id) REFERENCES public.hash_schemes(id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT fk_items_created_by FOREIGN KEY (created_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT fk_outputs_created_by FOREIGN KEY (created_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT fk_outputs_item_id FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT fk_outputs_scheme_id FOREIGN KEY (scheme_id) REFERENCES public.hash_schemes(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT fk_outputs_spent_by FOREIGN KEY (spent_by) REFERENCES public.operations(id);
