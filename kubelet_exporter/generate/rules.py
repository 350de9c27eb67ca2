"""Prometheus rule files, one a topic, and the same groups as a PrometheusRule for the operator."""

from collections.abc import Mapping
from typing import Any

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.catalog.model import Alert, Topic, resolve
from kubelet_exporter.generate.documents import dump
from kubelet_exporter.generate.overrides import Overrides, alerts_with, facts_with, labels_with
from kubelet_exporter.generate.texts import MARK

PROMETHEUS_RULE = "deploy/kustomize/components/rules/prometheusrule.yaml"
LABELS = {
    "app.kubernetes.io/name": "kubelet-exporter",
    "app.kubernetes.io/component": "metrics",
    "app.kubernetes.io/part-of": "kubelet-exporter",
}


def files(overrides: Overrides) -> Mapping[str, str]:
    """Relative path and content of every rule file."""
    groups = {topic.name: _groups(topic, overrides) for topic in TOPICS}
    plain = {f"alerts/{name}.rules.yaml": dump({"groups": those}, MARK) for name, those in groups.items() if those}
    resource = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "kubelet-exporter", "labels": LABELS},
        "spec": {"groups": [group for those in groups.values() for group in those]},
    }
    return {**plain, PROMETHEUS_RULE: dump(resource, MARK)}


def _groups(topic: Topic, overrides: Overrides) -> list[dict[str, Any]]:
    facts = facts_with(overrides)
    records = [{"record": record.name, "expr": resolve(record.expr, facts)} for record in topic.records]
    alerts = [_alert(alert, overrides) for alert in alerts_with(topic, overrides)]
    groups = {f"kubelet-exporter-{topic.name}-records": records, f"kubelet-exporter-{topic.name}": alerts}
    return [{"name": name, "rules": rules} for name, rules in groups.items() if rules]


def _alert(alert: Alert, overrides: Overrides) -> dict[str, Any]:
    keep = {"keep_firing_for": alert.keep_firing.promql_duration} if alert.keep_firing else {}
    return {
        "alert": alert.id,
        "expr": alert.expr,
        "for": alert.hold.promql_duration,
        **keep,
        "labels": labels_with(alert, overrides),
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{overrides.runbook_base}/{alert.id}.md",
        },
    }
