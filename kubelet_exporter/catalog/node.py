"""Is the node Ready, what are its conditions and versions, and does the API server still hear from its kubelet?"""

from collections.abc import Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog import exporter
from kubelet_exporter.catalog.facts.node import HEARTBEAT_PERIOD, HEARTBEAT_STALE, LEASE_DURATION, LEASE_STALE
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Metric, Panel, Query, Runbook, Table, Topic
from kubelet_exporter.catalog.removal import PLANNED
from kubelet_exporter.snapshot import Condition, Lease, Node, Snapshot

STATUSES = ("True", "False", "Unknown")


@dataclass(frozen=True, slots=True)
class Status:
    """One row of the state set of a condition."""

    condition: str
    status: str
    holds: bool


def nodes(snapshot: Snapshot, _: None) -> Iterator[Node]:
    """The Node object, if it is known."""
    if snapshot.node:
        yield snapshot.node


def conditions(snapshot: Snapshot, _: None) -> Iterator[Condition]:
    """Every condition of the Node, custom ones too."""
    yield from snapshot.node.conditions if snapshot.node else ()


def statuses(snapshot: Snapshot, _: None) -> Iterator[Status]:
    """Each condition three times: one row a status, of which one holds."""
    for condition in conditions(snapshot, None):
        for status in STATUSES:
            yield Status(condition.condition, status, condition.status == status)


def leases(snapshot: Snapshot, _: None) -> Iterator[Lease]:
    """The node's Lease, if it is known."""
    if snapshot.lease:
        yield snapshot.lease


NODE_INFO = Metric(
    "node_info",
    "Versions of the node's parts, from status.nodeInfo of the Node object.",
    lambda _: 1,
    ("kubelet_version", "runtime_version", "kernel_version", "os_image", "architecture"),
    kind="info",
)
NODE_CONDITION = Metric(
    "node_condition",
    "Whether a condition of the Node object has this status (1) or not (0).",
    lambda row: int(row.holds),
    ("condition", "status"),
)
NODE_CONDITION_TRANSITION = Metric(
    "node_condition_last_transition_timestamp_seconds",
    "Unix time at which a condition of the Node object last changed its status, from lastTransitionTime.",
    lambda row: row.transition,
    ("condition",),
    unit="seconds",
)
NODE_CONDITION_HEARTBEAT = Metric(
    "node_condition_last_heartbeat_timestamp_seconds",
    "Unix time at which a condition of the Node object was last reported, from lastHeartbeatTime.",
    lambda row: row.heartbeat,
    ("condition",),
    unit="seconds",
)
NODE_LEASE_RENEW = Metric(
    "node_lease_renew_timestamp_seconds",
    "Unix time at which the kubelet last renewed the node's Lease, from spec.renewTime.",
    lambda row: row.renewed,
    unit="seconds",
)

DIAGNOSE_NODE = f"""
- `kubectl describe node NODE`: reasons and messages of the conditions, taints, events.
- The status page of the exporter on this node, or `{exporter.SOURCE_UP}`: does the kubelet answer?
- On the node: `systemctl status kubelet`, `journalctl -u kubelet --since -15min`.
"""

