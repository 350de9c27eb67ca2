"""Every alert can fire: its metrics, labels and buckets are there, and it does not wait longer than what it counts stays in sight."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import inf
from typing import Any

import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families
from queries import nodes, parsed
from recorded import played
from scenes import RULES

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.catalog.facts import FACTS
from kubelet_exporter.catalog.model import PREFIX, Metric, resolve

METRICS: Mapping[str, Metric] = {str(metric): metric for topic in TOPICS for metric in topic.metrics}
RECORDS = {str(record): resolve(record.expr, FACTS) for topic in TOPICS for record in topic.records}
ALERTS = {alert.id: alert for topic in TOPICS for alert in topic.alerts}
# Labels that the scrape adds, and those of histograms.
ADDED = frozenset({"cluster", "node", "job", "instance", "le", "__name__"})
COUNTING = ("increase", "rate", "changes", "resets", "delta")
HOLDS = {
    rule["alert"]: rule["for"]
    for document in RULES.values()
    for group in document["groups"]
    for rule in group["rules"]
    if "alert" in rule
}
# Alerts on what goes on, and how far apart its events are: far less than the window over which they are counted.
ONGOING = {
    "KubeletColdStartSlower": "more than five starts in each hour",
    "KubeletColdStartOutlier": "more than five starts in each hour",
    "KubeletExporterDataDropped": "what is left out once is left out by each reading, every 5 to 30 seconds",
    "KubeletPLEGRelistSlow": "a relist every second or so",
    "KubeletPLEGRelistsRare": "a relist every second or so, or none",
    "KubeletVolumesNotMounted": "it waits for mounts that do not come",
}

each_alert = pytest.mark.parametrize("alert", ALERTS)


def trees(alert: str) -> list[Any]:
    """The syntax trees of an alert and of all records behind it."""
    found, waiting = [parsed(resolve(ALERTS[alert].expr, FACTS))], [ALERTS[alert].expr]
    seen: set[str] = set()
    while waiting:
        expr = waiting.pop()
        for name in RECORDS.keys() - seen:
            if name in expr:
                seen.add(name)
                waiting.append(RECORDS[name])
                found.append(parsed(RECORDS[name]))
    return found


def selected(tree: Any) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each metric that is selected, and the values that its labels must equal."""
    for node in nodes(tree):
        if isinstance(node, promql_parser.VectorSelector):
            equal = [each for each in node.matchers.matchers if each.op == promql_parser.MatchOp.Equal]
            yield node.name or "", {each.name: each.value for each in equal}


def family(name: str) -> Metric | None:
    """The metric of the catalogue that a series belongs to."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    histogram = METRICS.get(base)
    return histogram if histogram and histogram.kind == "histogram" and base != name else METRICS.get(name)


@cache
def bounds(name: str) -> frozenset[str]:
    """The bounds of a histogram as a real node's scrape writes them."""
    texts = [played(recording).text() for recording in ("v1.36-110pods", "v1.36-film-starts")]
    samples = [each for text in texts for part in text_string_to_metric_families(text) for each in part.samples]
    return frozenset(each.labels["le"] for each in samples if each.name == name)


# What can be wrong: each gives what it finds


def unknown_series(tree: Any) -> list[str]:
    """Metrics that nobody exports, and labels that they do not have."""
    wrong = []
    for name, labels in selected(tree):
        metric = family(name)
        if name in RECORDS:
            continue
        if metric is None:
            wrong.append(name)
        else:
            wrong += [f"{name} {label}" for label in labels.keys() - ADDED - set(metric.labels)]
    return wrong


def unknown_bounds(tree: Any) -> list[str]:
    """Buckets that no kubelet has."""
    return [
        f"{name} {labels['le']}"
        for name, labels in selected(tree)
        if "le" in labels and labels["le"] not in bounds(name)
    ]


