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
INSERT INTO public.items VALUES ('deed_z9ek6tajct9410bnbp4s8n35f8', 10, '{"name":"Night Choir","description":"Doors 7 pm"}', '\x48042574862c96c88725291ac8fe39aa', 0, 1);
INSERT INTO public.offer_outputs VALUES ('offer_8sjwqzseavdg2m7y91as14ha20', 'deed_z9ek6tajct9410bnbp4s8n35f8', '\xa453a9243a70620228ffa353b006bebab8a540f94848c79a9d430c8bb5a79c92', 1);
INSERT INTO public.offer_outputs VALUES ('offer_z2pydpfxjdrbn6qh42n25zee21', 'deed_z9ek6tajct9410bnbp4s8n35f8', '\x6d08c8157604f90dc28952e1f554b7c0090c2f73da08ad8c4adae52a8c868d0e', 1);
INSERT INTO public.offers VALUES ('offer_8sjwqzseavdg2m7y91as14ha20', 3, 4, 1796743625);
INSERT INTO public.offers VALUES ('offer_z2pydpfxjdrbn6qh42n25zee21', 5, NULL, 1796743625);
INSERT INTO public.operations VALUES (1, 'mint', '\xfb2c20b8fa9ee62fe3e82c295715109a7ad8333a258cb591eb0fee47df76331e', '\x8d1851bf7ad93f63566decf5c32e5428e98058a7b985d9092d52933eb110f4df', 1796138824271);
INSERT INTO public.operations VALUES (2, 'swap', '\xb5c678cfbca736068b0194a68f07e6c9cfec5212429ae3086cc2e5c095df5eeb', '\x5fd25be2e20772b574b7736b2de8de365ef707f2cc3cffb2ca69f277a44236c4', 1796138824280);
INSERT INTO public.operations VALUES (3, 'offer', NULL, NULL, 1796138824284);
INSERT INTO public.operations VALUES (4, 'swap', '\x2124291e81146491a2daa3b1148ef9e356119ea74cdd4e547293daf90f5445ee', '\xfa2aac1a0e8d876f29ab54aac830ac3ea4988040a8386fb499d8ad29cb59d61a', 1796138824321);
INSERT INTO public.operations VALUES (5, 'offer', '\x01655fd17607de2638fb0e922084210e280ab9823da77c374c2e7820bf7c9d69', '\x8a6a0456485c2e6afe70e025cb63d1f5ca07ddb633f7fc603a752dfd947583c6', 1796138824355);
INSERT INTO public.outputs VALUES ('deed_z9ek6tajct9410bnbp4s8n35f8', '\x87304bd565ad580811b07fec22851053cf7b78ea4a64ce58f5055c9c108c1bc5', 3, 1, NULL);
INSERT INTO public.outputs VALUES ('deed_z9ek6tajct9410bnbp4s8n35f8', '\xa7e934d81b3f5aff5eb4357259dd9e3efdbe223fa89ac7699f2dcfefef1cd51b', 5, 2, NULL);
INSERT INTO public.outputs VALUES ('deed_z9ek6tajct9410bnbp4s8n35f8', '\xd5ef85ccfd8736f1b45db792039b8634c4e75f67e5845364cfd31e02f7855779', 5, 1, 2);
INSERT INTO public.outputs VALUES ('deed_z9ek6tajct9410bnbp4s8n35f8', '\x708f663564ab256d48dcae45f7ca70418a6f7dcaa20954b73e24174de9268ecf', 1, 4, NULL);
INSERT INTO public.outputs VALUES ('deed_z9ek6tajct9410bnbp4s8n35f8', '\xa453a9243a70620228ffa353b006bebab8a540f94848c79a9d430c8bb5a79c92', 1, 4, NULL);
INSERT INTO public.outputs VALUES ('deed_z9ek6tajct9410bnbp4s8n35f8', '\x8415d7a02e7a55bdf90ef60b1ff3629d9e9eeec3386229f79e6e7e4820327603', 2, 1, 4);
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
