"""The worker of the service with a deadline that tests can wait for. gunicorn imports this."""

from deeds.server.worker import WaitressWorker

CLIENT_SECONDS_MAX = 1.0


class ImpatientWorker(WaitressWorker):
    """Cuts off a client that needs more than a second for its request."""

    client_seconds_max = CLIENT_SECONDS_MAX
