"""Workers and applications that differ a little from the service's. gunicorn imports this."""

import gc
import os
import signal
import time

import app
from deeds.server.worker import WaitressWorker

CLIENT_SECONDS_MAX = 1.0

# The worker looks for what has had its time at least once a second.
LAST_SECONDS = CLIENT_SECONDS_MAX + 2.0


class ImpatientWorker(WaitressWorker):
    """Cuts off a client that needs more than a second for its request."""

    client_seconds_max = CLIENT_SECONDS_MAX


class PatientWorker(WaitressWorker):
    """Waits an hour for each client, and after a failed start, so that no deadline can help."""

    client_seconds_max = 3600.0
    retry_seconds = 3600.0


class StoppedWorker(WaitressWorker):
    """Is told to stop just after its fork, as by the master, if it is the first one."""

    def init_process(self):
        if self.age == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        super().init_process()


def lasting_app(environ, start_response):
    """Answer what has the query `last` after a while, all else at once; always with its body."""
    if environ["QUERY_STRING"] == "last":
        time.sleep(LAST_SECONDS)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["wsgi.input"].read()]


def create_garbage_app():
    """Return the service with one more page: how much a collection of garbage looks through."""
    service = app.create_app()
    service.add_url_rule(
        "/garbage", view_func=lambda: f"{len(gc.get_objects())} {gc.get_freeze_count()}"
    )
    return service
