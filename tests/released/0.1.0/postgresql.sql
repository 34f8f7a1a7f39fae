CREATE TABLE public.hash_policies (
    id bigint NOT NULL,
    memory_cost_kib bigint NOT NULL,
    time_cost bigint NOT NULL,
    parallelism bigint NOT NULL,
    pepper_fingerprint text NOT NULL
);
CREATE SEQUENCE public.hash_policies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hash_policies_id_seq OWNED BY public.hash_policies.id;
CREATE TABLE public.items (
    id text NOT NULL,
    total bigint NOT NULL,
    metadata text,
    salt bytea NOT NULL,
    hash_policy_id bigint NOT NULL,
    created_by bigint NOT NULL,
    CONSTRAINT items_salt_check CHECK ((length(salt) = 16)),
    CONSTRAINT items_total_check CHECK (((total >= 1) AND (total <= '9007199254740991'::bigint)))
);
CREATE TABLE public.offer_inputs (
    offer_id text NOT NULL,
    item_id text NOT NULL,
    digest bytea NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT offer_inputs_amount_check CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint)))
);
CREATE TABLE public.offer_outputs (
    offer_id text NOT NULL,
    item_id text NOT NULL,
    digest bytea NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT offer_outputs_amount_check CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint))),
    CONSTRAINT offer_outputs_digest_check CHECK ((length(digest) = 32))
);
CREATE TABLE public.offers (
    id text NOT NULL,
    created_by bigint NOT NULL,
    completed_by bigint,
    expires_at_s bigint NOT NULL,
    CONSTRAINT offers_check CHECK ((completed_by <> created_by))
);
CREATE TABLE public.operations (
    id bigint NOT NULL,
    kind text NOT NULL,
    idempotency_key_hash bytea,
    fingerprint bytea,
    created_at_ms bigint NOT NULL,
    CONSTRAINT operations_check CHECK (((idempotency_key_hash IS NULL) = (fingerprint IS NULL))),
    CONSTRAINT operations_fingerprint_check CHECK ((length(fingerprint) = 32)),
    CONSTRAINT operations_idempotency_key_hash_check CHECK ((length(idempotency_key_hash) = 32))
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
    amount bigint NOT NULL,
    created_by bigint NOT NULL,
    spent_by bigint,
    CONSTRAINT outputs_amount_check CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint))),
    CONSTRAINT outputs_check CHECK ((spent_by <> created_by)),
    CONSTRAINT outputs_digest_check CHECK ((length(digest) = 32))
);
CREATE TABLE public.schema_version (
    part text NOT NULL,
    version bigint NOT NULL,
    serves_from bigint NOT NULL
);
ALTER TABLE ONLY public.hash_policies ALTER COLUMN id SET DEFAULT nextval('public.hash_policies_id_seq'::regclass);
ALTER TABLE ONLY public.operations ALTER COLUMN id SET DEFAULT nextval('public.operations_id_seq'::regclass);
INSERT INTO public.hash_policies VALUES (0, 8, 1, 1, '7be6571a7900a48b');
INSERT INTO public.items VALUES ('deed_gccaz1cpxnn98f9ydz2xba0r58', 10, '{"name":"Night Choir","description":"Doors 7 pm"}', '\x4ed60d5aa2b7d2e848cee7115318e56b', 0, 1);
INSERT INTO public.offer_outputs VALUES ('offer_tcd9xntvwy6xkq4tzwk2gkejpb', 'deed_gccaz1cpxnn98f9ydz2xba0r58', '\xa1e4f4a0236a477d3785a657b34a70d705847fe36a8e46deeb1af85744ed5702', 1);
INSERT INTO public.offer_outputs VALUES ('offer_2fqe71zgtvg2nkswba3353wf19', 'deed_gccaz1cpxnn98f9ydz2xba0r58', '\xafd5406177e1ba937cff574b004899492a2c8459278c81083d39267f28b70f3c', 1);
INSERT INTO public.offers VALUES ('offer_tcd9xntvwy6xkq4tzwk2gkejpb', 3, 4, 1796746081);
INSERT INTO public.offers VALUES ('offer_2fqe71zgtvg2nkswba3353wf19', 5, NULL, 1796746081);
INSERT INTO public.operations VALUES (1, 'mint', '\xfb2c20b8fa9ee62fe3e82c295715109a7ad8333a258cb591eb0fee47df76331e', '\x4d7aa3292cf54866db276492f1b64ce642fc78075e16942794819e4ad574e692', 1796141280430);
INSERT INTO public.operations VALUES (2, 'swap', '\xb5c678cfbca736068b0194a68f07e6c9cfec5212429ae3086cc2e5c095df5eeb', '\x07a72b1d0be6fa94700f67ed445db7a3320a76ec4056b964edb36970a5e1a636', 1796141280440);
INSERT INTO public.operations VALUES (3, 'offer', NULL, NULL, 1796141280445);
INSERT INTO public.operations VALUES (4, 'swap', '\x2124291e81146491a2daa3b1148ef9e356119ea74cdd4e547293daf90f5445ee', '\xba869c51e6477f39b33c694940f355c5557e0e8c1aa7d360a4760e303cf4b79b', 1796141280480);
INSERT INTO public.operations VALUES (5, 'offer', '\x01655fd17607de2638fb0e922084210e280ab9823da77c374c2e7820bf7c9d69', '\x171c8a12f4b4cd8f4305039fad7de097272f224fa892e41ead79d544bcb76158', 1796141280511);
INSERT INTO public.outputs VALUES ('deed_gccaz1cpxnn98f9ydz2xba0r58', '\x26c6b4e8afd01f624dd3a64a5a82ea63b2c6425f42e6b20f575a258bf7908d31', 3, 1, NULL);
INSERT INTO public.outputs VALUES ('deed_gccaz1cpxnn98f9ydz2xba0r58', '\x1722527d49c70b3da10c213d28329e971cf31ef7de727377597f398749c0a81f', 5, 2, NULL);
INSERT INTO public.outputs VALUES ('deed_gccaz1cpxnn98f9ydz2xba0r58', '\x504bf33ece9707bc9ab433d8fe07e6882b61923c00c6cae8f078d1c7fc27917d', 5, 1, 2);
INSERT INTO public.outputs VALUES ('deed_gccaz1cpxnn98f9ydz2xba0r58', '\xa1e4f4a0236a477d3785a657b34a70d705847fe36a8e46deeb1af85744ed5702', 1, 4, NULL);
INSERT INTO public.outputs VALUES ('deed_gccaz1cpxnn98f9ydz2xba0r58', '\xf7f3ff29efdda1008041206bb5f338c79cec9b130580a4e7e4f06dc9bd305ef8', 1, 4, NULL);
INSERT INTO public.outputs VALUES ('deed_gccaz1cpxnn98f9ydz2xba0r58', '\x6491e25c38d699c832485685d0d01f5884560c3e2068a0c7ffc1bf0901d2b610', 2, 1, 4);
INSERT INTO public.schema_version VALUES ('core', 1, 1);
INSERT INTO public.schema_version VALUES ('offers', 2, 1);
SELECT pg_catalog.setval('public.hash_policies_id_seq', 1, false);
SELECT pg_catalog.setval('public.operations_id_seq', 5, true);
ALTER TABLE ONLY public.hash_policies
    ADD CONSTRAINT hash_policies_memory_cost_kib_time_cost_parallelism_pepper__key UNIQUE (memory_cost_kib, time_cost, parallelism, pepper_fingerprint);
