"""Does the kubelet keep up: how soon does it turn to a pod, how long does it work on one, and what does it fail to clean up?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.facts.kubelet import (
    ORPHAN_ERRORS_HOLD,
    POD_WORKER_FEWEST,
    POD_WORKER_QUANTILE,
    POD_WORKER_SLOW,
)
from kubelet_exporter.catalog.facts.times import HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Metric, Panel, Query, Record, Runbook, Table, Topic
from kubelet_exporter.samples import Histogram, Metrics
from kubelet_exporter.snapshot import Snapshot

START = "kubelet_pod_worker_start_duration_seconds"
WORK = "kubelet_pod_worker_duration_seconds"
STATUS = "kubelet_pod_status_sync_duration_seconds"
DESIRED = "kubelet_desired_pods"
RUNNING = "kubelet_running_pods"
MIRROR = "kubelet_mirror_pods"
ORPHANS = "kubelet_orphaned_runtime_pods_total"
RECREATED = "kubelet_restarted_pods_total"
UNCLEANED = "kubelet_orphan_pod_cleaned_volumes_errors"
COLLECTED = "kubelet_image_garbage_collected_total"

# Subsets of the kubelet's own bounds.
START_BOUNDS = (0.1, 0.5, 1, 5, 10)
WORK_BOUNDS = (0.1, 1, 10)
STATUS_BOUNDS = (1, 5, 30, 60)
OPERATIONS = ("create", "update", "sync", "terminated")
REASONS = ("space", "age")


@dataclass(frozen=True, slots=True)
class Work:
    """How long the kubelet worked on pods for one reason."""

    operation: str
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class Collected:
    """How many images were removed for one reason."""

    reason: str
    images: float


def kubelet(snapshot: Snapshot, _: None) -> Iterator[Metrics]:
    """What the kubelet tells of its work."""
    if snapshot.metrics is not None:
        yield snapshot.metrics


def work(snapshot: Snapshot, _: None) -> Iterator[Work]:
    """The times of pod workers, by reason."""
    if snapshot.metrics is not None:
        found = snapshot.metrics.histograms(WORK, WORK_BOUNDS, "operation_type")
        yield from (Work(operation, found[operation,]) for operation in OPERATIONS if (operation,) in found)


def collected(snapshot: Snapshot, _: None) -> Iterator[Collected]:
    """The removed images by reason, from 0 on once the kubelet tells of any pod: it creates these counters late."""
    if snapshot.metrics is not None and _total(snapshot.metrics, DESIRED) is not None:
        sums = snapshot.metrics.totals(COLLECTED, "reason")
        yield from (Collected(reason, sums.get((reason,), 0.0)) for reason in REASONS)


def _total(metrics: Metrics, name: str) -> float | None:
    return metrics.totals(name).get(())


def _histogram(name: str, bounds: tuple[float, ...]) -> Callable[[Metrics], Histogram | None]:
    return lambda metrics: metrics.histograms(name, bounds).get(())


POD_WORKER_START = Metric(
    "pod_worker_start_duration_seconds",
    "Time from when the kubelet saw a pod until it began to work on it.",
    _histogram(START, START_BOUNDS),
    kind="histogram",
    unit="seconds",
)
POD_WORKER = Metric(
    "pod_worker_duration_seconds",
    "How long the kubelet worked on a pod at a time: to create it, update it, sync it, or clean up after it.",
    lambda row: row.histogram,
    ("operation",),
    kind="histogram",
    unit="seconds",
)
STATUS_SYNC = Metric(
    "pod_status_sync_duration_seconds",
    "Time from a change of a pod's status on the node until the API server had it.",
    _histogram(STATUS, STATUS_BOUNDS),
    kind="histogram",
    unit="seconds",
)
DESIRED_PODS = Metric("desired_pods", "Pods that the kubelet should run.", lambda row: _total(row, DESIRED))
RUNNING_PODS = Metric("running_pods", "Pods whose sandbox runs.", lambda row: _total(row, RUNNING))
MIRROR_PODS = Metric(
    "mirror_pods", "Static pods that the API server knows by a mirror pod.", lambda row: _total(row, MIRROR)
)
ORPHANED = Metric(
    "orphaned_runtime_pods_total",
    "Pods that the runtime ran though the kubelet no longer knew them, when it started.",
    lambda row: _total(row, ORPHANS),
    kind="counter",
)
RECREATED_PODS = Metric(
    "recreated_pods_total",
    "Pods that were deleted and created again with the same UID, mostly static ones; no restarts of containers.",
    lambda row: _total(row, RECREATED),
    kind="counter",
)
UNCLEANED_VOLUMES = Metric(
    "orphaned_volume_errors",
    "Volumes of deleted pods that the kubelet failed to clean up in its last attempt.",
    lambda row: _total(row, UNCLEANED),
)
IMAGES_COLLECTED = Metric(
    "images_garbage_collected_total",
    "Images that the kubelet removed, for space or for age.",
    lambda row: row.images,
    ("reason",),
    kind="counter",
)

START_QUANTILE = Record(
    "cluster_node:kubelet_exporter_pod_worker_start_duration_seconds:p90_30m",
    f"histogram_quantile({POD_WORKER_QUANTILE}, sum by (cluster, node, le) (increase({POD_WORKER_START}_bucket[30m])))",
)
SLOW = Alert(
    "KubeletPodWorkersSlow",
    f"{START_QUANTILE} > {POD_WORKER_SLOW} "
    f"and on (cluster, node) max by (cluster, node) (increase({POD_WORKER_START}_count[30m])) > {POD_WORKER_FEWEST}",
    HOLD_SHORT,
    "warning",
    "A kubelet is late to turn to its pods.",
    "One in ten pods of node {{ $labels.node }} of cluster {{ $labels.cluster }} waited up to {{ $value | humanizeDuration }} before the kubelet began to "
    f"work on it; more than {POD_WORKER_SLOW:text} is too long.",
    Runbook(
        "The kubelet knows of a pod but does not get to it. It normally takes milliseconds.",
        "Pods start late before anything is pulled or made for them.",
        "- CPU of the kubelet and of the node; `cat /proc/pressure/cpu`. Is the kubelet throttled by a limit of its cgroup?\n"
        "- How many pods came at once? `kubectl get pods -A --field-selector spec.nodeName=NODE --sort-by=.metadata.creationTimestamp | tail -20`.\n"
        "- Is the runtime slow? See KubeletPLEGRelistSlow and KubeletColdStartSlower.",
        "Spread bursts of pods over nodes; give the kubelet CPU (kubeReserved, systemReserved).",
    ),
)
ORPHAN_VOLUMES = Alert(
    "KubeletOrphanVolumesRemain",
    f"max by (cluster, node) ({UNCLEANED_VOLUMES}) > 0",
    ORPHAN_ERRORS_HOLD,
    "info",
    "A kubelet cannot clean up volumes of deleted pods.",
    "The kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} has failed for more than "
    f"{ORPHAN_ERRORS_HOLD:text} to clean up {{{{ $value }}}} volumes of pods that are gone.",
    Runbook(
        "Below /var/lib/kubelet/pods are directories of pods that no longer exist, and the kubelet cannot remove them: something is still "
        "mounted there, or files were left behind.",
        "They take space and inodes, and a volume that is still mounted may not attach elsewhere.",
        "- On the node: `journalctl -u kubelet --since -10min | grep -i 'orphaned pod'`: it names the pod's UID and the path.\n"
        "- `mount | grep /var/lib/kubelet/pods/UID`.",
        "Unmount what is mounted there; only then remove the directory, with `rm -r --one-file-system`: without that a mounted volume would be emptied.",
    ),
)


def _rate(metric: Metric, suffix: str, by: str = "cluster, node") -> str:
    return f"sum by ({by}) (rate({metric.shown(suffix)}[$__rate_interval]))"


TOPIC = Topic(
    name="kubelet_work",
    title="Kubelet work",
    question="Does the kubelet keep up: how soon does it turn to a pod, how long does it work on one, and what does it fail to clean up?",
    tables=(
        Table(
            kubelet,
            (
                POD_WORKER_START,
                STATUS_SYNC,
                DESIRED_PODS,
                RUNNING_PODS,
                MIRROR_PODS,
                ORPHANED,
                RECREATED_PODS,
                UNCLEANED_VOLUMES,
            ),
        ),
        Table(work, (POD_WORKER,)),
        Table(collected, (IMAGES_COLLECTED,)),
    ),
    alerts=(SLOW, ORPHAN_VOLUMES),
    records=(START_QUANTILE,),
    boards={
        "runtime": (
            Panel(
                "Wait for the kubelet",
                f"{POD_WORKER_QUANTILE:text} quantile of the time from seeing a pod to working on it. Normal is far below a second.",
                (
                    Query(
                        f"histogram_quantile({POD_WORKER_QUANTILE}, {_rate(POD_WORKER_START, '_bucket', 'cluster, node, le')})"
                    ),
                ),
                unit="s",
                limits=((POD_WORKER_SLOW, "red"),),
            ),
            Panel(
                "Work on pods",
                "Mean time that the kubelet works on a pod at a time. Creating one includes pulling its images.",
                (
                    Query(
                        f"{_rate(POD_WORKER, '_sum', 'cluster, node, operation')} / {_rate(POD_WORKER, '_count', 'cluster, node, operation')}",
                        "{{node}} {{operation}}",
                    ),
                ),
                unit="s",
            ),
            Panel(
                "Status on its way",
                "Mean time from a change of a pod's status until the API server had it.",
                (Query(f"{_rate(STATUS_SYNC, '_sum')} / {_rate(STATUS_SYNC, '_count')}"),),
                unit="s",
            ),
            Panel(
                "Desired and running pods",
                "They differ while pods start or end.",
                (
                    Query(f"max by (cluster, node) ({DESIRED_PODS.shown()})", "{{node}} desired"),
                    Query(f"max by (cluster, node) ({RUNNING_PODS.shown()})", "{{node}} running"),
                ),
            ),
            Panel(
                "Images removed a second",
                "By the kubelet's garbage collection, for space or for age. For space, again and again: the disk is too small.",
                (Query(_rate(IMAGES_COLLECTED, "", "cluster, node, reason"), "{{node}} {{reason}}"),),
                unit="ops",
            ),
        ),
    },
    wanted=frozenset({START, WORK, STATUS, DESIRED, RUNNING, MIRROR, ORPHANS, RECREATED, UNCLEANED, COLLECTED}),
)
