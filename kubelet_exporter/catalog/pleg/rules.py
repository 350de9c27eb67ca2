"""Records and alerts of the PLEG: how long ago, how long, how often, and how much of the time it was fresh."""

from kubelet_exporter.catalog import exporter
from kubelet_exporter.catalog.facts.pleg import (
    PLEG_FRESH,
    PLEG_LEAST_OBSERVED,
    PLEG_NOT_FRESH,
    PLEG_QUANTILE,
    PLEG_RELIST_PERIOD,
    PLEG_RELIST_RATE,
    PLEG_RELIST_SLOW,
    PLEG_STALE,
    PLEG_UNHEALTHY,
)
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_LONG
from kubelet_exporter.catalog.model import Alert, Record, Runbook
from kubelet_exporter.catalog.pleg.metrics import (
    PLEG_DISCARDED,
    PLEG_INFO,
    PLEG_LAST_RELIST,
    PLEG_OBSERVED,
    PLEG_RELIST_DURATION,
)

DURATION_QUANTILE = Record(
    "cluster_node:kubelet_exporter_pleg_relist_duration_seconds:p99_rate5m",
    f"histogram_quantile({PLEG_QUANTILE}, sum by (cluster, node, le) (rate({PLEG_RELIST_DURATION}_bucket[5m])))",
)
RELIST_RATE = Record(
    "cluster_node:kubelet_exporter_pleg_relists:rate5m",
    f"max by (cluster, node) (rate({PLEG_RELIST_DURATION}_count[5m]))",
)


def _not_fresh(window: str) -> str:
    """Share of the observed time in which the PLEG was not fresh."""
    known = f"sum by (cluster, node) (increase({PLEG_OBSERVED.where(state='!=unknown')}[{window}]))"
    late = f"sum by (cluster, node) (increase({PLEG_OBSERVED.where(state='=~stale|unhealthy')}[{window}]))"
    return f"{late} / {known}"


NOT_FRESH_1H = Record(
    "cluster_node:kubelet_exporter_pleg_not_fresh:ratio1h",
    f"{_not_fresh('1h')} and on (cluster, node) "
    f"sum by (cluster, node) (increase({PLEG_OBSERVED.where(state='!=unknown')}[1h])) > {PLEG_LEAST_OBSERVED}",
)
NOT_FRESH_10M = Record("cluster_node:kubelet_exporter_pleg_not_fresh:ratio10m", _not_fresh("10m"))

DIAGNOSE = f"""
- `time() - {PLEG_LAST_RELIST}` is the age, `{DURATION_QUANTILE}` the relist time.
- On the node: `crictl --timeout 5s ps` and `crictl --timeout 5s pods`. No answer: the runtime hangs. `journalctl -u containerd` (or crio).
- Processes in state D (`ps axo stat,pid,wchan,cmd | grep ^D`), a full or stuck disk, a fuse or network file system that hangs.
- How many containers are there? `crictl ps -a | wc -l`: thousands of dead ones slow every relist.
"""

