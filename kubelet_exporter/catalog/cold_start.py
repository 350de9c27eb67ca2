"""How long does the runtime take to make a pod's sandbox, create a container and start it, compared with its past and its peers?"""

from kubelet_exporter.catalog.facts.runtime import (
    COLD_START_CONTAINERD,
    COLD_START_CRIO,
    COLD_START_DOCKER,
    COLD_START_FACTOR,
    COLD_START_FEWEST,
    COLD_START_FLOOR,
    COLD_START_HOLD,
    COLD_START_PEERS,
    CONTAINER_EDGE,
    MEDIAN,
    SANDBOX_EDGE,
)
from kubelet_exporter.catalog.model import Alert, Fact, Panel, Query, Record, Runbook, Topic
from kubelet_exporter.catalog.node import NODE_INFO
from kubelet_exporter.catalog.runtime_operations import OPERATION_DURATION, OPERATION_ERRORS

STEPS = {"run_podsandbox": SANDBOX_EDGE, "create_container": CONTAINER_EDGE, "start_container": CONTAINER_EDGE}


def _bad(operation: str, edge: Fact) -> str:
    """Share of calls that failed or were late. Failed ones may be quick, so all of them are taken out of the quick ones."""

    def grown(series: str) -> str:
        return f"sum by (cluster, node) (increase({series}[$__rate_interval]))"

    quick = grown(OPERATION_DURATION.shown("_bucket", operation=operation, le=f"{edge}"))
    failed = grown(OPERATION_ERRORS.shown(operation=operation))
    return f"1 - clamp_min({quick} - {failed}, 0) / {grown(OPERATION_DURATION.shown('_count', operation=operation))}"


def _mean(operation: str) -> str:
    total, count = (
        f"sum by (cluster, node) (rate({OPERATION_DURATION.shown(suffix, operation=operation)}[$__rate_interval]))"
        for suffix in ("_sum", "_count")
    )
    return f"{total} / {count}"


SANDBOXES = OPERATION_DURATION.where("_count", operation="run_podsandbox")
MEANS = Record(
    "cluster_node_operation:kubelet_exporter_runtime_operation_duration_seconds:mean1h",
    f"sum by (cluster, node, operation) (increase({OPERATION_DURATION}_sum[1h])) "
    f"/ (sum by (cluster, node, operation) (increase({OPERATION_DURATION}_count[1h])) > 0)",
)
MEAN = Record(
    "cluster_node:kubelet_exporter_cold_start_seconds:mean1h",
    f'sum by (cluster, node) ({MEANS}{{operation=~"{"|".join(STEPS)}"}}) '
    f'and on (cluster, node) {MEANS}{{operation="start_container"}} '
    f"and on (cluster, node) sum by (cluster, node) (increase({SANDBOXES}[1h])) > {COLD_START_FEWEST}",
)
BY_RUNTIME = Record(
    "cluster_node_runtime_version:kubelet_exporter_cold_start_seconds:mean1h",
    f"max by (cluster, node, runtime_version) ({NODE_INFO}) * on (cluster, node) group_left {MEAN}",
)

DIAGNOSE = f"""
- `{MEAN}` is the sum of three means; the panel *Cold start* shows which step is slow.
- `run_podsandbox` is slow: the network plug-in (its log on this node, its address pool), the pause image. `create_container`: mounts,
  the snapshotter, a slow disk. `start_container`: the low-level runtime, CPU of the node.
- On the node: `iostat -x 5 3`, `cat /proc/pressure/io /proc/pressure/cpu`, `journalctl -u containerd --since -1h | tail -50` (or crio).
"""
MITIGATE = (
    "Look at what changed on the node: version of runtime or network plug-in, disk, number of pods. Drain the node if others are well and "
    "replace it; if all nodes of a version are slow, go back to the version before."
)

SLOWER = Alert(
    "KubeletColdStartSlower",
    f"{MEAN} > {COLD_START_FLOOR} and {MEAN} > {COLD_START_FACTOR} * quantile_over_time({MEDIAN}, {MEAN}[7d] offset 1d)",
    COLD_START_HOLD,
    "warning",
    "Containers start slower on a node than they did.",
    "The runtime of node {{ $labels.node }} of cluster {{ $labels.cluster }} takes {{ $value | humanizeDuration }} to start a container of a new pod, "
    f"more than {COLD_START_FACTOR} times its median of the seven days until yesterday.",
    Runbook(
        "The mean times of making a sandbox, creating a container and starting it, added, have been far above what they were here until yesterday, for longer than one burst of pods.",
        "Every pod start on this node takes longer.",
        DIAGNOSE,
        MITIGATE,
    ),
)
OUTLIER = Alert(
    "KubeletColdStartOutlier",
    f"{BY_RUNTIME} > {COLD_START_FLOOR} "
    f"and {BY_RUNTIME} > on (cluster, runtime_version) group_left {COLD_START_FACTOR} * quantile by (cluster, runtime_version) ({MEDIAN}, {BY_RUNTIME}) "
    f"and on (cluster, runtime_version) count by (cluster, runtime_version) ({BY_RUNTIME}) >= {COLD_START_PEERS}",
    COLD_START_HOLD,
    "warning",
    "Containers start slower on a node than on its peers.",
    "The runtime of node {{ $labels.node }} of cluster {{ $labels.cluster }} takes {{ $value | humanizeDuration }} to start a container of a new pod, "
    f"more than {COLD_START_FACTOR} times the median of the nodes with {{{{ $labels.runtime_version }}}}.",
    Runbook(
        f"Among at least {COLD_START_PEERS} nodes with the same version of the runtime this one is far slower: it is the node, not the version.",
        "Every pod start on this node takes longer.",
        DIAGNOSE,
        MITIGATE,
    ),
)


TOPIC = Topic(
    name="cold_start",
    title="Cold start",
    question="How long does the runtime take to make a pod's sandbox, create a container and start it, compared with its past and its peers?",
    tables=(),
    alerts=(SLOWER, OUTLIER),
    records=(MEANS, MEAN, BY_RUNTIME),
    boards={
        "runtime": (
            Panel(
                "Cold start",
                f"Mean times of the three steps, which add up. The articles expect {COLD_START_CONTAINERD:text} of containerd, {COLD_START_CRIO:text} of CRI-O and "
                f"{COLD_START_DOCKER:text} of Docker.",
                tuple(Query(_mean(operation), f"{{{{node}}}} {operation}") for operation in STEPS),
                unit="s",
                limits=((COLD_START_CONTAINERD, "green"), (COLD_START_CRIO, "orange"), (COLD_START_DOCKER, "red")),
                stacked=True,
                width=12,
            ),
            Panel(
                "Late cold starts",
                f"At most this share of starts had a step that failed or was late, since the chance of any is at most the sum of all: a sandbox within {SANDBOX_EDGE} s, a "
                f"container created and started within {CONTAINER_EDGE} s each.",
                (
                    Query(
                        f"clamp_max({' + '.join(f'({_bad(operation, edge)})' for operation, edge in STEPS.items())}, 1)"
                    ),
                ),
                unit="percentunit",
                width=12,
            ),
        ),
    },
)
