"""The decoder of /pods field by field; containers and recorded pods have files of their own."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from bodies import NOW, pod
from decoding import ZERO, decoded, with_spec, with_status

from kubelet_exporter.pod import NOTHING_SET, Container, Pod
from kubelet_exporter.units import rfc3339

LATER = NOW + 60


def with_condition(kind: str, **condition: Any) -> Pod:
    """A pod with one condition that changed at NOW."""
    return with_status(conditions=[{"type": kind, "status": "True", "lastTransitionTime": rfc3339(NOW), **condition}])


# What of a pod is optional


def test_a_pod_of_a_name_and_a_uid_has_defaults_elsewhere() -> None:
    bare = decoded({"metadata": {"name": "web-0", "uid": "uid-a"}})

    assert Pod("uid-a", "default", "web-0", "Unknown") == bare
    assert {"uid", "namespace", "name", "phase"} == {
        field.name
        for field in fields(Pod)
        if getattr(bare, field.name) not in (None, "", "api", False, (), frozenset(), NOTHING_SET)
    }


@pytest.mark.parametrize(
    "item",
    [
        {**pod(), "spec": None, "status": None},
        {**pod(), "spec": {}, "status": {}},
        {
            **pod(),
            "spec": dict.fromkeys(
                ("containers", "initContainers", "volumes", "readinessGates", "hostNetwork", "runtimeClassName")
            ),
            "status": dict.fromkeys(
                (
                    *("phase", "reason", "message", "startTime"),
                    *("conditions", "containerStatuses", "initContainerStatuses"),
                )
            ),
        },
        {**pod(), "spec": {"containers": [], "initContainers": [], "volumes": [], "readinessGates": []}, "status": {}},
        pod(
            annotations=None,
            creationTimestamp=None,
            deletionTimestamp=None,
            deletionGracePeriodSeconds=None,
        )
        | {"status": {}},
    ],
    ids=["null parts", "empty parts", "null fields", "empty lists", "null metadata"],
)
def test_null_and_empty_are_unknown(item: Any) -> None:
    assert Pod("uid-a", "shop", "web-0", "Unknown") == decoded(item)


# Where it came from, and its times


@pytest.mark.parametrize(
    ("annotations", "static"),
    [
        ({}, False),
        ({"source": "api"}, False),
        ({"source": "file"}, True),
        ({"source": "http"}, True),
        ({"source": "api", "mirror": "uid-s"}, True),
    ],
    ids=repr,
)
def test_a_pod_is_static_by_its_source_or_as_a_mirror(annotations: dict[str, str], static: Any) -> None:
    whole = {f"kubernetes.io/config.{key}": value for key, value in annotations.items()}
    found = decoded(pod(annotations=whole))

    assert (annotations.get("source", "api"), annotations.get("mirror"), static) == (
        *(found.source, found.mirrors),
        found.static,
    )


def test_the_kubelet_tells_to_the_nanosecond_when_it_saw_a_pod() -> None:
    found = decoded(pod(annotations={"kubernetes.io/config.seen": "2027-01-15T09:00:00.123456789+01:00"}))

    assert pytest.approx(NOW + 0.123456789, abs=1e-6) == found.seen


def test_the_times_of_metadata_and_status() -> None:
    item = pod(creationTimestamp=rfc3339(NOW), deletionTimestamp=rfc3339(LATER), deletionGracePeriodSeconds=30)
    found = decoded({**item, "status": {"startTime": rfc3339(NOW + 1)}})

    assert (NOW, NOW + 1, LATER, 30.0) == (found.created, found.accepted, found.deletion, found.grace)


@pytest.mark.parametrize("time", ZERO)
def test_a_zero_time_or_none_is_no_time(time: str | None) -> None:
    annotations = {} if time is None else {"kubernetes.io/config.seen": time}
    item = pod(annotations=annotations, creationTimestamp=time, deletionTimestamp=time)
    run = {"startedAt": time, "finishedAt": time}
    kinds = ("PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    found = decoded(
        {
            **item,
            "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
            "status": {
                "startTime": time,
                "conditions": [{"type": kind, "status": "True", "lastTransitionTime": time} for kind in kinds],
                "containerStatuses": [
                    {"name": "a", "state": {"running": {"startedAt": time}}, "lastState": {"terminated": run}},
                    {"name": "b", "state": {"terminated": run}},
                ],
            },
        }
    )

    assert Pod("uid-a", "shop", "web-0", "Unknown", containers=(Container("a"), Container("b"))) == found


# Conditions

CONDITIONS = {
    "PodScheduled": "scheduled",
    "PodReadyToStartContainers": "sandbox",
    "Initialized": "initialized",
    "ContainersReady": "containers_ready",
    "Ready": "ready",
}
each_condition = pytest.mark.parametrize(("kind", "field"), CONDITIONS.items())


@each_condition
def test_a_condition_that_is_true_has_its_time_and_no_other(kind: str, field: str) -> None:
    found = with_condition(kind)

    assert {each: NOW if each == field else None for each in CONDITIONS.values()} == {
        each: getattr(found, each) for each in CONDITIONS.values()
    }


@each_condition
@pytest.mark.parametrize("status", ["False", "Unknown", "true", ""])
def test_a_condition_that_is_not_true_has_no_time(kind: str, field: str, status: str) -> None:
    assert getattr(with_condition(kind, status=status), field) is None


def test_of_conditions_of_one_type_the_last_counts() -> None:
    first, last = ({"type": "Ready", "status": "True", "lastTransitionTime": rfc3339(time)} for time in (NOW, LATER))

    assert with_status(conditions=[first, last]).ready == LATER


@pytest.mark.parametrize(
    ("status", "reason", "disruption"),
    [
        ("True", "PreemptionByScheduler", "PreemptionByScheduler"),
        ("True", None, ""),
        ("False", "EvictionByEvictionAPI", ""),
    ],
)
def test_a_disruption_has_the_reason_of_its_condition_while_it_is_true(
    status: str, reason: str | None, disruption: str
) -> None:
    assert disruption == with_condition("DisruptionTarget", status=status, reason=reason).disruption


@pytest.mark.parametrize(("phase", "over"), [("Succeeded", 1), ("Failed", 1), ("Running", 0), ("Pending", 0), ("", 0)])
def test_a_pod_is_over_by_its_phase(phase: str, over: int) -> None:
    assert bool(over) == with_status(phase=phase).over


# The spec


@pytest.mark.parametrize("kind", ["secret", "configMap", "downwardAPI", "emptyDir", "projected", "image", "gitRepo"])
def test_volumes_that_the_kubelet_fills_make_no_pod_stateful(kind: str) -> None:
    found = with_spec(volumes=[{"name": "a", kind: {}}, {"name": "b", kind: {}}])

    assert (frozenset({kind}), True) == (found.volumes, found.stateless)


@pytest.mark.parametrize(
    "kind", ["persistentVolumeClaim", "hostPath", "csi", "ephemeral", "nfs", "iscsi", "fromTheFuture"]
)
def test_any_other_volume_makes_a_pod_stateful(kind: str) -> None:
    found = with_spec(volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", kind: {"name": "x"}}])

    assert (frozenset({"emptyDir", kind}), False) == (found.volumes, found.stateless)


def test_a_pod_without_volumes_is_stateless() -> None:
    assert decoded(pod()).stateless


@pytest.mark.parametrize("probe", ["readinessProbe", "startupProbe"])
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_probe_that_readiness_waits_for_makes_a_pod_probed(probe: str, kind: str) -> None:
    assert with_spec(**{kind: [{"name": "a"}, {"name": "b", probe: {"httpGet": {"port": 80}}}]}).probed


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_startup_probe_is_known_of_its_container(kind: str) -> None:
    found = with_spec(
        **{kind: [{"name": "a", "startupProbe": {"exec": {}}}, {"name": "b", "readinessProbe": {"exec": {}}}]}
    )

    assert [("a", True), ("b", False)] == [(each.name, each.startup is not None) for each in found.containers]


@pytest.mark.parametrize("container", [{}, {"livenessProbe": {"exec": {}}}, {"readinessProbe": None}], ids=repr)
def test_without_such_a_probe_a_pod_is_not_probed(container: dict[str, Any]) -> None:
    assert not with_spec(containers=[{"name": "a", **container}]).probed


@pytest.mark.parametrize(("gates", "gated"), [(None, 0), ([], 0), ([{"conditionType": "example.com/lb"}], 1)])
def test_a_pod_is_gated_if_it_has_readiness_gates(gates: Any, gated: int) -> None:
    assert bool(gated) == with_spec(readinessGates=gates).gated


def test_network_and_runtime_class_are_those_of_the_spec() -> None:
    found = with_spec(hostNetwork=True, runtimeClassName="gvisor")

    assert (True, "gvisor") == (found.host_network, found.runtime_class)
