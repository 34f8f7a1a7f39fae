"""The files for operators.

The Procfile, the unit and nginx.conf agree with the service's settings;
the alert rules, the dashboard and their document name what the service really tells.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

from deeds.blueprints.endpoints import ENDPOINTS
from deeds.blueprints.problems import PROBLEMS
from deeds.domain.model import BODY_BYTES_MAX, Argon2Cost
from deeds.settings import RateLimits, Settings, parse_rate_limits
from tests.support.requests import mint
from tests.support.serving import (
    REPOSITORY,
    clean_environment,
    start_command,
    wait_until_it_answers,
)
from tests.support.sources import (
    module_paths,
    read_text,
    run_gunicorn_conf,
    section,
    table_rows,
)
from tests.support.watched import read_metrics

BIN = Path(sys.executable).parent
DOCUMENT = "docs/operations/watching.md"

# A metric, and what a label must be: deeds_refusals_total{code=~"a|b"}.
NAME = re.compile(r"\bdeeds_[a-z_]+\b")
MATCHER = re.compile(r'(code|route|secret_class|kind|outcome|reason)=~?"([^"$]*)"')
# An event of ours, and the names of others' lines.
EVENT = re.compile(r'''extra={"event": "(\w+)"|"event"[:,] "(server|library)"''')


def unit_settings(name):
    found = re.findall(
        rf"^{name}=(.*)$", read_text("deploy/deeds.service"), re.MULTILINE
    )
    return found[0] if len(found) == 1 else found


def unit_environment():
    return dict(each.split("=", 1) for each in unit_settings("Environment"))


def nginx_setting(name):
    return re.findall(
        rf"^ +{name} (.+);$", read_text("deploy/nginx.conf"), re.MULTILINE
    )


def test_the_procfile_releases_and_then_serves(postgres_url, tmp_path):
    lines = (line.partition(": ") for line in read_text("Procfile").splitlines())
    procfile = {kind: shlex.split(command) for kind, _, command in lines}
    settings = {"PATH": f"{BIN}:{os.environ['PATH']}", "DATABASE_URL": postgres_url}

    assert list(procfile) == ["release", "web"]
    environment = clean_environment(settings)
    subprocess.run(procfile["release"], cwd=REPOSITORY, env=environment, check=True)
    log = tmp_path / "web.log"
    # A platform finds the program by the PATH that it sets.
    web = [str(BIN / procfile["web"][0]), *procfile["web"][1:]]
    with start_command(web, log, settings) as process:
        assert wait_until_it_answers(process, log) > 0


def test_the_unit_keeps_the_ledger_and_the_pepper_where_it_may():
    state, environment = unit_settings("StateDirectory"), unit_environment()

    assert environment["DATABASE_URL"] == f"sqlite:///%S/{state}/deeds.sqlite3"
    assert environment["DEEDS_PEPPER_FILE"] == "%d/pepper"
    assert unit_settings("LoadCredential").startswith("pepper:/")


def test_mints_and_offers_are_limited_wherever_the_service_is_deployed():
    """Anybody may send them, and what they write is never deleted."""
    [compose] = re.findall(r"DEEDS_RATE_LIMITS: (.*)", read_text("deploy/compose.yaml"))
    rates = re.findall(
        r"zone=deeds_(.*)s:10m rate=([0-9]+r/m);", read_text("deploy/nginx.conf")
    )

    unit = unit_environment()["DEEDS_RATE_LIMITS"]

    of_nginx = RateLimits(
        routes={name: rate.replace("r/m", "/minute") for name, rate in rates}
    )
    assert parse_rate_limits(unit) == parse_rate_limits(compose) == of_nginx


def test_nginx_passes_bodies_on_and_writes_none_to_a_file():
    of_all, *of_mints = nginx_setting("client_max_body_size")
    assert [of_all] == nginx_setting("client_body_buffer_size")
    assert of_all == f"{BODY_BYTES_MAX // 1024**2}m"
    assert of_mints == ["256k", "256k"]
    assert nginx_setting("proxy_max_temp_file_size") == ["0"]


def test_nginx_and_systemd_wait_longer_for_the_service_than_it_takes():
    # The first is that of the upstream: nginx must be the one to close an idle
    # connection.
    idle, answer = (
        int(nginx_setting(name)[0].removesuffix("s"))
        for name in ("keepalive_timeout", "proxy_read_timeout")
    )

    gunicorn = run_gunicorn_conf({})
    assert idle < gunicorn["keepalive"]
    assert (
        min(answer, int(unit_settings("TimeoutStopSec"))) > gunicorn["graceful_timeout"]
    )
    assert unit_settings("KillMode") == "mixed"


def test_alerts_dashboard_and_document_name_the_metrics_there_are(sqlite_url, open_app):
    client = open_app(
        Settings(sqlite_url, Argon2Cost(8, 1, 1), metrics="on")
    ).test_client()
    mint(client, "+5.a")
    told = {
        name.partition("{")[0] for name in read_metrics(client.get("/metrics").text)
    }
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in told}
    groups = yaml.safe_load(read_text("docs/operations/alerts.yaml"))["groups"]
    panels = json.loads(read_text("docs/operations/dashboard.json"))["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    expressions += [rule["expr"] for group in groups for rule in group["rules"]]
    given = {
        "code": set(PROBLEMS),
        "route": {rule.rule for rule in client.application.url_map.iter_rules()},
        "secret_class": {"ordinary", "strong"},
        "kind": {each.kind for each in ENDPOINTS.values()},
        "outcome": {"done", "replayed", *PROBLEMS},
        "reason": {"conflict", "disconnect"},
    }

    asked = {
        (label, value)
        for expression in expressions
        for label, values in MATCHER.findall(expression)
        for value in values.split("|")
    }

    assert {
        name for expression in expressions for name in NAME.findall(expression)
    } <= told
    assert set(NAME.findall(read_text(DOCUMENT))) == families
    assert asked <= {
        (label, value) for label, values in given.items() for value in values
    }
    assert len(asked) > 5


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