ALTER TABLE ONLY public.hash_policies
    ADD CONSTRAINT hash_policies_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_created_by_key UNIQUE (created_by);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.offer_inputs
    ADD CONSTRAINT offer_inputs_pkey PRIMARY KEY (offer_id, item_id, digest);
ALTER TABLE ONLY public.offer_outputs
    ADD CONSTRAINT offer_outputs_pkey PRIMARY KEY (offer_id, item_id, digest);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT offers_completed_by_key UNIQUE (completed_by);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT offers_created_by_key UNIQUE (created_by);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT offers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.operations
    ADD CONSTRAINT operations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT outputs_pkey PRIMARY KEY (item_id, digest);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (part);
CREATE INDEX offer_outputs_item_id_digest ON public.offer_outputs USING btree (item_id, digest);
CREATE UNIQUE INDEX operations_idempotency_key_hash ON public.operations USING btree (idempotency_key_hash) WHERE (idempotency_key_hash IS NOT NULL);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_hash_policy_id_fkey FOREIGN KEY (hash_policy_id) REFERENCES public.hash_policies(id);
ALTER TABLE ONLY public.offer_inputs
    ADD CONSTRAINT offer_inputs_item_id_digest_fkey FOREIGN KEY (item_id, digest) REFERENCES public.outputs(item_id, digest);
ALTER TABLE ONLY public.offer_inputs
    ADD CONSTRAINT offer_inputs_offer_id_fkey FOREIGN KEY (offer_id) REFERENCES public.offers(id);
ALTER TABLE ONLY public.offer_outputs
    ADD CONSTRAINT offer_outputs_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.offer_outputs
    ADD CONSTRAINT offer_outputs_offer_id_fkey FOREIGN KEY (offer_id) REFERENCES public.offers(id);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT offers_completed_by_fkey FOREIGN KEY (completed_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT offers_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT outputs_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT outputs_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT outputs_spent_by_fkey FOREIGN KEY (spent_by) REFERENCES public.operations(id);
