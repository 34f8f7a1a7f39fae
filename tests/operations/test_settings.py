"""The settings: values that are accepted, and one-line errors for all others."""

from dataclasses import astuple, fields
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeds.errors import StartError
from deeds.model import HashPolicy
from deeds.settings import RateLimit, Settings, read_settings
from tests.support.api import stop_line
from tests.support.serving import REPOSITORY
from tests.support.sources import read_variables, run_gunicorn_conf

MARK = "mark-7c1f9e"
PEPPER = f"{MARK}-{'p' * 32}"
OLD_PEPPER = f"{MARK}-{'o' * 32}"
TOKEN = f"{MARK}-0123"
TOKENS = [TOKEN, f"{MARK}-+/=~!-{'x' * 237}"]
DIGESTS = tuple(sha256(token.encode()).digest() for token in TOKENS)

POSTGRES = f"postgresql://deeds:{MARK}@localhost/deeds"
COST_MAX = "m=4194304,t=9999,p=999"
LIMITS = " mint=10/hour ; failures=off;swap=1000000/second;item=off"
LIMITED = (RateLimit("mint", 10, 3600), RateLimit("swap", 1_000_000, 1))

A_COST = "must look like m=7168,t=5,p=1, with t and p at least 1 and m from 8 times p"
A_LIMIT = "must look like mint=10/minute;failures=off, each name once with a limit"
AN_ADDRESS = "must be an IP address, such as 0.0.0.0 or ::1, or a name of a loopback"
A_CONTACT = "must be an address that begins with https:// or mailto:, or a text of one"
A_PEPPER = "must have at least 32 characters, no comma and no space; make one with"
TOKENS_OF = "must hold tokens of 16 to 255 printable ASCII characters without spaces"

# A setting, a value that it refuses, and the start of the error after its name.
INVALID = {
    "below a range": ("DEEDS_POOL_SIZE", "0", "must be a whole number from 1 to 1024"),
    "too many elements": (
        "DEEDS_MAX_ARRAY",
        "8001",
        "must be a whole number from 1 to",
    ),
    "a body above 1 GiB": ("DEEDS_MAX_BODY_BYTES", "1073741825", "must be a whole"),
    "too many connections": ("DEEDS_POOL_SIZE", "1025", "must be a whole number"),
    "a loop of proxies": ("DEEDS_TRUSTED_PROXIES", "17", "must be a whole number"),
    "more than an hour": ("DEEDS_KEEPALIVE", "3601", "must be a whole number"),
    "no port": ("PORT", "65536", "must be a whole number from 0 to 65535"),
    "too many processes": ("WEB_CONCURRENCY", "1025", "must be a whole number"),
    "a sign": ("PORT", "+5", "must be a whole number"),
    "other digits": ("PORT", "\u0665", "must be a whole number"),
    "very many digits": ("PORT", "9" * 100_000, "must be a whole number"),
    "a cost of another order": ("DEEDS_ARGON2", "t=5,m=7168,p=1", A_COST),
    "no pass": ("DEEDS_ARGON2", "m=7168,t=0,p=1", A_COST),
    "no lane": ("DEEDS_ARGON2", "m=7168,t=5,p=0", A_COST),
    "less memory than lanes need": ("DEEDS_ARGON2", "m=31,t=5,p=4", A_COST),
    "more than 4 GiB": ("DEEDS_ARGON2", "m=4194305,t=5,p=1", A_COST),
    "a limit without a period": ("DEEDS_RATE_LIMITS", "mint=10", A_LIMIT),
    "a limit of none": ("DEEDS_RATE_LIMITS", "mint=0/minute", A_LIMIT),
    "a limit of too many": ("DEEDS_RATE_LIMITS", "mint=1000001/minute", A_LIMIT),
    "a limit twice": ("DEEDS_RATE_LIMITS", "mint=1/day;mint=2/day", A_LIMIT),
    "limits kept elsewhere": ("DEEDS_RATE_LIMITS_STORAGE", MARK, "is no longer"),
    "a name of others": ("DEEDS_HOST", MARK, AN_ADDRESS),
    "a short form of 10.0.0.1": ("DEEDS_HOST", "10.1", AN_ADDRESS),
    "a name of a shell": ("HOST", "x86_64-conda-linux-gnu", AN_ADDRESS),
    "a form of the log": ("DEEDS_LOG", "JSON", "must be one of auto, json, console"),
    "a level": ("DEEDS_LOG_LEVEL", "all", "must be one of debug, info, warning, error"),
    "a switch": ("DEEDS_METRICS", "1", "must be one of off, on"),
    "a contact that runs": ("DEEDS_CONTACT", f"javascript:{MARK}", A_CONTACT),
    "a contact of two lines": ("DEEDS_CONTACT", f"{MARK}\nthere", A_CONTACT),
    "a long contact": ("DEEDS_CONTACT", (MARK * 50)[:201], A_CONTACT),
    "a short pepper": ("DEEDS_PEPPER", PEPPER[:31], A_PEPPER),
    "two peppers": ("DEEDS_PEPPER", f"{PEPPER},{PEPPER}", A_PEPPER),
    "a pepper that is no text": (
        "DEEDS_PEPPER",
        f"{PEPPER}\udcff",
        "is not UTF-8 text",
    ),
    "a short old pepper": ("DEEDS_PEPPERS_OLD", f"{PEPPER},{MARK}", A_PEPPER),
    "a short token": ("DEEDS_MINT_TOKEN", f"{TOKEN},{TOKEN[:15]}", TOKENS_OF),
    "a long token": ("DEEDS_MINT_TOKEN", (MARK * 24)[:256], TOKENS_OF),
    "a token of two words": ("DEEDS_MINT_TOKEN", f"{TOKEN} {TOKEN}", TOKENS_OF),
    "a token with an accent": ("DEEDS_MINT_TOKEN", f"{TOKEN}é", TOKENS_OF),
    "a comma alone": ("DEEDS_MINT_TOKEN", ",", TOKENS_OF),
}


