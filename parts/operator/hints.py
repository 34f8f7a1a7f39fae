"""Finds settings that are misspelt or invalid, and a proxy that no setting counts."""

import logging
import re
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from ipaddress import ip_network

from flask import Flask, request

from deeds.blueprints.requests import NO_CLIENT, client_of
from deeds.errors import StartError
from deeds.part import Core
from deeds.settings import Settings, read_setting

# Variables that are no settings: those of the client, and those that Docker and
# Kubernetes set for a service named "deeds".
_OF_OTHERS = re.compile("DEEDS_(URL|WALLET|COMMAND|PORT.*|SERVICE_.*)")

_log = logging.getLogger("deeds")


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return a line for each variable that looks like a setting and is not one."""
    known: list[str] = []
    for field in fields(Settings):
        variable = field.metadata["variable"]
        known.append(variable)
        if field.metadata["may_be_file"]:
            known.append(f"{variable}_FILE")
    lines = []
    for variable in sorted(environ):
        if not variable.startswith("DEEDS_") or _OF_OTHERS.fullmatch(variable):
            continue
        if variable not in known:
            nearest = get_close_matches(variable, known, n=1, cutoff=0)[0]
            lines.append(f"{variable} is not a setting; the nearest is {nearest}")
    return lines


def invalid_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return why each invalid setting is invalid, by its name in `Settings`.

    The reasons do not quote the values, which may be secret.
    """
    reasons = {}
    for field in fields(Settings):
        try:
            read_setting(environ, field.name)
        except StartError as stop:
            reasons[field.name] = stop.reason
    return reasons


def warn_of_proxies(app: Flask, core: Core) -> None:
    """Warn once about a proxy that DEEDS_TRUSTED_PROXIES does not count.

    All clients of such a proxy count as one, so one that guesses locks out the others.
    """
    trusted_proxies = core.settings.trusted_proxies
    has_warned = False

    @app.before_request
    def warn() -> None:
        nonlocal has_warned
        header = request.environ.get("HTTP_X_FORWARDED_FOR")
        if not header or has_warned or header.count(",") < trusted_proxies:
            return
        client = client_of(request)
        # Any client may send the header; only a private address is likely a proxy's.
        if client == NO_CLIENT or not ip_network(client).is_global:
            has_warned = True
            _log.warning(
                "a proxy passes requests on, with X-Forwarded-For, that"
                " DEEDS_TRUSTED_PROXIES=%d does not count: all its clients count as"
                " one, %s; set it to the number of proxies that a request passes",
                trusted_proxies,
                client,
                extra={"event": "proxy_not_trusted"},
            )
