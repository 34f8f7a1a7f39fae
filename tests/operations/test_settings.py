"""The settings.

What is accepted, and that invalid values stop the start with one line.
"""

from dataclasses import astuple, fields
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeds.errors import StartError
from deeds.model import HashPolicy
from deeds.settings import RateLimit, Settings, read_settings
from parts.operator.hints import unknown_variables
from tests.support.api import stop_line
from tests.support.serving import REPOSITORY
from tests.support.sources import read_variables, run_gunicorn_conf

MARK = "mark-7c1f9e"
PEPPER = f"{MARK}-{'p' * 32}"
OLD_PEPPER = f"{MARK}-{'o' * 32}"
TOKEN = f"{MARK}-0123"
TOKENS = [TOKEN, f"{MARK}-+/=~!-{'x' * 230}"]
DIGESTS = tuple(sha256(token.encode()).digest() for token in TOKENS)

POSTGRES = f"postgresql://deeds:{MARK}@localhost/deeds"
LIMITS = " mint=10/hour ; failures=off;swap=1000000/second;item=off"
LIMITED = (RateLimit("mint", 10, 3600), RateLimit("swap", 1_000_000, 1))

# Each with what it accepts at least and at most.
COUNTS = {
    "DEEDS_MAX_ARRAY": (1, 8_000),
    "DEEDS_MAX_BODY_BYTES": (1, 1_073_741_824),
    "DEEDS_POOL_SIZE": (1, 1024),
    "DEEDS_TRUSTED_PROXIES": (0, 16),
    "DEEDS_KEEPALIVE": (1, 3_600),
    "PORT": (0, 65_535),
    "WEB_CONCURRENCY": (1, 1024),
}

INVALID_COUNTS = [
    "-1",
    "+5",
    "1e3",
    "1_0",
    " 5",
    " ",
    "many",
    "0x10",
    "\u0665",
    "\u00b2",
    "99999999999",
    "000000000099999",
    "9" * 100_000,
]

