"""The alerts on eviction: near, soon, happened."""

from kubelet_exporter.catalog.eviction.forecast import WATCH
from kubelet_exporter.catalog.eviction.metrics import (
    AVAILABLE_BYTES,
    AVAILABLE_INODES,
    AVAILABLE_PIDS,
    EVICTIONS_TOTAL,
    RANK,
    THRESHOLD_BYTES,
    THRESHOLD_INODES,
    THRESHOLD_PIDS,
    TIME_LEFT,
    VICTIMS_TOTAL,
)
from kubelet_exporter.catalog.facts.eviction import EVICTION_DISK, EVICTION_NEAR, EVICTION_SOON, EVICTION_TRANSITION
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Metric, Runbook


def _share(available: Metric, threshold: Metric) -> str:
    """What is available of a signal as a multiple of its hard threshold."""
    by = "cluster, node, signal"
    return f"min by ({by}) ({available}) / max by ({by}) ({threshold.where(kind='hard')})"


UNITS = (
    (AVAILABLE_BYTES, THRESHOLD_BYTES),
    (AVAILABLE_INODES, THRESHOLD_INODES),
    (AVAILABLE_PIDS, THRESHOLD_PIDS),
)

NEAR = Alert(
    "KubeletEvictionNear",
    f"({' or '.join(_share(*pair) for pair in UNITS)}) < {EVICTION_NEAR}",
    HOLD_SHORT,
    "warning",
    "A node is near to evicting pods.",
    "Of {{ $labels.signal }} node {{ $labels.node }} of cluster {{ $labels.cluster }} has {{ $value | humanize }} times its eviction threshold left.",
    Runbook(
        f"Less than {EVICTION_NEAR} times the hard threshold of this node's own configuration is left of the signal. Below the threshold the kubelet evicts "
        "one pod after another, every ten seconds, without grace.",
        "Memory and disk: pods that use more than they requested go first, then those of lower priority. Process numbers: lower priority, then more processes.",
        f"- `{RANK}` of this node: which pods go first.\n"
        "- memory: on the node `free -m`; `kubectl top pods -A --sort-by=memory`, with the pods of this node.\n"
        f"- nodefs, imagefs (default thresholds are {EVICTION_DISK:text} and 15 %): `df -h`, `du -xsh /var/lib/kubelet/pods/* /var/log/pods/* | sort -h | tail`, `crictl images`.\n"
        "- inodesFree: `df -i`. pid: `ps -eL -o pid,comm | sort -k2 | uniq -c -f1 | sort -rn | head`.",
        "Free what can be freed (`crictl rmi --prune`, old logs), move pods that grew, set requests that tell what is used. Cordon the node "
        "meanwhile, so that no more come.",
    ),
)
EVICTED = Alert(
    "KubeletPodsEvicted",
    f"max by (cluster, node, signal) (increase({EVICTIONS_TOTAL}[1h])) > 0",
    HOLD_AT_ONCE,
    "warning",
    "A kubelet has evicted pods.",
    "The kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} has evicted pods within the last hour since {{ $labels.signal }} ran short.",
    Runbook(
        "The signal fell below a threshold of this node, and the kubelet killed pods to raise it.",
        f"These pods are Failed and are started elsewhere, if somebody owns them. The node takes no such pods for {EVICTION_TRANSITION:text} after the pressure has ended.",
        f"- `{VICTIMS_TOTAL}`: of which namespaces and owners.\n"
        "- `kubectl get pods -A --field-selector spec.nodeName=NODE,status.phase=Failed`: who was evicted; `kubectl describe` says of what how much was used and requested.\n"
        "- `kubectl get events -A --field-selector reason=Evicted`.",
        "As for KubeletEvictionNear. Pods that were evicted though others grew lack requests: set them.",
    ),
)
SOON = Alert(
    "KubeletEvictionSoon",
    f"min by (cluster, node, signal) ({TIME_LEFT}) < {EVICTION_SOON}",
    HOLD_SHORT,
    "warning",
    "A node will soon evict pods.",
    "Of {{ $labels.signal }} node {{ $labels.node }} of cluster {{ $labels.cluster }} has {{ $value | humanizeDuration }} left until it evicts pods, if it goes on "
    "as in the last hour.",
    Runbook(
        f"What is available of the signal has been falling steadily, and reaches the hard threshold within {EVICTION_SOON:text}. The trend is the median of all slopes "
        f"between the exporter's readings of the last {WATCH.most * WATCH.spacing / 60:.0f} minutes, so a single jump does not raise it.",
        "None yet. Then the kubelet evicts one pod after another, without grace.",
        f"- `{TIME_LEFT}` and `{AVAILABLE_BYTES}` of this node: since when, how fast?\n"
        f"- `{RANK}`: which pods would go first. Often the first is also the one that grows.\n"
        "- `kubectl top pods -A --sort-by=memory`, or on the node `du -xsh /var/lib/kubelet/pods/* /var/log/pods/* | sort -h | tail`.",
        "Stop or move what grows while there is time to choose. Cordon the node, so that no more pods come. Else as for KubeletEvictionNear.",
    ),
)
