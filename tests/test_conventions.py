"""What the catalogue promises about its names, numbers and texts, over all that is in it."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from queries import selectors

from kubelet_exporter import catalog
from kubelet_exporter.catalog import TOPICS, WANTED
from kubelet_exporter.catalog.facts import FACTS
from kubelet_exporter.catalog.model import MARKER, PREFIX, resolve

METRICS = [metric for topic in TOPICS for metric in topic.metrics]
ALERTS = [alert for topic in TOPICS for alert in topic.alerts]
RECORDS = [record for topic in TOPICS for record in topic.records]
PANELS = [panel for topic in TOPICS for panel in topic.panels]
RULES = {alert.id: alert.expr for alert in ALERTS} | {record.name: record.expr for record in RECORDS}
SERIES = {
    f"{metric}{suffix}"
    for metric in METRICS
    for suffix in (("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",))
} | {record.name for record in RECORDS}
SUFFIXES = {"seconds": "_seconds", "bytes": "_bytes", "ratio": "_ratio"}
OTHER_UNITS = r"_(ms|millis|milliseconds|minutes|hours|days|kb|kib|mb|mib|gib|percent|pct)(_|$)"
KUBERNETES_MIXIN = {
    *("KubeNodeNotReady", "KubeNodePressure", "KubeNodeUnreachable", "KubeNodeReadinessFlapping", "KubeNodeEviction"),
    *("KubeletTooManyPods", "KubeletPlegDurationHigh", "KubeletPodStartUpLatencyHigh", "KubeletDown"),
    *("KubeletClientCertificateExpiration", "KubeletServerCertificateExpiration", "KubeletInstanceUnreachable"),
    *("KubeletClientCertificateRenewalErrors", "KubeletServerCertificateRenewalErrors"),
    *("KubePersistentVolumeFillingUp", "KubePersistentVolumeInodesFillingUp", "KubePersistentVolumeErrors"),
    *("KubeClientErrors", "KubeVersionMismatch", "CPUThrottlingHigh", "KubePodNotReady", "KubePodCrashLooping"),
    *("KubeContainerWaiting", "KubeCPUOvercommit", "KubeMemoryOvercommit", "TargetDown", "Watchdog", "InfoInhibitor"),
}

each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
each_alert = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.id)
each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
each_fact = pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS.keys())
each_rule = pytest.mark.parametrize("expr", RULES.values(), ids=RULES.keys())


def numbers(expr: str) -> list[str]:
    """The numbers in an expression apart from facts, label values, ranges and parts of names."""
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]|(?<![\d.])[a-zA-Z_:][\w:]*', " ", MARKER.sub(" ", expr))
    return re.findall(r"\d[\d.]*(?:e[+-]?\d+)?", bare)


def used_by(expr: str) -> list[str]:
    """The expression, and those of the records that it is made of, through and through."""
    used = [record.expr for record in RECORDS if record.name in re.findall(r"[\w:]+", expr)]
    return [expr, *chain.from_iterable(used_by(each) for each in used)]


# Metrics


@each_metric
def test_metric_names_are_lower_case_words_that_promise_no_other_unit(metric: Any) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", metric.name)
    assert not re.search(OTHER_UNITS, metric.name)


@each_metric
def test_a_metric_ends_in_its_unit(metric: Any) -> None:
    stem = metric.name.removesuffix("_total")
    suffix = SUFFIXES.get(metric.unit)

    assert suffix is None or stem.endswith(suffix)
    assert all(metric.unit == unit for unit, ending in SUFFIXES.items() if stem.endswith(ending))


@each_metric
def test_total_is_for_counters_and_info_for_infos(metric: Any) -> None:
    assert (metric.kind == "counter") == metric.name.endswith("_total")
    assert (metric.kind == "info") == metric.name.endswith("_info")


@each_metric
def test_instants_are_timestamps_in_unix_time(metric: Any) -> None:
    assert metric.help.startswith("Unix time") == metric.name.endswith("_timestamp_seconds")


@each_metric
def test_the_help_of_a_metric_is_one_sentence(metric: Any) -> None:
    assert re.fullmatch(r"[A-Z0-9][^\n]*[^.]\.", metric.help)
    assert not re.search(r"[.!?] +[A-Z]", metric.help)


@each_metric
def test_labels_are_few_and_leave_those_of_the_scrape_alone(metric: Any) -> None:
    assert not {"node", "cluster", "job", "instance", "le", "quantile"} & set(metric.labels)
    assert len(metric.labels) <= 5


def test_metric_names_are_unique() -> None:
    assert len(METRICS) == len({metric.name for metric in METRICS})


def test_no_metric_can_be_taken_for_one_of_the_kubelet() -> None:
    assert [] == [metric.name for metric in METRICS if not str(metric).startswith(PREFIX)]
    assert [] == [name for name in WANTED if name.startswith(PREFIX)]


# Alerts and records


@each_alert
def test_alerts_are_named_kubelet_subject_symptom(alert: Any) -> None:
    assert re.fullmatch(r"Kubelet([A-Z][a-z]+|[A-Z]{2,}(?=[A-Z]|$)){2,}", alert.id)
    assert len(alert.id) <= 50
    assert alert.id not in KUBERNETES_MIXIN


def test_alert_names_are_unique() -> None:
    assert len(ALERTS) == len({alert.id for alert in ALERTS})


@each_alert
def test_a_severity_is_one_of_three(alert: Any) -> None:
    assert alert.severity in {"critical", "warning", "info"}


@each_alert
def test_an_alert_holds_for_seconds(alert: Any) -> None:
    assert {"seconds"} == {fact.unit for fact in (alert.hold, alert.keep_firing) if fact}


@each_alert
def test_an_alert_inhibits_others_that_exist_and_are_about_one_node(alert: Any) -> None:
    others = {each.id for each in ALERTS if each is not alert}

    assert set(alert.inhibits) <= others


@each_alert
def test_a_summary_is_one_sentence_for_all_nodes(alert: Any) -> None:
    assert re.fullmatch(r"[A-Z][^\n.]*\.", alert.summary)
    assert "{{" not in alert.summary


@each_alert
def test_a_description_says_in_which_cluster_and_keeps_within_the_labels_of_the_rule(alert: Any) -> None:
    named = set(re.findall(r"\$labels\.(\w+)", alert.description))
    grouped = chain.from_iterable(re.findall(r"\bby \(([^)]*)\)", expr) for expr in used_by(alert.expr))

    assert "cluster" in named
    assert named <= {label.strip() for labels in grouped for label in labels.split(",")}


@each_record
def test_records_are_named_level_metric_operations(record: Any) -> None:
    level, metric, operations = record.name.split(":")

    assert level.startswith("cluster")
    assert metric.startswith(PREFIX)
    assert re.fullmatch(r"[a-z0-9_]+", operations)


@each_rule
def test_every_number_in_a_rule_is_a_fact(expr: str) -> None:
    assert set(numbers(expr)) <= {"0", "1"}


def test_a_number_that_is_no_fact_would_be_found() -> None:
    expr = f'histogram_quantile(0.9, x1_bucket{{a="2"}}[5m]) > {FACTS["pleg_stale"]} or 1e3 < y'

    assert ["0.9", "1e3"] == numbers(expr)


@each_rule
def test_every_series_in_a_rule_exists(expr: str) -> None:
    selected = selectors(resolve(expr, FACTS))

    assert selected
    assert [] == [name for name, _ in selected if name not in SERIES]


@each_rule
def test_rules_group_and_match_by_cluster_first(expr: str) -> None:
    groups = re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expr)

    assert [] == [labels for labels in groups if labels.split(",")[0].strip() != "cluster"]
    assert not re.search(r"\b(without|ignoring)\b", expr)


# Facts


@each_fact
def test_a_fact_has_meaning_and_source(fact: Any) -> None:
    assert re.fullmatch(r"[A-Z][^\n]*\.", fact.meaning)
    assert fact.source
    assert FACTS[fact.id] is fact


def test_fact_ids_are_the_names_of_their_constants() -> None:
    modules = [vars(module).items() for module in catalog.facts.MODULES]
    named = {name.lower(): value for items in modules for name, value in items if name.isupper()}

    assert [] == [id_ for id_, fact in FACTS.items() if named.get(id_) is not fact]


@each_fact
def test_a_fact_is_used(fact: Any) -> None:
    modules = [file for file in Path(catalog.__file__).parent.rglob("*.py") if file.parent.name != "facts"]

    assert any(re.search(rf"\b{fact.id.upper()}\b", file.read_text(encoding="utf-8")) for file in modules)


# Panels


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_panel_titles_are_short_and_descriptions_are_sentences(panel: Any) -> None:
    assert re.fullmatch(r"[A-Z].{2,48}[^.]", panel.title)
    assert re.fullmatch(r"[A-Z0-9][^\n]*\.", resolve(panel.description, FACTS))
