"""How the PLEG is shown."""

from kubelet_exporter.catalog.facts.pleg import (
    PLEG_FRESH,
    PLEG_QUANTILE,
    PLEG_RELIST_RATE,
    PLEG_RELIST_SLOW,
    PLEG_STALE,
    PLEG_UNHEALTHY,
)
from kubelet_exporter.catalog.model import Metric, Panel, Query
from kubelet_exporter.catalog.pleg.metrics import (
    PLEG_DISCARDED,
    PLEG_LAST_RELIST,
    PLEG_OBSERVED,
    PLEG_POD_RELIST_DURATION,
    PLEG_RELIST_DURATION,
)


def _rate(metric: Metric, suffix: str = "", by: str = "cluster, node", **labels: str) -> str:
    return f"sum by ({by}) (rate({metric.shown(suffix, **labels)}[$__rate_interval]))"


def _of_kubelet(metric: Metric, suffix: str = "") -> str:
    """What the kubelet counts, once, however often the node is scraped."""
    return f"max by (cluster, node) (rate({metric.shown(suffix)}[$__rate_interval]))"


def _quantile_and_mean(metric: Metric) -> tuple[Query, Query]:
    return (
        Query(
            f"histogram_quantile({PLEG_QUANTILE}, {_rate(metric, '_bucket', 'cluster, node, le')})",
            "{{node}} quantile",
        ),
        Query(f"{_rate(metric, '_sum')} / {_rate(metric, '_count')}", "{{node}} mean"),
    )


AGE = f"time() - max by (cluster, node) ({PLEG_LAST_RELIST.shown()})"

OLDEST = Panel(
    "Oldest relist",
    "The node whose last relist is oldest, and its age. Normal is the interval at which the exporter reads /metrics, and a second or two; "
    f"at {PLEG_UNHEALTHY:text} the node turns NotReady.",
    (Query(f"topk(1, {AGE})"),),
    kind="stat",
    unit="s",
    limits=((PLEG_STALE, "red"),),
    width=4,
    height=4,
)
SINCE = Panel(
    "Time since the last relist",
    f"It grows while the runtime hangs, also when the kubelet's metrics no longer answer. At {PLEG_UNHEALTHY:text} the node turns NotReady.",
    (Query(AGE),),
    unit="s",
    limits=((PLEG_STALE, "orange"), (PLEG_UNHEALTHY, "red")),
)
NOT_FRESH = Panel(
    "Time without a fresh PLEG",
    f"Share of the time in which the last relist was older than {PLEG_FRESH:text}. Normal is 0.",
    (Query(f"{_rate(PLEG_OBSERVED, state='=~stale|unhealthy')} / {_rate(PLEG_OBSERVED, state='!=unknown')}"),),
    unit="percentunit",
)
DURATION = Panel(
    "Relist time",
    f"{PLEG_QUANTILE:text} quantile and mean. The articles' line is {PLEG_RELIST_SLOW:text}.",
    _quantile_and_mean(PLEG_RELIST_DURATION),
    unit="s",
    limits=((PLEG_RELIST_SLOW, "red"),),
)
FREQUENCY = Panel(
    "Relists a second",
    "About one a second on a healthy node; it falls when relists take long and is zero while one hangs.",
    (Query(_of_kubelet(PLEG_RELIST_DURATION, "_count")),),
    unit="ops",
    limits=((PLEG_RELIST_RATE, "orange"),),
)
OF_PODS = Panel(
    "Relist time of single pods",
    f"{PLEG_QUANTILE:text} quantile and mean of the relists on demand that kubelets do from 1.36 on.",
    _quantile_and_mean(PLEG_POD_RELIST_DURATION),
    unit="s",
)
LOST = Panel(
    "Events lost a second",
    "Changes of containers that found the queue to the kubelet's main loop full. Normal is 0.",
    (Query(_of_kubelet(PLEG_DISCARDED)),),
    unit="ops",
)
