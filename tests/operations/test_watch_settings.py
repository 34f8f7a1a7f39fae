"""DEEDS_LOG, DEEDS_LOG_LEVEL and DEEDS_METRICS: what they mean, and what stops the start."""

import pytest

from deeds.domain.errors import StartError
from deeds.log_style import LogStyle, read_log_style
from deeds.metrics_place import MetricsPlace, read_metrics_place
from tests.operations.test_start import stopped_start


def refusal(read, **environ):
    with pytest.raises(StartError) as caught:
        read(environ)
    return str(caught.value)


@pytest.mark.parametrize("environ", [{}, {"DEEDS_LOG": "", "DEEDS_LOG_LEVEL": ""}])
def test_the_log_suits_its_reader_by_itself(environ):
    assert read_log_style(environ) == LogStyle("auto", "info")


def test_the_log_is_as_it_is_set():
    environ = {"DEEDS_LOG": "console", "DEEDS_LOG_LEVEL": "error"}

    assert read_log_style(environ) == LogStyle("console", "error")


@pytest.mark.parametrize("name", ["DEEDS_LOG", "DEEDS_LOG_LEVEL"])
@pytest.mark.parametrize("value", ["JSON", "json ", "info,json", "critical", "1", "é"])
def test_an_odd_log_stops_the_start_by_its_name(name, value):
    line = refusal(read_log_style, **{name: value})

    assert line.startswith(f"deeds cannot start: {name} must be one of ")
    assert value not in line.removeprefix("deeds cannot start: ").partition("of ")[0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", MetricsPlace()),
        ("off", MetricsPlace()),
        ("on", MetricsPlace(is_on=True)),
        ("127.0.0.1:9464", MetricsPlace(is_on=True, address="127.0.0.1:9464")),
        ("[::1]:1", MetricsPlace(is_on=True, address="[::1]:1")),
        ("metrics.internal:65535", MetricsPlace(is_on=True, address="metrics.internal:65535")),
    ],
)
def test_metrics_are_where_they_are_asked_for(text, place):
    assert read_metrics_place({"DEEDS_METRICS": text}) == place


def test_metrics_are_nowhere_unless_they_are_asked_for():
    assert read_metrics_place({}) == MetricsPlace(is_on=False, address=None)


@pytest.mark.parametrize(
    "value",
    [
        *["On", "1", "yes", "9464", ":9464", "host:", "host:0", "host:65536", "host:٣", "h:1/x"],
        *["a b:1", "unix:/tmp/x", "http://host:1", "1.2.3.4:5:6", "fd://3", "host:1\n"],
    ],
)
def test_odd_metrics_stop_the_start_by_their_name(value):
    line = refusal(read_metrics_place, DEEDS_METRICS=value)

    assert line == (
        "deeds cannot start: DEEDS_METRICS must be off, on, or an address such as 127.0.0.1:9464"
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"DEEDS_METRICS": "yes"}, "DEEDS_METRICS must be off, on, or an address such as "),
        ({"DEEDS_LOG": "xml"}, "DEEDS_LOG must be one of auto, json, console"),
        ({"DEEDS_LOG_LEVEL": "all"}, "DEEDS_LOG_LEVEL must be one of debug, info, "),
        (
            {"DEEDS_METRICS": "127.0.0.1:8000"},
            "DEEDS_METRICS must not have the port of the service",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[:20],
)
def test_an_odd_value_stops_a_server_in_one_line(tmp_path, settings, said):
    code, line = stopped_start(tmp_path, **settings)

    assert code == 1
    assert line.startswith(f"deeds cannot start: {said}")
    assert "\n" not in line
