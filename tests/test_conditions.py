"""Conditions that change, and nodes that go on purpose."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bodies import NOW, Known, body, condition, node
from recorded import film, played

from kubelet_exporter.catalog.conditions import MOST
from kubelet_exporter.snapshot import Reason, Source
from kubelet_exporter.units import rfc3339


def seen(known: Known, status: str, since: float | None = None, kind: str = "Ready") -> Known:
    """The node after its Node object told of a condition."""
    times = {} if since is None else {"lastTransitionTime": rfc3339(since)}
    return known.read(Source.NODE, node(condition(kind, status, **times)))


def counted(known: Known) -> dict[str, float]:
    """The changes of each condition."""
    lines = (line.rsplit(" ", 1) for line in known.series("node_condition_transitions_total"))
    return {re.findall('condition="([^"]*)"', name)[0]: float(value) for name, value in lines}


# Changes of conditions


@pytest.mark.parametrize(
    ("statuses", "changes"),
    [
        ([("True", 0)], 0),
        ([("True", 0), ("True", 0)], 0),
        ([("True", 0), ("False", 5)], 1),
        ([("True", 0), ("False", 5), ("True", 9)], 2),
        ([("True", 0), ("Unknown", 5), ("False", 9)], 2),
        ([("True", 0), ("True", 9)], 2),
        ([("True", 0), ("True", 9), ("True", 19)], 4),
        ([("True", None), ("False", None)], 1),
        ([("True", None), ("True", 9)], 0),
        ([("True", 9), ("True", None)], 0),
    ],
)
def test_a_change_of_status_counts_once_and_an_outage_between_two_readings_twice(
    statuses: list[tuple[str, float | None]], changes: int
) -> None:
    known = Known()
    for status, since in statuses:
        seen(known, status, None if since is None else NOW + since)

    assert {"Ready": changes} == counted(known)


def test_a_time_that_moves_within_what_was_seen_before_is_no_outage() -> None:
    known = seen(Known().at(NOW), "True", NOW - 500)
    seen(known.at(NOW + 60), "True", NOW - 400)

    assert {"Ready": 0} == counted(known)


def test_nothing_is_counted_before_the_node_is_known_nor_by_failed_readings() -> None:
    known = Known().fail(Source.NODE)
    before = counted(known)
    seen(known, "True", NOW)
    known.fail(Source.NODE, Reason.CONNECTION)

    assert ({}, {"Ready": 0}) == (before, counted(known))


def test_a_condition_that_is_gone_is_forgotten() -> None:
    known = seen(seen(Known(), "True", NOW, "Custom"), "True", NOW)

    assert {"Ready": 0} == counted(known)
    assert {"Custom": 0} == counted(seen(known, "False", NOW, "Custom"))


def test_a_node_with_endless_conditions_does_not_grow_the_scrape_endlessly() -> None:
    known = Known().read(Source.NODE, node(*(condition(f"Custom{number}") for number in range(MOST + 5))))

    assert MOST == len(counted(known))


def test_a_recorded_node_turned_not_ready_and_back() -> None:
    known = Known()
    for name in ("v1.36-runtime-hang", "v1.36-runtime-recovered"):
        line = next(line for line in film(name).lines if line.path.startswith("/api/v1/nodes/"))
        known.read(Source.NODE, line.body or "")

    assert {"Ready": 1} == {kind: count for kind, count in counted(known).items() if count}


# Planned removal


def tainted(*taints: Any, unschedulable: bool = False, ready: Any = None) -> Known:
    """A node with these taints."""
    spec = {"taints": list(taints), "unschedulable": unschedulable}
    return Known().read(
        Source.NODE,
        body({"metadata": {"name": "node-a"}, "spec": spec, "status": {"conditions": [ready] if ready else []}}),
    )


def planned(known: Known) -> set[str]:
    """Who has marked the node."""
    return {line.split('"')[1] for line in known.series("node_planned_removal") if line.endswith(" 1.0")}


@pytest.mark.parametrize(
    ("key", "by"),
    [
        ("ToBeDeletedByClusterAutoscaler", {"cluster-autoscaler"}),
        ("DeletionCandidateOfClusterAutoscaler", set()),
        ("karpenter.sh/disrupted", {"karpenter"}),
        ("karpenter.sh/disruption", {"karpenter"}),
        ("karpenter.sh/unregistered", set()),
        ("aws-node-termination-handler/spot-itn", {"aws-node-termination-handler"}),
        ("aws-node-termination-handler/scheduled-maintenance", {"aws-node-termination-handler"}),
        ("cloud.google.com/impending-node-termination", {"gke"}),
        ("node.cloudprovider.kubernetes.io/shutdown", {"cloud-provider"}),
        ("node.kubernetes.io/out-of-service", set()),
        ("node.kubernetes.io/not-ready", set()),
        ("node.kubernetes.io/unschedulable", set()),
    ],
)
@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_mark_tells_who_removes_the_node(key: str, by: set[str], effect: str) -> None:
    assert by == planned(tainted({"key": key, "effect": effect}))


def test_every_remover_is_told_of_though_it_has_not_marked_the_node() -> None:
    assert 6 == len(tainted().series("node_planned_removal"))
    assert [] == Known().series("node_planned_removal", "node_cordoned")


@pytest.mark.parametrize(
    ("status", "message", "by"),
    [
        ("False", "node is shutting down", {"graceful-shutdown"}),
        ("False", "PLEG is not healthy", set()),
        ("True", "node is shutting down", set()),
    ],
)
def test_a_kubelet_that_shuts_down_gracefully_goes_on_purpose(status: str, message: str, by: set[str]) -> None:
    assert by == planned(tainted(ready={**condition(status=status), "message": message}))


@pytest.mark.parametrize("cordoned", [True, False])
def test_a_cordoned_node_is_told_and_is_not_on_its_way_out_by_that(*, cordoned: bool) -> None:
    known = tainted(unschedulable=cordoned)

    assert [f"node_cordoned {float(cordoned)}"] == known.series("node_cordoned")
    assert set() == planned(known)


@pytest.mark.parametrize("name", ["v1.31-mixed", "v1.36-mixed", "v1.36-memory-pressure"])
def test_a_recorded_node_is_in_service(name: str) -> None:
    known = played(name)

    assert (["node_cordoned 0.0"], set()) == (known.series("node_cordoned"), planned(known))
