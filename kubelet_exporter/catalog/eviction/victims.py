"""Which pods were evicted: counted once each, by namespace and the kind of their owner."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kubelet_exporter.pod import Pod
from kubelet_exporter.snapshot import Snapshot, Source

# Refused at admission for a pressure: they never ran, so nothing was evicted.
REJECTED = "Pod was rejected"
# Kinds of the workloads that Kubernetes brings; of the rest there may be any number.
OWNERS = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"})
OTHER, NOBODY = "other", "none"
# Namespaces get their series in the order in which they come; those beyond share one.
MOST_NAMESPACES = 30
REST = "_other"

Kind = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Victims:
    """UIDs of the evicted pods that are still listed, None before the first listing, and how many there were of each kind."""

    seen: frozenset[str] | None = None
    counts: Mapping[Kind, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Count:
    """Pods of one namespace and kind of owner that were evicted."""

    namespace: str
    owner_kind: str
    pods: int


def is_evicted(pod: Pod) -> bool:
    """Whether the kubelet ended it for want of something."""
    return pod.phase == "Failed" and pod.reason == "Evicted" and not pod.message.startswith(REJECTED)


def advance(victims: Victims, snapshot: Snapshot) -> Victims:
    """The victims after a good reading of /pods; those of the first listing are not counted, since nobody knows when they fell."""
    if snapshot.latest != Source.PODS or not snapshot.fresh(Source.PODS) or snapshot.pods is None:
        return victims
    counts = dict(victims.counts)
    evicted = frozenset(pod.uid for pod in snapshot.pods if is_evicted(pod))
    for pod in snapshot.pods:
        kind = _kind(pod, counts)
        counts.setdefault(kind, 0)
        counts[kind] += victims.seen is not None and pod.uid in evicted - victims.seen
    return Victims(evicted, counts)


def _kind(pod: Pod, counts: Mapping[Kind, int]) -> Kind:
    namespaces = {namespace for namespace, _ in counts}
    known = pod.namespace in namespaces or len(namespaces) < MOST_NAMESPACES
    owner = pod.owner if pod.owner in OWNERS else OTHER if pod.owner else NOBODY
    return (pod.namespace if known else REST, owner)


def counted(_: Snapshot, victims: Victims) -> Iterator[Count]:
    """The evicted pods by namespace and kind of owner, from 0 on once such a pod was seen."""
    yield from (Count(*kind, pods) for kind, pods in sorted(victims.counts.items()))
