"""Who may mint (contract 4.1): the tokens that a mint must show."""

import pytest

from app import create_app
from deeds.settings import read_settings
from tests.support.api import environ_of, good, refusal, replayed, stop_line

OLD, NEW = "old-token-0123456", "new-token-+/=~0123456"
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
TOKENS = {"DEEDS_MINT_TOKEN": f"{OLD},{NEW}"}
BODY = '{"outputs":["+1.a"]}'

REQUIRED = (401, "mint_token_required", None)
WRONG = (401, "mint_token_wrong", None)
LOCKED_OUT = (429, "too_many_failures", None)

# What is said in Authorization, and the answer.
HEADERS = {
    "the token": (f"Bearer {OLD}", None),
    "another of the tokens": (f"Bearer {NEW}", None),
    "another case of the scheme": (f"bEARER {OLD}", None),
    "blanks around it": (f" Bearer \t  {OLD} ", None),
    "the scheme alone": ("Bearer ", REQUIRED),
    "the token alone": (OLD, REQUIRED),
    "a scheme that begins alike": (f"Bearers {OLD}", REQUIRED),
    "another case of the token": (f"Bearer {OLD.upper()}", WRONG),
    "its beginning": (f"Bearer {OLD[:-1]}", WRONG),
    "both tokens": (f"Bearer {OLD}, Bearer {NEW}", WRONG),
    "the setting": (f"Bearer {OLD},{NEW}", WRONG),
    "bytes": ("Bearer \xff\xfe\x80", WRONG),
}


@pytest.fixture
def database_url(sqlite_url):
    """What is decided above the database needs one kind."""
    return sqlite_url


@pytest.fixture
def api(open_api):
    return open_api(**TOKENS)


def mint(api, token, body=BODY, **headers):
    """Ask for an item with a token, None for no token."""
    headers |= {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return api.http.post("/v1/mint", content=body, headers=headers)


@pytest.mark.parametrize(("header", "refused"), HEADERS.values(), ids=HEADERS)
def test_a_mint_needs_one_of_the_tokens(settings, open_app, ledger, header, refused):
    app = open_app(settings | TOKENS)

    # As a server passes bytes on that are not ASCII.
    answer = app.test_client().post(
        "/v1/mint",
        data=BODY,
        content_type="application/json",
        environ_overrides={"HTTP_AUTHORIZATION": header},
    )

    if refused is None:
        assert answer.status_code == 200
        assert ledger.operations() == [("mint", 0, 1)]
    else:
        assert (answer.status_code, answer.json["code"], None) == refused
        assert ledger.operations() == []


def test_a_401_names_the_scheme_and_what_is_wrong_with_a_token(api):
    required, wrong = mint(api, None), mint(api, "other-token-0123456")

    assert required.headers["WWW-Authenticate"] == "Bearer"
    assert wrong.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


def test_a_token_is_looked_at_before_the_body_and_the_limit_of_mints(open_api):
    api = open_api(DEEDS_MINT_TOKEN=OLD, DEEDS_RATE_LIMITS="mint=1/day")

    refusals = [
        refusal(mint(api, None, "no JSON")),
        refusal(mint(api, NEW, "x" * 2**21)),
        refusal(mint(api, OLD, "no JSON")),
        refusal(mint(api, OLD)),
    ]

    assert refusals == [
        REQUIRED,
        WRONG,
        (400, "invalid_json", None),
        (429, "too_many_requests", None),
    ]


def test_a_repeated_mint_needs_the_token_too(api):
    item = good(mint(api, OLD, **{"Idempotency-Key": KEY}))

    assert refusal(mint(api, None, **{"Idempotency-Key": KEY})) == REQUIRED
    assert replayed(mint(api, NEW, **{"Idempotency-Key": KEY})) == item


def test_a_client_that_guesses_learns_of_no_token_until_it_is_forgiven(open_api):
    api = open_api(
        DEEDS_MINT_TOKEN=OLD,
        DEEDS_RATE_LIMITS="failures=3/day",
        DEEDS_TRUSTED_PROXIES="1",
    )
    api.http.headers["X-Forwarded-For"] = "192.0.2.1"
    guesses = ["guess-0123456789", None, "guess-0123456789"]

    counted = [refusal(mint(api, each)) for each in guesses]
    # Of secrets and tokens together.
    api.send_check("+1.deed_0.wrong")
    locked_out = [refusal(mint(api, each)) for each in ("guess-0123456789", OLD, None)]

    assert counted == [WRONG, REQUIRED, WRONG]
    assert locked_out == [LOCKED_OUT, LOCKED_OUT, REQUIRED]
    # Another client is served.
    assert good(mint(api, OLD, **{"X-Forwarded-For": "192.0.2.2"}))


def test_all_else_needs_no_token(api):
    item_id = good(mint(api, OLD))["itemId"]

    swapped = api.swap(f"+1.{item_id}.a", f"+1.{item_id}.b")

    assert swapped.status_code == 200
    assert api.check(f"+1.{item_id}.b") == ["unspent"]
    assert api.get(f"/v1/item/{item_id}").status_code == 200
    assert api.get("/mint").status_code == 200
    assert good(api.get("/v1/info"))["minting"] == "token"


def test_a_browser_of_another_origin_may_send_a_token(api):
    asked = {
        "Origin": "https://shop.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }

    preflight = api.http.options("/v1/mint", headers=asked)
    refused = mint(api, None, Origin="https://shop.example")

    # A "*" would not cover Authorization.
    allowed = preflight.headers["Access-Control-Allow-Headers"]
    assert allowed == "authorization,content-type"
    assert refused.headers["Access-Control-Allow-Origin"] == "*"


def test_a_service_without_the_part_is_not_open_in_silence(sqlite_url):
    settings = read_settings(environ_of(sqlite_url, DEEDS_MINT_TOKEN=OLD))

    line = stop_line(create_app, settings, parts=("pages", "openapi"))

    assert line == "DEEDS_MINT_TOKEN is set, and parts/minting is missing"