@pytest.mark.parametrize("value", [None, ""], ids=["not set", "empty"])
def test_nothing_has_to_be_set(value):
    environ = {} if value is None else dict.fromkeys(read_variables(), value)

    policy = HashPolicy(7168, 5, 1)
    assert astuple(read_settings(environ)) == (
        *(f"sqlite:///{REPOSITORY}/instance/deeds.sqlite3", policy, None, (), ()),
        *(256, 1_048_576, "127.0.0.1", 8_000, 95, 0, 0, None, 0),
        *((("failures", 100, 60),), None),
        *("auto", "info", "", "off"),
    )
    assert run_gunicorn_conf(environ)["bind"] == "[127.0.0.1]:8000"


# A variable, its text, and the field of Settings and its value.
EVERYTHING = [
    ("DATABASE_URL", POSTGRES, "database_url", POSTGRES),
    ("DEEDS_ARGON2", COST_MAX, "ordinary_cost", HashPolicy(4_194_304, 9999, 999)),
    ("DEEDS_PEPPER", PEPPER, "pepper", PEPPER.encode()),
    ("DEEDS_PEPPERS_OLD", OLD_PEPPER, "peppers_old", (OLD_PEPPER.encode(),)),
    ("DEEDS_MINT_TOKEN", f" {TOKENS[0]},, {TOKENS[1]} ", "mint_token_digests", DIGESTS),
    ("DEEDS_MAX_ARRAY", "1", "array_length_max", 1),
    ("DEEDS_MAX_BODY_BYTES", "1073741824", "body_bytes_max", 1_073_741_824),
    ("DEEDS_HOST", "::", "host", "::"),
    ("PORT", "0", "port", 0),
    ("DEEDS_KEEPALIVE", "3600", "keepalive_s", 3600),
    ("WEB_CONCURRENCY", "1024", "processes_count", 1024),
    ("DEEDS_POOL_SIZE", "1", "pool_size", 1),
    ("DEEDS_CHECKPOINT_FILE", "/else/where", "checkpoint_file", "/else/where"),
    ("DEEDS_TRUSTED_PROXIES", "16", "trusted_proxies", 16),
    ("DEEDS_RATE_LIMITS", LIMITS, "rate_limits", LIMITED),
    ("DEEDS_LOG", "console", "log_form", "console"),
    ("DEEDS_LOG_LEVEL", "error", "log_level", "error"),
    ("DEEDS_CONTACT", " mailto:a@b.example ", "contact", "mailto:a@b.example"),
    ("DEEDS_METRICS", "on", "metrics", "on"),
]


def test_everything_can_be_set_and_no_repr_shows_a_pepper_or_password():
    environ = {variable: text for variable, text, *_ in EVERYTHING}

    settings, gunicorn = read_settings(environ), run_gunicorn_conf(environ)

    values = {field.name: getattr(settings, field.name) for field in fields(Settings)}
    # It is refused if set.
    del values["rate_limits_storage"]
    assert values == {name: value for *_, name, value in EVERYTHING}
    assert (gunicorn["bind"], gunicorn["workers"]) == ("[::]:0", 1024)
    assert (gunicorn["loglevel"], gunicorn["keepalive"]) == ("error", 3600)
    assert MARK not in repr(settings)


