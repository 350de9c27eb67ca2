"""The findings as metrics: a hung runtime with its evidence, and what stands between exporter, kubelet and API server."""

from collections.abc import Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.health.signs import Memory, evidence, faults, hung_since, runtime_hung
from kubelet_exporter.catalog.model import Metric, Table
from kubelet_exporter.snapshot import APISERVER_SOURCES, Snapshot


@dataclass(frozen=True, slots=True)
class Hang:
    """Whether the runtime hangs, and since when."""

    hung: bool
    since: float | None


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of a hung runtime: whether it is there, None if that is unknown."""

    evidence: str
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Disorder:
    """One fault: whether it is there, None if that is unknown."""

    fault: str
    holds: bool | None


def hangs(snapshot: Snapshot, memory: Memory) -> Iterator[Hang]:
    """The state of the runtime, if it can be told."""
    hung = runtime_hung(snapshot, memory)
    if hung is not None:
        yield Hang(hung, hung_since(memory) if hung else None)


def signs(snapshot: Snapshot, memory: Memory) -> Iterator[Sign]:
    """The evidence of a hung runtime."""
    yield from (Sign(name, holds) for name, holds in evidence(snapshot, memory).items())


def disorders(snapshot: Snapshot, memory: Memory) -> Iterator[Disorder]:
    """The faults, once anything of the kubelet was tried."""
    if snapshot.readings.keys() - APISERVER_SOURCES:
        yield from (Disorder(name, holds) for name, holds in faults(snapshot, memory).items())


def _holds(row: Sign | Disorder) -> int | None:
    return None if row.holds is None else int(row.holds)


RUNTIME_HUNG = Metric(
    "runtime_hung",
    "Whether the container runtime hangs (1): /metrics and /stats/summary of the kubelet give no answer while other endpoints do; "
    "absent while the kubelet does not answer at all.",
    lambda row: int(row.hung),
)
RUNTIME_HUNG_SINCE = Metric(
    "runtime_hung_since_timestamp_seconds",
    "Unix time since which the endpoints that need the runtime have given no answer; absent while the runtime does not hang.",
    lambda row: row.since,
    unit="seconds",
)
RUNTIME_HUNG_EVIDENCE = Metric(
    "runtime_hung_evidence",
    "Signs of a hung runtime: metrics_silent, summary_silent and kubelet_answers make it hung; relist_old and node_says_so follow.",
    _holds,
    ("evidence",),
)
FAULT = Metric(
    "fault",
    "What stands between exporter, kubelet and API server: kubelet_down, network (the kubelet lives but cannot be reached), rights_lost "
    "(it refuses the exporter), apiserver_unreachable; absent while it cannot be told yet.",
    _holds,
    ("fault",),
)
TABLES = (
    Table(hangs, (RUNTIME_HUNG, RUNTIME_HUNG_SINCE)),
    Table(signs, (RUNTIME_HUNG_EVIDENCE,)),
    Table(disorders, (FAULT,)),
)
