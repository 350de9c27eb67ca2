"""The decoder of /pods: containers and their status, and that a bad part costs its pod alone."""

from __future__ import annotations

from typing import Any

import pytest
from bodies import NOW, WRONG, pod, pods
from decoding import ZERO, decoded, with_container, with_spec

from kubelet_exporter.pod import Container, Role
from kubelet_exporter.sources.pods import pods as pods_decoder
from kubelet_exporter.units import rfc3339

LATER = NOW + 60


# Containers


def test_init_containers_come_first_and_a_sidecar_is_one_that_restarts_always() -> None:
    inits = [
        {"name": "a"},
        {"name": "b", "restartPolicy": "Always"},
        {"name": "c", "restartPolicy": "OnFailure"},
        {"name": "d", "restartPolicy": None},
    ]
    found = with_spec(initContainers=inits, containers=[{"name": "e", "restartPolicy": "Always"}, {"name": "f"}])

    assert [("a", "init"), ("b", "sidecar"), ("c", "init"), ("d", "init"), ("e", "app"), ("f", "app")] == [
        (each.name, each.role) for each in found.containers
    ]


@pytest.mark.parametrize("statuses", [None, [], [{"name": "other", "state": {"running": {}}}]], ids=repr)
def test_a_container_without_a_status_is_known_by_name(statuses: Any) -> None:
    spec = {"containers": [{"name": "a"}], "initContainers": [{"name": "b"}]}
    status = {"containerStatuses": statuses, "initContainerStatuses": statuses}

    assert (Container("b", "init"), Container("a")) == decoded({**pod(), "spec": spec, "status": status}).containers


def test_a_status_without_a_container_in_the_spec_is_no_container() -> None:
    status = {"containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "ErrImagePull"}}}]}

    assert () == decoded({**pod(), "status": status}).containers


def test_an_init_container_and_a_container_of_one_name_keep_their_own_status() -> None:
    waits, fails = ({"name": "a", "state": {"waiting": {"reason": reason}}} for reason in ("Waits", "Fails"))
    found = decoded(
        {
            **pod(),
            "spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "a"}]},
            "status": {"containerStatuses": [waits], "initContainerStatuses": [fails]},
        }
    )

    assert ["Fails", "Waits"] == [each.waiting for each in found.containers]


@pytest.mark.parametrize("role", ["app", "init", "sidecar"])
def test_a_container_that_waits_tells_reason_and_message(role: Role) -> None:
    waits = {"waiting": {"reason": "ErrImagePull", "message": "not found"}}

    assert Container("c", role, waiting="ErrImagePull", message="not found") == with_container(role, state=waits)


@pytest.mark.parametrize("state", [None, {}, {"waiting": None}, {"waiting": {}}, {"running": {}}, {"terminated": {}}])
def test_a_state_that_tells_nothing_is_no_state(state: Any) -> None:
    assert Container("c") == with_container(state=state, lastState=state if state != {"terminated": {}} else None)


def test_a_container_that_runs_has_its_start_and_the_end_before_it() -> None:
    last = {
        "terminated": {
            "reason": "OOMKilled",
            "message": "killed",
            "exitCode": 137,
            "startedAt": rfc3339(NOW),
            "finishedAt": rfc3339(NOW + 5),
        }
    }
    found = with_container(state={"running": {"startedAt": rfc3339(LATER)}}, lastState=last, restartCount=1)

    assert (
        Container(
            "c",
            started=LATER,
            last_started=NOW,
            ended="OOMKilled",
            ended_message="killed",
            ended_at=NOW + 5,
            exit_code=137,
            restarts=1,
        )
        == found
    )


def test_a_container_that_ended_twice_tells_the_last_end() -> None:
    first, last = (
        {"terminated": {"reason": reason, "startedAt": rfc3339(time), "finishedAt": rfc3339(time + 5)}}
        for reason, time in (("Error", NOW), ("Completed", LATER))
    )
    found = with_container(state=last, lastState=first, restartCount=1)

    assert (
        Container(
            "c",
            started=LATER,
            finished=LATER + 5,
            last_started=NOW,
            ended="Completed",
            ended_at=LATER + 5,
            restarts=1,
        )
        == found
    )


RUNS = {"running": {"startedAt": rfc3339(LATER)}}
ENDED = {"terminated": {"startedAt": rfc3339(NOW)}}
ERROR = {"terminated": {"reason": "StartError", "startedAt": ZERO[0]}}
BACKS_OFF = {"waiting": {"reason": "CrashLoopBackOff"}}


@pytest.mark.parametrize(
    ("restarts", "state", "last", "first", "started"),
    [
        (0, RUNS, {}, LATER, True),
        (0, ENDED, {}, NOW, True),
        (0, BACKS_OFF, ENDED, NOW, True),
        (0, BACKS_OFF, {}, None, False),
        (0, ERROR, {}, None, False),
        (1, RUNS, ENDED, NOW, True),
        (1, RUNS, {}, None, True),
        (1, BACKS_OFF, ERROR, None, False),
        (2, RUNS, ENDED, None, True),  # the status tells only the last two runs
        (2, BACKS_OFF, ERROR, None, False),
    ],
)
def test_the_first_start_is_known_as_far_as_the_status_reaches(
    restarts: int, state: Any, last: Any, first: float | None, started: Any
) -> None:
    found = with_container(state=state, lastState=last, restartCount=restarts)

    assert (first, started) == (found.first_started, found.was_started)


# One bad pod costs itself

SPEC = {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}], "volumes": [{"name": "v", "emptyDir": {}}]}


