"""The core under gunicorn, with gunicorn's own worker."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
START_SECONDS_MAX = 30.0


def test_gunicorn_serves_it(tmp_path):
    log = tmp_path / "log"
    settings = {
        "DATABASE_URL": f"sqlite:///{tmp_path / 'deeds.sqlite3'}",
        "GUNICORN_CMD_ARGS": "--bind 127.0.0.1:0",
        "WEB_CONCURRENCY": "1",
    }
    with log.open("wb") as output:
        master = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "app:create_app()"],
            cwd=REPOSITORY,
            env=os.environ | settings,
            stderr=output,
        )
    try:
        port = find_port(log, master)
        url = f"http://127.0.0.1:{port}/v1/mint"
        body = json.dumps({"outputs": ["+5.a"]}).encode()
        sent = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(sent, timeout=START_SECONDS_MAX) as answer:
            minted = json.load(answer)
    finally:
        master.send_signal(signal.SIGTERM)

    assert minted["outputs"][0]["amount"] == 5
    assert master.wait(START_SECONDS_MAX) == 0


def find_port(log, master):
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and master.poll() is None:
        if match := re.search(r"Listening at: http://127.0.0.1:(\d+)", log.read_text()):
            return int(match[1])
        time.sleep(0.02)
    raise AssertionError(log.read_text())
