"""Containers that wait, by reason: rows of constructed pods, and of recorded pods against a plain count of their JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from bodies import NOW, Known, pod, pods
from recorded import listed_last, played

from kubelet_exporter.catalog.waiting import REASONS, Waiting, waiting
from kubelet_exporter.snapshot import Source


def stuck(*reasons: str | None, uid: str = "uid-a", phase: str = "Pending", **metadata: Any) -> dict[str, Any]:
    """A pod each of whose containers waits for one of these reasons, or runs."""
    names = [f"c{number}" for number in range(len(reasons))]
    states: list[Any] = [{"running": {}} if reason is None else {"waiting": {"reason": reason}} for reason in reasons]
    statuses = [{"name": name, "state": state} for name, state in zip(names, states, strict=True)]
    return {
        **pod(uid, uid, phase, **metadata),
        "spec": {"containers": [{"name": name} for name in names]},
        "status": {"phase": phase, "containerStatuses": statuses},
    }


def counts(*items: Any) -> dict[str, int]:
    """How many containers of these pods wait, by the reasons that some wait for."""
    known = Known().read(Source.PODS, pods(*items))
    return {row.reason: row.count for row in waiting(known.snapshot, None) if row.count}


def test_every_reason_is_there_at_0_as_soon_as_pods_are_listed() -> None:
    known = Known().read(Source.PODS, pods())

    assert [Waiting(reason, 0) for reason in (*REASONS, "other")] == list(waiting(known.snapshot, None))
    assert [
        'containers_waiting{reason="ContainerCreating"} 0.0',
        'containers_waiting{reason="PodInitializing"} 0.0',
        'containers_waiting{reason="CrashLoopBackOff"} 0.0',
        'containers_waiting{reason="ImagePullBackOff"} 0.0',
        'containers_waiting{reason="ErrImagePull"} 0.0',
        'containers_waiting{reason="ErrImageNeverPull"} 0.0',
        'containers_waiting{reason="InvalidImageName"} 0.0',
        'containers_waiting{reason="ImageInspectError"} 0.0',
        'containers_waiting{reason="RegistryUnavailable"} 0.0',
        'containers_waiting{reason="SignatureValidationFailed"} 0.0',
        'containers_waiting{reason="CreateContainerConfigError"} 0.0',
        'containers_waiting{reason="CreateContainerError"} 0.0',
        'containers_waiting{reason="RunContainerError"} 0.0',
        'containers_waiting{reason="PostStartHookError"} 0.0',
        'containers_waiting{reason="other"} 0.0',
    ] == known.series("containers_waiting")


def test_without_pods_no_reason_is_told() -> None:
    assert [] == Known().series("containers_waiting")
    assert [] == Known().fail(Source.PODS).series("containers_waiting")


def test_pods_that_were_read_too_long_ago_tell_no_reason() -> None:
    known = Known().read(Source.PODS, pods(stuck("ErrImagePull")))

    assert 15 == len(known.at(NOW + 300).series("containers_waiting"))
    assert [] == known.at(NOW + 301).series("containers_waiting")


@pytest.mark.parametrize("reason", REASONS)
def test_a_container_is_counted_under_its_reason(reason: str) -> None:
    assert {reason: 1} == counts(stuck(reason))


@pytest.mark.parametrize("reason", ["CreateContainerErr", "crashloopbackoff", "Waiting for Godot", "other", 'a"b\\c\n'])
def test_a_reason_that_is_not_listed_is_other(reason: str) -> None:
    assert {"other": 1} == counts(stuck(reason))


def test_a_stranger_reason_adds_no_series() -> None:
    known = Known().read(Source.PODS, pods(stuck(*(f"Strange{number}" for number in range(40)))))

    assert 15 == len(known.series("containers_waiting"))
    assert 'containers_waiting{reason="other"} 40.0' in known.series("containers_waiting")


def test_containers_are_counted_not_pods() -> None:
    first = stuck("CrashLoopBackOff", "CrashLoopBackOff", None, "ErrImagePull", uid="uid-1", phase="Running")
    second = stuck("CrashLoopBackOff", uid="uid-2")

    assert {"CrashLoopBackOff": 3, "ErrImagePull": 1} == counts(first, second)


def test_init_containers_are_counted_too() -> None:
    item = stuck("PodInitializing")
    item["spec"]["initContainers"] = [{"name": "init"}]
    item["status"]["initContainerStatuses"] = [{"name": "init", "state": {"waiting": {"reason": "ErrImagePull"}}}]

    assert {"PodInitializing": 1, "ErrImagePull": 1} == counts(item)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_containers_of_a_pod_that_is_over_wait_for_nothing(phase: str) -> None:
    assert {} == counts(stuck("ContainerCreating", phase=phase))


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", ""])
def test_containers_of_any_other_pod_are_counted(phase: str) -> None:
    assert {"ContainerCreating": 1} == counts(stuck("ContainerCreating", phase=phase))


@pytest.mark.parametrize("state", [{}, None, {"waiting": {}}, {"waiting": None}, {"waiting": {"reason": ""}}])
def test_a_container_that_tells_no_reason_is_not_counted(state: Any) -> None:
    item = stuck("ErrImagePull")
    item["status"]["containerStatuses"][0]["state"] = state

    assert {} == counts(item)


def test_a_mirror_pod_is_not_counted_beside_its_static_pod() -> None:
    static = stuck("ErrImagePull", uid="uid-s", annotations={"kubernetes.io/config.source": "file"})
    mirror = stuck("ErrImagePull", uid="uid-m", annotations={"kubernetes.io/config.mirror": "uid-s"})

    assert {"ErrImagePull": 1} == counts(static, mirror)
    assert {"ErrImagePull": 1} == counts(mirror)


def walked(value: Any) -> list[str]:
    """Every waiting reason at any depth."""
    if isinstance(value, list):
        return [reason for inner in value for reason in walked(inner)]
    if not isinstance(value, dict):
        return []
    own = [value["waiting"]["reason"]] if "reason" in (value.get("waiting") or {}) else []
    return own + walked(list(value.values()))


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        # badimage, nocm, nocmvol, nosandbox and noexec; crash and oom ended a moment ago and do not wait yet.
        (
            "v1.36-film-starts",
            {
                "ContainerCreating": 2,
                "ImagePullBackOff": 1,
                "CreateContainerConfigError": 1,
                "RunContainerError": 1,
            },
        ),
        # The same pods at another moment: crash, oom and noexec wait for their restart, badimage was just tried again.
        (
            "v1.31-film-starts",
            {"ContainerCreating": 2, "CrashLoopBackOff": 3, "ErrImagePull": 1, "CreateContainerConfigError": 1},
        ),
    ],
)
def test_a_recording_ends_with_as_many_as_its_json_tells(name: str, counted: dict[str, int]) -> None:
    alive = [item["status"] for item in listed_last(name) if item["status"]["phase"] not in ("Succeeded", "Failed")]
    lines = [line for line in played(name).series("containers_waiting") if not line.endswith(" 0.0")]

    assert counted == Counter(walked(alive))
    assert {f'containers_waiting{{reason="{reason}"}} {count}.0' for reason, count in counted.items()} == set(lines)
