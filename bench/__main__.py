"""The command line: `python -m bench`, in an environment with requirements/bench.txt."""

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench import (
    curve_clients,
    rows_fairness,
    rows_flood,
    rows_ledger,
    rows_memory,
    rows_ordinary,
    rows_pooler,
    rows_reads,
    rows_start,
    rows_strong,
)
from bench.load import LoadGenerator
from bench.machine import describe_machine
from bench.plots import draw_all
from bench.report import table, trust, write_json
from bench.row import Row
from bench.run import Plan, Run, Section

RESULTS = Path(__file__).parent / "results"

_ROWS = (
    rows_ordinary.SECTION,
    rows_strong.SECTION,
    rows_pooler.SECTION,
    rows_reads.SECTION,
    rows_ledger.SECTION,
    rows_flood.SECTION,
    rows_fairness.SECTION,
    rows_memory.SECTION,
    rows_start.SECTION,
)
_CURVES = (curve_clients.SECTION,)

# A ledger of one big item has deeds for the clients of this many rounds.
ROUNDS_MAX = 16
SECONDS_MAX = 60.0


def main() -> None:
    """Measure, print the table, write JSON and plots."""
    arguments = _parse()
    plan = Plan(arguments.rounds, arguments.seconds, warm_up_seconds=0.4, long=arguments.long)
    sections = _chosen(arguments.only, long=plan.long)
    RESULTS.mkdir(exist_ok=True)
    # Not in the system's temporary directory, which is often kept in memory and waits for no disk.
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="run-") as scratch:
        _measure(plan, sections, Path(scratch))


def _parse() -> argparse.Namespace:
    names = [section.name for section in (*_ROWS, *_CURVES)]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--long", action="store_true", help="the growth curves too")
    parser.add_argument("--only", action="append", choices=names, help="this part; repeatable")
    parser.add_argument("--rounds", type=int, choices=range(1, ROUNDS_MAX + 1), default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one measurement")
    arguments = parser.parse_args()
    if not 0 < arguments.seconds <= SECONDS_MAX:
        parser.error(f"--seconds must be above 0 and at most {SECONDS_MAX:g}")
    return arguments


def _chosen(names: Sequence[str] | None, *, long: bool) -> list[Section]:
    if names:
        return [section for section in (*_ROWS, *_CURVES) if section.name in names]
    return [*_ROWS, *(_CURVES if long else ())]


def _measure(plan: Plan, sections: Sequence[Section], scratch: Path) -> None:
    report: dict[str, Any] = {
        "command": ["python", "-m", "bench", *sys.argv[1:]],
        "started_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "plan": dataclasses.asdict(plan),
        "machine": describe_machine(scratch),
    }
    rows: list[Row] = []
    total = sum(section.steps_count(plan) for section in sections)
    with LoadGenerator() as load, tqdm(total=total, unit="step") as bar:
        run = Run(plan, load, scratch, lambda text, steps: _show(bar, text, steps))
        for section in sections:
            rows += section.measure(run)
            # After each section, so that a run which breaks off has left what it found.
            _write(report, run, rows)
    plots = draw_all(run.curves, RESULTS)
    print(table(rows))
    print(f"\n{trust(run.measurements)}")
    print(f"\nIn {RESULTS}:", *(path.name for path in (_results_file(plan), *plots)))


def _write(report: dict[str, Any], run: Run, rows: Sequence[Row]) -> None:
    found = {
        "facts": run.facts,
        "rows": [row.as_json() for row in rows],
        "curves": run.curves,
        "measurements": [each.as_json() for each in run.measurements],
    }
    write_json(_results_file(run.plan), report | found)


def _results_file(plan: Plan) -> Path:
    return RESULTS / ("results-long.json" if plan.long else "results.json")


def _show(bar: "tqdm[None]", text: str, steps_count: int) -> None:
    bar.set_postfix_str(text)
    bar.update(steps_count)


if __name__ == "__main__":
    main()
