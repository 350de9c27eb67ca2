"""What is left of each eviction signal, the node's own thresholds, when they are reached, who goes first, and who went."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kubelet_exporter.catalog.eviction import forecast, ranking, victims
from kubelet_exporter.catalog.eviction.forecast import WATCH, Trends
from kubelet_exporter.catalog.eviction.thresholds import SIGNALS, thresholds
from kubelet_exporter.catalog.eviction.victims import Victims
from kubelet_exporter.catalog.model import Metric, Table
from kubelet_exporter.snapshot import Snapshot

EVICTIONS = "kubelet_evictions"
# They are reported, but nobody can set a threshold of their own for them.
FOLLOWING = ("allocatableMemory.available", "containerfs.available", "containerfs.inodesFree")

# Evictions of single pods for a limit of their own (pkg/kubelet/eviction/eviction_manager.go localStorageEviction).
LIMITS = ("emptydirfs.limit", "ephemeralpodfs.limit", "ephemeralcontainerfs.limit")


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered: trends of the signals, and which pods were evicted."""

    trends: Trends = field(default_factory=dict)
    evicted: Victims = field(default_factory=Victims)


@dataclass(frozen=True, slots=True)
class Signal:
    """What is available of one signal."""

    signal: str
    available: float | None


@dataclass(frozen=True, slots=True)
class Limit:
    """A threshold of one signal, as an amount."""

    signal: str
    kind: str
    amount: float | None


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A signal for which nothing is evicted."""

    signal: str


@dataclass(frozen=True, slots=True)
class Evicted:
    """Evictions that a signal caused."""

    signal: str
    evictions: float


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after one more reading."""
    return Memory(forecast.advance(memory.trends, snapshot), victims.advance(memory.evicted, snapshot))


def signals(snapshot: Snapshot, _: Memory) -> Iterator[Signal]:
    """Each signal that the kubelet can observe here."""
    supplies = snapshot.summary.supplies if snapshot.summary else {}
    yield from (Signal(signal, supplies[signal].available) for signal in SIGNALS if signal in supplies)


def limits(snapshot: Snapshot, _: Memory) -> Iterator[Limit]:
    """The node's thresholds; a share of something is known once its capacity is."""
    supplies = snapshot.summary.supplies if snapshot.summary else {}
    for each in thresholds(snapshot.config or {}):
        supply = supplies.get(each.signal)
        yield Limit(each.signal, each.kind, each.of(supply.capacity if supply else None))


def unguarded(snapshot: Snapshot, _: Memory) -> Iterator[Unguarded]:
    """The signals that can be observed but have no hard threshold."""
    if snapshot.config is not None and snapshot.summary is not None:
        guarded = {each.signal for each in thresholds(snapshot.config) if each.kind == "hard"}
        observed = [signal for signal in snapshot.summary.supplies if signal not in FOLLOWING]
        yield from (Unguarded(signal) for signal in observed if signal not in guarded)


def evicted(snapshot: Snapshot, _: Memory) -> Iterator[Evicted]:
    """The evictions by signal, from 0 on: the kubelet creates each counter with the first one."""
    if snapshot.metrics is not None:
        counts = snapshot.metrics.totals(EVICTIONS, "eviction_signal")
        yield from (Evicted(signal, counts.get((signal,), 0.0)) for signal in (*SIGNALS, *LIMITS))


def _of(unit: str) -> tuple[str, ...]:
    ends = {"bytes": ".available", "inodes": ".inodesFree"}
    return tuple(signal for signal in SIGNALS if signal != "pid.available" and signal.endswith(ends[unit]))


def _if(signals_: tuple[str, ...]) -> Callable[[Signal], float | None]:
    return lambda row: row.available if row.signal in signals_ else None


def _limit_if(signals_: tuple[str, ...]) -> Callable[[Limit], float | None]:
    return lambda row: row.amount if row.signal in signals_ else None


