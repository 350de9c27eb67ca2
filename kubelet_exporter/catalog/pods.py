"""How many pods does the node hold, and how many will it take?"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.facts.pods import PODS_BUSY, PODS_FARGATE_LIMIT, PODS_NEAR_LIMIT
from kubelet_exporter.catalog.facts.times import HOLD_LONG
from kubelet_exporter.catalog.model import Alert, Metric, Panel, Query, Record, Runbook, Table, Topic
from kubelet_exporter.pod import Pod
from kubelet_exporter.snapshot import Snapshot

PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


@dataclass(frozen=True, slots=True)
class Phase:
    """How many pods are in one phase."""

    phase: str
    count: int


@dataclass(frozen=True, slots=True)
class Limit:
    """How many pods the node takes."""

    pods: float


def distinct(pods: tuple[Pod, ...]) -> list[Pod]:
    """The pods without the mirror pods whose static pod is listed too."""
    uids = {pod.uid for pod in pods}
    return [pod for pod in pods if pod.mirrors is None or pod.mirrors == pod.uid or pod.mirrors not in uids]


def phases(snapshot: Snapshot, _: None) -> Iterator[Phase]:
    """One row a phase, also for those that no pod is in."""
    if snapshot.pods is not None:
        counts = Counter(pod.phase if pod.phase in PHASES else "Unknown" for pod in distinct(snapshot.pods))
        yield from (Phase(phase, counts[phase]) for phase in PHASES)


def limits(snapshot: Snapshot, _: None) -> Iterator[Limit]:
    """The smaller of the kubelet's maxPods and the allocatable pods of the Node, as far as they are known."""
    known = [
        limit
        for limit in (_max_pods(snapshot), snapshot.node.allocatable_pods if snapshot.node else None)
        if limit is not None and limit > PODS_FARGATE_LIMIT.value
    ]
    if known:
        yield Limit(min(known))


def _max_pods(snapshot: Snapshot) -> float | None:
    value = (snapshot.config or {}).get("maxPods")
    # maxPods is an int32; JSON knows larger numbers, and true is an int in Python.
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None


PODS = Metric(
    "pods",
    "Pods that the kubelet lists, by phase; those in use are neither Succeeded nor Failed.",
    lambda row: row.count,
    ("phase",),
)
PODS_LIMIT = Metric(
    "pods_limit",
    "Pods that the node takes: the smaller of maxPods in /configz and the allocatable pods of the Node object.",
    lambda row: row.pods,
)

IN_USE = Record(
    "cluster_node:kubelet_exporter_pods_in_use:sum",
    f"sum by (cluster, node) (max by (cluster, node, phase) ({PODS.where(phase='!~Succeeded|Failed')}))",
)
IN_USE_RATIO = Record(
    "cluster_node:kubelet_exporter_pods_in_use:ratio",
    f"sum by (cluster, node) (max by (cluster, node, phase) ({PODS.where(phase='!~Succeeded|Failed')})) "
    f"/ max by (cluster, node) ({PODS_LIMIT})",
)

NEAR_LIMIT = Alert(
    "KubeletPodsNearLimit",
    f"{IN_USE_RATIO} > {PODS_NEAR_LIMIT}",
    HOLD_LONG,
    "warning",
    "A node will soon take no more pods.",
    "Node {{ $labels.node }} of cluster {{ $labels.cluster }} holds {{ $value | humanizePercentage }} of the pods that it takes, "
    f"for more than {HOLD_LONG:text}.",
    Runbook(
        f"Pods in use (neither Succeeded nor Failed) are above {PODS_NEAR_LIMIT:text} of this node's own limit.",
        "The scheduler places no more pods here; DaemonSet pods of this node stay Pending, and pods that get here at the same moment "
        "are refused with OutOfpods.",
        f"`{PODS}` by phase beside `{PODS_LIMIT}`. `kubectl get pods -A --field-selector spec.nodeName=NODE`. Is it one node (affinity, "
        "taints elsewhere) or the whole pool?",
        "Add nodes, or spread the pods. Raising maxPods needs addresses enough in the node's pod range and costs PLEG time: "
        "watch the relist time of the node.",
    ),
)

TOPIC = Topic(
    name="pods",
    title="Pods",
    question="How many pods does the node hold, and how many will it take?",
    tables=(Table(phases, (PODS,)), Table(limits, (PODS_LIMIT,))),
    alerts=(NEAR_LIMIT,),
    records=(IN_USE, IN_USE_RATIO),
    boards={
        "overview": (
            Panel(
                "Pods in use",
                "Pods that are neither Succeeded nor Failed.",
                (Query(f"sum(max by (cluster, node, phase) ({PODS.shown(phase='!~Succeeded|Failed')}))", "pods"),),
                kind="stat",
                unit="none",
                width=4,
                height=4,
            ),
            Panel(
                "Pods in use, share of the limit",
                "Share of its own pod limit that is in use, on the ten fullest nodes.",
                (
                    Query(
                        f"topk(10, sum by (cluster, node) (max by (cluster, node, phase) ({PODS.shown(phase='!~Succeeded|Failed')})) "
                        f"/ max by (cluster, node) ({PODS_LIMIT.shown()}))"
                    ),
                ),
                unit="percentunit",
                limits=((PODS_NEAR_LIMIT, "red"),),
                width=12,
            ),
        ),
        "node": (
            Panel(
                "Pods by phase",
                "Pods that the kubelets of the chosen nodes list, by phase, beside what these nodes take.",
                (
                    Query(f"sum by (phase) (max by (cluster, node, phase) ({PODS.shown()}))", "{{phase}}"),
                    Query(f"sum(max by (cluster, node) ({PODS_LIMIT.shown()}))", "limit"),
                ),
                unit="none",
                width=12,
            ),
            Panel(
                "Pods in use on each node",
                "Pods that are neither Succeeded nor Failed. "
                f"The articles expect trouble from {PODS_BUSY:text} on, whatever the node's limit.",
                (
                    Query(
                        f"sum by (cluster, node) (max by (cluster, node, phase) ({PODS.shown(phase='!~Succeeded|Failed')}))"
                    ),
                ),
                unit="none",
                limits=((PODS_BUSY, "orange"),),
                width=12,
            ),
        ),
    },
)
