"""The settings: what is accepted, and that invalid values stop the start with one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeds.domain.errors import StartError
from deeds.domain.model import ARRAY_LENGTH_MAX, BODY_BYTES_MAX, Argon2Cost
from deeds.settings import (
    LogStyle,
    MetricsPlace,
    RateLimits,
    ServerSettings,
    Settings,
    read_server_settings,
    read_settings,
)
from tests.support.sources import read_variables

DEFAULT_URL = "sqlite:///default.db"
MARK = "mark-7c1f9e"
PEPPER = f"{MARK}-{'p' * 32}"
OLD_PEPPER = f"{MARK}-{'o' * 32}"

# Each with what it accepts at least and at most.
COUNTS = {
    "DEEDS_MAX_ARRAY": (1, 16_000),
    "DEEDS_MAX_BODY_BYTES": (1, 1_073_741_824),
    "DEEDS_TRUSTED_PROXIES": (0, 16),
    "PORT": (0, 65_535),
    "WEB_CONCURRENCY": (1, 1024),
}

INVALID_COUNTS = [
    *["-1", "+5", "1.5", "1e3", "1_0", " 5", "5 ", " ", "many", "0x10", "\u0665", "\u00b2"],
    *["99999999999", "000000000099999", "9" * 100_000],
]

INVALID = {
    "DEEDS_ARGON2": [
        *["high", "7168", "t=5,m=7168,p=1", "m=7168, t=5, p=1", "m=7168,t=5"],
        *["m=7168,t=5,p=1,v=19", "m=7M,t=5,p=1", "m=7168,t=5,p=1\n", "m=7168,t=\u0665,p=1"],
        *["m=7168,t=0,p=1", "m=7168,t=5,p=0", "m=7168,t=-5,p=1", "m=7168,t=99999,p=1"],
        *["m=7,t=5,p=1", "m=31,t=5,p=4", "m=4194305,t=5,p=1"],
    ],
    "DEEDS_RATE_LIMITS": [
        *["many", ";", "mint=10/minute;", "mint=", "mint=10", "mint=/minute", "info=10/minute"],
        *["mint=10/week", "mint=10/minutes", "mint=0/minute", "mint=-1/minute", "mint=1.5/minute"],
        *["mint=1000001/minute", "mint=10/minute/hour", "mint=10/minute,swap=10/minute"],
        *["mint = 10/minute", "MINT=10/minute", "mint=10/minute\n;", "mint=\u0661/minute"],
        *["mint=10/minute;mint=20/minute", "failures=off;failures=10/minute"],
        f"mint={'9' * 10_000}/minute",
    ],
    "DEEDS_RATE_LIMITS_STORAGE": [
        *[MARK, f"http://{MARK}", "redis://", f"redis://{MARK} x", "\n"],
    ],
    "DEEDS_LOG": ["JSON", "json ", "info,json", "1", "\u00e9"],
    "DEEDS_LOG_LEVEL": ["INFO", "critical", "0"],
    "DEEDS_METRICS": [
        *["On", "1", "yes", "9464", ":9464", "host:", "host:0", "host:65536", "host:\u0663"],
        *["h:1/x", "a b:1", "unix:/tmp/x", "http://host:1", "1.2.3.4:5:6", "fd://3", "host:1\n"],
    ],
    "DEEDS_PEPPER": [
        *[MARK, (MARK * 4)[:31], f"{' ' * 32}{MARK}{' ' * 32}", f"{PEPPER}\udcff", " " * 64],
        f"{PEPPER},{PEPPER}",
    ],
    "DEEDS_PEPPERS_OLD": [MARK, (MARK * 4)[:31], f"{PEPPER}\udcff", f"{OLD_PEPPER},{MARK}"],
}


def read(**environ: str) -> Settings:
    return read_settings(environ, DEFAULT_URL)


def read_all(environ):
    return read(**environ), read_server_settings(environ)


def refusal(**environ: str) -> str:
    """Return the line that one of the settings stops the start with."""
    with pytest.raises(StartError) as stopped:
        read_all(environ)
    line = str(stopped.value)
    assert line.startswith("deeds cannot start: ")
    assert "\n" not in line
    return line


@pytest.mark.parametrize("value", [None, ""], ids=["not set", "empty"])
def test_nothing_has_to_be_set(value):
    environ = {} if value is None else dict.fromkeys(read_variables(), value)

    assert read_settings(environ, DEFAULT_URL) == Settings(
        database_url=DEFAULT_URL,
        ordinary_cost=Argon2Cost(7168, 5, 1),
        pepper=None,
        peppers_old=(),
        array_length_max=ARRAY_LENGTH_MAX,
        body_bytes_max=BODY_BYTES_MAX,
        processes_count=0,
        mark_file=None,
        trusted_proxies=0,
        rate_limits=RateLimits(failures="100/minute", routes={}),
        rate_limits_storage=None,
        log=LogStyle("auto", "info"),
        metrics=MetricsPlace(is_on=False, address=None),
    )
    assert read_server_settings(environ) == ServerSettings(
        address="127.0.0.1:8000",
        processes_count=0,
        log=LogStyle("auto", "info"),
        metrics=MetricsPlace(is_on=False, address=None),
    )


def test_everything_can_be_set():
    environ = {
        "DATABASE_URL": "postgresql://deeds@localhost/deeds",
        "DEEDS_ARGON2": "m=65536,t=3,p=4",
        "DEEDS_PEPPER": PEPPER,
        "DEEDS_PEPPERS_OLD": f"{OLD_PEPPER}, {OLD_PEPPER}2",
        "DEEDS_MAX_ARRAY": "1",
        "DEEDS_MAX_BODY_BYTES": "1073741824",
        "WEB_CONCURRENCY": "1024",
        "DEEDS_MARK_FILE": "/elsewhere/mark",
        "DEEDS_TRUSTED_PROXIES": "16",
        "DEEDS_RATE_LIMITS": " mint=10/hour ; failures=off;swap=1000000/second;item=off",
        "DEEDS_RATE_LIMITS_STORAGE": "rediss://:password@localhost:6379/0",
        "DEEDS_LOG": "console",
        "DEEDS_LOG_LEVEL": "error",
        "DEEDS_METRICS": "[::1]:65535",
        "PORT": "0",
    }

    assert read(**environ) == Settings(
        database_url="postgresql://deeds@localhost/deeds",
        ordinary_cost=Argon2Cost(65536, 3, 4),
        pepper=PEPPER.encode(),
        peppers_old=(OLD_PEPPER.encode(), f"{OLD_PEPPER}2".encode()),
        array_length_max=1,
        body_bytes_max=1_073_741_824,
        processes_count=1024,
        mark_file="/elsewhere/mark",
        trusted_proxies=16,
        rate_limits=RateLimits(
            failures=None,
            routes={"mint": "10/hour", "swap": "1000000/second"},
        ),
        rate_limits_storage="rediss://:password@localhost:6379/0",
        log=LogStyle("console", "error"),
        metrics=MetricsPlace(is_on=True, address="[::1]:65535"),
    )
    assert read_server_settings(environ) == ServerSettings(
        address="0.0.0.0:0",
        processes_count=1024,
        log=LogStyle("console", "error"),
        metrics=MetricsPlace(is_on=True, address="[::1]:65535"),
    )


@pytest.mark.parametrize("name", COUNTS)
def test_an_invalid_number_stops_the_start_by_its_name(name):
    smallest, largest = COUNTS[name]
    beyond = [str(largest + 1), *([] if smallest == 0 else ["0"])]

    for value in [*INVALID_COUNTS, *beyond]:
        assert refusal(**{name: value}) == (
            f"deeds cannot start: {name} must be a whole number from {smallest} to {largest}"
        )


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in INVALID.items() for value in values]
)
def test_an_invalid_value_stops_the_start_by_its_name_and_is_not_quoted(name, value):
    line = refusal(**{name: value})

    assert line.startswith(f"deeds cannot start: {name}")
    assert MARK not in line


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("mint=10/minute", RateLimits(routes={"mint": "10/minute"})),
        ("failures=7/day", RateLimits(failures="7/day")),
        ("mint=off", RateLimits()),
    ],
)
def test_a_limit_that_is_not_named_keeps_its_default(text, limits):
    assert read(DEEDS_RATE_LIMITS=text).rate_limits == limits


@pytest.mark.parametrize("cost", ["m=8,t=1,p=1", "m=4194304,t=9999,p=999", "m=32,t=1,p=4"])
def test_a_cost_at_its_bounds_is_accepted(cost):
    assert str(read(DEEDS_ARGON2=cost).ordinary_cost) == cost


def test_metrics_must_not_have_the_port_of_the_service():
    said = "deeds cannot start: DEEDS_METRICS must not have the port of the service"

    assert refusal(DEEDS_METRICS="127.0.0.1:8000") == said
    assert refusal(DEEDS_METRICS="metrics.internal:1", PORT="1") == said


# As files and shells can hold them: no NUL, and of UTF-8.
PEPPER_TEXTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=32, max_size=40
)


@given(PEPPER_TEXTS | PEPPER_TEXTS.map("\n".join))
def test_every_pepper_that_is_accepted_can_be_named_as_an_old_one(text):
    try:
        pepper = read(DEEDS_PEPPER=text).pepper
    except StartError:
        return
    assert read(DEEDS_PEPPERS_OLD=text).peppers_old == (pepper,)
    assert read(DEEDS_PEPPERS_OLD=f"{OLD_PEPPER},{text}").peppers_old[1:] == (pepper,)


def test_peppers_in_a_file_are_the_same_peppers(tmp_path):
    file = tmp_path / "peppers"
    for ending in ("", "\n", "\r\n", " \n\n"):
        file.write_bytes(f"{PEPPER}{ending}".encode())
        assert read(DEEDS_PEPPER_FILE=str(file)).pepper == PEPPER.encode()

    file.write_text(f"{PEPPER}\n\n{OLD_PEPPER}, {OLD_PEPPER}2\n")

    peppers = read(DEEDS_PEPPERS_OLD_FILE=str(file)).peppers_old
    assert peppers == tuple(each.encode() for each in (PEPPER, OLD_PEPPER, f"{OLD_PEPPER}2"))


@pytest.mark.parametrize("name", ["DEEDS_PEPPER", "DEEDS_PEPPERS_OLD"])
def test_a_pepper_that_cannot_be_read_stops_the_start(name, tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + PEPPER.encode())

    assert refusal(**{name: PEPPER, f"{name}_FILE": "/nowhere"}) == (
        f"deeds cannot start: {name} and {name}_FILE are both set; set one"
    )
    for path in ("/nowhere/pepper", str(tmp_path), str(tmp_path / "binary")):
        assert refusal(**{f"{name}_FILE": path}) == (
            f"deeds cannot start: {name}_FILE names a file that cannot be read as text"
        )


def test_the_repr_of_the_settings_hides_peppers_and_passwords():
    shown = repr(
        read(
            DATABASE_URL=f"postgresql://deeds:{MARK}@localhost/",
            DEEDS_PEPPER=PEPPER,
            DEEDS_PEPPERS_OLD=OLD_PEPPER,
            DEEDS_RATE_LIMITS_STORAGE=f"redis://:{MARK}@localhost/",
        )
    )

    assert MARK not in shown
