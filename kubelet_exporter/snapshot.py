"""What is known of one node at one moment: frozen parts, each with the reading that it came from.

Everything here is in base units and Unix time; None means unknown. Standard library only.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from kubelet_exporter.pod import Pod
from kubelet_exporter.samples import Metrics


class Source(StrEnum):
    """What is read: endpoints of the kubelet, two objects of the API server; events of few pods and the log if asked to."""

    HEALTHZ = "healthz"
    PODS = "pods"
    METRICS = "metrics"
    PROBES = "probes"
    SUMMARY = "summary"
    CONFIGZ = "configz"
    NODE = "node"
    LEASE = "lease"
    EVENTS = "events"
    LOGS = "logs"


APISERVER_SOURCES = frozenset({Source.NODE, Source.LEASE, Source.EVENTS})
ON_REQUEST = frozenset({Source.EVENTS, Source.LOGS})
ALWAYS_READ = frozenset(Source) - ON_REQUEST


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

    @classmethod
    def of_status(cls, status: int) -> "Reason":
        """Why an HTTP answer other than 200 is a failure."""
        return {401: cls.UNAUTHORIZED, 403: cls.FORBIDDEN}.get(status, cls.STATUS)


BUILD_INFO = "kubernetes_build_info"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a reading failed: a bounded reason for metrics, a sentence for people."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One attempt to read one source, together with the last value that was good.

    `read_at` is the Unix time of that value, `dropped` counts what was left out of it, by reason; `hold` is for how many
    seconds it may be used, `tls` how the kubelet's certificate is trusted, `steady` the attempt on a clock that is never stepped.
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
    steady: float | None = None

    def after(self, last: "Reading | None") -> "Reading":
        """This reading, with the last good value kept if this attempt failed."""
        if self.failure is None or last is None:
            return self
        return replace(self, value=last.value, read_at=last.read_at)


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
class SystemContainer:
    """One of the node's system containers (kubelet, runtime, misc, pods) and its working set in bytes."""

    container: str
    working_set: float | None = None


@dataclass(frozen=True, slots=True)
class Disk:
    """What is used of a disk, in bytes and inodes."""

    bytes: float | None = None
    inodes: float | None = None


@dataclass(frozen=True, slots=True)
class PodUsage:
    """What one pod uses: memory's working set and ephemeral storage in bytes, processes.

    `writable` and `logs` are those of all its containers together; `containers` are working sets, `volumes` disks, both by name; volumes
    of claims are left out.
    """

    memory: float | None = None
    storage: float | None = None
    processes: float | None = None
    writable: Disk = Disk()
    logs: Disk = Disk()
    containers: Mapping[str, float] = field(default_factory=dict)
    volumes: Mapping[str, Disk] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Supply:
    """What is available of an eviction signal, and of how much, in bytes, inodes or processes."""

    available: float | None = None
    capacity: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What is used of /stats/summary.

    One entry a claim, the newest where several pods share it; system containers; the eviction signals by the kubelet's names;
    what pods use, by UID; bytes of images; swap; the share of the last minute that processes waited for a resource, by resource and
    kind (some, full).
    """

    volumes: tuple[VolumeStats, ...] = ()
    system: tuple[SystemContainer, ...] = ()
    supplies: Mapping[str, Supply] = field(default_factory=dict)
    pods: Mapping[str, PodUsage] = field(default_factory=dict)
    images: float | None = None
    swap: Supply = Supply()
    pressure: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a Node, named by its type; the status is True, False or Unknown."""

    condition: str
    status: str
    transition: float | None = None
    heartbeat: float | None = None
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint of a Node."""

    key: str
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """What is used of the Node object."""

    name: str
    resource_version: str = ""
    created: float | None = None
    kubelet_version: str = ""
    runtime_version: str = ""
    kernel_version: str = ""
    os_image: str = ""
    architecture: str = ""
    allocatable_pods: float | None = None
    conditions: tuple[Condition, ...] = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


@dataclass(frozen=True, slots=True)
class Lease:
    """The node's Lease: when the kubelet last renewed it."""

    renewed: float | None = None


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The latest reading of each source of one node, at `now`; `latest` is the source that was just read.

    `eviction_top` is how many pods are named of those that would be evicted first.
    """

    node_name: str
    now: float
    readings: Mapping[Source, Reading] = field(default_factory=dict)
    latest: Source | None = None
    eviction_top: int = 5

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

    def fresh(self, source: Source) -> bool:
        """Whether the latest reading of a source succeeded."""
        reading = self.readings.get(source)
        return reading is not None and reading.failure is None

    def read_at(self, source: Source) -> float:
        """When the last good value of a source was read; raises KeyError or ValueError if it never was."""
        at = self.readings[source].read_at
        if at is None:
            raise ValueError(f"{source} was never read")
        return at

    @property
    def pods(self) -> tuple[Pod, ...] | None:
        """The pods of this node."""
        return self.known(Source.PODS, tuple)

    @property
    def metrics(self) -> Metrics | None:
        """The kubelet's own metrics."""
        return self.known(Source.METRICS, Metrics)

    @property
    def probes(self) -> Metrics | None:
        """What the kubelet counts of probes."""
        return self.known(Source.PROBES, Metrics)

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
    def pulls(self) -> Mapping[str, Any]:
        """What events told of image pulls, by pod UID."""
        return self.known(Source.EVENTS, dict) or {}

    @property
    def kubelet_minor(self) -> tuple[int, int] | None:
        """Major and minor version of the kubelet, from the Node or else from the kubelet's own metrics."""
        builds = self.metrics.samples.get(BUILD_INFO, ()) if self.metrics else ()
        version = self.node.kubelet_version if self.node else builds[0].labels.get("git_version", "") if builds else ""
        match = re.match(r"v?(\d+)\.(\d+)", version)
        return (int(match[1]), int(match[2])) if match else None

    @property
    def lease(self) -> Lease | None:
        """The node's Lease."""
        return self.known(Source.LEASE, Lease)