STALE = Alert(
    "KubeletPLEGStale",
    f"time() - max by (cluster, node) ({PLEG_LAST_RELIST}) > {PLEG_STALE} "
    f"and on (cluster, node) {exporter.ANSWERING} == 1 "
    f"and on (cluster, node) (max by (cluster, node) ({exporter.SOURCE_UP.where(source='metrics')}) == 1 "
    f"or max by (cluster, node) (increase({exporter.SOURCE_ERRORS.where(source='metrics', reason='timeout')}[5m])) > 0)",
    HOLD_AT_ONCE,
    "critical",
    "A kubelet no longer sees its containers.",
    "The PLEG of node {{ $labels.node }} of cluster {{ $labels.cluster }} last relisted {{ $value | humanizeDuration }} ago; "
    f"after {PLEG_UNHEALTHY:text} the kubelet stops syncing pods and the node turns NotReady.",
    Runbook(
        f"The pod lifecycle event generator asks the runtime for all containers, {PLEG_RELIST_PERIOD:text} after its last answer. It has not done so for "
        f"{PLEG_STALE:text}, while the kubelet still answers: almost always the container runtime hangs. The kubelet's own histogram of "
        "relists cannot show this, since it counts a relist only when it ends, and while the runtime hangs its /metrics does not answer.",
        f"Pods do not start, stop or restart. After {PLEG_UNHEALTHY:text} at the latest the node is NotReady; its pods are moved once their "
        "tolerance has passed.",
        DIAGNOSE,
        "Restart the runtime (`systemctl restart containerd`, or crio); running containers survive that. If it does not come back, cordon the node, "
        "and reboot it once its pods have moved.",
    ),
)
SLOW = Alert(
    "KubeletPLEGRelistSlow",
    f"{DURATION_QUANTILE} > {PLEG_RELIST_SLOW}",
    HOLD_LONG,
    "warning",
    "A kubelet takes long to see its containers.",
    f"{PLEG_QUANTILE:text} of the relists on node {{{{ $labels.node }}}} of cluster {{{{ $labels.cluster }}}} take up to "
    f"{{{{ $value | humanizeDuration }}}}; more than {PLEG_RELIST_SLOW:text} is too long.",
    Runbook(
        f"A relist normally takes milliseconds. Above {PLEG_RELIST_SLOW:text} the kubelet learns of started and dead containers late.",
        "Pods turn Ready late, restarts are late, and the node is on its way to NotReady.",
        DIAGNOSE,
        "Remove dead containers, lower the number of pods of the node, give the runtime CPU and disk (its directories on a disk of their "
        "own), update a runtime that is known to be slow.",
    ),
)
BUDGET = Alert(
    "KubeletPLEGBudgetBurning",
    f"{NOT_FRESH_1H} > {PLEG_NOT_FRESH} and on (cluster, node) {NOT_FRESH_10M} > {PLEG_NOT_FRESH}",
    HOLD_AT_ONCE,
    "warning",
    "A kubelet loses sight of its containers again and again.",
    "For {{ $value | humanizePercentage }} of the last hour the PLEG of node {{ $labels.node }} of cluster {{ $labels.cluster }} had not "
    f"relisted for more than {PLEG_FRESH:text}; {PLEG_NOT_FRESH:text} is too much.",
    Runbook(
        f"A fresh PLEG relists every {PLEG_RELIST_PERIOD:text}. Here relists stood still for longer than {PLEG_FRESH:text}, often enough to use "
        "up the time that a month allows within two days. Each halt may be too short for KubeletPLEGStale.",
        "Pods start, turn Ready and restart late. Often it is the prelude of a runtime that hangs.",
        DIAGNOSE,
        "Look for what happens at the times of the halts: image garbage collection, backups, bursts of pods, a slow disk. Then as for "
        "KubeletPLEGRelistSlow.",
    ),
)
RARE = Alert(
    "KubeletPLEGRelistsRare",
    f"{RELIST_RATE} < {PLEG_RELIST_RATE} unless on (cluster, node) max by (cluster, node) ({PLEG_INFO.where(mode='evented')})",
    HOLD_LONG,
    "warning",
    "A kubelet looks at its containers too seldom.",
    "The PLEG of node {{ $labels.node }} of cluster {{ $labels.cluster }} relists {{ $value | humanize }} times a second; "
    f"less than {PLEG_RELIST_RATE} is too seldom.",
    Runbook(
        f"A relist begins {PLEG_RELIST_PERIOD:text} after the last one ended, so a healthy PLEG makes nearly one a second. Fewer than "
        f"{PLEG_RELIST_RATE} means that a relist takes more than one and a half seconds on average.",
        "Pods turn Ready late and restarts are late.",
        DIAGNOSE,
        "As for KubeletPLEGRelistSlow.",
    ),
)
LOST = Alert(
    "KubeletPLEGEventsDiscarded",
    f"max by (cluster, node) (increase({PLEG_DISCARDED}[15m])) > 0",
    HOLD_AT_ONCE,
    "info",
    "A kubelet loses events of its containers.",
    "The PLEG of node {{ $labels.node }} of cluster {{ $labels.cluster }} lost {{ $value | humanize }} events within 15 minutes.",
    Runbook(
        "The queue between the PLEG and the kubelet's main loop (1000 events) was full: the main loop does not keep up.",
        "Each lost event is made up for by the next sync of its pod, up to a minute later.",
        "- How many pods started or ended at once? `kubectl get events -A --field-selector involvedObject.kind=Pod`.\n"
        "- On the node: CPU of the kubelet, `journalctl -u kubelet --since -15min`.",
        "Spread the start of many pods on one node; give the kubelet CPU (kubeReserved).",
    ),
)
RECORDS = (DURATION_QUANTILE, RELIST_RATE, NOT_FRESH_1H, NOT_FRESH_10M)
ALERTS = (STALE, SLOW, BUDGET, RARE, LOST)
