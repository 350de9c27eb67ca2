"""Which containers are restarted and why, which are killed for memory, and how many crash again and again?"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kubelet_exporter.catalog.facts.containers import CRASH_LOOPS, OOM_KILLS
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_LONG
from kubelet_exporter.catalog.model import Alert, Fold, Metric, Panel, Query, Runbook, Table, Topic
from kubelet_exporter.catalog.waiting import CONTAINERS_WAITING
from kubelet_exporter.pod import Container
from kubelet_exporter.snapshot import Snapshot, Source

OOM_KILLED = "OOMKilled"
REASONS = {OOM_KILLED: "oom_killed", "Error": "error", "Completed": "completed"}
OTHER = "other"
# Namespaces get a series each in the order in which they come; those beyond share one.
MOST_NAMESPACES = 30
REST = "_other"

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Seen:
    """How often a container had been restarted, and when its last run ended."""

    restarts: int
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class Memory:
    """Each container (pod's UID, name) as it was last seen, and what was counted since; None before the first reading."""

    seen: Mapping[Key, Seen] | None = None
    restarts: Mapping[str, int] = field(default_factory=dict)
    killed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Restarts:
    """Restarts for one reason."""

    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Killed:
    """Containers of one namespace that were killed for memory."""

    namespace: str
    count: int


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after a good reading of /pods. What happened before the first is not counted, and of new pods everything is."""
    if snapshot.latest != Source.PODS or not snapshot.fresh(Source.PODS) or snapshot.pods is None:
        return memory
    restarts, killed = Counter(memory.restarts), dict(memory.killed)
    now: dict[Key, Seen] = {}
    for pod in snapshot.pods:
        namespace = pod.namespace if pod.namespace in killed or len(killed) < MOST_NAMESPACES else REST
        killed.setdefault(namespace, 0)
        for container in pod.containers:
            key = pod.uid, container.name
            now[key] = Seen(container.restarts, container.ended_at)
            if memory.seen is not None:
                last = memory.seen.get(key, Seen(0, None))
                restarts[_reason(container)] += max(0, container.restarts - last.restarts)
                killed[namespace] += _killed_since(last, container)
    return Memory(now, restarts, killed)


def _reason(container: Container) -> str:
    return REASONS.get(container.ended, OTHER)


def _killed_since(last: Seen, container: Container) -> bool:
    """Whether it was killed for memory since: a run that is told of as ended, and later as the one before, counts once."""
    if container.ended != OOM_KILLED:
        return False
    if container.ended_at is None:
        return container.restarts > last.restarts
    return container.ended_at != last.ended_at


def restarts(_: Snapshot, memory: Memory) -> Iterator[Restarts]:
    """The restarts by reason, from 0 on once pods were read."""
    if memory.seen is not None:
        yield from (Restarts(reason, memory.restarts.get(reason, 0)) for reason in (*REASONS.values(), OTHER))


def killed(_: Snapshot, memory: Memory) -> Iterator[Killed]:
    """The containers killed for memory, by namespace, from 0 on once a pod of it was seen."""
    yield from (Killed(namespace, count) for namespace, count in sorted(memory.killed.items()))


RESTARTS = Metric(
    "container_restarts_total",
    "Restarts of containers that the exporter has seen, by why the run before ended: oom_killed, error, completed or other.",
    lambda row: row.count,
    ("reason",),
    kind="counter",
)
OOM_KILLED_TOTAL = Metric(
    "container_oom_kills_total",
    "Containers killed for memory that the exporter has seen, by namespace, restarted or not; namespaces beyond the first "
    f"{MOST_NAMESPACES} share the value {REST}.",
    lambda row: row.count,
    ("namespace",),
    kind="counter",
)

KILLS = Alert(
    "KubeletContainersKilledForMemory",
    f"sum by (cluster, node) (max by (cluster, node, namespace) (round(increase({OOM_KILLED_TOTAL}[1h])))) >= {OOM_KILLS}",
    HOLD_AT_ONCE,
    "warning",
    "Containers of a node are killed for memory.",
    "{{ $value }} containers of node {{ $labels.node }} of cluster {{ $labels.cluster }} were killed for memory within an hour.",
    Runbook(
        "The kernel killed containers that reached their memory limit, or because the node had no memory left.",
        "They are restarted with a growing pause, and lose what they had in memory.",
        f"- `{OOM_KILLED_TOTAL}` by namespace. One namespace: its limits. Many: the node.\n"
        "- `kubectl get pods -A --field-selector spec.nodeName=NODE -o wide | sort -k5 -rn | head`, `kubectl describe` of the first: limit and last state.\n"
        "- On the node: `journalctl -k --since -1h | grep -i -e 'out of memory' -e oom-kill`: `CONSTRAINT_MEMCG` is a limit, `CONSTRAINT_NONE` the node.",
        "A limit: tell the owner; raise it or find the leak. The node: set requests that tell what is used, and `systemReserved`, so that the kubelet evicts before the kernel kills.",
    ),
)
CRASHING = Alert(
    "KubeletContainersCrashLooping",
    f"max by (cluster, node) ({CONTAINERS_WAITING.where(reason='CrashLoopBackOff')}) >= {CRASH_LOOPS}",
    HOLD_LONG,
    "warning",
    "Many containers of a node crash again and again.",
    "{{ $value }} containers of node {{ $labels.node }} of cluster {{ $labels.cluster }} wait in a crash loop.",
    Runbook(
        "So many crash loops on one node are seldom so many broken applications: they share the node's disk, DNS, time or network.",
        "These applications do not serve.",
        "- `kubectl get pods -A --field-selector spec.nodeName=NODE | grep CrashLoopBackOff`: of one deployment or of many? Do its pods run on other nodes?\n"
        "- `kubectl logs -p` of two of them: do they fail for the same reason?\n"
        "- On the node: `df -h`, `timedatectl`, DNS from a pod.",
        "One deployment: tell its owner. Many: cordon the node and cure what they share; delete the pods so that they start elsewhere.",
    ),
)

TOPIC = Topic(
    name="restarts",
    title="Restarts",
    question="Which containers are restarted and why, which are killed for memory, and how many crash again and again?",
    tables=(Table(restarts, (RESTARTS,)), Table(killed, (OOM_KILLED_TOTAL,))),
    alerts=(KILLS, CRASHING),
    boards={
        "node": (
            Panel(
                "Restarts of containers",
                "Restarts an hour, by why the run before ended.",
                (
                    Query(
                        f"3600 * sum by (cluster, node, reason) (rate({RESTARTS.shown()}[$__rate_interval]))",
                        "{{node}} {{reason}}",
                    ),
                ),
            ),
            Panel(
                "Killed for memory",
                "Containers an hour that were killed for memory, by namespace.",
                (
                    Query(
                        f"3600 * sum by (cluster, node, namespace) (rate({OOM_KILLED_TOTAL.shown()}[$__rate_interval])) > 0",
                        "{{node}} {{namespace}}",
                    ),
                ),
            ),
            Panel(
                "Crash loops",
                "Containers that wait for their next start after a crash.",
                (Query(f"max by (cluster, node) ({CONTAINERS_WAITING.shown(reason='CrashLoopBackOff')})"),),
                limits=((CRASH_LOOPS, "red"),),
            ),
        ),
    },
    fold=Fold(Memory(), advance),
)
