"""What the request id, the log line and the metrics cost a strong swap: python -m bench.watch_cost.

Runs in process, through the WSGI application, and writes the log to stderr as the service does.
"""

import json
import tempfile
from io import BytesIO
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any
from unittest.mock import patch

from flask import Flask, g
from tqdm import tqdm
from werkzeug.test import EnvironBuilder, run_wsgi_app

import app
from deeds.blueprints.request_log import RequestNotes
from deeds.domain.protocols import Measures
from deeds.domain.strong_secret import make_strong_secret
from deeds.server.metrics import MetricsFiles
from deeds.settings import MetricsPlace, Settings

SWAPS_COUNT = 2000
WARM_UP_COUNT = 200


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        files = MetricsFiles(directory)
        files.count_as(files.allocate([]))
        apps = _apps(directory)
        print({name: f"{each:.0f} us" for name, each in _measure(apps).items()})
        for each in apps.values():
            each.extensions["deeds"].close()
        files.remove()


def _apps(directory: str) -> dict[str, Flask]:
    def make(name: str, *, is_on: bool) -> Flask:
        url = f"sqlite:///{Path(directory) / name}.sqlite3"
        return app.create_app(Settings(url, metrics=MetricsPlace(is_on=is_on)))

    watched = {"log": make("log", is_on=False), "log and metrics": make("both", is_on=True)}
    with patch("app.register_request_log", _watch_nothing):
        bare = make("bare", is_on=False)
    return {"nothing": bare, **watched}


def _watch_nothing(watched: Flask, _measures: Measures) -> None:
    watched.before_request(lambda: setattr(g, "notes", RequestNotes("", 0.0)))


def _measure(apps: dict[str, Flask]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in apps}
    secrets = {name: make_strong_secret() for name in apps}
    items = {
        name: _send(each, "/v1/mint", {"outputs": [f"+5.{secrets[name]}"]})[0]["itemId"]
        for name, each in apps.items()
    }
    for number in tqdm(range(WARM_UP_COUNT + SWAPS_COUNT)):
        for name in list(apps)[:: 1 if number % 2 else -1]:
            new, raw = make_strong_secret(), f"+5.{items[name]}."
            body = {"inputs": [raw + secrets[name]], "outputs": [raw + new]}
            times[name].append(_send(apps[name], "/v1/swap", body)[1])
            secrets[name] = new
    return {name: median(each[WARM_UP_COUNT:]) * 1e6 for name, each in times.items()}


def _send(to: Flask, path: str, body: Any) -> tuple[Any, float]:
    sent = BytesIO(json.dumps(body).encode())
    builder = EnvironBuilder(
        path, method="POST", input_stream=sent, content_type="application/json"
    )
    builder.content_length = len(sent.getvalue())
    environ = builder.get_environ()
    started_s = process_time()
    answer, status, _ = run_wsgi_app(to.wsgi_app, environ)
    took_s = process_time() - started_s
    text = b"".join(answer)
    assert status.startswith("200"), text
    return json.loads(text), took_s


if __name__ == "__main__":
    main()
