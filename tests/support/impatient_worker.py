"""The worker of the service with a deadline that tests can wait for. gunicorn imports this."""

from deeds.server.gthread_worker.worker import ThreadWorker

CLIENT_SECONDS_MAX = 1.0


class ImpatientWorker(ThreadWorker):
    """Cuts off a client that needs more than a second for its request."""

    client_seconds_max = CLIENT_SECONDS_MAX
