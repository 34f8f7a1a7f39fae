"""Shows the rows as a table, and writes everything as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.measurement import Measurement
from bench.row import Row

_HEADINGS = ("", "target", "median", "min", "max", "verdict")


def table(rows: Sequence[Row]) -> str:
    """Return the table as text, with a line of absolute figures under each row that has one."""
    cells = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [_line(cells[0], widths)]
    for row, row_cells in zip(rows, cells[1:], strict=True):
        lines.append(_line(row_cells, widths))
        if row.note:
            lines.append(f"    {row.note}")
    return "\n".join(lines)


def trust(measurements: Sequence[Measurement]) -> str:
    """Return what bears on how far the figures can be trusted."""
    others = [each.others_cpu_share for each in measurements] or [0.0]
    clients = [each.client_cpu_share for each in measurements] or [0.0]
    lines = [
        f"Of our CPU the clients took {median(clients):.0%} (at most {max(clients):.0%}).",
        f"Other work took {median(others):.0%} of the machine (at most {max(others):.0%}).",
    ]
    return "\n".join(lines)


def write_json(path: Path, report: dict[str, Any]) -> None:
    """Write the report."""
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _cells(row: Row) -> tuple[str, ...]:
    figures = (row.median, min(row.values), max(row.values))
    verdict = "pass" if row.passed else "short"
    if row.refused_count:
        verdict += f", {row.refused_count} refused"
    return (row.name, row.target_text, *map(_figure, figures), verdict)


def _figure(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *figures = (
        cell.ljust(width) if index in {0, len(cells) - 1} else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((name, *figures)).rstrip()
