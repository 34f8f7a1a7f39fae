"""How gunicorn runs the service, and what it logs and counts."""
