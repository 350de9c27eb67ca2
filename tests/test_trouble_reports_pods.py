"""Troubles that others reported of pods, nodes and the shapes of their bodies, by the number of the report.

Bodies in, lines of the scrape out. Reports on what the exporter does not read yet are here only with: no crash, others kept.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from bodies import (
    FULL,
    NOW,
    Known,
    body,
    condition,
    configz,
    everything,
    faults,
    node,
    pod,
    pods,
    summary,
    volume,
)

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.catalog.facts.node import HEARTBEAT_PERIOD, HEARTBEAT_STALE
from kubelet_exporter.snapshot import Reason, Source
from kubelet_exporter.units import host_port, rfc3339

CLAIM = '{namespace="shop",persistentvolumeclaim="data"}'


def phases(known: Known) -> dict[str, int]:
    """How many pods are in each phase that has some."""
    lines = [re.fullmatch(r'pods\{phase="(\w+)"\} (\d+)\.0', line) for line in known.series("pods")]
    return {line[1]: int(line[2]) for line in lines if line and line[2] != "0"}


# C. Shapes of stats/summary and pods


@pytest.mark.parametrize(
    "memory",
    [
        {"usageBytes": 0, "workingSetBytes": 0, "rssBytes": 0, "availableBytes": 2**30},
        {"workingSetBytes": 2**20},
        {"availableBytes": 0, "usageBytes": 0, "workingSetBytes": 264912896},
        {},
        None,
    ],
    ids=["13 zero", "13 partial", "14 Windows", "15 empty", "15 null"],
)
def test_13_14_15_memory_of_any_shape_costs_no_volume(memory: Any) -> None:
    odd = {"podRef": {"name": "odd"}, "memory": memory, "containers": [{"name": "app", "memory": memory}]}
    known = Known().read(Source.SUMMARY, summary(pods=[odd, {"volume": [volume(**FULL)]}]))

    assert [f"volume_used_bytes{CLAIM} 70.0"] == known.series("volume_used_bytes")
    assert [] == [line for line in known.series("source_dropped_total") if not line.endswith(" 0.0")]


def test_14_a_windows_node_without_rlimit_and_inodes_keeps_its_bytes() -> None:
    windows = volume(capacityBytes=100, availableBytes=60, usedBytes=40, inodes=0, inodesFree=0, inodesUsed=0)
    content = body({"node": {"systemContainers": [{"name": "pods"}]}, "pods": [{"volume": [windows]}]})

    assert {
        "volume_capacity_bytes": 100,
        "volume_available_bytes": 60,
        "volume_used_bytes": 40,
        "volume_stats_timestamp_seconds": NOW,
    } == Known().read(Source.SUMMARY, content).values("volume")


@pytest.mark.parametrize(
    "key", ["containers", "network", "startTime", "cpu", "ephemeral-storage", "process_stats", "volume", "podRef"]
)
@pytest.mark.parametrize("absent", [True, False], ids=["absent", "null"])
def test_15_a_new_pod_whose_fields_are_null_or_absent_costs_no_other(key: str, absent: Any) -> None:
    new: dict[str, Any] = {
        "podRef": {"name": "new"},
        "volume": [volume("new", capacityBytes=1)],
        "containers": [],
        "startTime": rfc3339(NOW),
    }
    new = {name: value for name, value in new.items() if name != key} | ({} if absent else {key: None})
    known = Known().read(Source.SUMMARY, summary(pods=[new, {"volume": [volume(**FULL)]}]))

    assert [f"volume_capacity_bytes{CLAIM} 100.0"] == known.series("volume_capacity_bytes")[:1]
    assert (1 if key == "volume" else 2) == len(known.series("volume_capacity_bytes"))


def test_16_items_null_are_no_pods_and_no_failure() -> None:
    known = Known().read(Source.PODS, body({"kind": "PodList", "items": None}))

    assert ['source_up{source="pods"} 1.0'] == known.series("source_up")
    assert [0.0] * 5 == [float(line.rsplit(" ", 1)[1]) for line in known.series("pods")]


def test_16_an_element_that_is_null_or_nameless_is_skipped_and_counted() -> None:
    known = Known().read(Source.PODS, pods(None, pod(), {"metadata": {"uid": "uid-b"}}))

    assert ({"Running": 1}, ['source_up{source="pods"} 1.0']) == (phases(known), known.series("source_up"))
    assert 'source_dropped_total{reason="malformed",source="pods"} 2.0' in known.series()


def test_17_a_text_where_a_document_should_be_fails_one_source_and_keeps_its_last_value() -> None:
    known = everything()
    before = known.values("volume")
    known.at(NOW + 15).read(Source.SUMMARY, "Internal Error: failed to list pod stats\n")
    down = [line for line in known.series("source_up") if line.endswith(" 0.0")]

    assert ['source_up{node="node-a",source="summary"} 0.0'] == down
    assert before == known.values("volume")
    assert 'source_errors_total{node="node-a",reason="malformed",source="summary"} 1.0' in known.series()
    assert 'source_last_success_timestamp_seconds{node="node-a",source="summary"} 1.8e+09' in known.series()


def test_18_two_pods_of_one_name_are_two_pods_and_no_series_twice() -> None:
    old = pod("web-0", "uid-a", deletionTimestamp=rfc3339(NOW))
    known = Known().read(Source.PODS, pods(old, pod("web-0", "uid-b", "Pending")))

    assert ({"Running": 1, "Pending": 1}, []) == (phases(known), faults(known.text()))


# D. Pod lifecycle


def test_19_a_static_pod_and_its_mirror_count_once_and_a_missing_start_time_is_no_matter() -> None:
    static = pod(
        "etcd", "hash-1", annotations={"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "hash-1"}
    )
    mirror = pod("etcd", "uid-m", "Pending", annotations={"kubernetes.io/config.mirror": "hash-1"})
    other = pod("dns", "uid-o", "Pending", annotations={"kubernetes.io/config.mirror": "hash-2"})

    assert {"Running": 1, "Pending": 1} == phases(Known().read(Source.PODS, pods(static, mirror, other)))


@pytest.mark.parametrize("time", ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", None])
def test_20_a_zero_time_is_no_time(time: str | None) -> None:
    known = Known().read(Source.NODE, node(condition(lastTransitionTime=time, lastHeartbeatTime=time)))
    known.read(Source.LEASE, body({"spec": {"renewTime": time}}))
    known.read(Source.SUMMARY, summary({**volume(**FULL), "time": time}))
    status = {
        "phase": "Running",
        "containerStatuses": [{"name": "app", "state": {"terminated": {"startedAt": time, "finishedAt": None}}}],
    }
    known.read(Source.PODS, pods({**pod(), "status": status}))

    assert [] == [line for line in known.series() if "timestamp" in line and not line.startswith("source_")]
    assert {"Running": 1} == phases(known)


def test_21_a_killed_sidecar_of_a_finished_job_changes_nothing() -> None:
    sidecar = {"name": "proxy", "state": {"terminated": {"exitCode": 137}}, "started": False}
    job = {**pod("job", "uid-j"), "status": {"phase": "Succeeded", "initContainerStatuses": [sidecar]}}

    assert {"Succeeded": 1} == phases(Known().read(Source.PODS, pods(job)))


def test_22_completed_pods_are_listed_but_not_in_use() -> None:
    ended = [pod("job", f"uid-{number}", ("Succeeded", "Failed")[number % 2]) for number in range(251)]
    known = Known().read(Source.PODS, pods(pod(), pod("web-1", "uid-1w", "Pending"), *ended))
    in_use = next(record for topic in TOPICS for record in topic.records if record.name.endswith("pods_in_use:ratio"))

    assert {"Running": 1, "Pending": 1, "Succeeded": 126, "Failed": 125} == phases(known)
    assert 'phase!~"Succeeded|Failed"' in in_use.expr


def test_22_the_limit_is_the_nodes_own_and_that_of_fargate_is_none() -> None:
    known = Known().read(Source.CONFIGZ, configz(maxPods=737)).read(Source.NODE, node(allocatable={"pods": "1"}))

    assert ["pods_limit 737.0"] == known.series("pods_limit")


@pytest.mark.parametrize(
    "status",
    [
        {"resize": "Infeasible"},
        {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]},
        {"containerStatuses": [{"name": "app", "allocatedResources": {"cpu": "1"}, "resources": None}]},
    ],
)
def test_24_a_pod_in_resize_is_a_pod(status: Any) -> None:
    resized = {**pod(), "status": {"phase": "Running", **status}}

    assert {"Running": 2} == phases(Known().read(Source.PODS, pods(resized, pod("web-1", "uid-1"))))


# E. Node memory, conditions, access and address


def test_26_each_condition_has_one_series_a_status_and_an_odd_one_costs_itself() -> None:
    ready = condition("Ready", lastHeartbeatTime=rfc3339(NOW - 290))
    dead = condition("KernelDeadlock", "True", lastTransitionTime=rfc3339(NOW - 30 * 86400), reason="Whatever")
    network = condition("NetworkUnavailable", "False", lastHeartbeatTime=None)
    known = Known().read(Source.NODE, node(ready, dead, network, condition("Odd", "Perhaps")))
    lines = known.series("node_condition")

    assert 9 == len(lines)
    assert {"Ready": "True", "KernelDeadlock": "True", "NetworkUnavailable": "False"} == {
        found[1]: found[2] for line in lines if (found := re.search(r'condition="(\w+)",status="(\w+)"} 1\.0', line))
    }
    assert ['node_condition_last_heartbeat_timestamp_seconds{condition="Ready"} 1.79999971e+09'] == known.series(
        "node_condition_last_heartbeat_timestamp_seconds"
    )
    assert 'source_dropped_total{reason="malformed",source="node"} 1.0' in known.series()


def test_26_a_heartbeat_is_stale_only_beyond_the_period_of_reports() -> None:
    assert HEARTBEAT_STALE.value > HEARTBEAT_PERIOD.value > 290


def test_26_one_refused_endpoint_names_its_right_and_leaves_the_others() -> None:
    known = Known().fail(Source.CONFIGZ, Reason.FORBIDDEN).read(Source.PODS, pods(pod())).read(Source.HEALTHZ, "ok")

    assert ['source_missing_right{right="nodes/configz",source="configz"} 1.0'] == known.series("source_missing_right")
    assert ["0.0", "1.0", "1.0"] == [line.rsplit(" ", 1)[1] for line in known.series("source_up")]
    assert {"Running": 1} == phases(known)


def test_26_an_address_of_ipv6_stands_in_brackets() -> None:
    assert "https://[fd00::10]:10250" == f"https://{host_port('fd00::10', 10250)}"