NOT_READY = Alert(
    "KubeletNodeNotReady",
    f"max by (cluster, node) ({NODE_CONDITION.where(condition='Ready', status='True')}) == 0 "
    f"unless on (cluster, node) {PLANNED}",
    HOLD_SHORT,
    "warning",
    "A node has not been Ready for minutes.",
    f"Node {{{{ $labels.node }}}} of cluster {{{{ $labels.cluster }}}} has not been Ready for more than {HOLD_SHORT:text}.",
    Runbook(
        "The Ready condition of the Node object is False (the kubelet says so) or Unknown (nobody has heard from the kubelet). Nodes that are removed "
        "on purpose (marked by an autoscaler, or shutting down) are left out; cordoned ones are not.",
        "No new pods are scheduled here. After the tolerance of each pod, usually five minutes, its pods are deleted and started elsewhere.",
        DIAGNOSE_NODE,
        "False: cure what the message names (runtime, network plug-in, PLEG). Unknown: see whether the machine and its path to the "
        "API server are up. Drain and replace the node if it does not come back.",
    ),
)
PRESSURE = Alert(
    "KubeletNodePressure",
    f"max by (cluster, node, condition) ({NODE_CONDITION.where(condition='=~(Memory|Disk|PID)Pressure', status='True')}) == 1",
    HOLD_SHORT,
    "warning",
    "A node is short of memory, disk or process numbers and evicts pods.",
    f"Node {{{{ $labels.node }}}} of cluster {{{{ $labels.cluster }}}} has had {{{{ $labels.condition }}}} "
    f"for more than {HOLD_SHORT:text}.",
    Runbook(
        "An eviction threshold of this kubelet was crossed; it reports the pressure until its transition period has passed.",
        "The node takes no BestEffort pods (memory) or no pods (disk, process numbers), and the kubelet evicts pods one after another.",
        "- `kubectl describe node NODE`: the condition and its message, events of evictions.\n"
        "- `kubectl get pods -A --field-selector spec.nodeName=NODE,status.phase=Failed`: what was evicted.\n"
        "- On the node: `free -m`, `df -h`, `df -i`, `ps -eL | wc -l`; `journalctl -u kubelet --since -15min | grep -i evict`.",
        "Find what grew: memory of pods above their requests, images and logs on the disk, processes. Move or limit it. "
        "If the node is simply too small, set requests so that the scheduler knows.",
    ),
)
LEASE_NOT_RENEWED = Alert(
    "KubeletNodeLeaseStale",
    f"time() - max by (cluster, node) ({NODE_LEASE_RENEW}) > {LEASE_STALE} "
    f"and on (cluster, node) max by (cluster, node) ({exporter.SOURCE_UP.where(source='lease')}) == 1",
    HOLD_AT_ONCE,
    "warning",
    "A kubelet no longer renews its node's Lease.",
    f"The kubelet of node {{{{ $labels.node }}}} of cluster {{{{ $labels.cluster }}}} last renewed its Lease "
    f"{{{{ $value | humanizeDuration }}}} ago; it should do so every quarter of {LEASE_DURATION:text}.",
    Runbook(
        f"The Lease `kube-node-lease/NODE` has not been renewed for {LEASE_STALE:text}, though the exporter can read it: the kubelet "
        "is down, hangs, or cannot reach or is refused by the API server.",
        "The node controller turns the node's conditions to Unknown and its pods are deleted after their tolerance.",
        DIAGNOSE_NODE,
        "Restart a hung kubelet. If it is refused (401 in its log), its client certificate has expired: renew it by bootstrap.",
    ),
)
HEARTBEAT_OLD = Alert(
    "KubeletNodeHeartbeatStale",
    f"time() - max by (cluster, node) ({NODE_CONDITION_HEARTBEAT.where(condition='Ready')}) > {HEARTBEAT_STALE} "
    f"and on (cluster, node) max by (cluster, node) ({exporter.SOURCE_UP.where(source='node')}) == 1",
    HOLD_AT_ONCE,
    "warning",
    "The status of a node is stale.",
    f"The Ready condition of node {{{{ $labels.node }}}} of cluster {{{{ $labels.cluster }}}} was last reported "
    f"{{{{ $value | humanizeDuration }}}} ago; {HEARTBEAT_PERIOD:text} is normal.",
    Runbook(
        f"Kubelets report an unchanged status only every {HEARTBEAT_PERIOD:text}, so a heartbeat of that age is healthy; "
        f"{HEARTBEAT_STALE:text} is not. The shown status may no longer be true.",
        "Decisions about this node rest on old facts.",
        DIAGNOSE_NODE,
        "As for KubeletNodeLeaseStale. If the Lease is fresh and only the status is old, look for errors of status updates in the "
        "kubelet's log (conflicts, admission webhooks, a Node object that is too large).",
    ),
)

