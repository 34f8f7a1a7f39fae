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
CREATE TABLE public.offer_inputs (
    offer_id text NOT NULL,
    item_id text NOT NULL,
    digest bytea NOT NULL
);
CREATE TABLE public.offer_outputs (
    offer_id text NOT NULL,
    item_id text NOT NULL,
    digest bytea NOT NULL,
    amount bigint,
    CONSTRAINT ck_offer_outputs_amount CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint))),
    CONSTRAINT ck_offer_outputs_digest CHECK ((length(digest) = 32))
);
CREATE TABLE public.offers (
    id text NOT NULL,
    created_by bigint NOT NULL,
    completed_by bigint,
    expires_in integer NOT NULL,
    expires_at bigint NOT NULL,
    scheme_id bigint NOT NULL,
    other_schemes_count integer NOT NULL,
    CONSTRAINT ck_offers_completed_by CHECK ((completed_by > created_by)),
    CONSTRAINT ck_offers_expires_in CHECK (((expires_in >= 60) AND (expires_in <= 2592000)))
);
CREATE TABLE public.operations (
    id bigint NOT NULL,
    kind text NOT NULL,
    idempotency_key_hash bytea,
    inputs_count integer NOT NULL,
    outputs_count integer NOT NULL,
    created_at_ms bigint NOT NULL,
    CONSTRAINT ck_operations_idempotency_key_hash CHECK ((length(idempotency_key_hash) = 32)),
    CONSTRAINT ck_operations_kind CHECK ((((kind = 'mint'::text) AND (inputs_count = 0)) OR ((kind = 'swap'::text) AND (inputs_count > 0)) OR ((kind = 'offer'::text) AND (inputs_count >= 0)))),
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
INSERT INTO public.alembic_version VALUES ('0002_from_0001');
INSERT INTO public.hash_schemes VALUES (1, 'ordinary', 8, 1, 1, '', '\x83f63864c6779ab98961092d7f7593d5');
INSERT INTO public.hash_schemes VALUES (2, 'strong', 8, 1, 1, '', '\x16670f3d1fee10cbf5503ab5efafc556');
INSERT INTO public.hash_schemes VALUES (3, 'ordinary', 16, 1, 1, '29ab3e070841e8c3', '\x533b652ae3a9d970b2375ab432fb2ef4');
INSERT INTO public.hash_schemes VALUES (4, 'strong', 8, 1, 1, '29ab3e070841e8c3', '\xa571d38b6e4dadcbccb535f4056ecb94');
INSERT INTO public.hash_schemes VALUES (5, 'ordinary', 8, 2, 1, 'e3ef202359988ebe', '\x63a155152887c893862f20c7729cb748');
INSERT INTO public.hash_schemes VALUES (6, 'strong', 8, 1, 1, 'e3ef202359988ebe', '\x11746964074665c159127fb9193c3fa0');
INSERT INTO public.item_schemes VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', 1);
INSERT INTO public.item_schemes VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', 2);
INSERT INTO public.item_schemes VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', 1);
INSERT INTO public.item_schemes VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', 2);
INSERT INTO public.item_schemes VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', 3);
INSERT INTO public.item_schemes VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', 4);
INSERT INTO public.item_schemes VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', 3);
INSERT INTO public.item_schemes VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', 3);
INSERT INTO public.item_schemes VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', 6);
INSERT INTO public.item_schemes VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', 6);
INSERT INTO public.item_schemes VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', 5);
INSERT INTO public.item_schemes VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', 5);
INSERT INTO public.item_schemes VALUES ('deed_pf83kb67d506zm340g0h7vkv49', 5);
INSERT INTO public.items VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', 100, '{"name":"Anteil am Gartenhäuschen 🌱","image":"https://example.org/a.png"}', '\x22d47ae28e5bbb3836020a033f7292fd', 1);
INSERT INTO public.items VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', 9007199254740991, NULL, '\xd9f2df7233ef3bcedc4b4b5981f42aef', 3);
INSERT INTO public.items VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', 6, '{"description":"three"}', '\xd9a3fe83f8d240241b406dd6e4ab9543', 11);
INSERT INTO public.items VALUES ('deed_pf83kb67d506zm340g0h7vkv49', 7, NULL, '\x84fab4e5ddde8942e59120036eed189d', 14);
INSERT INTO public.offer_inputs VALUES ('offer_9v13qxjwfqsc3hwcraprppj5zw', 'deed_f4c5hadjmwt1e5gk1137v00jax', '\xe18573531831bed3f65deeb7db18140bec1023e30b834c7a31ddf3017aef1259');
INSERT INTO public.offer_inputs VALUES ('offer_98s2pbsbzb7n8ye6fh4ngjtvz5', 'deed_f4c5hadjmwt1e5gk1137v00jax', '\x34bbddd6d1a6d46afcc99fdcfd99090b4f6e8d1ab9d792bb1d8ab1823a67bef2');
INSERT INTO public.offer_inputs VALUES ('offer_y0nyq0raeyzp8va37zcjvnr8dz', 'deed_tcrg42jrxnd163e3pb6agmekap', '\x1915672067f7ed49248ab49e5775c7f5fa7dae24773d0347644a7f679986726d');
INSERT INTO public.offer_outputs VALUES ('offer_kwkpra6vn4bd4tgp44dvz0b56v', 'deed_f4c5hadjmwt1e5gk1137v00jax', '\x34bbddd6d1a6d46afcc99fdcfd99090b4f6e8d1ab9d792bb1d8ab1823a67bef2', 15);
INSERT INTO public.offer_outputs VALUES ('offer_qkxw9vn2d0kdc69b1hdn2zg7yn', 'deed_f4c5hadjmwt1e5gk1137v00jax', '\x0cfea46a68700a703a2807500a8e854fd6e4a5215f531905277c25b997b8b4eb', 1);
INSERT INTO public.offer_outputs VALUES ('offer_9v13qxjwfqsc3hwcraprppj5zw', 'deed_tcrg42jrxnd163e3pb6agmekap', '\x4382403c3372b161281db7225e121570f3055afa59a6b6e77df83eca59316bf2', NULL);
INSERT INTO public.offer_outputs VALUES ('offer_9v13qxjwfqsc3hwcraprppj5zw', 'deed_tcrg42jrxnd163e3pb6agmekap', '\x1915672067f7ed49248ab49e5775c7f5fa7dae24773d0347644a7f679986726d', 100);
INSERT INTO public.offer_outputs VALUES ('offer_98s2pbsbzb7n8ye6fh4ngjtvz5', 'deed_f4c5hadjmwt1e5gk1137v00jax', '\x4be3d57d413b671a221f6be92f1973ab356b31f7f149a4e2c1e733ea28d94a2e', NULL);
INSERT INTO public.offer_outputs VALUES ('offer_98s2pbsbzb7n8ye6fh4ngjtvz5', 'deed_tcrg42jrxnd163e3pb6agmekap', '\x971c7f36d39dd6a6a547acdab3951c020d50481158e76990adbdb76dcf2e419b', NULL);
INSERT INTO public.offer_outputs VALUES ('offer_98s2pbsbzb7n8ye6fh4ngjtvz5', 'deed_tcrg42jrxnd163e3pb6agmekap', '\x1065070c3da628a7a70202e806dbb70cf9085b7772013c902cdfb1a84fc95b3b', NULL);
INSERT INTO public.offer_outputs VALUES ('offer_98s2pbsbzb7n8ye6fh4ngjtvz5', 'deed_f4c5hadjmwt1e5gk1137v00jax', '\x7eb0466c28198339f9060092ae1199760d7226ac6c04da0c904ef34eee733b2c', 10);
INSERT INTO public.offer_outputs VALUES ('offer_98s2pbsbzb7n8ye6fh4ngjtvz5', 'deed_tcrg42jrxnd163e3pb6agmekap', '\x3824b4f36fc0fbdb16a1d40c31acccf62222bb70ce3769287fa1f7ab2419efea', 9);
INSERT INTO public.offer_outputs VALUES ('offer_ezpdmc6xq2weejfwdepyeyvanh', 'deed_hy8pkpm9dfjf0970xre4rsg013', '\x2998082c84f7a3c6b8d9247053ba107eaa0dd5b3edafa4bce70fd086688801d4', 5);
INSERT INTO public.offer_outputs VALUES ('offer_y0nyq0raeyzp8va37zcjvnr8dz', 'deed_hy8pkpm9dfjf0970xre4rsg013', '\xa42fa744002e6766c5757c2874c3ec8991fe2062b74165fa673c405dd3558e68', 1);
INSERT INTO public.offers VALUES ('offer_kwkpra6vn4bd4tgp44dvz0b56v', 4, 5, 2592000, 4294967296, 2, 0);
INSERT INTO public.offers VALUES ('offer_qkxw9vn2d0kdc69b1hdn2zg7yn', 6, NULL, 2592000, 4294967296, 2, 0);
INSERT INTO public.offers VALUES ('offer_9v13qxjwfqsc3hwcraprppj5zw', 9, 10, 2592000, 4294967296, 4, 1);
INSERT INTO public.offers VALUES ('offer_98s2pbsbzb7n8ye6fh4ngjtvz5', 15, NULL, 2592000, 4294967296, 6, 3);
INSERT INTO public.offers VALUES ('offer_ezpdmc6xq2weejfwdepyeyvanh', 16, NULL, 2592000, 4294967296, 6, 0);
INSERT INTO public.offers VALUES ('offer_y0nyq0raeyzp8va37zcjvnr8dz', 17, NULL, 2592000, 4294967296, 6, 0);
INSERT INTO public.operations VALUES (1, 'mint', '\x433a073f51a3a4bbde62c19493cc69d8dcac991382f42a432237b1c55ff892b4', 0, 2, 1795379575935);
INSERT INTO public.operations VALUES (2, 'swap', NULL, 1, 2, 1795379575985);
INSERT INTO public.operations VALUES (3, 'mint', '\xb163bcb33089e2b4911973baf4c017d7f244fdfd1fb326a3fd87b5decebf5b53', 0, 2, 1795379576047);
INSERT INTO public.operations VALUES (4, 'offer', '\x6d60726cf60da775807f7c93dc79886c059250e942855aa316e97f3b659a33c0', 0, 1, 1795379576148);
INSERT INTO public.operations VALUES (5, 'swap', '\x0e7157f1694024dc7ad1e1e0cc723e2a44f82524636890b48533bea6ffa253ea', 1, 2, 1795379576241);
INSERT INTO public.operations VALUES (6, 'offer', '\x24e4c3b4c6f3b23e17c243399e05054609abcd9cf49844fda95e6592d5a5988f', 0, 1, 1795379576318);
INSERT INTO public.operations VALUES (7, 'swap', '\x2eba35ac372cf8293f769e11acc3cf5f3801f933a4aa062c5264158da09d58b0', 1, 1, 1795379576395);
INSERT INTO public.operations VALUES (8, 'swap', '\x9ae3f5cf885c60133ce41e1fad35edcb91c6bff535bd548de4c2eea459b8ab6f', 1, 1, 1795379576447);
INSERT INTO public.operations VALUES (9, 'offer', '\xf0c0f27358ebff3e6f9638fd20c3f7d40c70261040f101e9f1b4e4cf5317238b', 1, 1, 1795379576505);
INSERT INTO public.operations VALUES (10, 'swap', NULL, 2, 3, 1795379576565);
INSERT INTO public.operations VALUES (11, 'mint', NULL, 0, 3, 1795379576602);
INSERT INTO public.operations VALUES (12, 'swap', '\x571251c18ed21d1cd6f9918d9e9c6e235067b31bfac18d5c540a0b3f75b84a0a', 3, 3, 1795379576669);
INSERT INTO public.operations VALUES (13, 'swap', NULL, 2, 1, 1795379576742);
INSERT INTO public.operations VALUES (14, 'mint', '\x32ff652f10d9f82759f28d6b0f018bcbf25054ef52e470a734bf8c3eadb950ac', 0, 1, 1795379576803);
INSERT INTO public.operations VALUES (15, 'offer', '\x852492c969b8b7aae81ad9f0993863cb7c4c36f34ab72fbd302cfd195e16b188', 1, 2, 1795379576866);
INSERT INTO public.operations VALUES (16, 'offer', NULL, 0, 1, 1795379576924);
INSERT INTO public.operations VALUES (17, 'offer', '\xfe3ac130fab4434bd5736ef12d2ab33537337d3ba8d28501d5d5a252db56c8bd', 1, 1, 1795379576984);
INSERT INTO public.operations VALUES (18, 'swap', NULL, 1, 1, 1795379577048);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\x40d07774c0b57edeeca8e84d67249461c8e962b382082715d2a3ff8a86f14555', 1, 60, 1, 2);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\x34bbddd6d1a6d46afcc99fdcfd99090b4f6e8d1ab9d792bb1d8ab1823a67bef2', 2, 15, 5, NULL);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\x9a9f85f06a55c75d946608b8ff075d143b0d29f8cf55f0ae7731266a1d70ae5f', 1, 5, 5, NULL);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\x770366faff0aef06900c2076cac250f9ad43c447aff0d6acce3e97dcb70f6290', 1, 20, 2, 5);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\x9766835df3f36c7c288b683dc67b239cdec0361c89f2cac5b4cf42886f6b4b21', 1, 40, 2, 7);
INSERT INTO public.outputs VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', '\xe973bfda5cc4bc64d700d45b6193b799ae551a59607d14ca80d3b45628abade7', 2, 500, 3, 8);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\xfcc46594773e46228fb6e529ff7b5ff61d69a211ccc862aaf00e89060205c57e', 3, 40, 10, NULL);
INSERT INTO public.outputs VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', '\x70722c5e1e78fc38f677effbb92ebda9ef7e7c78efcf82810966502026dd7b97', 3, 9007199254740391, 10, NULL);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\xe18573531831bed3f65deeb7db18140bec1023e30b834c7a31ddf3017aef1259', 2, 40, 1, 10);
INSERT INTO public.outputs VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', '\x5c3d110e3f5bb4474f8315c6cc31c80d7a4a8428bdd3dc3af3a7bcc14d03570f', 1, 9007199254740491, 3, 10);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\x4ce25e36bb9951eb7fa3b8b428f175acc62011465b7a557652a97225798d2d39', 6, 40, 12, NULL);
INSERT INTO public.outputs VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', '\xbadf2eafd3d4460d8854e8c5957df6c9b9c21c5ce9bddb118eba210de227cb18', 6, 1, 12, NULL);
INSERT INTO public.outputs VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', '\x120e2ab096be0b27010e82e985a3ce780b57c19caac221a671d6e8fefd9e214d', 5, 500, 12, NULL);
INSERT INTO public.outputs VALUES ('deed_f4c5hadjmwt1e5gk1137v00jax', '\x1dbee360402460cd96d442b25663e45afbf067b5c19bf0b521d03ecc8768def5', 3, 40, 7, 12);
INSERT INTO public.outputs VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', '\x140947fcf234677d5593bd1d461dbf0b8b636c380d6be74e744973201a84c03b', 3, 1, 11, 12);
INSERT INTO public.outputs VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', '\xa25edf4c2b08ad2ef27a6cb7377df33169de1cae63ecee1471a66542fc73125f', 4, 500, 8, 12);
INSERT INTO public.outputs VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', '\xa6ccb1ffdeebaf7c9a6d30f828e34c62e7080b874a181dbe37d56288f3647f29', 5, 5, 13, NULL);
INSERT INTO public.outputs VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', '\x02691f4a820342db8ad3f5f28bd4274ebe561ed166ed7a3221f766bc0bf88f5e', 3, 2, 11, 13);
INSERT INTO public.outputs VALUES ('deed_hy8pkpm9dfjf0970xre4rsg013', '\xb0849663ed04bb2d8a345d270d70a83528f140e6da675b5187833884524c5223', 3, 3, 11, 13);
INSERT INTO public.outputs VALUES ('deed_pf83kb67d506zm340g0h7vkv49', '\x44e93d4c486a2b839ebaded1500009fcb67f0cb388b0b2ef1f4ec891f0428885', 5, 7, 14, NULL);
INSERT INTO public.outputs VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', '\x33937b5c1fc4761c7d078bb7027c03803cfc099c6ef702e491b1bdd88e234866', 5, 100, 18, NULL);
INSERT INTO public.outputs VALUES ('deed_tcrg42jrxnd163e3pb6agmekap', '\x1915672067f7ed49248ab49e5775c7f5fa7dae24773d0347644a7f679986726d', 4, 100, 10, 18);
SELECT pg_catalog.setval('public.hash_schemes_id_seq', 6, true);
SELECT pg_catalog.setval('public.operations_id_seq', 18, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.hash_schemes
    ADD CONSTRAINT pk_hash_schemes PRIMARY KEY (id);
ALTER TABLE ONLY public.item_schemes
    ADD CONSTRAINT pk_item_schemes PRIMARY KEY (item_id, scheme_id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT pk_items PRIMARY KEY (id);
ALTER TABLE ONLY public.offer_inputs
    ADD CONSTRAINT pk_offer_inputs PRIMARY KEY (offer_id, item_id, digest);
ALTER TABLE ONLY public.offer_outputs
    ADD CONSTRAINT pk_offer_outputs PRIMARY KEY (offer_id, item_id, digest);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT pk_offers PRIMARY KEY (id);
ALTER TABLE ONLY public.operations
    ADD CONSTRAINT pk_operations PRIMARY KEY (id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT pk_outputs PRIMARY KEY (item_id, digest);
ALTER TABLE ONLY public.hash_schemes
    ADD CONSTRAINT uq_hash_schemes_secret_class UNIQUE (secret_class, memory_cost_kib, time_cost, parallelism, pepper_fingerprint);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT uq_items_created_by UNIQUE (created_by);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT uq_offers_completed_by UNIQUE (completed_by);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT uq_offers_created_by UNIQUE (created_by);
ALTER TABLE ONLY public.operations
    ADD CONSTRAINT uq_operations_idempotency_key_hash UNIQUE (idempotency_key_hash);
ALTER TABLE ONLY public.item_schemes
    ADD CONSTRAINT fk_item_schemes_item_id FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.item_schemes
    ADD CONSTRAINT fk_item_schemes_scheme_id FOREIGN KEY (scheme_id) REFERENCES public.hash_schemes(id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT fk_items_created_by FOREIGN KEY (created_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.offer_inputs
    ADD CONSTRAINT fk_offer_inputs_item_id FOREIGN KEY (item_id, digest) REFERENCES public.outputs(item_id, digest);
ALTER TABLE ONLY public.offer_inputs
    ADD CONSTRAINT fk_offer_inputs_offer_id FOREIGN KEY (offer_id) REFERENCES public.offers(id);
ALTER TABLE ONLY public.offer_outputs
    ADD CONSTRAINT fk_offer_outputs_item_id FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.offer_outputs
    ADD CONSTRAINT fk_offer_outputs_offer_id FOREIGN KEY (offer_id) REFERENCES public.offers(id);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT fk_offers_completed_by FOREIGN KEY (completed_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT fk_offers_created_by FOREIGN KEY (created_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.offers
    ADD CONSTRAINT fk_offers_scheme_id FOREIGN KEY (scheme_id) REFERENCES public.hash_schemes(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT fk_outputs_created_by FOREIGN KEY (created_by) REFERENCES public.operations(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT fk_outputs_item_id FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT fk_outputs_scheme_id FOREIGN KEY (scheme_id) REFERENCES public.hash_schemes(id);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT fk_outputs_spent_by FOREIGN KEY (spent_by) REFERENCES public.operations(id);