def beyond_buckets(tree: Any) -> list[str]:
    """Quantiles that must be above what the greatest finite bucket can tell."""
    wrong = []
    for node in nodes(tree):
        if isinstance(node, promql_parser.BinaryExpr) and isinstance(node.rhs, promql_parser.NumberLiteral):
            behind = [parsed(RECORDS[name]) for name, _ in selected(node.lhs) if name in RECORDS]
            for call in [each for tree_ in (node.lhs, *behind) for each in quantiles(tree_)]:
                highest = max(
                    float(bound) for name, _ in selected(call) for bound in bounds(name) if float(bound) < inf
                )
                wrong += [f"{node.rhs.val:g} of {highest:g}"] * (node.rhs.val >= highest)
    return wrong


def quantiles(tree: Any) -> list[Any]:
    """The calls of histogram_quantile in a tree."""
    return [
        each for each in nodes(tree) if isinstance(each, promql_parser.Call) and each.func.name == "histogram_quantile"
    ]


def windows(tree: Any) -> list[float]:
    """The ranges in seconds over which something is counted."""
    calls = [each for each in nodes(tree) if isinstance(each, promql_parser.Call) and each.func.name in COUNTING]
    return [
        each.range.total_seconds()
        for call in calls
        for each in call.args
        if isinstance(each, promql_parser.MatrixSelector)
    ]


def seconds(hold: str) -> float:
    """A duration of a rule file in seconds."""
    return sum(
        float(count) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
        for count, unit in re.findall(r"(\d+)([smhd])", hold)
    )


# Every alert


@each_alert
def test_the_series_of_an_alert_are_exported(alert: str) -> None:
    assert any(list(selected(tree)) for tree in trees(alert))
    assert [] == [wrong for tree in trees(alert) for wrong in unknown_series(tree)]


@each_alert
def test_the_buckets_of_an_alert_are_those_of_a_real_kubelet(alert: str) -> None:
    assert [] == [wrong for tree in trees(alert) for wrong in unknown_bounds(tree)]


@each_alert
def test_a_quantile_can_be_above_its_threshold(alert: str) -> None:
    assert [] == [wrong for tree in trees(alert) for wrong in beyond_buckets(tree)]


def waits_longer(alert: str) -> bool:
    """Whether an alert waits longer than it can see what it counts, so that one event can never make it fire."""
    counted = [window for tree in trees(alert) for window in windows(tree)]
    return bool(counted) and seconds(HOLDS[alert]) >= max(counted)


@each_alert
def test_an_alert_waits_no_longer_than_what_it_counts_stays_in_sight_unless_that_goes_on(alert: str) -> None:
    assert waits_longer(alert) == (alert in ONGOING)


# The faults would be found

RELISTS = f"{PREFIX}pleg_relist_duration_seconds"


@pytest.mark.parametrize(
    ("expr", "find", "wrong"),
    [
        ("kubelet_exporter_invented > 1", unknown_series, ["kubelet_exporter_invented"]),
        (f'{PREFIX}pods{{colour="red"}} > 1', unknown_series, [f"{PREFIX}pods colour"]),
        (f"{RELISTS} > 1", unknown_bounds, []),
        (f'{RELISTS}_bucket{{le="0.3"}} > 1', unknown_bounds, [f"{RELISTS}_bucket 0.3"]),
        (f"histogram_quantile(0.9, sum by (le) (rate({RELISTS}_bucket[5m]))) > 10", beyond_buckets, ["10 of 10"]),
        (f"histogram_quantile(0.9, sum by (le) (rate({RELISTS}_bucket[5m]))) > 9", beyond_buckets, []),
        (f"increase({RELISTS}_count[5m]) > 1 and rate({RELISTS}_sum[1h]) > 2", windows, [300, 3600]),
    ],
)
def test_a_rule_that_cannot_fire_would_be_found(expr: str, find: Any, wrong: list[Any]) -> None:
    assert wrong == find(parsed(expr))


def test_records_are_looked_into() -> None:
    assert {"KubeletPLEGRelistSlow"} <= {alert for alert in ALERTS if any(map(quantiles, trees(alert)[1:]))}
    assert ["11 of 10"] == beyond_buckets(
        parsed(f"{next(name for name in RECORDS if 'pleg_relist_duration' in name)} > 11")
    )
