"""The file that gunicorn reads by default when started in this directory."""

from gunicorn_conf import *  # noqa: F403
