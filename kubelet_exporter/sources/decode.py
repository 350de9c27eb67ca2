"""Bodies as bytes into parts of the snapshot: JSON by msgspec, object by object, so that one bad object costs itself alone.

A decoder takes a body and gives a Decoded value; it raises Malformed if the body as a whole cannot be used.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from kubelet_exporter import units
from kubelet_exporter.snapshot import Condition, Lease, Node, Taint

T = TypeVar("T")
STATUSES = frozenset({"True", "False", "Unknown"})


class Malformed(ValueError):
    """The body as a whole is not what this endpoint answers with."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A value, and how many of its objects were left out, by reason."""

    value: Any
    dropped: Mapping[str, int] = field(default_factory=dict)


Decoder = Callable[[bytes], Decoded]
Raw = msgspec.Raw
NONE = Raw(b"null")


class ConditionObject(msgspec.Struct, rename="camel"):
    """What is used of a NodeCondition."""

    type: str
    status: str
    last_transition_time: str | None = None
    last_heartbeat_time: str | None = None
    reason: str | None = None
    message: str | None = None


class TaintObject(msgspec.Struct, rename="camel"):
    """What is used of a Taint."""

    key: str
    value: str | None = None
    effect: str | None = None


class NodeSpec(msgspec.Struct, rename="camel"):
    """What is used of NodeSpec."""

    taints: list[Raw] | None = None
    unschedulable: bool | None = None


class NodeInfo(msgspec.Struct, rename="camel"):
    """What is used of NodeSystemInfo."""

    kubelet_version: str = ""
    container_runtime_version: str = ""
    kernel_version: str = ""
    os_image: str = ""
    architecture: str = ""


class NodeStatus(msgspec.Struct, rename="camel"):
    """What is used of NodeStatus."""

    allocatable: dict[str, Any] | None = None
    conditions: list[Raw] | None = None
    node_info: NodeInfo | None = None


class NodeMetadata(msgspec.Struct, rename="camel"):
    """What is used of a Node's ObjectMeta."""

    name: str
    creation_timestamp: str | None = None
    resource_version: str = ""


class NodeObject(msgspec.Struct, rename="camel"):
    """What is used of a Node."""

    metadata: NodeMetadata
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class LeaseSpec(msgspec.Struct, rename="camel"):
    """What is used of LeaseSpec."""

    renew_time: str | None = None


class LeaseObject(msgspec.Struct, rename="camel"):
    """What is used of a Lease."""

    spec: LeaseSpec | None = None


def healthz(body: bytes) -> Decoded:
    """The answer "ok"; the kubelet answers with another status if it is not well."""
    if body.strip() != b"ok":
        raise Malformed(f"expected ok, not {body[:40]!r}")
    return Decoded(value=True)


def configz(body: bytes) -> Decoded:
    """The configuration as a dict; kubelets before 1.8 call it componentconfig."""
    document = parsed(body, dict[str, Any])
    config = document.get("kubeletconfig") or document.get("componentconfig")
    if not isinstance(config, dict):
        raise Malformed("no kubeletconfig in it")
    return Decoded(config)


def node(body: bytes) -> Decoded:
    """A Node object; of several conditions of one type the last counts."""
    document = parsed(body, NodeObject)
    status, spec = document.status or NodeStatus(), document.spec or NodeSpec()
    taints = [one(bytes(raw), TaintObject) for raw in spec.taints or ()]
    info = status.node_info or NodeInfo()
    conditions = [_condition(bytes(raw)) for raw in status.conditions or ()]
    good = {condition.condition: condition for condition in conditions if condition}
    malformed = conditions.count(None) + taints.count(None)
    dropped = Counter(malformed=malformed, duplicate=len(conditions) - conditions.count(None) - len(good))
    value = Node(
        name=document.metadata.name,
        resource_version=document.metadata.resource_version,
        created=moment(document.metadata.creation_timestamp),
        kubelet_version=info.kubelet_version,
        runtime_version=info.container_runtime_version,
        kernel_version=info.kernel_version,
        os_image=info.os_image,
        architecture=info.architecture,
        allocatable_pods=_quantity((status.allocatable or {}).get("pods")),
        conditions=tuple(good.values()),
        taints=tuple(Taint(each.key, each.value or "", each.effect or "") for each in taints if each),
        unschedulable=bool(spec.unschedulable),
    )
    return Decoded(value, +dropped)


def _condition(text: bytes) -> Condition | None:
    condition = one(text, ConditionObject)
    if condition is None or not condition.type or condition.status not in STATUSES:
        return None
    transition, heartbeat = moment(condition.last_transition_time), moment(condition.last_heartbeat_time)
    reason, message = condition.reason or "", condition.message or ""
    return Condition(condition.type, condition.status, transition, heartbeat, reason, message)


def lease(body: bytes) -> Decoded:
    """The node's Lease."""
    spec = parsed(body, LeaseObject).spec
    return Decoded(Lease(moment(spec.renew_time if spec else None)))


def parsed(body: bytes, kind: type[T]) -> T:
    """A whole body as JSON of this kind; raises Malformed."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from error


def one(text: bytes, kind: type[T]) -> T | None:
    """One object of a body, None if it is not of this kind."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def moment(text: str | None) -> float | None:
    """A time as Unix time, None if it is unknown or no time."""
    try:
        return units.timestamp(text)
    except ValueError:
        return None


def _quantity(value: object) -> float | None:
    try:
        return amount(units.quantity(str(value)))
    except ValueError:
        return None


def amount(value: float | None) -> float | None:
    """A number of bytes or the like, None if it cannot be one: negative or infinite."""
    return abs(value) if value is not None and math.isfinite(value) and value >= 0 else None  # abs: JSON knows -0
