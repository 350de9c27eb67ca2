"""Does the kubelet still see its containers: when did the PLEG last relist, how often, and how long does it take?"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from kubelet_exporter.catalog import exporter
from kubelet_exporter.catalog.facts.pleg import (
    PLEG_QUANTILE,
    PLEG_RELIST_PERIOD,
    PLEG_RELIST_SLOW,
    PLEG_STALE,
    PLEG_UNHEALTHY,
)
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_LONG
from kubelet_exporter.catalog.model import Alert, Fold, Metric, Panel, Query, Record, Runbook, Table, Topic
from kubelet_exporter.samples import Histogram
from kubelet_exporter.snapshot import Snapshot, Source

LAST_SEEN = "kubelet_pleg_last_seen_seconds"
DURATION = "kubelet_pleg_relist_duration_seconds"
INTERVAL = "kubelet_pleg_relist_interval_seconds"


@dataclass(frozen=True, slots=True)
class Relist:
    """When the last relist that is known of began."""

    at: float


@dataclass(frozen=True, slots=True)
class Relists:
    """How long relists took and how far apart they began."""

    duration: Histogram | None
    interval: Histogram | None


def advance(last: float | None, snapshot: Snapshot) -> float | None:
    """The Unix time of the last relist: kept while /metrics cannot be read, for that is how a hung runtime looks.

    The kubelet reports 0 until its first relist; that is no time.
    """
    if snapshot.latest != Source.METRICS or snapshot.metrics is None:
        return last
    seen = snapshot.metrics.value(LAST_SEEN)
    return seen if seen is not None and 0 < seen < inf else last


def last_relist(_: Snapshot, last: float | None) -> Iterator[Relist]:
    """The last relist, if one was ever seen."""
    if last is not None:
        yield Relist(last)


def relists(snapshot: Snapshot, _: float | None) -> Iterator[Relists]:
    """The kubelet's histograms of relists."""
    if snapshot.metrics is not None:
        yield Relists(snapshot.metrics.histogram(DURATION), snapshot.metrics.histogram(INTERVAL))


PLEG_LAST_RELIST = Metric(
    "pleg_last_relist_timestamp_seconds",
    "Unix time at which the last successful relist of the PLEG began, from kubelet_pleg_last_seen_seconds; kept while it cannot be read.",
    lambda row: row.at,
    unit="seconds",
)
PLEG_RELIST_DURATION = Metric(
    "pleg_relist_duration_seconds",
    "How long relists of the PLEG took, from the kubelet's histogram; a relist that hangs is not in it until it ends.",
    lambda row: row.duration,
    kind="histogram",
    unit="seconds",
)
PLEG_RELIST_INTERVAL = Metric(
    "pleg_relist_interval_seconds",
    "Time from the begin of one relist of the PLEG to the begin of the next, from the kubelet's histogram.",
    lambda row: row.interval,
    kind="histogram",
    unit="seconds",
)

DURATION_QUANTILE = Record(
    "cluster_node:kubelet_exporter_pleg_relist_duration_seconds:p99_rate5m",
    f"histogram_quantile({PLEG_QUANTILE}, sum by (cluster, node, le) (rate({PLEG_RELIST_DURATION}_bucket[5m])))",
)
RELIST_RATE = Record(
    "cluster_node:kubelet_exporter_pleg_relists:rate5m",
    f"max by (cluster, node) (rate({PLEG_RELIST_DURATION}_count[5m]))",
)

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

TOPIC = Topic(
    name="pleg",
    title="PLEG",
    question="Does the kubelet still see its containers: when did the PLEG last relist, how often, and how long does it take?",
    tables=(Table(last_relist, (PLEG_LAST_RELIST,)), Table(relists, (PLEG_RELIST_DURATION, PLEG_RELIST_INTERVAL))),
    alerts=(STALE, SLOW),
    records=(DURATION_QUANTILE, RELIST_RATE),
    boards={
        "overview": (
            Panel(
                "Oldest relist",
                f"The node whose last relist is oldest, and its age. Normal is the interval at which the "
                f"exporter reads /metrics, and a second or two; at {PLEG_UNHEALTHY:text} the node turns NotReady.",
                (Query(f"topk(1, time() - max by (cluster, node) ({PLEG_LAST_RELIST.shown()}))"),),
                kind="stat",
                unit="s",
                limits=((PLEG_STALE, "red"),),
                width=4,
                height=4,
            ),
        ),
        "node": (
            Panel(
                "Time since the last relist",
                f"It grows while the runtime hangs, also when the kubelet's metrics no longer answer. At {PLEG_UNHEALTHY:text} the node turns NotReady.",
                (Query(f"time() - max by (cluster, node) ({PLEG_LAST_RELIST.shown()})"),),
                unit="s",
                limits=((PLEG_STALE, "orange"), (PLEG_UNHEALTHY, "red")),
            ),
            Panel(
                "Relist time",
                f"{PLEG_QUANTILE:text} quantile and mean. The articles' line is {PLEG_RELIST_SLOW:text}.",
                (
                    Query(
                        f"histogram_quantile({PLEG_QUANTILE}, sum by (cluster, node, le) "
                        f"(rate({PLEG_RELIST_DURATION.shown('_bucket')}[$__rate_interval])))",
                        "{{node}} quantile",
                    ),
                    Query(
                        f"sum by (cluster, node) (rate({PLEG_RELIST_DURATION.shown('_sum')}[$__rate_interval])) "
                        f"/ sum by (cluster, node) (rate({PLEG_RELIST_DURATION.shown('_count')}[$__rate_interval]))",
                        "{{node}} mean",
                    ),
                ),
                unit="s",
                limits=((PLEG_RELIST_SLOW, "red"),),
            ),
            Panel(
                "Relists a second",
                "About one a second on a healthy node; it falls when relists take long and is zero while one hangs.",
                (Query(f"sum by (cluster, node) (rate({PLEG_RELIST_DURATION.shown('_count')}[$__rate_interval]))"),),
                unit="ops",
            ),
        ),
    },
    wanted=frozenset({LAST_SEEN, DURATION, INTERVAL}),
    fold=Fold(None, advance),
)
