"""Reads the service's metrics as values and its log as events."""

import json

from prometheus_client.parser import text_string_to_metric_families

# Fields that differ from run to run.
VARYING = {"time", "duration_ms"}


def read_metrics(text):
    """Return the value of each series in Prometheus' text format."""
    series = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = [f"{name}={value}" for name, value in sample.labels.items()]
            series[f"{sample.name}{{{','.join(labels)}}}"] = sample.value
    return series


def nonzero_series(text, start=""):
    """Return the series with this prefix that are not 0, except for buckets."""
    return {
        name: value
        for name, value in read_metrics(text).items()
        if value and name.startswith(start) and "_bucket{" not in name
    }


def database_causes(caplog):
    """Return class, code and message of each line about a refusal of the database."""
    return [
        (record.fields["error"], record.fields["database_code"], record.getMessage())
        for record in caplog.records
        if getattr(record, "event", None) == "database"
    ]


def events(log):
    """Return the events of a JSON log, without the fields in VARYING."""
    return [
        {name: value for name, value in json.loads(line).items() if name not in VARYING}
        for line in log.splitlines()
    ]
