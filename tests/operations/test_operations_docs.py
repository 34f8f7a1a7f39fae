"""The alert rules, the dashboard and their document name what the service really tells."""

import json
import re

import pytest
import yaml

from deeds.blueprints.problem_table import PROBLEMS
from deeds.blueprints.request_log import OPERATIONS
from deeds.domain.model import Argon2Cost
from deeds.settings import MetricsPlace, Settings
from tests.support.requests import mint
from tests.support.sources import module_paths, read_text, section, table_rows
from tests.support.watched import read_metrics

DOCUMENT = "docs/operations/watching.md"
ALERTS = "docs/operations/alerts.yaml"
DASHBOARD = "docs/operations/dashboard.json"

# A metric, and what a label must be: deeds_refusals_total{code=~"a|b"}.
NAME = re.compile(r"\bdeeds_[a-z_]+\b")
# An event of ours, and the names of others' lines.
EVENT = re.compile(r'''extra={"event": "(\w+)"|"event"[:,] "(server|library)"''')
MATCHER = re.compile(r'(code|route|lane|kind|outcome|reason)=~?"([^"$]*)"')


def expressions():
    """Return every expression of the rules and of the dashboard's panels."""
    groups = yaml.safe_load(read_text(ALERTS))["groups"]
    panels = json.loads(read_text(DASHBOARD))["panels"]
    return [rule["expr"] for group in groups for rule in group["rules"]] + [
        target["expr"] for panel in panels for target in panel["targets"]
    ]


@pytest.fixture
def client(sqlite_url, open_app):
    place = MetricsPlace(is_on=True)
    return open_app(Settings(sqlite_url, Argon2Cost(8, 1, 1), metrics=place)).test_client()


@pytest.fixture
def told(client):
    """The names of all metrics that the service tells."""
    mint(client, "+5.a")
    return {name.partition("{")[0] for name in read_metrics(client.get("/metrics").text)}


def test_every_metric_of_the_rules_and_the_dashboard_exists(told):
    named = {name for expression in expressions() for name in NAME.findall(expression)}

    assert len(named) > 5
    assert named - told == set()


def test_every_label_that_they_ask_for_is_one_that_the_service_gives(client):
    rules = {rule.rule for rule in client.application.url_map.iter_rules()}
    given = {
        "code": set(PROBLEMS),
        "route": rules,
        "lane": {"ordinary", "strong"},
        "kind": set(OPERATIONS.values()),
        "outcome": {"done", "replayed", *PROBLEMS},
        "reason": {"conflict", "disconnect"},
    }

    asked = [
        (label, value)
        for expression in expressions()
        for label, values in MATCHER.findall(expression)
        for value in values.split("|")
    ]

    assert len(asked) > 5
    assert [(label, value) for label, value in asked if value not in given[label]] == []


def test_every_kind_of_operation_is_a_route(client):
    assert set(OPERATIONS) <= {rule.rule for rule in client.application.url_map.iter_rules()}


def test_the_document_lists_every_metric_and_no_other(told):
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in told}

    assert set(NAME.findall(read_text(DOCUMENT))) == families


def test_the_document_lists_every_event_of_the_log_and_no_other():
    sources = "".join(read_text(path) for path in ["app.py", *module_paths()])
    named = {name for names in EVENT.findall(sources) for name in names if name}

    rows = table_rows(section(DOCUMENT, "The log"))
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row[0])}

    assert len(named) > 10
    assert listed == named


def test_the_dashboard_has_each_panel_once_and_asks_the_source_that_is_chosen():
    panels = json.loads(read_text(DASHBOARD))["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}


def test_every_alert_says_how_urgent_it_is_and_what_happened():
    [group] = yaml.safe_load(read_text(ALERTS))["groups"]

    for rule in group["rules"]:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
