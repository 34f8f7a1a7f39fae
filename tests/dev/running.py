"""Runs `deeds dev` in a process of its own."""

import json
import subprocess
import sys
from contextlib import closing, contextmanager
from typing import NamedTuple

from tests.support.api import Api
from tests.support.commanding import DEEDS
from tests.support.serving import REPOSITORY, clean_environment


class Dev(NamedTuple):
    """A process, what it printed when it was ready, and a client of it."""

    process: subprocess.Popen
    ready: dict
    api: Api

    def tell(self, what, body=None):
        """Ask for a fault, a move of the clock or a reset; return the answer."""
        return self.api.post(f"/_dev/{what}", body or {})


def dev_command(*arguments):
    return [sys.executable, *DEEDS, "dev", *map(str, arguments)]


def start_dev(*arguments, **settings):
    return subprocess.Popen(
        dev_command(*arguments),
        cwd=REPOSITORY,
        env=clean_environment(settings),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def running_dev(*arguments, **settings):
    """Run it until the block ends, which ends its standard input."""
    words = ("--json", "--watch-stdin", *arguments)
    with start_dev(*words, **settings) as process:
        ready = json.loads(process.stdout.readline())
        with closing(Api.of_url(ready["url"])) as api:
            yield Dev(process, ready, api)
