"""Lets gunicorn, started in this directory, find how it runs the service."""

from gunicorn_conf import *  # noqa: F403
