"""The worker of the service with a deadline that no test lives to see. gunicorn imports this."""

from deeds.gthread_worker.worker import ThreadWorker


class PatientWorker(ThreadWorker):
    """Waits an hour for each client, so that no deadline can help anybody."""

    client_seconds_max = 3600.0
