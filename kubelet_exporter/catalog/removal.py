"""Is this node on its way out on purpose: who has marked it for removal, and is it cordoned?"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kubelet_exporter.catalog.facts.node import CORDONED_TOO_LONG, REMOVAL_STUCK
from kubelet_exporter.catalog.model import Alert, Metric, Panel, Query, Runbook, Table, Topic
from kubelet_exporter.snapshot import Condition, Node, Snapshot, Taint

SHUTTING_DOWN = "node is shutting down"


def _key(*keys: str) -> Callable[[Taint], bool]:
    return lambda taint: taint.key in keys


# The taints by which removers mark a node, from their documentation and sources. Candidates of the cluster autoscaler
# (DeletionCandidateOfClusterAutoscaler) may stay, and node.kubernetes.io/out-of-service means a failure: neither is a plan.
MARKS: Mapping[str, Callable[[Taint], bool]] = {
    "cluster-autoscaler": _key("ToBeDeletedByClusterAutoscaler"),
    "karpenter": _key("karpenter.sh/disrupted", "karpenter.sh/disruption"),
    "aws-node-termination-handler": lambda taint: taint.key.startswith("aws-node-termination-handler/"),
    "gke": _key("cloud.google.com/impending-node-termination"),
    "cloud-provider": _key("node.cloudprovider.kubernetes.io/shutdown"),
}
SHUTDOWN = "graceful-shutdown"


@dataclass(frozen=True, slots=True)
class Removal:
    """Whether one of the removers has marked the node."""

    by: str
    marked: bool


def nodes(snapshot: Snapshot, _: None) -> Iterator[Node]:
    """The Node object, if it is known."""
    if snapshot.node:
        yield snapshot.node


def removals(snapshot: Snapshot, _: None) -> Iterator[Removal]:
    """Each remover, and whether it has marked the node; the kubelet itself does so in a graceful shutdown."""
    if snapshot.node:
        for by, marks in MARKS.items():
            yield Removal(by, any(map(marks, snapshot.node.taints)))
        yield Removal(SHUTDOWN, any(map(_shuts_down, snapshot.node.conditions)))


def _shuts_down(condition: Condition) -> bool:
    return condition.condition == "Ready" and condition.status == "False" and SHUTTING_DOWN in condition.message


NODE_CORDONED = Metric(
    "node_cordoned",
    "Whether the node is cordoned (spec.unschedulable).",
    lambda node: int(node.unschedulable),
)
PLANNED_REMOVAL = Metric(
    "node_planned_removal",
    "Whether the node is marked for removal by an autoscaler, a handler of interruptions or the cloud, or shuts down gracefully.",
    lambda row: int(row.marked),
    ("by",),
)

PLANNED = f"max by (cluster, node) ({PLANNED_REMOVAL}) == 1"

CORDONED = Alert(
    "KubeletNodeCordonedTooLong",
    f"max by (cluster, node) ({NODE_CORDONED}) == 1",
    CORDONED_TOO_LONG,
    "info",
    "A node has been cordoned for long.",
    f"Node {{{{ $labels.node }}}} of cluster {{{{ $labels.cluster }}}} has been cordoned for more than {CORDONED_TOO_LONG:text}.",
    Runbook(
        "Nobody has uncordoned the node: maintenance was forgotten, a reboot or a drain failed half-way.",
        "The node takes no pods: its capacity is paid for and not used, and the other nodes are fuller.",
        "- `kubectl describe node NODE`: events, annotations and taints name who cordoned it.\n"
        "- `kubectl get pods -A --field-selector spec.nodeName=NODE`: does a disruption budget hold up a drain?",
        "`kubectl uncordon NODE` if the maintenance is over, else finish it or delete the node.",
    ),
)
STUCK = Alert(
    "KubeletNodeRemovalStuck",
    f"max by (cluster, node, by) ({PLANNED_REMOVAL}) == 1",
    REMOVAL_STUCK,
    "warning",
    "A node that was marked for removal is still there.",
    "Node {{ $labels.node }} of cluster {{ $labels.cluster }} was marked for removal by {{ $labels.by }} more than "
    f"{REMOVAL_STUCK:text} ago and is still there.",
    Runbook(
        "Its remover waits for pods that cannot leave, or for the cloud.",
        "The node costs money and takes no pods. While it is marked, KubeletNodeNotReady is silent for it.",
        "- `kubectl get pods -A --field-selector spec.nodeName=NODE`, `kubectl get pdb -A`: a budget that allows no disruption?\n"
        "- The log of the remover; `kubectl get node NODE -o jsonpath='{.metadata.finalizers} {.spec.taints}'`.",
        "Let the pods go: scale up what a budget protects, remove a forgotten `do-not-disrupt` or `safe-to-evict: false`. "
        "If the remover itself is gone, remove its taint or delete the node.",
    ),
)

TOPIC = Topic(
    name="removal",
    title="Planned removal",
    question="Is this node on its way out on purpose: who has marked it for removal, and is it cordoned?",
    tables=(Table(nodes, (NODE_CORDONED,)), Table(removals, (PLANNED_REMOVAL,))),
    alerts=(CORDONED, STUCK),
    boards={
        "node": (
            Panel(
                "Cordoned or going",
                "Cordoned nodes take no pods; marked ones are removed on purpose, and their being not ready is no failure.",
                (
                    Query(
                        f"max by (cluster, node) ({NODE_CORDONED.shown()}) + 2 * max by (cluster, node) ({PLANNED_REMOVAL.shown()})"
                    ),
                ),
                kind="state-timeline",
                unit="none",
                mappings={
                    "0": ("in service", "green"),
                    "1": ("cordoned", "orange"),
                    "2": ("going", "blue"),
                    "3": ("cordoned, going", "blue"),
                },
                width=12,
            ),
        ),
    },
)
