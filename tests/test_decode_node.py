"""The decoder of a Node object: versions, conditions and allocatable pods."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bodies import WRONG, body, condition, node

from kubelet_exporter.snapshot import Condition, Node
from kubelet_exporter.sources import decode
from kubelet_exporter.sources.decode import Decoded, Malformed


def test_a_node_has_versions_conditions_and_allocatable_pods() -> None:
    info = {
        "kubeletVersion": "v1.36.0",
        "containerRuntimeVersion": "containerd://2.2.0",
        "kernelVersion": "6.12",
        "osImage": "Linux",
        "architecture": "arm64",
        "machineID": "left out",
    }
    ready = condition(lastTransitionTime="2026-01-01T00:00:00Z", lastHeartbeatTime="2026-01-01T00:05:00Z")
    document = json.loads(node(ready, nodeInfo=info, allocatable={"pods": "110", "cpu": "4"}))
    document["metadata"]["resourceVersion"] = "77"

    assert Decoded(
        Node(
            name="node-a",
            resource_version="77",
            kubelet_version="v1.36.0",
            runtime_version="containerd://2.2.0",
            kernel_version="6.12",
            os_image="Linux",
            architecture="arm64",
            allocatable_pods=110,
            conditions=(Condition("Ready", "True", 1_767_225_600, 1_767_225_900, "Because", "as it is"),),
        )
    ) == decode.node(body(document))


@pytest.mark.parametrize(
    "status", [None, {}, {"conditions": None, "allocatable": None, "nodeInfo": None}, {"conditions": []}]
)
def test_a_node_may_lack_everything_but_its_name(status: Any) -> None:
    assert Decoded(Node("node-a")) == decode.node(body({"metadata": {"name": "node-a"}, "status": status}))


@pytest.mark.parametrize(
    "document", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"name": 1}}, {"items": []}]
)
def test_an_object_without_a_name_is_no_node(document: Any) -> None:
    with pytest.raises(Malformed):
        decode.node(body(document))


@pytest.mark.parametrize(
    "bad",
    [
        *WRONG.values(),
        condition(status="true"),
        condition(status="Maybe"),
        condition(status=""),
        condition(kind=""),
        {"type": "Ready"},
        {"status": "True"},
        {"type": None, "status": "True"},
        {"type": "Ready", "status": True},
        condition(lastHeartbeatTime=7),
    ],
    ids=repr,
)
def test_a_bad_condition_costs_itself_and_is_counted(bad: Any) -> None:
    decoded = decode.node(node(condition("A"), bad, condition("B", "Unknown")))

    assert (["A", "B"], {"malformed": 1}) == (
        [each.condition for each in decoded.value.conditions],
        dict(decoded.dropped),
    )


def test_of_conditions_of_one_type_the_last_counts() -> None:
    decoded = decode.node(node(condition(status="True"), condition("Other"), condition(status="False")))

    assert [("Ready", "False"), ("Other", "True")] == [
        (each.condition, each.status) for each in decoded.value.conditions
    ]
    assert {"duplicate": 1} == dict(decoded.dropped)


@pytest.mark.parametrize("time", [None, "", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "soon"])
def test_a_condition_without_a_heartbeat_is_kept(time: str | None) -> None:
    decoded = decode.node(node(condition(lastHeartbeatTime=time)))

    assert (Condition("Ready", "True", reason="Because", message="as it is"),) == decoded.value.conditions


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("110", 110),
        (110, 110),
        ("1k", 1000),
        (0, 0),
        (-1, None),
        ("many", None),
        (None, None),
        (True, None),
        ([], None),
        ("1e400", None),
    ],
)
def test_allocatable_pods_are_a_quantity_or_unknown(value: Any, number: float | None) -> None:
    assert number == decode.node(node(allocatable={"pods": value})).value.allocatable_pods
