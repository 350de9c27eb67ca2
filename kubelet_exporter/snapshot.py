"""What is known of one node at one moment: frozen parts, each with the reading that it came from.

Everything here is in base units and Unix time; None means unknown. Standard library only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar


class Source(StrEnum):
    """What is read: five endpoints of the kubelet, two objects of the API server."""

    HEALTHZ = "healthz"
    PODS = "pods"
    METRICS = "metrics"
    SUMMARY = "summary"
    CONFIGZ = "configz"
    NODE = "node"
    LEASE = "lease"


APISERVER_SOURCES = frozenset({Source.NODE, Source.LEASE})


class Reason(StrEnum):
    """Why a reading failed."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    TLS = "tls"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    STATUS = "status"
    CONTENT_TYPE = "content_type"
    TOO_LARGE = "too_large"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a reading failed: a bounded reason for metrics, a sentence for people."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One attempt to read one source, together with the last value that was good.

    `read_at` is the Unix time of that value, `dropped` counts what was left out of it, by reason; `hold` is for how many
    seconds it may be used, `tls` how the kubelet's certificate is trusted.
    """

    source: Source
    attempted_at: float
    seconds: float
    size: int = 0
    failure: Failure | None = None
    value: Any = None
    read_at: float | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    hold: float = 300.0
    tls: str | None = None

    def after(self, last: "Reading | None") -> "Reading":
        """This reading, with the last good value kept if this attempt failed."""
        if self.failure is None or last is None:
            return self
        return replace(self, value=last.value, read_at=last.read_at)


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of the kubelet's metrics text."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Cumulative buckets (upper bound, count) in rising order with +Inf last, and the sum of what was observed."""

    buckets: tuple[tuple[float, float], ...]
    sum: float

    @property
    def count(self) -> float:
        """How many observations there were."""
        return self.buckets[-1][1]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Wanted samples of the kubelet's metrics text, by the literal name on the line."""

    samples: Mapping[str, tuple[Sample, ...]]

    def value(self, name: str) -> float | None:
        """The value of a metric without labels."""
        found = self.samples.get(name, ())
        return found[0].value if found else None

    def histogram(self, name: str) -> Histogram | None:
        """A histogram without labels; None if any part of it is missing or a bucket count falls."""
        total = self.value(f"{name}_sum")
        pairs = sorted((float(s.labels["le"]), s.value) for s in self.samples.get(f"{name}_bucket", ()))
        counts = [count for _, count in pairs]
        if total is None or not pairs or pairs[-1][0] != float("inf") or counts != sorted(counts):
            return None
        return Histogram(tuple(pairs), total)


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod as the kubelet lists it; `mirrors` is the UID of the static pod that a mirror pod stands for."""

    uid: str
    namespace: str
    name: str
    phase: str
    mirrors: str | None = None


@dataclass(frozen=True, slots=True)
class VolumeStats:
    """File system numbers of one claim, in bytes and inodes; None where the driver does not tell."""

    namespace: str
    claim: str
    time: float | None = None
    capacity: float | None = None
    available: float | None = None
    used: float | None = None
    inodes: float | None = None
    inodes_free: float | None = None
    inodes_used: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What is used of /stats/summary: one entry a claim, the newest where several pods share it."""

    volumes: tuple[VolumeStats, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a Node, named by its type; the status is True, False or Unknown."""

    condition: str
    status: str
    transition: float | None = None
    heartbeat: float | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """What is used of the Node object."""

    name: str
    resource_version: str = ""
    kubelet_version: str = ""
    runtime_version: str = ""
    kernel_version: str = ""
    os_image: str = ""
    architecture: str = ""
    allocatable_pods: float | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Lease:
    """The node's Lease: when the kubelet last renewed it."""

    renewed: float | None = None


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The latest reading of each source of one node, at `now`; `latest` is the source that was just read."""

    node_name: str
    now: float
    readings: Mapping[Source, Reading] = field(default_factory=dict)
    latest: Source | None = None

    def take(self, reading: Reading, now: float) -> "Snapshot":
        """The snapshot after one more reading."""
        merged = reading.after(self.readings.get(reading.source))
        return replace(self, now=now, latest=reading.source, readings={**self.readings, reading.source: merged})

    def known(self, source: Source, kind: type[_T]) -> _T | None:
        """The last good value of a source, None if there is none or it is older than its reading may be held."""
        reading = self.readings.get(source)
        if reading is None or reading.read_at is None or self.now - reading.read_at > reading.hold:
            return None
        return reading.value if isinstance(reading.value, kind) else None

    @property
    def pods(self) -> tuple[Pod, ...] | None:
        """The pods of this node."""
        return self.known(Source.PODS, tuple)

    @property
    def metrics(self) -> Metrics | None:
        """The kubelet's own metrics."""
        return self.known(Source.METRICS, Metrics)

    @property
    def summary(self) -> Summary | None:
        """The kubelet's statistics of file systems and containers."""
        return self.known(Source.SUMMARY, Summary)

    @property
    def config(self) -> Mapping[str, Any] | None:
        """The kubelet's effective configuration, keys as in KubeletConfiguration."""
        return self.known(Source.CONFIGZ, dict)

    @property
    def node(self) -> Node | None:
        """The Node object."""
        return self.known(Source.NODE, Node)

    @property
    def lease(self) -> Lease | None:
        """The node's Lease."""
        return self.known(Source.LEASE, Lease)
