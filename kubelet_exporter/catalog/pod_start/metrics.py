"""Rows and metrics of pod starts."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.model import Metric, Table
from kubelet_exporter.catalog.pod_start.memory import Memory, exact_sandbox
from kubelet_exporter.catalog.pod_start.track import Track
from kubelet_exporter.catalog.tally import Tally
from kubelet_exporter.snapshot import Snapshot, Source

IN_PROGRESS = ("prepare", "init", "containers", "blocked")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many starts had this verdict and blame."""

    verdict: str
    blame: str
    count: int


@dataclass(frozen=True, slots=True)
class Start:
    """The distribution of start times of a class of pods on one clock."""

    class_: str
    clock: str
    tally: Tally


@dataclass(frozen=True, slots=True)
class Stage:
    """The distribution of the times of a stage."""

    stage: str
    tally: Tally


@dataclass(frozen=True, slots=True)
class Reason:
    """A count by stage and reason; the stage is "" where there is none."""

    reason: str
    count: int
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """Starts in progress at one stage, and the age of the oldest in seconds, None if there is none."""

    stage: str
    count: int
    oldest: float | None


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether something about starts can be known on this node."""

    feature: str
    has: bool


def outcomes(_: Snapshot, memory: Memory) -> Iterator[Outcome]:
    """Every legal pair of verdict and blame, from the start at 0."""
    yield from (Outcome(verdict, blame, count) for (verdict, blame), count in memory.outcomes.items())


def starts(_: Snapshot, memory: Memory) -> Iterator[Start]:
    """The distributions of start times."""
    yield from (Start(kind, clock, tally) for (kind, clock), tally in memory.starts.items())


def stages(_: Snapshot, memory: Memory) -> Iterator[Stage]:
    """The distributions of the stages' times."""
    yield from (Stage(stage, tally) for stage, tally in memory.stages.items())


def skipped(_: Snapshot, memory: Memory) -> Iterator[Reason]:
    """Starts that are left out of verdict or times, by reason."""
    yield from (Reason(reason, count) for reason, count in memory.skipped.items())


def inconsistent(_: Snapshot, memory: Memory) -> Iterator[Reason]:
    """Stage times that cannot be, by stage."""
    yield from (Reason("negative", count, stage) for stage, count in memory.inconsistent.items())


def memories(_: Snapshot, memory: Memory) -> Iterator[Memory]:
    """The memory itself, whose fields are columns."""
    yield memory


def in_progress(track: Track) -> bool:
    """Whether a pod is on its way, counted or not."""
    return (
        not track.missing
        and not track.pod.static
        and not track.pod.over
        and not track.started_somehow
        and track.pod.deletion is None
    )


def progress(snapshot: Snapshot, memory: Memory) -> Iterator[Progress]:
    """Starts in progress by stage, also before any verdict; none if the pods are not known."""
    if snapshot.pods is None:
        return
    tracks = [track for track in memory.tracks.values() if in_progress(track)]
    stages = [(_stage(track), track) for track in tracks]
    counts = Counter(stage for stage, _ in stages)
    for stage in IN_PROGRESS:
        ages = [snapshot.now - track.begin for at, track in stages if at == stage]
        yield Progress(stage, counts[stage], max(0.0, *ages) if ages else None)


def _stage(track: Track) -> str:
    """Where it is; blocked if user or registry hold it up there."""
    blocked = track.blocked is not None or (track.evidence == "user" and track.sandbox is None)
    return "blocked" if blocked else track.stage


def capabilities(snapshot: Snapshot, memory: Memory) -> Iterator[Capability]:
    """What can be known of starts on this node."""
    if snapshot.kubelet_minor is not None:
        yield Capability("sandbox_exact", exact_sandbox(snapshot))
    if memory.tracks:
        yield Capability("seen_exact", any(track.pod.seen is not None for track in memory.tracks.values()))
    if memory.windows:
        yield Capability("pulls_bounded", memory.windows[-1].pulls is not None)
    yield Capability("pulls_from_events", snapshot.fresh(Source.EVENTS))


POD_START_SECONDS = Metric(
    "pod_start_seconds",
    "Time from the kubelet's seeing a pod to the start of its last container; platform is without pulls, init containers and "
    "waits of the user's or registry's making, and only of pods whose pull time is known.",
    lambda row: row.tally.histogram,
    ("class", "clock"),
    kind="histogram",
    unit="seconds",
)
POD_START_STAGE = Metric(
    "pod_start_stage_seconds",
    "Time of a stage of pod starts, of pods for which it is known.",
    lambda row: row.tally.histogram,
    ("stage",),
    kind="histogram",
    unit="seconds",
)
POD_STARTS = Metric(
    "pod_starts_total",
    "Pod starts by verdict and whose fault it was.",
    lambda row: row.count,
    ("verdict", "blame"),
    kind="counter",
)
SKIPPED = Metric(
    "pod_start_skipped_total",
    "Pods that were left out of verdicts or times of starts, by reason.",
    lambda row: row.count,
    ("reason",),
    kind="counter",
)
INCONSISTENT = Metric(
    "pod_start_inconsistent_total",
    "Times of stages that were left out because they cannot be, by stage and reason.",
    lambda row: row.count,
    ("stage", "reason"),
    kind="counter",
)
LATE = Metric(
    "pod_start_late_recoveries_total",
    "Pods that started after their start had been counted as failed.",
    lambda memory: memory.late,
    kind="counter",
)
PODS_STARTING = Metric(
    "pods_starting",
    "Pods on their way to their start, by stage; blocked are those that user or registry hold up.",
    lambda row: row.count,
    ("stage",),
)
OLDEST = Metric(
    "pod_start_oldest_seconds",
    "Age of the oldest start in progress at a stage, counted from the kubelet's seeing the pod.",
    lambda row: row.oldest,
    ("stage",),
    unit="seconds",
)
CAPABILITY = Metric(
    "pod_start_capability",
    "Whether something about starts can be known on this node (1) or not (0).",
    lambda row: int(row.has),
    ("feature",),
)
IMAGE_PULL = Metric(
    "image_pull_seconds",
    "Time that starting pods spent on image pulls without the queue, of pods for which it is known.",
    lambda memory: memory.pulls.histogram,
    kind="histogram",
    unit="seconds",
)
STATUS_REACTION = Metric(
    "status_reaction_seconds",
    "Time from a pod's start to ContainersReady, of pods without readiness and startup probes: how late the kubelet notices.",
    lambda memory: memory.reactions.histogram,
    kind="histogram",
    unit="seconds",
)

TABLES = (
    Table(starts, (POD_START_SECONDS,)),
    Table(stages, (POD_START_STAGE,)),
    Table(outcomes, (POD_STARTS,)),
    Table(skipped, (SKIPPED,)),
    Table(inconsistent, (INCONSISTENT,)),
    Table(memories, (LATE, IMAGE_PULL, STATUS_REACTION)),
    Table(progress, (PODS_STARTING, OLDEST)),
    Table(capabilities, (CAPABILITY,)),
)
