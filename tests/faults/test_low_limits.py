"""Low limits on open files and threads reduce concurrency, but do not stop a service.

A client that holds more connections than the service accepts locks nobody out.
"""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from tests.support.abusers import GET, open_connection
from tests.support.api import environ_of, good
from tests.support.applications import CROWDED
from tests.support.journal import BriefSender
from tests.support.load import Load
from tests.support.serving import GUNICORN, SERVICE, start_command, wait_for_service
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until

# More connections than the limits below permit.
IDLE_COUNT = 300
SWAPS_COUNT = 64


@contextmanager
def limited(tmp_path, settings, *limits):
    """Start the service from a shell after `ulimit` with each of the limits."""
    shell = " && ".join([*(f"ulimit {each}" for each in limits), 'exec "$@"'])
    log = tmp_path / "log"
    command = ["sh", "-c", shell, "sh", *GUNICORN, SERVICE]
    with start_command(command, log, settings) as process:
        yield process, log


@pytest.fixture
def settings(sqlite_url):
    return environ_of(sqlite_url) | {"WEB_CONCURRENCY": "1", "DEEDS_LOG": "json"}


def swap_while_others_idle(service, idle_count, seed):
    """Hold idle connections while clients swap, none of which may be refused.

    Return the CPU time that the worker then uses in one second.
    """
    with ExitStack() as stack:
        for _ in range(idle_count):
            stack.enter_context(open_connection(service, GET))
        load = Load([lambda: service.port], seed, make_sender=BriefSender)
        with load.running():
            load.wait_for_answers(SWAPS_COUNT)
        assert set(load.fates) == {"acknowledged"}
        [worker] = service.workers
        before_s = sum(worker.cpu_times()[:2])
        time.sleep(1)
        return sum(worker.cpu_times()[:2]) - before_s


def warnings(log):
    lines = map(json.loads, log.read_text().splitlines())
    return [line["message"] for line in lines if line["level"] == "warning"]


@pytest.mark.slow
def test_connections_follow_the_limit_and_nobody_is_locked_out(
    tmp_path, settings, seed
):
    # The service raises the soft limit first.
    with limited(tmp_path, settings, "-Sn 200", "-Hn 256") as (process, log):
        service = wait_for_service(process, log)
        spent_s = swap_while_others_idle(service, IDLE_COUNT, seed)

    # A busy loop would use the whole second.
    assert spent_s < 0.5
    [warning] = warnings(log)
    assert warning == (
        "the limit of open files is 256 (ulimit -n): each process takes 128 connections"
        " instead of 512"
    )


@pytest.mark.slow
def test_if_no_file_is_left_idle_connections_are_closed(tmp_path, settings, seed):
    """Other processes may use up the machine's files; here the limit is lowered."""
    settings |= {"GUNICORN_CMD_ARGS": "--bind 127.0.0.1:0 --threads 1"}
    with limited(tmp_path, settings) as (process, log):
        service = wait_for_service(process, log)
        [worker] = service.workers
        with service.open_api() as api:
            # The only thread for requests opens its connection to the ledger.
            good(api.get(f"/v1/item/{api.mint('+1.a')}"))
        lowered = worker.num_fds() + 24
        worker.rlimit(psutil.RLIMIT_NOFILE, (lowered, lowered))
        spent_s = swap_while_others_idle(service, 100, seed)

    assert spent_s < 0.5
    assert (
        "no file is left for a connection (ulimit -n): connections that wait for their"
        " clients are closed"
    ) in warnings(log)


def test_a_limit_that_is_too_low_stops_the_start_in_one_line(tmp_path, settings):
    with limited(tmp_path, settings, "-n 100") as (process, log):
        wait_until(lambda: process.poll() is not None)

    assert process.returncode == 1
    assert re.fullmatch(
        r"deeds: the limit of open files is 100 \(ulimit -n\): at least 160 are"
        r" needed\n",
        log.read_text(),
    )


def test_a_service_that_can_start_no_more_threads_serves_on(
    gunicorn_service,
):
    service = gunicorn_service(application=CROWDED)

    def mint(_number):
        with service.open_api() as api:
            return api.send_mint(f"+1.{make_strong_secret()}").status_code

    with ThreadPoolExecutor(20) as threads:
        statuses = list(threads.map(mint, range(40)))

    assert set(statuses) == {200}
    assert service.get("/readyz").status_code == 200
