"""Each topic: readings in, lines of the scrape out. Lines stand without the prefix kubelet_exporter_."""

from __future__ import annotations

from typing import Any

import pytest
from bodies import (
    NOW,
    PODS,
    Known,
    body,
    condition,
    configz,
    node,
    pod,
    pods,
)

from kubelet_exporter.catalog.exporter import RIGHTS
from kubelet_exporter.snapshot import Reading, Reason, Source
from kubelet_exporter.units import rfc3339

MINUTE = 60.0


# Exporter


def test_a_source_that_was_read_is_up() -> None:
    known = Known().read(Source.HEALTHZ, "ok")

    assert [
        'source_up{source="healthz"} 1.0',
        'source_last_success_timestamp_seconds{source="healthz"} 1.8e+09',
        'source_last_duration_seconds{source="healthz"} 0.25',
    ] == known.series("source_up", "source_last_success_timestamp_seconds", "source_last_duration_seconds")
    assert 'source_reads_total{source="healthz"} 1.0' in known.series()
    assert 'source_bytes_total{source="healthz"} 2.0' in known.series()


def test_a_source_that_never_answered_is_down_and_has_no_last_success() -> None:
    known = Known().fail(Source.PODS)

    assert [
        'source_up{source="pods"} 0.0',
        'source_last_duration_seconds{source="pods"} 12.0',
    ] == known.series("source_up", "source_last_success_timestamp_seconds", "source_last_duration_seconds")
    assert 'source_errors_total{reason="timeout",source="pods"} 1.0' in known.series()


def test_a_source_that_fails_again_keeps_its_last_success_and_counts_on() -> None:
    known = Known().read(Source.PODS, PODS).at(NOW + 1).fail(Source.PODS).at(NOW + 2).fail(Source.PODS, Reason.STATUS)

    assert ['source_last_success_timestamp_seconds{source="pods"} 1.8e+09'] == known.series(
        "source_last_success_timestamp_seconds"
    )
    assert [
        'source_errors_total{reason="timeout",source="pods"} 1.0',
        'source_errors_total{reason="status",source="pods"} 1.0',
    ] == [line for line in known.series("source_errors_total") if line.endswith(" 1.0")]
    assert 'source_reads_total{source="pods"} 3.0' in known.series()


def test_what_was_dropped_is_counted_by_reason_over_all_readings() -> None:
    known = (
        Known().read(Source.PODS, pods(None, pod(), pod())).read(Source.PODS, pods(None)).read(Source.NODE, node(None))
    )

    assert [
        'source_dropped_total{reason="malformed",source="pods"} 2.0',
        'source_dropped_total{reason="duplicate",source="pods"} 1.0',
        'source_dropped_total{reason="malformed",source="node"} 1.0',
    ] == [line for line in known.series("source_dropped_total") if not line.endswith(" 0.0")]


def test_a_failed_reading_drops_nothing_again() -> None:
    known = Known().read(Source.PODS, pods(None)).fail(Source.PODS).fail(Source.PODS)

    assert 'source_dropped_total{reason="malformed",source="pods"} 1.0' in known.series()


@pytest.mark.parametrize("source", list(Source))
def test_a_403_names_the_right_that_is_missing_while_it_lasts(source: Source) -> None:
    known = Known().fail(source, Reason.FORBIDDEN)
    refused = known.series("source_missing_right")
    known.at(NOW + 1).fail(source, Reason.TIMEOUT)

    assert [f'source_missing_right{{right="{RIGHTS[source]}",source="{source}"}} 1.0'] == refused
    assert [] == known.series("source_missing_right")


@pytest.mark.parametrize("mode", ["verify", "pin", "insecure"])
def test_the_trust_in_the_kubelet_is_told_once_it_is_decided(mode: str) -> None:
    known = Known().fail(Source.HEALTHZ)
    before = known.series("kubelet_tls_info")
    known.take(Reading(Source.PODS, NOW, 0.1, value=(), read_at=NOW, tls=mode))

    assert ([], [f'kubelet_tls_info{{mode="{mode}"}} 1.0']) == (before, known.series("kubelet_tls_info"))


# Node


