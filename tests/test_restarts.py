"""Restarts and kills for memory: each is counted once, whatever the kubelet tells again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bodies import NOW, Known, pods
from recorded import listed_last, listings, played

from kubelet_exporter.catalog.restarts import MOST_NAMESPACES, REST
from kubelet_exporter.snapshot import Source
from kubelet_exporter.units import rfc3339


def ended(reason: str, at: float | None) -> dict[str, Any]:
    """A state of a container that ended."""
    return {"terminated": {"reason": reason, "exitCode": 137, "finishedAt": None if at is None else rfc3339(at)}}


def pod(restarts: int = 0, uid: str = "uid-a", namespace: str = "shop", **states: Any) -> dict[str, Any]:
    """A pod with one container."""
    status = {"name": "app", "restartCount": restarts, "state": {"running": {}}, **states}
    return {
        "metadata": {"namespace": namespace, "name": uid, "uid": uid},
        "spec": {"containers": [{"name": "app"}]},
        "status": {"phase": "Running", "containerStatuses": [status]},
    }


def by(known: Known, metric: str, label: str) -> dict[str, float]:
    """The counts of a metric that are not 0, by one label."""
    lines = (line.rsplit(" ", 1) for line in known.series(metric))
    return {re.findall(f'{label}="([^"]*)"', name)[0]: float(value) for name, value in lines if float(value)}


def seen(*listings: list[dict[str, Any]]) -> Known:
    """What is known after these listings of pods."""
    known = Known()
    for items in listings:
        known.read(Source.PODS, pods(*items))
    return known


def restarts(known: Known) -> dict[str, float]:
    return by(known, "container_restarts_total", "reason")


def kills(known: Known) -> dict[str, float]:
    return by(known, "container_oom_kills_total", "namespace")


def test_everything_is_there_from_0_once_pods_were_read() -> None:
    assert [] == Known().fail(Source.PODS).series("container_restarts_total")
    assert [
        f'container_restarts_total{{reason="{reason}"}} 0.0' for reason in ("oom_killed", "error", "completed", "other")
    ] == seen([pod(5)]).series("container_restarts_total")
    assert ['container_oom_kills_total{namespace="shop"} 0.0'] == seen([pod()]).series("container_oom_kills_total")


@pytest.mark.parametrize(
    ("reason", "counted"),
    [("Error", "error"), ("OOMKilled", "oom_killed"), ("Completed", "completed"), ("StartError", "other")],
)
def test_a_restart_is_counted_by_why_the_run_before_ended(reason: str, counted: str) -> None:
    known = seen([pod()], [pod(2, lastState=ended(reason, NOW))], [pod(2, lastState=ended(reason, NOW))])

    assert {counted: 2} == restarts(known)


def test_restarts_from_before_the_exporter_are_not_counted_and_of_new_pods_all_are() -> None:
    error = ended("Error", NOW)
    known = seen([pod(7, lastState=error)], [pod(7, lastState=error), pod(3, "uid-b", lastState=error)])

    assert {"error": 3} == restarts(known)


def test_a_count_that_falls_counts_nothing_and_a_pod_that_is_gone_is_forgotten() -> None:
    error = ended("Error", NOW)
    known = seen([pod(7)], [pod(2, lastState=error)], [], [pod(2, lastState=error)])

    assert {"error": 2} == restarts(known)


def test_a_kill_is_counted_once_though_it_is_told_as_state_and_then_as_last_state() -> None:
    killed = ended("OOMKilled", NOW)
    known = seen([pod()], [pod(state=killed)], [pod(1, lastState=killed)], [pod(1, lastState=killed)])

    assert ({"shop": 1}, {"oom_killed": 1}) == (kills(known), restarts(known))


def test_the_second_kill_is_another() -> None:
    first, second = ended("OOMKilled", NOW), ended("OOMKilled", NOW + 60)
    known = seen(
        [pod()], [pod(1, lastState=first)], [pod(1, state=second, lastState=first)], [pod(2, lastState=second)]
    )

    assert {"shop": 2} == kills(known)


def test_a_kill_from_before_the_exporter_is_not_counted() -> None:
    assert {} == kills(seen([pod(state=ended("OOMKilled", NOW))], [pod(1, lastState=ended("OOMKilled", NOW))]))


def test_a_container_that_is_not_restarted_was_killed_all_the_same() -> None:
    assert {"shop": 1} == kills(seen([pod()], [pod(state=ended("OOMKilled", NOW))]))


def test_a_kill_without_a_time_is_known_by_its_restart() -> None:
    untimed = ended("OOMKilled", None)
    known = seen([pod()], [pod(state=untimed)], [pod(1, lastState=untimed)], [pod(1, lastState=untimed)])

    assert {"shop": 1} == kills(known)


def test_an_error_after_a_kill_is_no_kill() -> None:
    known = seen([pod()], [pod(1, lastState=ended("Error", NOW))])

    assert {} == kills(known)


def test_namespaces_beyond_the_first_share_a_series() -> None:
    many = [pod(uid=f"uid-{number}", namespace=f"space-{number:03}") for number in range(MOST_NAMESPACES + 3)]
    then = [{**each, "status": pod(state=ended("OOMKilled", NOW))["status"]} for each in many]
    counted = kills(seen([], many, then))

    assert (MOST_NAMESPACES + 1, 3.0, 1.0) == (len(counted), counted[REST], counted["space-000"])


def test_failed_readings_change_nothing() -> None:
    known = seen([pod()]).fail(Source.PODS)
    known.read(Source.PODS, pods(pod(1, lastState=ended("Error", NOW))))

    assert {"error": 1} == restarts(known)


@pytest.mark.parametrize("name", ["v1.36-film-terminations", "v1.31-film-starts", "v1.36-film-sandbox-failures"])
def test_a_film_tells_as_many_restarts_as_its_pods_have_at_the_end(name: str) -> None:
    """All pods that restart in these films are there from begin to end, or come within them."""
    known = played(name)
    first, last = (
        {each["metadata"]["uid"]: total(each) for each in listing}
        for listing in (played_first(name), listed_last(name))
    )
    grown = sum(max(0, count - first.get(uid, 0)) for uid, count in last.items())

    assert grown <= sum(restarts(known).values())


def played_first(name: str) -> list[Any]:
    """The pods of the first good answer of /pods."""
    return next(items for _, items in listings(name))


def total(item: Any) -> int:
    """The restarts of all containers of a pod."""
    status = item["status"]
    kinds = ("containerStatuses", "initContainerStatuses")
    return sum(each.get("restartCount", 0) for kind in kinds for each in status.get(kind) or ())
