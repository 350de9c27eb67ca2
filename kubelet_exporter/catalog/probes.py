"""Which probes fail, of which containers now, and how many restarts do liveness probes cause?"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kubelet_exporter.catalog.facts.containers import (
    LIVENESS_RESTARTS,
    PROBE_FAILED,
    PROBE_WINDOW,
    PROBES_FAILING_FEWEST,
    PROBES_FAILING_SHARE,
)
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Fold, Metric, Panel, Query, Runbook, Table, Topic
from kubelet_exporter.samples import Metrics
from kubelet_exporter.snapshot import Snapshot, Source

PROBES = "prober_probe_total"
TYPES = ("liveness", "readiness", "startup")
RESULTS = ("successful", "failed", "unknown")
MOST_CONTAINERS = 10


class Key(NamedTuple):
    """One probe of one container."""

    uid: str
    namespace: str
    pod: str
    container: str
    type: str


Results = Mapping[str, float]  # by result
Counts = Mapping[Key, Results]


@dataclass(frozen=True, slots=True)
class Memory:
    """What the kubelet counted, and what came of it.

    `last` is its latest count, None before the first reading; `before` and `base` are its counts at the last two beginnings of a
    window, `begun` the time of the latter; `total` adds up over pods that are gone; `restarts` are those of each container.
    """

    last: Counts | None = None
    base: Counts = field(default_factory=dict)
    before: Counts = field(default_factory=dict)
    begun: float = 0.0
    total: Mapping[tuple[str, str], float] = field(default_factory=dict)
    restarts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    by_liveness: int = 0


@dataclass(frozen=True, slots=True)
class Total:
    """Probes of one type with one result."""

    type: str
    result: str
    probes: float


@dataclass(frozen=True, slots=True)
class Probed:
    """Containers with probes of one type, and those of them that fail."""

    type: str
    containers: int
    failing: int


@dataclass(frozen=True, slots=True)
class Failing:
    """One probe of a container that failed lately, and the share of its probes that did."""

    namespace: str
    pod: str
    container: str
    type: str
    ratio: float
    failed: float


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after a good reading of /metrics/probes. What was counted before the first reading is not counted again."""
    if snapshot.latest != Source.PROBES or not snapshot.fresh(Source.PROBES) or snapshot.probes is None:
        return memory
    now = counted(snapshot.probes)
    restarts = {(pod.uid, each.name): each.restarts for pod in snapshot.pods or () for each in pod.containers}
    if memory.last is None:
        return Memory(last=now, base=now, before=now, begun=snapshot.now, restarts=restarts)
    total = dict(memory.total)
    for key, results in now.items():
        for result, count in results.items():
            grown = _grown(count, memory.last.get(key, {}).get(result, 0.0))
            total[key.type, result] = total.get((key.type, result), 0.0) + grown
    memory = replace(memory, last=now, total=total)
    by_liveness = memory.by_liveness + _restarted_by_liveness(memory, snapshot)
    memory = replace(memory, restarts=restarts, by_liveness=by_liveness)
    if snapshot.now - memory.begun >= PROBE_WINDOW.value:
        memory = replace(memory, before=memory.base, base=now, begun=snapshot.now)
    return memory


def counted(metrics: Metrics) -> Counts:
    """What the kubelet counts, by probe and result; types and results that are none are left out."""
    labels = ("pod_uid", "namespace", "pod", "container", "probe_type", "result")
    found: dict[Key, dict[str, float]] = {}
    for (uid, namespace, pod, container, kind, result), value in metrics.totals(PROBES, *labels).items():
        if kind.lower() in TYPES and result in RESULTS:
            found.setdefault(Key(uid, namespace, pod, container, kind.lower()), {})[result] = value
    return found


def _grown(count: float, last: float) -> float:
    """By how much a counter grew; one that fell began again."""
    return count - last if count >= last else count


def _lately(memory: Memory) -> Iterator[tuple[Key, float, float]]:
    """Each probe with how many failed, and how many there were, since the window before the present one began."""
    for key, results in (memory.last or {}).items():
        base = memory.before.get(key, {})
        grown = {result: _grown(count, base.get(result, 0.0)) for result, count in results.items()}
        yield key, grown.get("failed", 0.0), sum(grown.values())


def _restarted_by_liveness(memory: Memory, snapshot: Snapshot) -> int:
    """Containers restarted since the last reading whose liveness probe has failed often enough lately."""
    failed = {(key.uid, key.container): count for key, count, _ in _lately(memory) if key.type == "liveness"}
    return sum(
        each.liveness is not None
        and each.restarts > memory.restarts.get((pod.uid, each.name), 0)
        and failed.get((pod.uid, each.name), 0.0) >= each.liveness.failures
        for pod in snapshot.pods or ()
        for each in pod.containers
    )


def totals(_: Snapshot, memory: Memory) -> Iterator[Total]:
    """All probes by type and result, from 0 on once the kubelet was asked."""
    if memory.last is not None:
        yield from (Total(kind, result, memory.total.get((kind, result), 0.0)) for kind in TYPES for result in RESULTS)


def probed(_: Snapshot, memory: Memory) -> Iterator[Probed]:
    """The probed containers by type; those that were not probed lately are not among them."""
    if memory.last is not None:
        lately = [(key.type, failed / all_) for key, failed, all_ in _lately(memory) if all_]
        for kind in TYPES:
            shares = [share for each, share in lately if each == kind]
            yield Probed(kind, len(shares), sum(share >= PROBE_FAILED.value for share in shares))


