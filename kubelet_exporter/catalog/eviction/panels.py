"""How far each node is from evicting, when, and whom, on the dashboards."""

from kubelet_exporter.catalog.eviction.metrics import (
    EVICTIONS_TOTAL,
    RANK,
    SCORE,
    TIME_LEFT,
    UNGUARDED,
    VICTIMS_TOTAL,
)
from kubelet_exporter.catalog.eviction.ranking import PROCESSES
from kubelet_exporter.catalog.eviction.rules import UNITS
from kubelet_exporter.catalog.eviction.thresholds import SIGNALS
from kubelet_exporter.catalog.facts.eviction import EVICTION_NEAR, EVICTION_SOON
from kubelet_exporter.catalog.model import Panel, Query

BY = "cluster, node, signal"

LEFT = " or ".join(
    f"min by ({BY}) ({available.shown()}) / max by ({BY}) ({threshold.shown(kind='hard')})"
    for available, threshold in UNITS
)
DISTANCE = Panel(
    "Distance to eviction",
    "What is left of each signal, as a multiple of the node's own hard threshold. At 1 the kubelet evicts.",
    (Query(LEFT, "{{node}} {{signal}}"),),
    unit="none",
    limits=((EVICTION_NEAR, "red"),),
    width=12,
)
EVICTIONS = Panel(
    "Evictions",
    "Pods evicted a minute, by signal. Normal is none.",
    (Query(f"60 * sum by ({BY}) (rate({EVICTIONS_TOTAL.shown()}[$__rate_interval])) > 0", "{{node}} {{signal}}"),),
    width=12,
)
VICTIMS = Panel(
    "Evicted pods",
    "Pods evicted an hour, by namespace and kind of owner.",
    (
        Query(
            f"3600 * sum by (namespace, owner_kind) (rate({VICTIMS_TOTAL.shown()}[$__rate_interval])) > 0",
            "{{namespace}} {{owner_kind}}",
        ),
    ),
    width=12,
)
TIME = Panel(
    "Time to eviction",
    "When a signal that falls steadily reaches its hard threshold, by the trend of the last hour. No line: it does not fall, or it cannot be told.",
    (Query(f"min by ({BY}) ({TIME_LEFT.shown()})", "{{node}} {{signal}}"),),
    unit="s",
    limits=((EVICTION_SOON, "red"),),
    width=12,
)
NEXT = Panel(
    "Who goes next",
    "The pods that the kubelet would evict first, by signal; 1 goes first.",
    (Query(f"sort(min by (cluster, node, signal, namespace, pod) ({RANK.shown()}))", ""),),
    kind="table",
    unit="none",
    width=12,
    value="Place",
)
EXCESS = Panel(
    "Above the request",
    "What the pods that would go first for memory or disk space use above what they requested.",
    (
        Query(
            f"max by (cluster, node, signal, namespace, pod) ({SCORE.shown(signal='=~memory.available|(node|image|container)fs.available')})",
            "{{signal}} {{namespace}}/{{pod}}",
        ),
    ),
    unit="bytes",
    width=12,
)
UNGUARDED_SIGNALS = Panel(
    "Signals without threshold",
    "Signals for which these kubelets evict nothing: when one runs out, the node fails.",
    (Query(f"count by (signal) (max by ({BY}) ({UNGUARDED.shown()}))", ""),),
    kind="table",
    unit="none",
    width=12,
    value="Nodes",
)


def _headroom(signal: str) -> Panel:
    """What is available of one signal, beside its thresholds."""
    available, threshold = UNITS[2 if signal == PROCESSES else 1 if signal.endswith("inodesFree") else 0]
    return Panel(
        f"Headroom of {signal}",
        f"What these nodes have available of {signal}, and their own hard and soft thresholds.",
        (
            Query(f"min by (cluster, node) ({available.shown(signal=signal)})"),
            Query(f"max by (cluster, node, kind) ({threshold.shown(signal=signal)})", "{{node}} {{kind}}"),
        ),
        unit=available.unit or "short",
    )


HEADROOM = tuple(_headroom(signal) for signal in SIGNALS)
