"""Alertmanager's inhibit_rules: while a cause fires, the alerts that follow from it are muted on the same node."""

from collections.abc import Mapping
from typing import Any

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.generate.documents import dump
from kubelet_exporter.generate.overrides import Overrides, alerts_with
from kubelet_exporter.generate.texts import MARK

FILE = "deploy/alertmanager/inhibit_rules.yaml"
EQUAL = ("cluster", "node")


def files(overrides: Overrides) -> Mapping[str, str]:
    """Relative path and content of the rules, to be put into Alertmanager's configuration."""
    return {FILE: dump({"inhibit_rules": inhibit_rules(overrides)}, MARK)}


def inhibit_rules(overrides: Overrides) -> list[dict[str, Any]]:
    """One rule for each alert that others follow from."""
    return [
        {
            "source_matchers": [f'alertname="{alert.id}"'],
            "target_matchers": [f'alertname=~"{"|".join(alert.inhibits)}"'],
            "equal": list(EQUAL),
        }
        for topic in TOPICS
        for alert in alerts_with(topic, overrides)
        if alert.inhibits
    ]
