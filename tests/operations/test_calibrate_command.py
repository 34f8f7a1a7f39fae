"""`flask --app app deeds calibrate`, as an operator runs it. What it says, not how fast that is."""

import re
from pathlib import Path

import pytest

from deeds.calibration import OWASP_COSTS
from deeds.settings import read_settings
from tests.support.making import Environment

NUMBER = r"[0-9][0-9,]*(?:\.[0-9])?"
FIGURES = rf" +({NUMBER}) hashes/s +({NUMBER}) ms"
ROW = re.compile(rf"(m=\d+,t=\d+,p=1){FIGURES}{FIGURES}")
RECOMMENDED = re.compile(r"^    DEEDS_ARGON2=(m=\d+,t=\d+,p=\d+)$", re.MULTILINE)


def tables(printed: str) -> dict[str, list[str]]:
    """Return the costs in the table below each line that names a build."""
    found: dict[str, list[str]] = {}
    build = ""
    for line in printed.splitlines():
        if line.startswith(("In use: ", "Not in use: ")):
            build = line.partition(" (")[0]
            found[build] = []
        elif row := ROW.fullmatch(line):
            assert all(float(number.replace(",", "")) > 0 for number in row.groups()[1:])
            found[build].append(row[1])
    return found


def test_it_measures_both_builds_at_every_cost_of_owasp(native_environment: Environment) -> None:
    ran = native_environment.calibrate()

    costs = [str(cost) for cost in OWASP_COSTS]
    assert (ran.returncode, ran.stderr) == (0, "")
    assert tables(ran.stdout) == {
        "In use: native, built for this CPU": costs,
        "Not in use: wheel, PyPI's, for all CPUs of its kind": costs,
    }
    assert "make native" not in ran.stdout


def test_without_the_other_build_it_says_how_to_get_it(wheel_environment: Environment) -> None:
    ran = wheel_environment.calibrate()

    assert (ran.returncode, ran.stderr) == (0, "")
    assert tables(ran.stdout) == {
        "In use: wheel, PyPI's, for all CPUs of its kind": [str(cost) for cost in OWASP_COSTS]
    }
    assert "`make native` builds Argon2 for this CPU" in ran.stdout


@pytest.mark.parametrize("milliseconds", ["1", "120"])
def test_it_prints_a_line_to_paste_that_is_no_less_than_owasps_minimum(
    wheel_environment: Environment, milliseconds: str
) -> None:
    printed = wheel_environment.calibrate("--milliseconds", milliseconds).stdout

    [cost_text] = RECOMMENDED.findall(printed)
    cost = read_settings({"DEEDS_ARGON2": cost_text}, "unused").ordinary_cost
    assert any(
        cost.memory_cost_kib >= least.memory_cost_kib and cost.time_cost >= least.time_cost
        for least in OWASP_COSTS
    )
    assert f"For {milliseconds} ms, and never less than that minimum, set" in printed
    assert re.search(
        rf"^Measured: {NUMBER} ms a hash on one core, {NUMBER} hashes/s", printed, re.M
    )


def test_a_build_that_this_cpu_cannot_run_is_told(
    native_environment: Environment, tmp_path: Path
) -> None:
    environment = native_environment.copy(tmp_path / "venv")
    for module in environment.builds.glob("wheel/_argon2_cffi_bindings/_ffi*.so"):
        module.write_bytes(b"for another kind of machine")

    ran = environment.calibrate()

    assert ran.returncode == 0
    assert "for all CPUs of its kind" in ran.stdout
    assert ran.stdout.count("It does not run on this CPU.") == 1
    assert len(RECOMMENDED.findall(ran.stdout)) == 1


def test_nothing_is_recommended_with_a_build_for_another_cpu(
    environment_after_alien_build: Environment,
) -> None:
    alien = environment_after_alien_build.builds / "native.new"

    ran = environment_after_alien_build.calibrate(PYTHONPATH=str(alien))

    assert ran.returncode == 1
    assert ran.stderr == "Error: there is nothing to recommend; `make native` builds it anew\n"
    assert "In use: native" in ran.stdout
    assert ran.stdout.count("It does not run on this CPU.") == 1


def test_it_needs_and_makes_no_database(wheel_environment: Environment, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())

    ran = wheel_environment.calibrate(DATABASE_URL=f"sqlite:///{tmp_path / 'deeds.db'}")

    assert ran.returncode == 0
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--milliseconds", "0"),
        ("--milliseconds", "-5"),
        ("--milliseconds", "2001"),
        ("--milliseconds", "50.5"),
        ("--milliseconds", "soon"),
        ("--stretch-milliseconds", "0"),
        ("--stretch-milliseconds", "10001"),
        ("--stretch-milliseconds", "nan"),
    ],
)
def test_an_odd_argument_is_refused_in_one_line_and_nothing_is_measured(
    wheel_environment: Environment, option: str, text: str
) -> None:
    ran = wheel_environment.calibrate(option, text)

    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.splitlines()[-1].startswith(f"Error: Invalid value for '{option}': ")
