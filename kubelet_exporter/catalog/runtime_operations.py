"""What does the kubelet ask of its runtime: how many operations of each kind, how many fail, and how long do they take?"""

from collections.abc import Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.facts.runtime import RUNTIME_ERROR_SHARE, RUNTIME_ERRORS_FEWEST
from kubelet_exporter.catalog.facts.times import HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Metric, Panel, Query, Record, Runbook, Table, Topic
from kubelet_exporter.samples import Histogram
from kubelet_exporter.snapshot import Snapshot

TOTAL = "kubelet_runtime_operations_total"
ERRORS = "kubelet_runtime_operations_errors_total"
DURATION = "kubelet_runtime_operations_duration_seconds"

# They make a pod, and end it.
OF_PODS = ("run_podsandbox", "create_container", "start_container", "stop_container", "stop_podsandbox")
OPERATIONS = (
    *OF_PODS,
    "remove_container",
    "remove_podsandbox",
    "pull_image",
    "exec_sync",
    "list_containers",
    "list_podsandbox",
    "container_status",
    "podsandbox_status",
    "status",
)
OTHER = "other"
# Subset of the kubelet's own bounds, 0.005 s times powers of 2.5.
BOUNDS = (0.1953125, 0.48828125, 1.220703125, 3.0517578125, 19.073486328125)
# Left out are start_container, which fails for commands that do not exist, pull_image and exec_sync, which fail for reasons of their
# users, and what fails by design when containers vanish in between: status, list and remove operations.
JUDGED = "run_podsandbox|create_container|stop_container|stop_podsandbox"


@dataclass(frozen=True, slots=True)
class Count:
    """How many operations of one kind there were, and how many of them failed."""

    operation: str
    total: float
    errors: float


@dataclass(frozen=True, slots=True)
class Duration:
    """How long operations of one kind took, failed ones too."""

    operation: str
    histogram: Histogram


def counts(snapshot: Snapshot, _: None) -> Iterator[Count]:
    """The operations of each kind, from 0 on once the kubelet tells of any."""
    totals, errors = (_by_operation(snapshot, name) for name in (TOTAL, ERRORS))
    if totals:
        yield from (Count(kind, totals.get(kind, 0.0), errors.get(kind, 0.0)) for kind in (*OPERATIONS, OTHER))


def _by_operation(snapshot: Snapshot, name: str) -> dict[str, float]:
    sums: dict[str, float] = {}
    for (operation,), value in (snapshot.metrics.totals(name, "operation_type") if snapshot.metrics else {}).items():
        kind = operation if operation in OPERATIONS else OTHER
        sums[kind] = sums.get(kind, 0.0) + value
    return sums


def durations(snapshot: Snapshot, _: None) -> Iterator[Duration]:
    """The durations of the operations that make and end pods."""
    if snapshot.metrics is not None:
        found = snapshot.metrics.histograms(DURATION, BOUNDS, "operation_type")
        yield from (Duration(kind, found[kind,]) for kind in OF_PODS if (kind,) in found)


OPERATIONS_TOTAL = Metric(
    "runtime_operations_total",
    "Operations that the kubelet asked of the runtime, failed ones too.",
    lambda row: row.total,
    ("operation",),
    kind="counter",
)
OPERATION_ERRORS = Metric(
    "runtime_operation_errors_total",
    "Operations that the runtime refused or did not end in time.",
    lambda row: row.errors,
    ("operation",),
    kind="counter",
)
OPERATION_DURATION = Metric(
    "runtime_operation_duration_seconds",
    "How long operations that make and end pods took, failed ones too.",
    lambda row: row.histogram,
    ("operation",),
    kind="histogram",
    unit="seconds",
)

BY = "cluster, node, operation"
ERROR_RATIO = Record(
    "cluster_node_operation:kubelet_exporter_runtime_operation_errors:ratio30m",
    f"sum by ({BY}) (increase({OPERATION_ERRORS}[30m])) / (sum by ({BY}) (increase({OPERATIONS_TOTAL}[30m])) > 0)",
)

FAILING = Alert(
    "KubeletRuntimeOperationsFailing",
    f'{ERROR_RATIO}{{operation=~"{JUDGED}"}} > {RUNTIME_ERROR_SHARE} '
    f"and on ({BY}) max by ({BY}) (increase({OPERATION_ERRORS}[30m])) > {RUNTIME_ERRORS_FEWEST}",
    HOLD_SHORT,
    "warning",
    "A container runtime refuses what its kubelet asks of it.",
    "{{ $value | humanizePercentage }} of {{ $labels.operation }} on node {{ $labels.node }} of cluster {{ $labels.cluster }} failed within half an hour.",
    Runbook(
        f"More than {RUNTIME_ERROR_SHARE:text} of the operations of one kind failed. `run_podsandbox`: the network plug-in, the pause image, a runtime class that "
        "is not installed. `create_container`: mounts, devices, cgroups. `stop_*`: processes that do not die. Starting containers, pulls, exec "
        "probes, status and remove operations are not judged: they fail for reasons of their users, or by design.",
        "Pods do not start here, or do not end.",
        "- `kubectl get events -A --field-selector reason=FailedCreatePodSandBox` (or FailedKillPod, Failed): one pod or all?\n"
        "- On the node: `journalctl -u kubelet --since -30min | grep -i -e 'failed to create pod sandbox' -e StopPodSandbox | tail`, "
        "`journalctl -u containerd --since -30min | tail -50` (or crio).\n"
        "- `ls /etc/cni/net.d /opt/cni/bin`, the log of the network plug-in's pod on this node.",
        "One pod only: it asks for something that is not here; tell its owner. All pods: restart the network plug-in's pod, then the runtime. "
        "Cordon the node if that does not help.",
    ),
)

RATE = "sum by ({by}) (rate({metric}[$__rate_interval]))"

TOPIC = Topic(
    name="runtime_operations",
    title="Runtime operations",
    question="What does the kubelet ask of its runtime: how many operations of each kind, how many fail, and how long do they take?",
    tables=(Table(counts, (OPERATIONS_TOTAL, OPERATION_ERRORS)), Table(durations, (OPERATION_DURATION,))),
    alerts=(FAILING,),
    records=(ERROR_RATIO,),
    boards={
        "runtime": (
            Panel(
                "Operations a second",
                "What the kubelet asks of the runtime, by kind. Lists and status are asked about once a second on every node.",
                (Query(RATE.format(by="operation", metric=OPERATIONS_TOTAL.shown()), "{{operation}}"),),
                unit="ops",
                width=12,
            ),
            Panel(
                "Failed operations a second",
                "By kind. Failures of exec_sync are exec probes that fail or time out; those of status and remove operations happen when containers vanish in between.",
                (Query(RATE.format(by="operation", metric=OPERATION_ERRORS.shown()), "{{operation}}"),),
                unit="ops",
                width=12,
            ),
        ),
    },
    wanted=frozenset({TOTAL, ERRORS, DURATION}),
)
