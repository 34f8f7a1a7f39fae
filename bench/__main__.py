"""`python -m bench`: print the table; `--long` adds 10,000,000 outputs and curves."""

import argparse
import os
import platform
import sqlite3
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench import growth, rows, stress
from bench.load import start_pool
from bench.run import Row, Run, table
from deeds.process import usable_cpus_count

RESULTS = Path(__file__).parent / "results"

_PARTS = {
    "ordinary": rows.ordinary,
    "strong": rows.strong,
    "pooler": rows.pooler,
    "reads": rows.reads,
    "ledger": growth.ledger,
    "flood": stress.flood,
    "fairness": stress.fairness,
    "crowd": stress.crowd,
    "slow": stress.slow_clients,
    "codes": stress.codes,
    "memory": rows.memory,
    "start": rows.start,
    "clients": growth.clients,
}


def main() -> None:
    """Measure and print the table; with --long, also the points of the curves."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--long", action="store_true", help="the growth curves too")
    parser.add_argument(
        "--only", action="append", choices=_PARTS, help="this part; repeatable"
    )
    parser.add_argument(
        "--rounds", type=int, choices=range(1, growth.ROUNDS_MAX + 1), default=5
    )
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="length of one measurement"
    )
    arguments = parser.parse_args()
    chosen = [name for name in _PARTS if arguments.long or name != "clients"]
    RESULTS.mkdir(exist_ok=True)
    results: list[Row] = []
    machine = _machine()
    # Not in the system's temporary directory, which is often a tmpfs and never waits
    # for a disk.
    with (
        tempfile.TemporaryDirectory(dir=RESULTS, prefix="run-") as directory,
        start_pool() as pool,
    ):
        how_much = (arguments.rounds, arguments.seconds, arguments.long)
        run = Run(*how_much, Path(directory), pool, _say, ExitStack())
        for name in arguments.only or chosen:
            with run.stack:
                results += _PARTS[name](run)
    _say("")
    print(table(results), machine, sep="\n\n")
    for name, lines in run.curves.items():
        for line, points in lines.items():
            print(
                f"\n{name}, {line}", *(f"{x:9,} {y:9.4g}" for x, y in points), sep="\n"
            )


def _say(text: str) -> None:
    """Replace the line that shows the progress."""
    print(f"\r{text:<60}\r", end="", file=sys.stderr, flush=True)


def _machine() -> str:
    """Describe the machine, its versions and its load, on which the figures depend."""
    releases = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    cores = f"{usable_cpus_count()} cores, load before the run {os.getloadavg()[0]:.1f}"
    return f"{cores}; {platform.platform()}, {releases}"


if __name__ == "__main__":
    main()
