"""How long a start takes, from the execution of gunicorn to the first answer."""

import time

from bench.minting import mint_items
from bench.payload import SecretKind
from bench.row import Row
from bench.run import Run, Section
from bench.server import fresh_sqlite_url, service

STARTS_COUNT = 7
ITEMS_COUNT = 64


def _measure(run: Run) -> list[Row]:
    url = fresh_sqlite_url(run.directory)
    with service(run.directory, url, "sqlite") as server:
        mint_items(server.port, ITEMS_COUNT, SecretKind.STRONG)
    row = Row(
        name="start to first answer, existing database",
        unit="s",
        target=1.5,
        at_least=False,
        values=tuple(_start_s(run, url) for _ in range(STARTS_COUNT)),
        note="SQLite; asked every 20 ms",
    )
    return [row]


def _start_s(run: Run, url: str) -> float:
    started_at_s = time.monotonic()
    with service(run.directory, url, "sqlite"):
        seconds = time.monotonic() - started_at_s
    run.progress(f"started in {seconds:.2f} s", 1)
    return seconds


SECTION = Section("start", lambda _: STARTS_COUNT, _measure)
