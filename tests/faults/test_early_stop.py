"""A worker that is told to stop while it starts does stop: gunicorn would wait 30 s and kill it."""

import re

from tests.support.serving import running_service
from tests.support.waiting import wait_until

CONFIGURATION = "tests/faults/early_signal.py"


def test_a_worker_that_is_told_to_stop_just_after_its_fork_stops(tmp_path):
    arguments = f"--bind 127.0.0.1:0 --config {CONFIGURATION}"
    with running_service(tmp_path, GUNICORN_CMD_ARGS=arguments, WEB_CONCURRENCY="2") as service:
        first = re.findall(r"Booting worker with pid: (\d+)", service.log_text())[0]

        wait_until(lambda: f"Worker exiting (pid: {first})" in service.log_text())

        assert service.get_status("/v1/info") == 200
