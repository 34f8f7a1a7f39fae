"""Draws the curves of a run. The only module that needs matplotlib."""

from pathlib import Path

from matplotlib.figure import Figure

from bench.run import Curves

# Title and axes of each file.
_PLOTS = {
    "throughput-strong": (
        "1-to-1 swaps of strong secrets",
        "clients",
        "swaps a second",
    ),
    "throughput-ordinary": (
        "1-to-1 swaps of ordinary secrets",
        "clients",
        "swaps a second",
    ),
    "latency-strong": ("1-to-1 swaps of strong secrets", "clients", "milliseconds"),
    "latency-ordinary": ("1-to-1 swaps of ordinary secrets", "clients", "milliseconds"),
    "ledger-cpu": (
        "Swaps of strong secrets",
        "outputs in the ledger",
        "CPU ms of a swap",
    ),
    "ledger-throughput": (
        "Swaps of strong secrets",
        "outputs in the ledger",
        "swaps a second",
    ),
    "memory": ("Resident memory of each process", "swaps", "MB"),
}


def draw(path: Path, name: str, curves: Curves) -> None:
    """Draw the curve of this name into a file."""
    title, x_label, y_label = _PLOTS[name]
    figure = Figure(figsize=(7.0, 4.2))
    axes = figure.subplots()
    for label, points in curves[name].items():
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.set_xscale("linear" if x_label == "swaps" else "log")
    if y_label == "milliseconds":
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid()
    axes.legend()
    figure.savefig(path, dpi=130, bbox_inches="tight")