@pytest.mark.parametrize(
    "part",
    [
        *({"spec": value} for value in WRONG.values() if value not in (None, {})),
        *({"status": value} for value in WRONG.values() if value not in (None, {})),
        {"spec": {**SPEC, "containers": [None]}},
        {"spec": {**SPEC, "containers": [{"image": "x"}]}},
        {"spec": {**SPEC, "initContainers": {"name": "i"}}},
        {"spec": {**SPEC, "volumes": ["v"]}},
        {"spec": {**SPEC, "hostNetwork": "yes"}},
        {"spec": {**SPEC, "runtimeClassName": 7}},
        {"spec": {"containers": [{"name": "c", "readinessProbe": "often"}]}},
        {"status": {"conditions": [None]}},
        {"status": {"conditions": [{"status": "True"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": True}]}},
        {"status": {"startTime": 7}},
        {"status": {"containerStatuses": [{"state": {}}]}},
        {"status": {"containerStatuses": [{"name": "c", "restartCount": "many"}]}},
        {"status": {"containerStatuses": [{"name": "c", "restartCount": 1.5}]}},
        {"status": {"containerStatuses": [{"name": "c", "state": "running"}]}},
        {"status": {"containerStatuses": [{"name": "c", "state": {"running": {"startedAt": 7}}}]}},
        {"status": {"initContainerStatuses": 7}},
    ],
    ids=repr,
)
def test_a_pod_with_a_bad_part_costs_itself_and_is_counted(part: Any) -> None:
    bad = {**pod("bad", "uid-b"), **part}
    result = pods_decoder()(pods(pod("web-1", "uid-1"), bad, pod("web-2", "uid-2")))

    assert (["web-1", "web-2"], {"malformed": 1}) == ([each.name for each in result.value], dict(result.dropped))


@pytest.mark.parametrize(
    "metadata", [{"creationTimestamp": 7}, {"deletionTimestamp": {}}, {"deletionGracePeriodSeconds": "long"}], ids=repr
)
def test_a_pod_with_bad_metadata_costs_itself_and_is_counted(metadata: Any) -> None:
    result = pods_decoder()(pods(pod("bad", "uid-b", **metadata), pod("web-1", "uid-1")))

    assert (["web-1"], {"malformed": 1}) == ([each.name for each in result.value], dict(result.dropped))