def failing(_: Snapshot, memory: Memory) -> Iterable[Failing]:
    """The probes that failed most often lately, at most ten."""
    rows = [
        Failing(key.namespace, key.pod, key.container, key.type, failed / all_, failed)
        for key, failed, all_ in _lately(memory)
        if failed
    ]
    return sorted(rows, key=lambda row: (-row.failed, row.namespace, row.pod, row.container))[:MOST_CONTAINERS]


def restarted(_: Snapshot, memory: Memory) -> Iterator[Memory]:
    """The restarts by liveness, from 0 on."""
    if memory.last is not None:
        yield memory


TOTALS = Metric(
    "probes_total",
    "Probes that the exporter has seen the kubelet make, by type and result.",
    lambda row: row.probes,
    ("type", "result"),
    kind="counter",
)
PROBED = Metric(
    "containers_probed", "Containers that were probed lately, by type of probe.", lambda row: row.containers, ("type",)
)
FAILING = Metric(
    "containers_failing_probes",
    "Containers of which at least half of the probes failed lately, by type of probe.",
    lambda row: row.failing,
    ("type",),
)
FAILED_RATIO = Metric(
    "pod_probe_failed_ratio",
    "Share of a container's probes that failed in the last five to ten minutes, of the ten with most failures.",
    lambda row: row.ratio,
    ("namespace", "pod", "container", "type"),
    unit="ratio",
)
BY_LIVENESS = Metric(
    "liveness_restarts_total",
    "Restarts of containers whose liveness probe had just failed as often as its threshold asks, seen by the exporter.",
    lambda memory: memory.by_liveness,
    kind="counter",
)

MANY_FAIL = Alert(
    "KubeletProbesFailing",
    f"max by (cluster, node, type) ({FAILING} / {PROBED}) > {PROBES_FAILING_SHARE} "
    f"and on (cluster, node, type) max by (cluster, node, type) ({FAILING}) >= {PROBES_FAILING_FEWEST}",
    HOLD_SHORT,
    "warning",
    "Most containers of a node fail their probes.",
    "{{ $value | humanizePercentage }} of the containers of node {{ $labels.node }} of cluster {{ $labels.cluster }} fail their {{ $labels.type }} probes.",
    Runbook(
        "So many applications do not break at once: the kubelet cannot reach its pods, or neither it nor they get CPU.",
        "Readiness: the pods are taken out of their Services. Liveness: they are restarted again and again.",
        f"- `{FAILED_RATIO}` names containers; `kubectl describe pod` has the last message: `connection refused`, `timeout`, or an answer.\n"
        "- On the node: `curl -m 2 http://POD-IP:PORT/PATH` as the kubelet does; `cat /proc/pressure/cpu`.\n"
        "- The log of the network plug-in's pod on this node; a network policy that forbids the node to reach its pods.",
        "Timeouts everywhere and CPU pressure: move pods away, set CPU requests. No connection: restart the network plug-in's pod. "
        "Only exec probes: the runtime is slow, see KubeletPLEGRelistSlow.",
    ),
)
RESTARTS = Alert(
    "KubeletLivenessRestartsMany",
    f"max by (cluster, node) (round(increase({BY_LIVENESS}[1h]))) >= {LIVENESS_RESTARTS}",
    HOLD_AT_ONCE,
    "warning",
    "Liveness probes restart many containers of a node.",
    "Liveness probes restarted {{ $value }} containers of node {{ $labels.node }} of cluster {{ $labels.cluster }} within an hour.",
    Runbook(
        "Containers were restarted after their liveness probe had failed as often as its threshold asks. They hang, or the probe asks too much: the same as "
        "readiness, too soon after the start, with too short a timeout.",
        "Each restart drops requests and starts cold, which makes overload worse.",
        f"- `{FAILED_RATIO.where(type='liveness')}` names them.\n"
        "- `kubectl get events -A --field-selector reason=Unhealthy | tail -30`.\n"
        "- `kubelet_exporter_pod_spec_findings` tells where probes are set up badly.",
        "Tell the owner: a startup probe, a longer timeout, a liveness endpoint that checks nothing but the process itself. One node only: see KubeletProbesFailing.",
    ),
)

TOPIC = Topic(
    name="probes",
    title="Probes",
    question="Which probes fail, of which containers now, and how many restarts do liveness probes cause?",
    tables=(
        Table(totals, (TOTALS,)),
        Table(probed, (PROBED, FAILING)),
        Table(restarted, (BY_LIVENESS,)),
        Table(failing, (FAILED_RATIO,), per="pod"),
    ),
    alerts=(MANY_FAIL, RESTARTS),
    boards={
        "runtime": (
            Panel(
                "Failed probes",
                "Share of failed probes by type. Readiness probes of pods that start fail for a while.",
                (
                    Query(
                        f"sum by (cluster, node, type) (rate({TOTALS.shown(result='failed')}[$__rate_interval])) "
                        f"/ sum by (cluster, node, type) (rate({TOTALS.shown()}[$__rate_interval]))",
                        "{{node}} {{type}}",
                    ),
                ),
                unit="percentunit",
                width=12,
            ),
        ),
        "node": (
            Panel(
                "Containers whose probes fail",
                "The ten with most failures of each node in the last minutes, and the share of their probes that failed.",
                (
                    Query(
                        f"max by (cluster, node, namespace, pod, container, type) ({FAILED_RATIO.shown()})",
                        "{{namespace}}/{{pod}} {{container}} {{type}}",
                    ),
                ),
                unit="percentunit",
                width=12,
            ),
        ),
    },
    fold=Fold(Memory(), advance),
)
