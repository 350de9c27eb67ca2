"""What is left of each eviction signal, the node's own thresholds, and the evictions that happened."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.eviction.thresholds import SIGNALS, thresholds
from kubelet_exporter.catalog.model import Metric, Table
from kubelet_exporter.snapshot import Snapshot

EVICTIONS = "kubelet_evictions"
# They are reported, but nobody can set a threshold of their own for them.
FOLLOWING = ("allocatableMemory.available", "containerfs.available", "containerfs.inodesFree")


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


def signals(snapshot: Snapshot, _: None) -> Iterator[Signal]:
    """Each signal that the kubelet can observe here."""
    supplies = snapshot.summary.supplies if snapshot.summary else {}
    yield from (Signal(signal, supplies[signal].available) for signal in SIGNALS if signal in supplies)


def limits(snapshot: Snapshot, _: None) -> Iterator[Limit]:
    """The node's thresholds; a share of something is known once its capacity is."""
    supplies = snapshot.summary.supplies if snapshot.summary else {}
    for each in thresholds(snapshot.config or {}):
        supply = supplies.get(each.signal)
        yield Limit(each.signal, each.kind, each.of(supply.capacity if supply else None))


def unguarded(snapshot: Snapshot, _: None) -> Iterator[Unguarded]:
    """The signals that can be observed but have no hard threshold."""
    if snapshot.config is not None and snapshot.summary is not None:
        guarded = {each.signal for each in thresholds(snapshot.config) if each.kind == "hard"}
        observed = [signal for signal in snapshot.summary.supplies if signal not in FOLLOWING]
        yield from (Unguarded(signal) for signal in observed if signal not in guarded)


def evicted(snapshot: Snapshot, _: None) -> Iterator[Evicted]:
    """The evictions by signal, from 0 on: the kubelet creates each counter with the first one."""
    if snapshot.metrics is not None:
        counts = snapshot.metrics.totals(EVICTIONS, "eviction_signal")
        yield from (Evicted(signal, counts.get((signal,), 0.0)) for signal in SIGNALS)


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
    "Pods that the kubelet evicted, by the signal that fell below its threshold.",
    lambda row: row.evictions,
    ("signal",),
    kind="counter",
)
TABLES = (
    Table(signals, (AVAILABLE_BYTES, AVAILABLE_INODES, AVAILABLE_PIDS)),
    Table(limits, (THRESHOLD_BYTES, THRESHOLD_INODES, THRESHOLD_PIDS)),
    Table(unguarded, (UNGUARDED,)),
    Table(evicted, (EVICTIONS_TOTAL,)),
)
WANTED = frozenset({EVICTIONS})
