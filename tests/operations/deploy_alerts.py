"""The alerts of docs/operations, tested with promtool: `make operations`.

promtool is in Debian's package prometheus.
"""

import yaml

from tests.support.commanding import printed_by
from tests.support.sources import read_text

TESTS = "tests/operations/alerts_test.yaml"


def test_every_alert_fires_for_a_lasting_fault_and_not_for_a_blip():
    [group] = yaml.safe_load(read_text("docs/operations/alerts.yaml"))["groups"]
    alerts = {rule["alert"] for rule in group["rules"]}
    *_, fired = yaml.safe_load(read_text(TESTS))["tests"][0]["promql_expr_test"]

    # The last expression of the test is all that fired: each alert, for one series.
    assert len(fired["exp_samples"]) == len(alerts)
    printed_by("promtool", "test", "rules", TESTS)
