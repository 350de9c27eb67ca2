"""The PLEG as metrics: its last relist, the time in each state, its mode, and how long and how often it relists."""

from collections.abc import Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.facts.pleg import PLEG_FRESH, PLEG_UNHEALTHY
from kubelet_exporter.catalog.model import Metric, Table
from kubelet_exporter.catalog.pleg.freshness import CONNECTIONS, LAST_SEEN, STATES, Memory
from kubelet_exporter.samples import Histogram
from kubelet_exporter.snapshot import Snapshot

DURATION = "kubelet_pleg_relist_duration_seconds"
INTERVAL = "kubelet_pleg_relist_interval_seconds"
POD_DURATION = "kubelet_pleg_pod_relist_duration_seconds"
DISCARDED = "kubelet_pleg_discard_events"
WANTED = frozenset({LAST_SEEN, *CONNECTIONS, DURATION, INTERVAL, POD_DURATION, DISCARDED})

# Subsets of the kubelet's own bounds. An interval is a second longer than a relist.
INTERVAL_BOUNDS = (1, 2.5, 5, 10)
POD_BOUNDS = (0.025, 0.1, 0.5, 2.5, 10)


@dataclass(frozen=True, slots=True)
class Relist:
    """When the last relist that is known of began."""

    at: float


@dataclass(frozen=True, slots=True)
class Relists:
    """How long relists took, how far apart they began, how long those of single pods took; events that were lost."""

    duration: Histogram | None
    interval: Histogram | None
    of_pods: Histogram | None
    discarded: float | None


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds that the PLEG was in a state."""

    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Working:
    """How the kubelet learns of its containers: generic (it asks) or evented (the runtime tells)."""

    mode: str


def last_relist(_: Snapshot, memory: Memory) -> Iterator[Relist]:
    """The last relist, if one was ever seen and the PLEG is one that must relist."""
    if memory.last_relist is not None and memory.mode != "evented":
        yield Relist(memory.last_relist)


def relists(snapshot: Snapshot, _: Memory) -> Iterator[Relists]:
    """The kubelet's histograms of relists."""
    metrics = snapshot.metrics
    if metrics is not None:
        yield Relists(
            metrics.histogram(DURATION),
            metrics.histograms(INTERVAL, INTERVAL_BOUNDS).get(()),
            metrics.histograms(POD_DURATION, POD_BOUNDS).get(()),
            metrics.value(DISCARDED),
        )


def times(_: Snapshot, memory: Memory) -> Iterator[Time]:
    """The time in each state, from 0 on."""
    yield from (Time(state, memory.observed[state]) for state in STATES)


def modes(_: Snapshot, memory: Memory) -> Iterator[Working]:
    """The mode, once it is known; kept while the kubelet's metrics cannot be read."""
    if memory.mode is not None:
        yield Working(memory.mode)


PLEG_LAST_RELIST = Metric(
    "pleg_last_relist_timestamp_seconds",
    "Unix time at which the last successful relist of the PLEG began, from kubelet_pleg_last_seen_seconds; kept while it cannot be "
    "read, absent with an evented PLEG, which need not relist.",
    lambda row: row.at,
    unit="seconds",
)
PLEG_OBSERVED = Metric(
    "pleg_observed_seconds_total",
    "Seconds of observation by state of the PLEG: fresh (last relist at most "
    f"{PLEG_FRESH.value:g} s ago), stale, unhealthy (more than {PLEG_UNHEALTHY.value:g} s), unknown (the kubelet's metrics cannot be read for "
    "another reason than a hanging runtime, or the PLEG is evented).",
    lambda row: row.seconds,
    ("state",),
    kind="counter",
    unit="seconds",
)
PLEG_INFO = Metric(
    "pleg_info",
    "How the kubelet learns of its containers: generic (it asks the runtime every second) or evented (the runtime tells it).",
    lambda _: 1,
    ("mode",),
    kind="info",
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
PLEG_POD_RELIST_DURATION = Metric(
    "pleg_pod_relist_duration_seconds",
    "How long relists of single pods took, which kubelets do on demand from 1.36 on; from the kubelet's histogram.",
    lambda row: row.of_pods,
    kind="histogram",
    unit="seconds",
)
PLEG_DISCARDED = Metric(
    "pleg_discarded_events_total",
    "Changes of containers that the PLEG lost since its queue was full, from kubelet_pleg_discard_events.",
    lambda row: row.discarded,
    kind="counter",
)
TABLES = (
    Table(last_relist, (PLEG_LAST_RELIST,)),
    Table(times, (PLEG_OBSERVED,)),
    Table(modes, (PLEG_INFO,)),
    Table(relists, (PLEG_RELIST_DURATION, PLEG_RELIST_INTERVAL, PLEG_POD_RELIST_DURATION, PLEG_DISCARDED)),
)
