"""The service, and beside it what Python's full collections of garbage would look through."""

import gc

from flask import Flask

import app


def create_app() -> Flask:
    """Return the service and a page more: how many objects are looked at, how many are not."""
    service = app.create_app()
    service.add_url_rule("/garbage", view_func=_count)
    return service


def _count() -> str:
    return f"{len(gc.get_objects())} {gc.get_freeze_count()}"
