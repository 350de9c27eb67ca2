"""What a site changes of the catalogue when it generates: a YAML file, checked against the catalogue's own names.

runbook_base: https://runbooks.example.com/kubelet
labels: {team: platform}            # added to every alert
facts: {volume_filling: 0.85}       # wherever the fact is used: rules, texts, panels, runbooks
alerts:
  KubeletVolumeFilling:
    disabled: false
    for: 2h
    severity: info
    labels: {team: storage}
    facts: {volume_filling: 0.9}    # in this alert and its runbook only
"""

# ruff: noqa: TRY004 (a wrong type in the file is a wrong value to its writer)

import difflib
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.catalog.facts import FACTS
from kubelet_exporter.catalog.model import Alert, Severity, Topic
from kubelet_exporter.generate import documents
from kubelet_exporter.generate.texts import Facts, facts_of_alert, with_numbers

RUNBOOK_BASE = "https://github.com/kubelet-exporter/kubelet-exporter/blob/main/docs/runbooks"
ALERTS: Mapping[str, Alert] = {alert.id: alert for topic in TOPICS for alert in topic.alerts}
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
OURS = ("severity", "alertname")
HOLD = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
HOLD_UNITS = (86400, 3600, 60, 1)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AlertOverride:
    """What is changed of one alert; `hold` is in seconds, None and empty keep what the catalogue says."""

    disabled: bool = False
    hold: float | None = None
    severity: Severity | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What is changed of everything; without arguments nothing is."""

    runbook_base: str = RUNBOOK_BASE
    labels: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)
    alerts: Mapping[str, AlertOverride] = field(default_factory=dict)


def read(path: Path) -> Overrides:
    """The overrides in a YAML file; raises OSError, or ValueError that names the file, the key and the nearest right name."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def parse(text: str) -> Overrides:
    """The overrides in a YAML text; raises ValueError that names the key and the nearest right name."""
    data = _mapping("overrides", documents.load(text) or {}, ("runbook_base", "labels", "facts", "alerts"), "key")
    return Overrides(
        runbook_base=_url("runbook_base", data["runbook_base"]) if "runbook_base" in data else RUNBOOK_BASE,
        labels=_labels("labels", data.get("labels", {})),
        facts=_facts("facts", data.get("facts", {}), FACTS),
        alerts={
            name: _alert(f"alerts.{name}", value, ALERTS[name])
            for name, value in _mapping("alerts", data.get("alerts", {}), ALERTS, "alert").items()
        },
    )


def facts_with(overrides: Overrides) -> Facts:
    """All facts, with the values that are overridden everywhere."""
    return {**FACTS, **_changed(FACTS, overrides.facts)}


def alerts_with(topic: Topic, overrides: Overrides) -> list[Alert]:
    """The topic's alerts that are not disabled, overridden, with all numbers put in."""
    return [_overridden(alert, overrides) for alert in topic.alerts if not _of_alert(alert.id, overrides).disabled]


def labels_with(alert: Alert, overrides: Overrides) -> dict[str, str]:
    """The labels that an alert adds: its severity, everybody's, its own."""
    return {"severity": alert.severity, **overrides.labels, **_of_alert(alert.id, overrides).labels}


def _overridden(alert: Alert, overrides: Overrides) -> Alert:
    own = _of_alert(alert.id, overrides)
    facts = facts_with(overrides)
    facts = {**facts, **_changed(facts, own.facts)}
    if own.hold is not None:
        facts = {**facts, **_changed(facts, {alert.hold.id: own.hold})}
    return replace(with_numbers(alert, facts), severity=own.severity or alert.severity)


def _of_alert(name: str, overrides: Overrides) -> AlertOverride:
    return overrides.alerts.get(name, AlertOverride())


def _changed(facts: Facts, values: Mapping[str, float]) -> Facts:
    return {name: replace(facts[name], value=value) for name, value in values.items()}


# Checks: each takes the path of the key and the value that was found there ----------------------------------------


def _alert(path: str, value: Any, alert: Alert) -> AlertOverride:
    data = _mapping(path, value, ("disabled", "for", "severity", "labels", "facts"), "key")
    own_facts = {name: FACTS[name] for name in sorted(facts_of_alert(alert))}
    return AlertOverride(
        disabled=_optional(data, path, "disabled", _boolean) or False,
        hold=_optional(data, path, "for", _hold),
        severity=_optional(data, path, "severity", _severity),
        labels=_labels(f"{path}.labels", data.get("labels", {})),
        facts=_facts(f"{path}.facts", data.get("facts", {}), own_facts),
    )


def _optional(data: Mapping[str, Any], path: str, key: str, check: Callable[[str, Any], T]) -> T | None:
    return check(f"{path}.{key}", data[key]) if key in data else None


def _mapping(path: str, value: Any, names: Collection[str], noun: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{path}: {value!r} is no mapping")
    for name in value:
        if name not in names:
            raise ValueError(f"{path}: there is no {noun} {name!r} here; {_nearest(str(name), names)}")
    return value


def _nearest(name: str, names: Collection[str]) -> str:
    lower = {each.lower(): each for each in names}
    close = difflib.get_close_matches(name.lower(), lower, n=1)
    return f"did you mean {lower[close[0]]}?" if close else f"there are {', '.join(names)}"


def _facts(path: str, value: Any, facts: Facts) -> Mapping[str, float]:
    values = _mapping(path, value, facts, "fact")
    return {name: _number(f"{path}.{name}", number, facts[name].unit) for name, number in values.items()}


def _number(path: str, value: Any, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{path}: {value!r} is no number from 0 on ({unit or 'without unit'})")
    if unit == "ratio" and value > 1:
        raise ValueError(f"{path}: {value!r} is not between 0 and 1, as a ratio must be")
    return value


def _labels(path: str, value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"{path}: {value!r} is no mapping")
    for name, text in value.items():
        if not isinstance(name, str) or not LABEL.fullmatch(name) or name in OURS:
            raise ValueError(f"{path}: {name!r} cannot be set as a label of an alert")
        if not isinstance(text, str):
            raise ValueError(f"{path}.{name}: {text!r} is no text; put it in quotes")
    return value


def _boolean(path: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{path}: {value!r} is neither true nor false")
    return value


def _hold(path: str, value: Any) -> float:
    match = HOLD.fullmatch(value) if isinstance(value, str) and value else None
    if match is None:
        raise ValueError(f"{path}: {value!r} is no duration such as 10m, 1h30m or 45s")
    return float(sum(int(count or 0) * size for count, size in zip(match.groups(), HOLD_UNITS, strict=True)))


def _severity(path: str, value: Any) -> Severity:
    for severity in get_args(Severity):
        if value == severity:
            return severity  # type: ignore[no-any-return]
    raise ValueError(f"{path}: there is no severity {value!r}; {_nearest(str(value), get_args(Severity))}")


def _url(path: str, value: Any) -> str:
    if not isinstance(value, str) or not value.startswith(("https://", "http://")):
        raise ValueError(f"{path}: {value!r} is no http or https address")
    return value.rstrip("/")
