"""What Alertmanager mutes: the rules name alerts that exist, that carry the labels they are matched by, and no circle."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import need
from scenes import FILES, ROOT, cases, load

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.generate.inhibition import EQUAL, inhibit_rules
from kubelet_exporter.generate.overrides import AlertOverride, Overrides

ALERTS = {alert.id: alert for topic in TOPICS for alert in topic.alerts}
MUTED = sorted({target for alert in ALERTS.values() for target in alert.inhibits})
COMMITTED = yaml.safe_load((ROOT / "deploy" / "alertmanager" / "inhibit_rules.yaml").read_text(encoding="utf-8"))
FIRING = [case for path in FILES for case in cases(load(path)) if case.labels]


def follows(alert: str) -> set[str]:
    """The alerts that one mutes, directly or through others."""
    found, new = set[str](), set(ALERTS[alert].inhibits)
    while new:
        found |= new
        new = {target for each in new for target in ALERTS[each].inhibits} - found
    return found


def test_a_hung_runtime_mutes_what_follows_from_it() -> None:
    assert {
        "KubeletExporterSourceDown",
        "KubeletPLEGStale",
        "KubeletPodStartStuck",
        "KubeletNodeNotReady",
    } <= follows("KubeletRuntimeHung")


def test_every_muted_alert_exists() -> None:
    assert [] == [target for target in MUTED if target not in ALERTS]


@pytest.mark.parametrize("alert", MUTED)
def test_a_muted_alert_has_the_labels_that_it_is_matched_by(alert: str) -> None:
    labels = {name for case in FIRING if case.alert == alert for name in re.findall(r'(\w+)="', case.labels)}

    assert set(EQUAL) <= labels


@pytest.mark.parametrize("alert", sorted(name for name, alert in ALERTS.items() if alert.inhibits))
def test_a_muting_alert_has_the_labels_and_never_mutes_itself(alert: str) -> None:
    labels = {name for case in FIRING if case.alert == alert for name in re.findall(r'(\w+)="', case.labels)}

    assert set(EQUAL) <= labels
    assert alert not in follows(alert)


def test_an_alert_is_not_muted_by_one_of_lesser_severity() -> None:
    rank = {"critical": 2, "warning": 1, "info": 0}
    weaker = [
        (alert.id, target)
        for alert in ALERTS.values()
        for target in alert.inhibits
        if rank[alert.severity] < rank[ALERTS[target].severity] and alert.id not in CAUSES
    ]

    assert [] == weaker


# A warning that says why the exporter is blind outranks the critical alert that its blindness would raise.
CAUSES = ("KubeletConnectionLost", "KubeletExporterRightsLost")


def test_a_disabled_alert_mutes_nothing() -> None:
    overrides = Overrides(alerts={"KubeletRuntimeHung": AlertOverride(disabled=True)})

    assert len(inhibit_rules(Overrides())) - 1 == len(inhibit_rules(overrides))


def test_amtool_accepts_the_committed_rules(tmp_path: Path) -> None:
    config = tmp_path / "alertmanager.yml"
    config.write_text(json.dumps({"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}], **COMMITTED}))
    checked = subprocess.run(
        [need("amtool"), "check-config", str(config)], check=False, capture_output=True, text=True, timeout=60
    )

    assert 0 == checked.returncode, checked.stderr
    assert f"{len(COMMITTED['inhibit_rules'])} inhibit rules" in checked.stdout
