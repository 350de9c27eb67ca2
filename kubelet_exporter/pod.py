"""One pod as the kubelet lists it, in Unix time and seconds; None means unknown. Standard library only."""

from dataclasses import dataclass
from typing import Literal

# As sig-scalability's SLO counts them; with image volumes, whose pulls are left out like those of containers.
FILLED_BY_KUBELET = frozenset({"secret", "configMap", "downwardAPI", "emptyDir", "projected", "image", "gitRepo"})

# Priority of system-cluster-critical (pkg/apis/scheduling/types.go).
SYSTEM_CRITICAL = 2_000_000_000

Role = Literal["app", "init", "sidecar"]


Action = Literal["exec", "httpGet", "tcpSocket", "grpc", ""]


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe of a container: what it does and where (path and port, or command), and its times in seconds."""

    action: Action = ""
    target: str = ""
    delay: float = 0.0
    timeout: float = 1.0
    period: float = 10.0
    failures: int = 3


@dataclass(frozen=True, slots=True)
class Resources:
    """Amounts that are requested or allowed: cores, bytes of memory, bytes of ephemeral storage; None where nothing is set."""

    cpu: float | None = None
    memory: float | None = None
    storage: float | None = None


NOTHING_SET = Resources()


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim as one pod mounts it: only to be read, or as a raw block device."""

    name: str
    read_only: bool = False
    block: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod; `started` and `finished` are those of its present run, `last_*` those of the run before.

    A sidecar is an init container that restarts always. `waiting` is the reason of the waiting state, "" if it does not wait;
    `ended` is the reason of its last termination, "" if there was none, `ended_at` its time, `exit_code` its status.
    """

    name: str
    role: Role = "app"
    waiting: str = ""
    message: str = ""
    started: float | None = None
    finished: float | None = None
    last_started: float | None = None
    ended: str = ""
    ended_message: str = ""
    ended_at: float | None = None
    exit_code: int | None = None
    restarts: int = 0
    liveness: Probe | None = None
    readiness: Probe | None = None
    startup: Probe | None = None
    requests: Resources = NOTHING_SET
    limits: Resources = NOTHING_SET

    @property
    def first_started(self) -> float | None:
        """When it was started for the first time, as far as its status still tells."""
        if self.restarts == 0:
            return self.started if self.started is not None else self.last_started
        return self.last_started if self.restarts == 1 else None

    @property
    def was_started(self) -> bool:
        """Whether it was ever started, even if nothing tells when."""
        return self.started is not None or self.last_started is not None


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod; `mirrors` is the UID of the static pod that a mirror pod stands for.

    `volumes` are the kinds of its volumes. The times of conditions are those of their last change to True, None while they are not True.
    `requests` and `limits` are those of the pod as a whole, where it has any; `owner` is the kind of its controller. `local_volumes` are the
    names of those that use the node's disk, `size_limits` emptyDirs on disk with theirs in bytes.
    """

    uid: str
    namespace: str
    name: str
    phase: str
    mirrors: str | None = None
    source: str = "api"
    created: float | None = None
    scheduled: float | None = None
    seen: float | None = None
    accepted: float | None = None
    sandbox: float | None = None
    initialized: float | None = None
    containers_ready: float | None = None
    ready: float | None = None
    deletion: float | None = None
    grace: float | None = None
    reason: str = ""
    message: str = ""
    disruption: str = ""
    volumes: frozenset[str] = frozenset()
    host_network: bool = False
    runtime_class: str = ""
    probed: bool = False
    gated: bool = False
    containers: tuple[Container, ...] = ()
    priority: int = 0
    owner: str = ""
    requests: Resources = NOTHING_SET
    limits: Resources = NOTHING_SET
    overhead: Resources = NOTHING_SET
    local_volumes: frozenset[str] = frozenset()
    size_limits: tuple[tuple[str, float], ...] = ()
    claims: tuple[Claim, ...] = ()

    @property
    def stateless(self) -> bool:
        """Whether nothing must be attached or mounted for it: it has only volumes that the kubelet fills itself."""
        return self.volumes <= FILLED_BY_KUBELET

    @property
    def over(self) -> bool:
        """Whether it has come to its end."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def critical(self) -> bool:
        """Whether the kubelet never evicts it (IsCriticalPod in pkg/kubelet/types/pod_update.go)."""
        return self.static or self.priority >= SYSTEM_CRITICAL

    @property
    def static(self) -> bool:
        """Whether it came from a file or URL of the node, not from the API server."""
        return self.source in ("file", "http") or self.mirrors is not None