def test_a_node_tells_versions_and_each_condition_by_status() -> None:
    info = {
        "kubeletVersion": "v1.36.0",
        "containerRuntimeVersion": "containerd://2.2.0",
        "kernelVersion": "6.12",
        "osImage": "Linux",
        "architecture": "arm64",
    }
    ready = condition(lastTransitionTime=rfc3339(NOW - 100), lastHeartbeatTime=rfc3339(NOW - 10))
    known = Known().read(Source.NODE, node(ready, condition("Custom", "Unknown"), nodeInfo=info))

    assert [
        'node_info{architecture="arm64",kernel_version="6.12",kubelet_version="v1.36.0",os_image="Linux",runtime_version="containerd://2.2.0"} 1.0'
    ] == known.series("node_info")
    assert [
        'node_condition{condition="Ready",status="True"} 1.0',
        'node_condition{condition="Ready",status="False"} 0.0',
        'node_condition{condition="Ready",status="Unknown"} 0.0',
        'node_condition{condition="Custom",status="True"} 0.0',
        'node_condition{condition="Custom",status="False"} 0.0',
        'node_condition{condition="Custom",status="Unknown"} 1.0',
    ] == known.series("node_condition")
    assert [
        'node_condition_last_transition_timestamp_seconds{condition="Ready"} 1.7999999e+09',
        'node_condition_last_heartbeat_timestamp_seconds{condition="Ready"} 1.79999999e+09',
    ] == known.series(
        "node_condition_last_transition_timestamp_seconds", "node_condition_last_heartbeat_timestamp_seconds"
    )


def test_a_lease_tells_when_it_was_renewed_if_it_was() -> None:
    renewed = Known().read(Source.LEASE, body({"spec": {"renewTime": rfc3339(NOW - 10)}}))

    assert ["node_lease_renew_timestamp_seconds 1.79999999e+09"] == renewed.series("node_lease_renew_timestamp_seconds")
    assert [] == Known().read(Source.LEASE, "{}").series("node_lease_renew_timestamp_seconds")


# Pods


def test_pods_are_counted_in_every_phase() -> None:
    assert [
        'pods{phase="Pending"} 1.0',
        'pods{phase="Running"} 1.0',
        'pods{phase="Succeeded"} 0.0',
        'pods{phase="Failed"} 2.0',
        'pods{phase="Unknown"} 0.0',
    ] == Known().read(Source.PODS, PODS).series("pods")


def test_a_phase_that_kubernetes_does_not_know_is_unknown() -> None:
    known = Known().read(
        Source.PODS, pods(pod("a", "1", "Waiting"), pod("b", "2", "CrashLoopBackOff"), pod("c", "3", ""))
    )

    assert ['pods{phase="Unknown"} 3.0'] == [line for line in known.series("pods") if not line.endswith(" 0.0")]


@pytest.mark.parametrize(
    ("settings", "allocatable", "lines"),
    [
        ({"maxPods": 110}, None, ["pods_limit 110.0"]),
        ({"maxPods": 110}, "58", ["pods_limit 58.0"]),
        ({"maxPods": 58}, "110", ["pods_limit 58.0"]),
        (None, "110", ["pods_limit 110.0"]),
        ({"maxPods": 737}, "1", ["pods_limit 737.0"]),
        (None, "1", []),
        ({"maxPods": 1}, "1", []),
        ({"maxPods": 0}, "0", []),
        ({"maxPods": -1}, None, []),
        ({"maxPods": True}, None, []),
        ({"maxPods": "110"}, None, []),
        ({"maxPods": None}, None, []),
        ({"other": 1}, "many", []),
        (None, None, []),
    ],
)
def test_the_limit_is_the_smaller_one_that_is_a_limit(settings: Any, allocatable: str | None, lines: list[str]) -> None:
    known = Known()
    if settings is not None:
        known.read(Source.CONFIGZ, configz(**settings))
    if allocatable is not None:
        known.read(Source.NODE, node(allocatable={"pods": allocatable}))

    assert lines == known.series("pods_limit")


def test_a_limit_beyond_all_numbers_is_no_limit() -> None:
    known = Known().read(Source.CONFIGZ, b'{"kubeletconfig": {"maxPods": 1%s}}' % (b"0" * 400))

    assert [] == known.series("pods_limit")
