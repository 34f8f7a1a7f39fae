"""The files for operators agree with the service.

deeds.service and nginx.conf fit its settings; the alerts, the dashboard and their
document name metrics, labels and events that exist.
"""

import json
import re

import pytest
import yaml

from deeds.settings import read_setting
from tests.support.api import environ_of
from tests.support.problems import PROBLEMS
from tests.support.sources import (
    found_in,
    module_paths,
    read_text,
    run_gunicorn_conf,
    section,
    table_rows,
)
from tests.support.watched import read_metrics

DOCUMENT = "docs/operations/watching.md"

# The name of a metric of the service or another exporter, and a condition on a label,
# as in deeds_refusals_total{code=~"a|b"}.
NAME = re.compile(r"\b(?:deeds|node|patroni|probe)_[a-z_]+\b")
MATCHER = re.compile(r'(code|route|secret_class|kind|outcome|reason)=~?"([^"$]*)"')
# An event of the service, or one for lines of gunicorn and libraries.
EVENT = re.compile(r'''extra ?= ?{"event": "(\w+)"|"event"[:,] "(server|library)"''')


def unit_values(name):
    """Return each value of a setting of deeds.service."""
    return found_in("deploy/deeds.service", rf"^{name}=(.*)$")


def nginx_values(name):
    """Return each value of a setting of nginx.conf."""
    return found_in("deploy/nginx.conf", rf"^ +{name} (.+);$")


def test_mints_and_offers_are_limited_wherever_the_service_is_deployed():
    """Anybody may send them, and their data is never deleted."""
    [compose] = found_in("deploy/compose.yaml", r"DEEDS_RATE_LIMITS: (.*)")
    [unit] = found_in("deploy/deeds.env", "^DEEDS_RATE_LIMITS=(.*)$")
    rates = found_in("deploy/nginx.conf", r"zone=deeds_(.*)s:10m rate=([0-9]+)r/m;")
    of_nginx = ";".join(f"{name}={rate}/minute" for name, rate in rates)

    first, *others = [
        set(read_setting({"DEEDS_RATE_LIMITS": text}, "rate_limits"))
        for text in (unit, compose, of_nginx)
    ]

    assert others == [first, first]


def test_nginx_and_systemd_wait_longer_for_the_service_than_it_takes():
    gunicorn = run_gunicorn_conf({})
    # The first is that of the upstream, because nginx must close idle connections.
    idle, *_ = nginx_values("keepalive_timeout")
    [answer] = nginx_values("proxy_read_timeout")
    [stop] = unit_values("TimeoutStopSec")

    assert int(idle.removesuffix("s")) < gunicorn["keepalive"]
    assert int(answer.removesuffix("s")) > gunicorn["graceful_timeout"]
    assert int(stop) > gunicorn["graceful_timeout"]
    assert unit_values("KillMode") == ["mixed"]


@pytest.fixture
def app(sqlite_url, open_app):
    return open_app(environ_of(sqlite_url, DEEDS_METRICS="on"))


def id_of(match):
    prefix = {"item": "deed", "offer": "offer"}[match[1]]
    return f"{prefix}_{'0' * 26}"


def test_nginx_logs_the_path_of_every_page_and_endpoint(app):
    config = read_text("deploy/nginx.conf").partition("$deeds_path {")[2]
    patterns = re.findall(r'^ +"?~(\S+?)"? +\$uri;$', config, re.MULTILINE)
    paths = {
        re.sub("<.*(item|offer)_id>", id_of, rule.rule)
        for rule in app.url_map.iter_rules()
    }

    unlogged = {
        path for path in paths if not any(re.search(each, path) for each in patterns)
    }

    # nginx answers 404 for the first. The paths of scripts and pictures are many.
    assert unlogged == {"/metrics", "/web/<version>/<path:name>"}


@pytest.fixture
def metrics(api):
    """The names of the service's metrics."""
    api.mint("+5.a")
    series = read_metrics(api.get("/metrics").text)
    return {name.partition("{")[0] for name in series}


@pytest.fixture(scope="module")
def expressions():
    """The expressions of the alerts and the dashboard."""
    groups = yaml.safe_load(read_text("docs/operations/alerts.yaml"))["groups"]
    panels = json.loads(read_text("docs/operations/dashboard.json"))["panels"]
    rules = [rule["expr"] for group in groups for rule in group["rules"]]
    targets = [target["expr"] for panel in panels for target in panel["targets"]]
    return "\n".join(rules + targets)


def test_alerts_and_dashboard_name_only_existing_metrics(expressions, metrics):
    others = set(NAME.findall(section(DOCUMENT, "Alerts")))

    assert set(NAME.findall(expressions)) - metrics == others
    assert "deeds_backup_timestamp_seconds" in read_text("deploy/deeds-backup.service")


def test_the_document_lists_every_metric_and_no_other(metrics):
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in metrics}

    assert set(NAME.findall(section(DOCUMENT, "Metrics"))) == families


def test_alerts_and_dashboard_name_only_existing_labels(expressions, app):
    values_by_label = {
        "code": set(PROBLEMS),
        "route": {rule.rule for rule in app.url_map.iter_rules()},
        "secret_class": {"ordinary", "strong"},
        "kind": {endpoint.partition(".")[2] for endpoint in app.view_functions},
        "outcome": {"done", "replayed", *PROBLEMS},
        "reason": {"conflict", "disconnect", "checkpoint"},
    }

    conditions = MATCHER.findall(expressions)

    assert len(conditions) > 5
    for label, values in conditions:
        assert set(values.split("|")) <= values_by_label[label]


def test_the_document_lists_every_event_of_the_log_and_no_other():
    sources = "".join(read_text(path) for path in ["app.py", *module_paths()])
    named = {name for names in EVENT.findall(sources) for name in names if name}

    listed = {
        name
        for row in table_rows(section(DOCUMENT, "The log"))
        for name in re.findall(r"`(\w+)`", row[0])
    }

    assert len(named) > 10
    assert listed == named
