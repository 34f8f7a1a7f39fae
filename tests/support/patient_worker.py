"""The worker of the service with deadlines that no test lives to see. gunicorn imports this."""

from deeds.server.worker import WaitressWorker


class PatientWorker(WaitressWorker):
    """Waits an hour for each client, and after a failed start, so that no deadline can help."""

    client_seconds_max = 3600.0
    retry_seconds = 3600.0
