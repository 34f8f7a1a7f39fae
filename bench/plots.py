"""Draws the curves of a report. The only module that needs matplotlib."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Points = Sequence[dict[str, Any]]

_SIZE_INCHES = (7.0, 4.2)
_DOTS_PER_INCH = 130


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    color: str
    style: str = "-"


def draw_all(curves: Mapping[str, Points], directory: Path) -> list[Path]:
    """Draw each curve that was measured; return the files."""
    drawers = {"clients": _draw_clients, "ledger": _draw_ledger, "memory": _draw_memory}
    return [
        path
        for name, draw in drawers.items()
        if curves.get(name)
        for path in draw(curves[name], directory)
    ]


def _draw_clients(points: Points, directory: Path) -> list[Path]:
    paths = []
    for kind in dict.fromkeys(point["kind"] for point in points):
        own = [point for point in points if point["kind"] == kind]
        title = f"1-to-1 swaps of {kind} secrets"
        rates = _lines(own, "clients_count", {"rate": ""})
        latencies = _lines(own, "clients_count", {"p50_ms": "p50", "p99_ms": "p99"})
        paths += [
            _draw(
                directory / f"throughput-{kind}.png", title, "swaps a second", rates, _by_clients
            ),
            _draw(
                directory / f"latency-{kind}.png", title, "milliseconds", latencies, _log_latency
            ),
        ]
    return paths


def _draw_ledger(points: Points, directory: Path) -> list[Path]:
    title = "1-to-1 swaps of strong secrets, 16 clients"
    cpu = {"cpu_ms": "", "empty_cpu_ms": "empty, same minutes"}
    rates = {"rate": "", "empty_rate": "empty, same minutes"}
    return [
        _draw(
            directory / f"ledger-{name}.png",
            title,
            y,
            _lines(points, "outputs_count", fields),
            _by_size,
        )
        for name, y, fields in (
            ("cpu", "CPU milliseconds of a swap, database included", cpu),
            ("throughput", "swaps a second", rates),
        )
    ]


def _draw_memory(points: Points, directory: Path) -> list[Path]:
    counts = [point["swaps_count"] for point in points]
    by_process = zip(*(sorted(point["rss_mb"]) for point in points), strict=True)
    lines = [
        Line(f"process {index + 1}", counts, values, f"C{index}")
        for index, values in enumerate(by_process)
    ]
    path = directory / "memory.png"
    return [_draw(path, "Resident memory of each process", "MB", lines, _by_swaps)]


def _lines(points: Points, x: str, fields: Mapping[str, str]) -> list[Line]:
    """Return a line for each database and field; `fields` are their names and labels."""
    return [
        Line(
            f"{database} {label}".rstrip(),
            [point[x] for point in points if point["database"] == database],
            [point[name] for point in points if point["database"] == database],
            f"C{color}",
            style,
        )
        for color, database in enumerate(dict.fromkeys(point["database"] for point in points))
        for (name, label), style in zip(fields.items(), ("-", "--"), strict=False)
    ]


def _draw(
    path: Path, title: str, y: str, lines: Sequence[Line], set_scales: Callable[[Axes], None]
) -> Path:
    figure = Figure(figsize=_SIZE_INCHES)
    axes = figure.subplots()
    for line in lines:
        axes.plot(line.xs, line.ys, line.style, marker="o", color=line.color, label=line.label)
    # Room above, and zero below where the scale has one.
    axes.set_ylim(bottom=0, top=1.1 * max(max(line.ys) for line in lines))
    set_scales(axes)
    axes.set_title(title)
    axes.set_ylabel(y)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="best", framealpha=0.6)
    figure.savefig(path, dpi=_DOTS_PER_INCH, bbox_inches="tight")
    return path


def _by_clients(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_xlabel("clients")


def _log_latency(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.autoscale(axis="y")
    axes.yaxis.set_major_formatter("{x:g}")
    _by_clients(axes)


def _by_size(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("outputs in the ledger")


def _by_swaps(axes: Axes) -> None:
    axes.set_xlabel("swaps")