@pytest.mark.parametrize(("name", "value", "reason"), INVALID.values(), ids=INVALID)
def test_an_invalid_value_stops_the_start_by_its_name_and_is_not_quoted(
    name, value, reason
):
    line = stop_line(read_settings, {name: value})

    assert line.startswith(f"{name} {reason}")
    assert MARK not in line


@pytest.mark.parametrize(
    ("environ", "host"),
    [
        ({"HOST": "localhost"}, "127.0.0.1"),
        ({"HOST": MARK, "DEEDS_HOST": "::1"}, "::1"),
    ],
)
def test_the_host_is_an_address_or_a_name_of_this_machine(environ, host):
    assert read_settings(environ).host == host


@pytest.mark.parametrize(
    "variable",
    ["DYNO", "K_SERVICE", "RENDER", "FLY_APP_NAME", "RAILWAY_PROJECT_ID"],
)
def test_a_platform_that_discards_its_disk_asks_for_the_url(variable):
    url = "sqlite:////data/deeds.db"

    line = stop_line(read_settings, {variable: MARK})

    assert line.startswith(
        f"DATABASE_URL is not set, and this platform ({variable}) discards its disk: "
    )
    read_settings({variable: ""})
    assert read_settings({variable: MARK, "DATABASE_URL": url}).database_url == url


# Texts that files and shells can contain: UTF-8 without NUL.
PEPPER_TEXTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    min_size=32,
    max_size=40,
)


@given(PEPPER_TEXTS | PEPPER_TEXTS.map("\n".join))
def test_every_pepper_that_is_accepted_can_be_named_as_an_old_one(text):
    try:
        pepper = read_settings({"DEEDS_PEPPER": text}).pepper
    except StartError:
        return
    settings = read_settings({"DEEDS_PEPPERS_OLD": f"{OLD_PEPPER},{text}"})
    assert settings.peppers_old[1:] == (pepper,)


def test_secrets_may_be_in_files_of_one_a_line(tmp_path):
    peppers, tokens, url = (tmp_path / name for name in ("peppers", "tokens", "url"))
    peppers.write_text(f"{PEPPER}\n\n{OLD_PEPPER}, {OLD_PEPPER}2\n")
    tokens.write_text(f"{TOKENS[0]}\r\n\n{TOKENS[1]}\n")
    url.write_text(f"{POSTGRES} \r\n")

    settings = read_settings(
        {
            "DEEDS_PEPPERS_OLD_FILE": str(peppers),
            "DEEDS_MINT_TOKEN_FILE": str(tokens),
            "DATABASE_URL_FILE": str(url),
        }
    )

    old = (PEPPER, OLD_PEPPER, f"{OLD_PEPPER}2")
    assert settings.peppers_old == tuple(each.encode() for each in old)
    assert settings.mint_token_digests == DIGESTS
    assert settings.database_url == POSTGRES


def test_an_empty_file_sets_no_default(tmp_path):
    """With the defaults, anybody could mint, or an empty ledger would be served."""
    file = tmp_path / "empty"
    file.write_text("\n")

    line = stop_line(read_settings, {"DEEDS_MINT_TOKEN_FILE": str(file)})

    assert line.startswith(f"DEEDS_MINT_TOKEN {TOKENS_OF}")
    assert read_settings({"DATABASE_URL_FILE": str(file)}).database_url == ""


def test_a_file_that_cannot_be_read_stops_the_start(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + PEPPER.encode())

    both = {"DEEDS_PEPPER": PEPPER, "DEEDS_PEPPER_FILE": "/nowhere"}
    assert stop_line(read_settings, both) == (
        "DEEDS_PEPPER and DEEDS_PEPPER_FILE are both set; set one"
    )
    for path in ("/nowhere/pepper", str(tmp_path), str(tmp_path / "binary")):
        assert stop_line(read_settings, {"DEEDS_PEPPER_FILE": path}) == (
            "DEEDS_PEPPER_FILE names a file that cannot be read as text"
        )


def test_without_a_home_directory_the_url_has_to_be_set(monkeypatch):
    monkeypatch.setattr("deeds.settings.DEFAULT_LEDGER", Path("deeds.sqlite3"))

    assert stop_line(read_settings, {}) == (
        "DATABASE_URL is not set, and this user has no home directory"
    )