AVAILABLE_BYTES = Metric(
    "eviction_available_bytes",
    "What the kubelet sees as available of a signal: memory, all pods' memory, file systems; from /stats/summary.",
    _if(_of("bytes")),
    ("signal",),
    unit="bytes",
)
AVAILABLE_INODES = Metric(
    "eviction_available_inodes",
    "Inodes that the kubelet sees as free, by signal, from /stats/summary.",
    _if(_of("inodes")),
    ("signal",),
)
AVAILABLE_PIDS = Metric(
    "eviction_available_pids",
    "Processes that may still be started on the node, from /stats/summary.",
    _if(("pid.available",)),
    ("signal",),
)
THRESHOLD_BYTES = Metric(
    "eviction_threshold_bytes",
    "Threshold of a signal below which the kubelet evicts, at once (hard) or after a grace period (soft); from /configz, shares as amounts.",
    _limit_if(_of("bytes")),
    ("signal", "kind"),
    unit="bytes",
)
THRESHOLD_INODES = Metric(
    "eviction_threshold_inodes",
    "Threshold of free inodes of a signal below which the kubelet evicts; from /configz, shares as amounts.",
    _limit_if(_of("inodes")),
    ("signal", "kind"),
)
THRESHOLD_PIDS = Metric(
    "eviction_threshold_pids",
    "Threshold of free process numbers below which the kubelet evicts; from /configz, shares as amounts.",
    _limit_if(("pid.available",)),
    ("signal", "kind"),
)
UNGUARDED = Metric(
    "eviction_unguarded",
    "1 for a signal without hard threshold: when it runs out nothing is evicted, and the node fails.",
    lambda _: 1,
    ("signal",),
)
EVICTIONS_TOTAL = Metric(
    "evictions_total",
    "Pods that the kubelet evicted, by the signal that fell below its threshold, or the kind of limit that they exceeded (emptydirfs.limit and the like).",
    lambda row: row.evictions,
    ("signal",),
    kind="counter",
)
VICTIMS_TOTAL = Metric(
    "evicted_pods_total",
    "Pods that the exporter has seen evicted, by namespace and the kind of their owner; namespaces beyond the first "
    f"{victims.MOST_NAMESPACES} share the value {victims.REST}.",
    lambda row: row.pods,
    ("namespace", "owner_kind"),
    kind="counter",
)
TIME_LEFT = Metric(
    "eviction_time_left_seconds",
    "Seconds until a signal falls to its hard threshold: what is above it, divided by the median of the slopes between all pairs of the exporter's own "
    f"readings of the last {WATCH.most * WATCH.spacing / 60:.0f} minutes, one a minute; absent while it does not fall steadily, before "
    f"{WATCH.fewest} readings, or further ahead than {WATCH.reach:.0f} times the time they span; 0 below the threshold.",
    lambda row: row.seconds,
    ("signal",),
    unit="seconds",
)
RANK = Metric(
    "eviction_rank",
    "Place of a pod among those that the kubelet would evict for a signal, 1 first: without statistics, then above its request, then lower "
    "priority, then most above its request; for pid.available lower priority, then more processes; critical and static pods are never evicted.",
    lambda row: row.rank,
    ("signal", "namespace", "pod"),
)
SCORE = Metric(
    "eviction_score",
    "What a pod uses above its request, in the unit of the signal: bytes, inodes or processes, of which nothing can be requested; negative below its "
    "request; absent without statistics.",
    lambda row: row.above,
    ("signal", "namespace", "pod"),
)
TABLES = (
    Table(signals, (AVAILABLE_BYTES, AVAILABLE_INODES, AVAILABLE_PIDS)),
    Table(limits, (THRESHOLD_BYTES, THRESHOLD_INODES, THRESHOLD_PIDS)),
    Table(unguarded, (UNGUARDED,)),
    Table(evicted, (EVICTIONS_TOTAL,)),
    Table(lambda snapshot, memory: forecast.left(snapshot, memory.trends), (TIME_LEFT,)),
    Table(lambda snapshot, memory: victims.counted(snapshot, memory.evicted), (VICTIMS_TOTAL,)),
    Table(ranking.candidates, (RANK, SCORE), per="pod"),
)
WANTED = frozenset({EVICTIONS})