INVALID = {
    "DEEDS_ARGON2": [
        "high",
        "t=5,m=7168,p=1",
        "m=7168, t=5, p=1",
        "m=7168,t=5",
        "m=7168,t=5,p=1,v=19",
        "m=7M,t=5,p=1",
        "m=7168,t=5,p=1\n",
        "m=7168,t=\u0665,p=1",
        "m=7168,t=0,p=1",
        "m=7168,t=5,p=0",
        "m=7168,t=99999,p=1",
        "m=7,t=5,p=1",
        "m=31,t=5,p=4",
        "m=4194305,t=5,p=1",
    ],
    "DEEDS_RATE_LIMITS": [
        "many",
        ";",
        "mint=10/minute;",
        "mint=10",
        "mint=/minute",
        "mint=10/week",
        "mint=0/minute",
        "mint=1000001/minute",
        "mint=10/minute/hour",
        "mint=10/minute,swap=10/minute",
        "mint = 10/minute",
        "MINT=10/minute",
        "mint=10/minute\n;",
        "mint=\u0661/minute",
        "mint=10/minute;mint=20/minute",
        "failures=off;failures=10/minute",
        f"mint={'9' * 10_000}/minute",
    ],
    "DEEDS_RATE_LIMITS_STORAGE": [f"rediss://:{MARK}@localhost:6379/0"],
    "DEEDS_HOST": [
        "0.0.0.0:8000",
        "[::1]",
        "10.0.0.0/8",
        "127.0.0.1\n",
        " ",
        MARK,
    ],
    "DEEDS_LOG": ["JSON", "json ", "info,json", "1", "\u00e9"],
    "DEEDS_LOG_LEVEL": ["INFO", "critical", "0"],
    "DEEDS_CONTACT": [
        f"javascript:{MARK}",
        f"http://{MARK}",
        "https://",
        f"mailto:{MARK} or later",
        f"{MARK}\nthere",
        (MARK * 50)[:201],
    ],
    "DEEDS_METRICS": ["On", "1", "yes", "on\n"],
    "DEEDS_PEPPER": [
        MARK,
        (MARK * 4)[:31],
        f"{' ' * 32}{MARK}{' ' * 32}",
        f"{PEPPER}\udcff",
        " " * 64,
        f"{PEPPER},{PEPPER}",
    ],
    "DEEDS_MINT_TOKEN": [
        MARK,
        ",",
        f"{MARK}-15-chars"[:15],
        f"{MARK}-with-a-blank in-it",
        f"{MARK}-and-a-control-\x7f",
        f"{MARK}-{'é' * 16}",
        f"{TOKEN}\udcff",
        f"{TOKEN},{MARK}",
        MARK * 24,
    ],
    "DEEDS_PEPPERS_OLD": [
        MARK,
        (MARK * 4)[:31],
        f"{PEPPER}\udcff",
        f"{OLD_PEPPER},{MARK}",
    ],
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


# Each variable, what it is set to, the field of the settings and its value.
EVERYTHING = [
    ("DATABASE_URL", POSTGRES, "database_url", POSTGRES),
    ("DEEDS_ARGON2", "m=65536,t=3,p=4", "ordinary_cost", HashPolicy(65536, 3, 4)),
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

    found = {each.name: getattr(settings, each.name) for each in fields(Settings)}
    # Only refused.
    del found["rate_limits_storage"]
    assert found == {name: value for *_, name, value in EVERYTHING}
    assert (gunicorn["bind"], gunicorn["workers"]) == ("[::]:0", 1024)
    assert (gunicorn["loglevel"], gunicorn["keepalive"]) == ("error", 3600)
    assert MARK not in repr(settings)


@pytest.mark.parametrize("name", COUNTS)
def test_an_invalid_number_stops_the_start_by_its_name(name):
    smallest, largest = COUNTS[name]
    beyond = [str(largest + 1), *([] if smallest == 0 else ["0"])]

    said = {
        stop_line(read_settings, {name: value}) for value in [*INVALID_COUNTS, *beyond]
    }

    assert said == {f"{name} must be a whole number from {smallest} to {largest}"}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_value_stops_the_start_by_its_name_and_is_not_quoted(name):
    for value in INVALID[name]:
        line = stop_line(read_settings, {name: value})

        assert line.startswith(name)
        assert MARK not in line


@pytest.mark.parametrize(
    ("environ", "host"),
    [
        ({"HOST": "0.0.0.0"}, "0.0.0.0"),  # noqa: S104
        ({"HOST": "localhost"}, "127.0.0.1"),
        ({"HOST": MARK, "DEEDS_HOST": "::1"}, "::1"),
        ({"HOST": "0.0.0.0", "DEEDS_HOST": "localhost"}, "127.0.0.1"),  # noqa: S104
        ({"HOST": "::", "DEEDS_HOST": ""}, "::"),
    ],
)
def test_the_host_is_an_address_or_a_name_of_this_machine(environ, host):
    assert read_settings(environ).host == host


def test_a_host_that_others_set_asks_for_another_variable():
    assert stop_line(read_settings, {"HOST": "x86_64-conda-linux-gnu"}) == (
        "HOST must be an IP address, such as 0.0.0.0 or ::1, or a name of a loopback"
        " address; DEEDS_HOST goes before HOST"
    )


@pytest.mark.parametrize(
    "variable",
    ["DYNO", "K_SERVICE", "RENDER", "FLY_APP_NAME", "RAILWAY_PROJECT_ID"],
)
def test_a_platform_that_discards_its_disk_asks_for_the_url(variable, tmp_path):
    line = stop_line(read_settings, {variable: MARK})

    assert line == (
        f"DATABASE_URL is not set, and this platform ({variable}) discards its disk:"
        " set it to a PostgreSQL database, or to an SQLite file on a disk that is kept,"
        " sqlite:////path"
    )
    read_settings({variable: ""})
    (tmp_path / "url").write_text("sqlite:////data/deeds.db")
    for chosen in (
        {"DATABASE_URL": "sqlite:////data/deeds.db"},
        {"DATABASE_URL_FILE": str(tmp_path / "url")},
    ):
        url = read_settings({variable: MARK} | chosen).database_url
        assert url == "sqlite:////data/deeds.db"


def test_a_variable_that_is_no_setting_is_named_with_the_nearest():
    known = dict.fromkeys(read_variables(), MARK)
    of_others = dict.fromkeys(
        (
            *("DEEDS_URL", "DEEDS_WALLET", "DEEDS_COMMAND", "PATH", "PEPPER"),
            *("DEEDS_PORT", "DEEDS_PORT_8000_TCP_ADDR", "DEEDS_SERVICE_HOST"),
        ),
        MARK,
    )
    misspelt = {"DEEDS_PEPER": MARK, "DEEDS_HOST_FILE": MARK, "DEEDS_": ""}

    assert unknown_variables(known | of_others) == []
    assert unknown_variables(known | of_others | misspelt) == [
        "DEEDS_ is not a setting; the nearest is DEEDS_LOG",
        "DEEDS_HOST_FILE is not a setting; the nearest is DEEDS_HOST",
        "DEEDS_PEPER is not a setting; the nearest is DEEDS_PEPPER",
    ]


def test_a_cost_at_its_bounds_is_accepted():
    for cost in ("m=8,t=1,p=1", "m=4194304,t=9999,p=999", "m=32,t=1,p=4"):
        assert str(read_settings({"DEEDS_ARGON2": cost}).ordinary_cost) == cost


# As files and shells can hold them: no NUL, and of UTF-8.
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


def test_peppers_in_a_file_are_the_same_peppers(tmp_path):
    file = tmp_path / "peppers"
    file.write_bytes(f"{PEPPER} \r\n\n".encode())
    assert read_settings({"DEEDS_PEPPER_FILE": str(file)}).pepper == PEPPER.encode()

    file.write_text(f"{PEPPER}\n\n{OLD_PEPPER}, {OLD_PEPPER}2\n")

    peppers = read_settings({"DEEDS_PEPPERS_OLD_FILE": str(file)}).peppers_old
    assert peppers == tuple(
        each.encode() for each in (PEPPER, OLD_PEPPER, f"{OLD_PEPPER}2")
    )


def test_mint_tokens_in_a_file_are_one_a_line_and_an_empty_file_is_not_open(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"{TOKENS[0]}\r\n\n{TOKENS[1]}\n")
    settings = read_settings({"DEEDS_MINT_TOKEN_FILE": str(file)})
    assert settings.mint_token_digests == DIGESTS

    file.write_text("\n")

    line = stop_line(read_settings, {"DEEDS_MINT_TOKEN_FILE": str(file)})
    assert line.startswith("DEEDS_MINT_TOKEN must hold tokens of 16 to 255")


def test_the_url_of_the_database_may_be_in_a_file(tmp_path):
    file = tmp_path / "database-url"
    file.write_text(f"{POSTGRES}\n")
    assert read_settings({"DATABASE_URL_FILE": str(file)}).database_url == POSTGRES

    # Not the default: an empty ledger would be served.
    file.write_text("")

    assert read_settings({"DATABASE_URL_FILE": str(file)}).database_url == ""


@pytest.mark.parametrize("name", ["DEEDS_PEPPER", "DEEDS_PEPPERS_OLD"])
def test_a_pepper_that_cannot_be_read_stops_the_start(name, tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + PEPPER.encode())
    (tmp_path / "short").write_text(MARK)

    assert stop_line(read_settings, {name: PEPPER, f"{name}_FILE": "/nowhere"}) == (
        f"{name} and {name}_FILE are both set; set one"
    )
    for path in ("/nowhere/pepper", str(tmp_path), str(tmp_path / "binary")):
        assert stop_line(read_settings, {f"{name}_FILE": path}) == (
            f"{name}_FILE names a file that cannot be read as text"
        )
    assert MARK not in stop_line(
        read_settings, {f"{name}_FILE": str(tmp_path / "short")}
    )


def test_without_a_home_directory_the_url_has_to_be_set(monkeypatch):
    monkeypatch.setattr("deeds.settings.DEFAULT_LEDGER", Path("deeds.sqlite3"))

    assert stop_line(read_settings, {}) == (
        "DATABASE_URL is not set, and this user has no home directory"
    )
