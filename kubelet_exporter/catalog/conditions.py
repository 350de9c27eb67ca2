"""Do the conditions of the node flap, are they unknown, or do they name a problem that only another agent sees?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from kubelet_exporter.catalog.facts.node import CONDITION_FLAPPING
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_LONG, HOLD_SHORT, TIME_RESOLUTION
from kubelet_exporter.catalog.model import Alert, Fold, Metric, Panel, Query, Runbook, Table, Topic
from kubelet_exporter.catalog.node import DIAGNOSE_NODE, NODE_CONDITION
from kubelet_exporter.catalog.removal import PLANNED
from kubelet_exporter.snapshot import Condition, Snapshot, Source

# A Node has about ten; more than this is a mistake of whoever writes them.
MOST = 40
# The kubelet's own, which have alerts of their own.
OWN = "Ready|MemoryPressure|DiskPressure|PIDPressure"
# node-problem-detector's are problems when they are True; names like these are good news when they are.
GOOD = ".+(Ready|Healthy|Available|OK|Ok)"


@dataclass(frozen=True, slots=True)
class Changes:
    """A condition as it was last seen, at `seen`, and how often it has changed since it was first seen."""

    condition: str
    status: str
    transition: float | None
    seen: float
    count: int = 0


Memory = Mapping[str, Changes]


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after a good reading of the Node: conditions that are gone are forgotten."""
    if snapshot.latest != Source.NODE or not snapshot.fresh(Source.NODE) or snapshot.node is None:
        return memory
    at = snapshot.read_at(Source.NODE)
    return {
        each.condition: Changes(
            each.condition, each.status, each.transition, at, _count(memory.get(each.condition), each)
        )
        for each in islice(snapshot.node.conditions, MOST)
    }


def _count(last: Changes | None, now: Condition) -> int:
    """How often a condition has changed. A status that is the same, but since later than it was seen, changed away and back."""
    if last is None:
        return 0
    if last.status != now.status:
        return last.count + 1
    if last.transition is None or now.transition is None or last.transition == now.transition:
        return last.count
    return last.count + 2 * (now.transition + TIME_RESOLUTION.value > last.seen)


def transitions(_: Snapshot, memory: Memory) -> Iterator[Changes]:
    """How often each condition has changed."""
    yield from memory.values()


TRANSITIONS = Metric(
    "node_condition_transitions_total",
    "Changes of a condition's status since the exporter first saw it; an outage between two readings counts by lastTransitionTime, as two.",
    lambda row: row.count,
    ("condition",),
    kind="counter",
)

FLAPPING = Alert(
    "KubeletNodeConditionFlapping",
    f"max by (cluster, node, condition) (round(increase({TRANSITIONS}[1h]))) >= {CONDITION_FLAPPING} "
    f"unless on (cluster, node) {PLANNED}",
    HOLD_AT_ONCE,
    "warning",
    "A condition of a node flaps.",
    "Condition {{ $labels.condition }} of node {{ $labels.node }} of cluster {{ $labels.cluster }} changed {{ $value }} times within an hour.",
    Runbook(
        "The condition comes and goes; each time may be too short for the alert on the condition itself.",
        "Ready: pods are taken out of Services and back, and may be moved. Pressure: pods are evicted in waves.",
        DIAGNOSE_NODE,
        "Ready: a runtime that hangs for moments, a kubelet that is restarted, a network that loses packets: see their alerts. Pressure: a "
        "threshold that the node's normal use touches; give the node room or raise evictionPressureTransitionPeriod.",
    ),
)
UNKNOWN = Alert(
    "KubeletNodeConditionUnknown",
    f"max by (cluster, node, condition) ({NODE_CONDITION.where(condition='!=Ready', status='Unknown')}) == 1 "
    f"unless on (cluster, node) max by (cluster, node) ({NODE_CONDITION.where(condition='Ready', status='Unknown')}) == 1",
    HOLD_LONG,
    "info",
    "A condition of a node is unknown.",
    "Condition {{ $labels.condition }} of node {{ $labels.node }} of cluster {{ $labels.cluster }} is Unknown, though the kubelet reports.",
    Runbook(
        "Whoever reports this condition has stopped, or cannot tell: an agent such as node-problem-detector that is gone or blind. (When all are "
        "Unknown the kubelet itself is silent: see KubeletNodeNotReady.)",
        "A problem of this kind would not be noticed.",
        DIAGNOSE_NODE
        + "- `kubectl get pods -A -o wide --field-selector spec.nodeName=NODE | grep -i problem`: does the agent run?",
        "Restart the agent. If it was removed for good, remove its condition from the Node's status.",
    ),
)
PROBLEM = Alert(
    "KubeletNodeProblem",
    f"max by (cluster, node, condition) ({NODE_CONDITION.where(condition=f'!~{OWN}|{GOOD}', status='True')}) == 1 "
    f"or max by (cluster, node, condition) ({NODE_CONDITION.where(condition=f'=~{GOOD}', status='False')}) == 1",
    HOLD_SHORT,
    "warning",
    "An agent on a node has found a problem.",
    "Condition {{ $labels.condition }} of node {{ $labels.node }} of cluster {{ $labels.cluster }} tells of a problem.",
    Runbook(
        "A condition that is not the kubelet's own, set by node-problem-detector, the cloud's controller or another agent, is bad: True, or "
        "False where its name is good news (…Ready, …Healthy, …Available, …OK). NetworkUnavailable is one of them.",
        "It depends on the condition. KernelDeadlock and ReadonlyFilesystem end in a node that fails altogether; NetworkUnavailable keeps pods away.",
        "- `kubectl get node NODE -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{\"\\n\"}{end}'`.\n"
        "- On the node: `dmesg -T | tail -50`.",
        "NetworkUnavailable: see the network plug-in's or the cloud controller's log. ReadonlyFilesystem, KernelDeadlock, CorruptDockerOverlay2: cordon, drain, "
        "reboot or replace the node.",
    ),
)

TOPIC = Topic(
    name="conditions",
    title="Conditions",
    question="Do the conditions of the node flap, are they unknown, or do they name a problem that only another agent sees?",
    tables=(Table(transitions, (TRANSITIONS,)),),
    alerts=(FLAPPING, UNKNOWN, PROBLEM),
    boards={
        "node": (
            Panel(
                "Changes of conditions",
                "How often each condition changed lately. Normal is never.",
                (
                    Query(
                        f"max by (cluster, node, condition) (increase({TRANSITIONS.shown()}[$__rate_interval])) > 0",
                        "{{node}} {{condition}}",
                    ),
                ),
                width=12,
            ),
        ),
    },
    fold=Fold({}, advance),
)
