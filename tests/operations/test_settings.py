"""The settings: what is taken, and that odd values stop the start without a word too many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeds.domain.errors import StartError
from deeds.domain.model import ARRAY_LENGTH_MAX, BODY_BYTES_MAX, Argon2Cost
from deeds.rate_limits import RateLimit, RateLimits
from deeds.settings import Settings, read_settings

DEFAULT_URL = "sqlite:///default.db"
MARK = "mark-7c1f9e"
PEPPER = f"{MARK}-{'p' * 32}"
OLD_PEPPER = f"{MARK}-{'o' * 32}"
NO_FILE = "/nowhere/pepper"

ODD_COUNTS = {
    "zero": "0",
    "negative": "-1",
    "sign": "+5",
    "fraction": "1.5",
    "exponent": "1e3",
    "underscore": "1_0",
    "space before": " 5",
    "space after": "5 ",
    "space alone": " ",
    "word": "many",
    "hexadecimal": "0x10",
    "digits of another script": "\u0665",
    "superscript": "\u00b2",
    "too large": "99999999999",
    "endless": "9" * 100_000,
}

ODD_COSTS = {
    "word": "high",
    "number alone": "7168",
    "other order": "t=5,m=7168,p=1",
    "space": "m=7168, t=5, p=1",
    "part missing": "m=7168,t=5",
    "part too many": "m=7168,t=5,p=1,v=19",
    "unit": "m=7M,t=5,p=1",
    "no time": "m=7168,t=0,p=1",
    "no lanes": "m=7168,t=5,p=0",
    "negative": "m=7168,t=-5,p=1",
    "too little memory": "m=7,t=5,p=1",
    "too little memory for its lanes": "m=31,t=5,p=4",
    "too much memory": "m=4194305,t=5,p=1",
    "too many digits": "m=7168,t=99999,p=1",
    "line end": "m=7168,t=5,p=1\n",
    "digits of another script": "m=7168,t=\u0665,p=1",
}

ODD_PEPPERS = {
    "short": MARK,
    "one character short": (MARK * 4)[:31],
    "spaces around a short one": f"{' ' * 32}{MARK}{' ' * 32}",
    "no UTF-8": f"{PEPPER}\udcff",
}


def read(**environ: str) -> Settings:
    return read_settings(environ, DEFAULT_URL)


def refusal(**environ: str) -> str:
    """Return the line that the settings stop the start with."""
    with pytest.raises(StartError) as stopped:
        read(**environ)
    line = str(stopped.value)
    assert line.startswith("deeds cannot start: ")
    assert "\n" not in line
    return line


@pytest.mark.parametrize("value", [None, ""], ids=["not set", "empty"])
def test_nothing_has_to_be_set(value):
    names = [
        "DATABASE_URL",
        "DEEDS_ARGON2",
        "DEEDS_PEPPER",
        "DEEDS_PEPPER_FILE",
        "DEEDS_PEPPERS_OLD",
        "DEEDS_PEPPERS_OLD_FILE",
        "DEEDS_MAX_ARRAY",
        "DEEDS_MAX_BODY_BYTES",
        "DEEDS_TRUSTED_PROXIES",
        "DEEDS_RATE_LIMITS",
        "DEEDS_RATE_LIMITS_STORAGE",
    ]

    settings = read(**({} if value is None else dict.fromkeys(names, value)))

    assert settings == Settings(
        database_url=DEFAULT_URL,
        ordinary_cost=Argon2Cost(7168, 5, 1),
        pepper=None,
        peppers_old=(),
        array_length_max=ARRAY_LENGTH_MAX,
        body_bytes_max=BODY_BYTES_MAX,
        trusted_proxies=0,
        rate_limits=RateLimits(failures=RateLimit(100, "minute"), routes={}),
        rate_limits_storage=None,
    )


def test_everything_can_be_set():
    settings = read(
        DATABASE_URL="postgresql://deeds@localhost/deeds",
        DEEDS_ARGON2="m=65536,t=3,p=4",
        DEEDS_PEPPER=PEPPER,
        DEEDS_PEPPERS_OLD=f"{OLD_PEPPER}, {OLD_PEPPER}2",
        DEEDS_MAX_ARRAY="1",
        DEEDS_MAX_BODY_BYTES="1073741824",
        WEB_CONCURRENCY="1024",
        DEEDS_TRUSTED_PROXIES="16",
        DEEDS_RATE_LIMITS="mint=10/hour;failures=off",
        DEEDS_RATE_LIMITS_STORAGE="rediss://:password@localhost:6379/0",
    )

    assert settings == Settings(
        database_url="postgresql://deeds@localhost/deeds",
        ordinary_cost=Argon2Cost(65536, 3, 4),
        pepper=PEPPER.encode(),
        peppers_old=(OLD_PEPPER.encode(), f"{OLD_PEPPER}2".encode()),
        array_length_max=1,
        body_bytes_max=1_073_741_824,
        processes_count=1024,
        trusted_proxies=16,
        rate_limits=RateLimits(failures=None, routes={"mint": RateLimit(10, "hour")}),
        rate_limits_storage="rediss://:password@localhost:6379/0",
    )


@pytest.mark.parametrize("name", ["DEEDS_MAX_ARRAY", "DEEDS_MAX_BODY_BYTES"])
@pytest.mark.parametrize("value", ODD_COUNTS.values(), ids=ODD_COUNTS.keys())
def test_an_odd_count_stops_the_start_by_its_name(name, value):
    assert refusal(**{name: value}).startswith(f"deeds cannot start: {name} must be ")


@pytest.mark.parametrize("value", [value for value in ODD_COUNTS.values() if value != "0"] + ["17"])
def test_an_odd_number_of_proxies_stops_the_start_by_its_name(value):
    assert refusal(DEEDS_TRUSTED_PROXIES=value) == (
        "deeds cannot start: DEEDS_TRUSTED_PROXIES must be a whole number from 0 to 16"
    )


@pytest.mark.parametrize("value", ["many", "mint=0/minute", "info=1/minute", "mint=1/week", ";"])
def test_odd_rate_limits_stop_the_start_by_their_name(value):
    assert refusal(DEEDS_RATE_LIMITS=value).startswith("deeds cannot start: DEEDS_RATE_LIMITS: ")


@pytest.mark.parametrize("value", [MARK, f"http://{MARK}", "redis://", f"redis://{MARK} x", "\n"])
def test_an_odd_storage_of_rate_limits_stops_the_start_and_is_not_quoted(value):
    assert refusal(DEEDS_RATE_LIMITS_STORAGE=value) == (
        "deeds cannot start: DEEDS_RATE_LIMITS_STORAGE must look like redis://host:6379/0"
    )


@pytest.mark.parametrize("value", ODD_COSTS.values(), ids=ODD_COSTS.keys())
def test_an_odd_cost_stops_the_start_by_its_name(value):
    assert refusal(DEEDS_ARGON2=value).startswith("deeds cannot start: DEEDS_ARGON2")


@pytest.mark.parametrize("cost", ["m=8,t=1,p=1", "m=4194304,t=9999,p=999", "m=32,t=1,p=4"])
def test_a_cost_at_its_bounds_is_taken(cost):
    assert str(read(DEEDS_ARGON2=cost).ordinary_cost) == cost


@pytest.mark.parametrize("name", ["DEEDS_PEPPER", "DEEDS_PEPPERS_OLD"])
@pytest.mark.parametrize("value", ODD_PEPPERS.values(), ids=ODD_PEPPERS.keys())
def test_an_odd_pepper_stops_the_start_by_its_name_and_is_not_quoted(name, value, tmp_path):
    file = tmp_path / "pepper"
    file.write_text(value, encoding="utf-8", errors="surrogateescape")

    for environ in ({name: value}, {f"{name}_FILE": str(file)}):
        line = refusal(**environ)
        assert line.startswith(f"deeds cannot start: {name}")
        assert MARK not in line


def test_a_pepper_of_spaces_alone_is_none_and_stops_the_start():
    assert refusal(DEEDS_PEPPER=" " * 64).startswith("deeds cannot start: DEEDS_PEPPER ")


def test_a_pepper_with_a_comma_is_refused_because_a_list_could_not_hold_it():
    assert MARK not in refusal(DEEDS_PEPPER=f"{PEPPER},{PEPPER}")


def test_one_short_pepper_in_a_list_stops_the_start():
    line = refusal(DEEDS_PEPPERS_OLD=f"{OLD_PEPPER},{MARK}")

    assert line.startswith("deeds cannot start: DEEDS_PEPPERS_OLD ")
    assert MARK not in line


# As files and shells can hold them: no NUL, and of UTF-8.
PEPPER_TEXTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=32, max_size=40
)


@given(PEPPER_TEXTS | PEPPER_TEXTS.map("\n".join))
def test_every_pepper_that_is_taken_can_be_named_as_an_old_one(text):
    try:
        pepper = read(DEEDS_PEPPER=text).pepper
    except StartError:
        return
    assert read(DEEDS_PEPPERS_OLD=text).peppers_old == (pepper,)
    assert read(DEEDS_PEPPERS_OLD=f"{OLD_PEPPER},{text}").peppers_old[1:] == (pepper,)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", " \n\n"])
def test_a_pepper_in_a_file_is_the_same_pepper(tmp_path, ending):
    file = tmp_path / "pepper"
    file.write_bytes(f"{PEPPER}{ending}".encode())

    assert read(DEEDS_PEPPER_FILE=str(file)).pepper == PEPPER.encode()
    assert read(DEEDS_PEPPERS_OLD_FILE=str(file)).peppers_old == (PEPPER.encode(),)


def test_old_peppers_in_a_file_are_set_apart_by_lines_or_commas(tmp_path):
    file = tmp_path / "peppers"
    file.write_text(f"{PEPPER}\n\n{OLD_PEPPER}, {OLD_PEPPER}2\n")

    assert read(DEEDS_PEPPERS_OLD_FILE=str(file)).peppers_old == (
        PEPPER.encode(),
        OLD_PEPPER.encode(),
        f"{OLD_PEPPER}2".encode(),
    )


@pytest.mark.parametrize("name", ["DEEDS_PEPPER", "DEEDS_PEPPERS_OLD"])
def test_a_value_and_a_file_at_once_stop_the_start(name, tmp_path):
    line = refusal(**{name: PEPPER, f"{name}_FILE": str(tmp_path / "pepper")})

    assert line == f"deeds cannot start: {name} and {name}_FILE are both set; set one"


@pytest.mark.parametrize("name", ["DEEDS_PEPPER", "DEEDS_PEPPERS_OLD"])
@pytest.mark.parametrize("kind", ["missing", "directory", "binary"])
def test_a_file_that_cannot_be_read_stops_the_start(name, kind, tmp_path):
    paths = {"missing": NO_FILE, "directory": str(tmp_path), "binary": str(tmp_path / "binary")}
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + PEPPER.encode())

    line = refusal(**{f"{name}_FILE": paths[kind]})

    assert line == f"deeds cannot start: {name}_FILE names a file that cannot be read as text"


def test_the_repr_of_the_settings_hides_peppers_and_password():
    shown = repr(
        read(
            DATABASE_URL=f"postgresql://deeds:{MARK}@localhost/",
            DEEDS_PEPPER=PEPPER,
            DEEDS_RATE_LIMITS_STORAGE=f"redis://:{MARK}@localhost/",
        )
    )

    assert MARK not in shown
