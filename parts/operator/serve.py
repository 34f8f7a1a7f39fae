"""`deeds serve`: gunicorn with the settings of gunicorn_conf.py."""

import os
from typing import Any

import click

from deeds.settings import read_settings

_SERVICE = "app:create_app()"


@click.command("serve")
@click.option("--host", help="An IP address to listen at, before DEEDS_HOST.")
@click.option("--port", help="The port to listen at, before PORT.")
def serve(host: str | None, port: str | None) -> None:
    """Serve until a signal stops it.

    Settings come from the environment, and those of gunicorn from GUNICORN_CMD_ARGS.
    """
    if host is not None:
        os.environ["DEEDS_HOST"] = host
    if port is not None:
        os.environ["PORT"] = port
    # gunicorn reads WEB_CONCURRENCY when it is imported, and fails if it is empty.
    read_settings(os.environ)
    if not os.environ.get("WEB_CONCURRENCY"):
        os.environ.pop("WEB_CONCURRENCY", None)
    _make_server().run()


def _make_server() -> Any:
    """Return gunicorn's application, which ignores the current directory.

    The command `gunicorn` would import modules and read gunicorn.conf.py from there,
    which may belong to another project.
    """
    from gunicorn.app.base import Application  # noqa: PLC0415  (see `serve`)
    from gunicorn.util import import_app  # noqa: PLC0415

    class Server(Application):
        def load_config(self) -> None:
            self.load_config_from_module_name_or_filename("python:gunicorn_conf")
            words = self.cfg.get_cmd_args_from_env()
            for name, value in vars(self.cfg.parser().parse_args(words)).items():
                if value is not None and name != "args":
                    self.cfg.set(name, value)

        def load(self) -> Any:
            return import_app(_SERVICE)

    # gunicorn's messages about arguments begin with `prog`.
    return Server(prog="GUNICORN_CMD_ARGS")