READY_PANEL = Panel(
    "Ready",
    "The Ready condition of each node over time: True, False (the kubelet says so) or Unknown (nobody has heard from it).",
    (
        Query(
            f"max by (cluster, node) ({NODE_CONDITION.shown(condition='Ready', status='True')}) "
            f"+ 2 * max by (cluster, node) ({NODE_CONDITION.shown(condition='Ready', status='Unknown')})"
        ),
    ),
    kind="state-timeline",
    unit="none",
    mappings={"0": ("not ready", "red"), "1": ("ready", "green"), "2": ("unknown", "orange")},
    width=12,
)

TOPIC = Topic(
    name="node",
    title="Node",
    question="Is the node Ready, what are its conditions and versions, and does the API server still hear from its kubelet?",
    tables=(
        Table(nodes, (NODE_INFO,)),
        Table(statuses, (NODE_CONDITION,)),
        Table(conditions, (NODE_CONDITION_TRANSITION, NODE_CONDITION_HEARTBEAT)),
        Table(leases, (NODE_LEASE_RENEW,)),
    ),
    alerts=(NOT_READY, PRESSURE, LEASE_NOT_RENEWED, HEARTBEAT_OLD),
    boards={
        "overview": (
            Panel(
                "Nodes",
                "Nodes whose exporter reports.",
                (
                    Query(
                        f"count(count by (cluster, node) ({NODE_CONDITION.shown(condition='Ready', status='True')}))",
                        "nodes",
                    ),
                ),
                kind="stat",
                unit="none",
                width=4,
                height=4,
            ),
            Panel(
                "Not ready",
                "Nodes whose Ready condition is not True.",
                (
                    Query(
                        f"sum(max by (cluster, node) ({NODE_CONDITION.shown(condition='Ready', status='True')}) == bool 0)",
                        "not ready",
                    ),
                ),
                kind="stat",
                unit="none",
                mappings={"0": ("0", "green")},
                width=4,
                height=4,
            ),
            READY_PANEL,
            Panel(
                "Versions",
                "Kubelet, runtime, kernel and operating system of each node.",
                (
                    Query(
                        "count by (cluster, node, kubelet_version, runtime_version, kernel_version, os_image) "
                        f"({NODE_INFO.shown()})",
                        "",
                    ),
                ),
                kind="table",
                unit="none",
                width=12,
            ),
        ),
        "node": (
            READY_PANEL,
            Panel(
                "Conditions",
                "Conditions that are True, custom ones of node-problem-detector too. Ready should be, the others should not.",
                (
                    Query(
                        f"max by (cluster, node, condition) ({NODE_CONDITION.shown(status='True', condition='!=Ready')})",
                        "{{node}} {{condition}}",
                    ),
                ),
                kind="state-timeline",
                unit="none",
                mappings={"0": ("no", "green"), "1": ("yes", "red")},
                width=12,
            ),
            Panel(
                "Time since the Lease was renewed",
                "Age of the last renewal of the node's Lease, the heartbeat that the API server goes by.",
                (Query(f"time() - max by (cluster, node) ({NODE_LEASE_RENEW.shown()})"),),
                unit="s",
                limits=((LEASE_STALE, "red"),),
                width=12,
            ),
            Panel(
                "Time since the Ready condition was reported",
                f"Age of the Ready condition's heartbeat. Up to {HEARTBEAT_PERIOD:text} is normal while nothing changes.",
                (Query(f"time() - max by (cluster, node) ({NODE_CONDITION_HEARTBEAT.shown(condition='Ready')})"),),
                unit="s",
                limits=((HEARTBEAT_STALE, "red"),),
                width=12,
            ),
        ),
    },
)
