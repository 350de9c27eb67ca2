"""The memory of all starts on a node: a pure fold over readings, keyed by pod UID, bounded by the pods that are listed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from kubelet_exporter.catalog.blame import Blame
from kubelet_exporter.catalog.facts.pod_start import START_BLOCK, START_BOOTSTRAP
from kubelet_exporter.catalog.facts.times import TIME_RESOLUTION
from kubelet_exporter.catalog.pod_start.evidence import Counters, Window, against, between, counters, span
from kubelet_exporter.catalog.pod_start.judge import PAIRS, Judgement, Pull, Verdict, judged, undecided
from kubelet_exporter.catalog.pod_start.stages import Times, times
from kubelet_exporter.catalog.pod_start.track import HALF, Track, begun, followed
from kubelet_exporter.catalog.tally import STAGE_BOUNDS, START_BOUNDS, Tally, empty, observed
from kubelet_exporter.pod import Pod
from kubelet_exporter.snapshot import Node, Reading, Snapshot, Source

STAGES = ("handoff", "prepare", "init", "pull", "pull_wait", "containers", "ready_app", "ready_gates")
SKIPS = (
    "preexisting",
    "restart_window",
    "static",
    "bootstrap",
    "pull_unknown",
    "deleted",
    "taken_away",
    "start_time_lost",
    "vanished",
    "interrupted",
    "user_evidence",
)
CLASSES = ("stateless", "stateful")
CLOCKS = ("platform", "total")
# Windows older than any start that may still be judged are forgotten.
REMEMBERED = 2 * START_BLOCK.value


@dataclass(frozen=True, slots=True)
class Memory:
    """Tracks of the pods that are listed, what was counted, and the recent windows of the node's counters.

    `first` is when pods were first listed; `checkpoint` when an exporter before this one listed them last, `counted` the UIDs
    that were given a verdict and `pending` those that it still followed; `departed` until when pods that are listed no more may
    have pulled images; `events_may_come` whether the events of pods are asked for.
    """

    tracks: Mapping[str, Track] = field(default_factory=dict)
    first: float | None = None
    checkpoint: float | None = None
    counted: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    outcomes: Mapping[tuple[Verdict, Blame], int] = field(default_factory=lambda: dict.fromkeys(PAIRS, 0))
    skipped: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(SKIPS, 0))
    inconsistent: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    late: int = 0
    starts: Mapping[tuple[str, str], Tally] = field(
        default_factory=lambda: {(each, clock): empty(START_BOUNDS) for each in CLASSES for clock in CLOCKS}
    )
    stages: Mapping[str, Tally] = field(default_factory=lambda: dict.fromkeys(STAGES, empty(STAGE_BOUNDS)))
    reactions: Tally = field(default_factory=lambda: empty(STAGE_BOUNDS))
    pulls: Tally = field(default_factory=lambda: empty(STAGE_BOUNDS))
    counters: Counters | None = None
    windows: tuple[Window, ...] = ()
    departed: float = 0.0
    clocks: tuple[float, float] | None = None
    events_may_come: bool = False


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after one reading of pods, of the kubelet's metrics or of events."""
    match snapshot.latest:
        case Source.PODS if snapshot.fresh(Source.PODS) and snapshot.pods is not None:
            return _judge_all(_listed(memory, snapshot, snapshot.pods), snapshot)
        case Source.METRICS if snapshot.fresh(Source.METRICS) and snapshot.metrics is not None:
            return _judge_all(_measured(memory, snapshot), snapshot)
        case Source.EVENTS if snapshot.fresh(Source.EVENTS):
            return _judge_all(memory, snapshot)
    return memory


def exact_sandbox(snapshot: Snapshot) -> bool:
    """Whether this kubelet sets PodReadyToStartContainers right after the sandbox: from 1.36 on."""
    return snapshot.kubelet_minor is not None and snapshot.kubelet_minor >= (1, 36)


def pending(memory: Memory) -> frozenset[str]:
    """The UIDs of pods that are followed and have no verdict yet."""
    return frozenset(uid for uid, track in memory.tracks.items() if not track.skip and not track.verdict)


def undecided_pods(memory: Memory, now: float) -> Sequence[Pod]:
    """Pods whose events would tell whether they were slow."""
    tracks = [track for track in memory.tracks.values() if not track.skip and not track.verdict]
    return [
        track.pod
        for track in tracks
        if undecided(track, judged(track, now, memory.windows, {}, alone=_alone(track, memory), events_may_come=True))
    ]


def _listed(memory: Memory, snapshot: Snapshot, pods: Sequence[Pod]) -> Memory:
    """The memory after a listing. A pod is gone when two in a row lack it: one malformed pod or a starting kubelet is no end."""
    now, exact = snapshot.read_at(Source.PODS), exact_sandbox(snapshot)
    if memory.first is None:  # of those that an exporter before this one counted, only the listed ones matter any more
        memory = replace(memory, counted=memory.counted & {pod.uid for pod in pods})
    clocks = _clocks(snapshot.readings[Source.PODS])
    step = _step(memory.clocks, clocks)
    if step:
        memory = replace(_interrupted(memory), checkpoint=None)
    memory = replace(memory, first=(memory.first or now) + min(0.0, step), clocks=clocks)
    tracks: dict[str, Track] = {}
    for pod in pods:
        last = memory.tracks.get(pod.uid)
        if last is None:
            track = begun(pod, now, exact=exact)
            skip = _skip(memory, track, snapshot.node, now) or ("interrupted" if step else "")
            tracks[pod.uid] = _blamed(replace(track, skip=skip), memory.windows[-1:])
            memory = _skipped(memory, skip)
        elif last.pod is pod and (last.verdict or last.skip) and last.blocked is None and not last.missing:
            tracks[pod.uid] = last
        else:
            tracks[pod.uid] = followed(replace(last, exact=last.exact or exact), pod, now)
    lacking = [track for uid, track in memory.tracks.items() if uid not in tracks]
    tracks |= {track.pod.uid: replace(track, missing=True) for track in lacking if not track.missing}
    gone = [track for track in lacking if track.missing]
    departed = max([memory.departed, *(now if track.started is None else track.started for track in gone)])
    return replace(_vanished(memory, gone), tracks=tracks, departed=departed)


def _clocks(reading: Reading) -> tuple[float, float] | None:
    """When a listing was attempted on the wall clock and on the steady one, None if that is not known."""
    return None if reading.steady is None else (reading.attempted_at, reading.steady)


def _step(last: tuple[float, float] | None, now: tuple[float, float] | None) -> float:
    """By how many seconds the wall clock was stepped between two listings; 0 for what is within the resolution of times."""
    if last is None or now is None:
        return 0.0
    step = (now[0] - last[0]) - (now[1] - last[1])
    return step if abs(step) > TIME_RESOLUTION.value else 0.0


def _interrupted(memory: Memory) -> Memory:
    """The memory after a step of the wall clock: starts in progress lie on two clocks, so they are lost and no more timed."""
    memory = _closed(memory, memory.tracks.values(), "interrupted")
    return replace(memory, tracks={uid: replace(each, interrupted=True) for uid, each in memory.tracks.items()})


def _skip(memory: Memory, track: Track, node: Node | None, now: float) -> str:
    """Why a pod that is listed for the first time is not counted, "" if it is."""
    pod = track.pod
    if pod.static:
        return "static"
    if pod.uid in memory.counted:
        return "preexisting"
    if now == memory.first and pod.uid in memory.pending:
        return ""
    bound = pod.scheduled if pod.scheduled is not None else pod.created
    if _old(memory, pod, bound, now):
        return "preexisting" if track.started_somehow or pod.over else "restart_window"
    if _restarted_since(track):
        return "preexisting"
    return "bootstrap" if _new_node(node, bound) else ""


def _old(memory: Memory, pod: Pod, bound: float | None, now: float) -> bool:
    """Whether a pod came before this exporter, or before the last listing of the one before it.

    Without the kubelet's own time only the first listing can tell: later a pod may have been bound long before it was seen.
    """
    since = memory.first if memory.checkpoint is None else memory.checkpoint
    if pod.seen is not None and since is not None:
        return pod.seen < since
    return now == memory.first and (bound is None or since is None or bound + HALF < since)


def _restarted_since(track: Track) -> bool:
    """Whether the kubelet saw the pod after it had accepted or started it: it restarted and saw all its pods anew."""
    seen, accepted = track.pod.seen, track.pod.accepted
    if seen is None:
        return False
    anew = accepted is not None and seen - accepted > 2 * TIME_RESOLUTION.value
    return anew or any(start + HALF < seen for start in track.starts.values())


def _new_node(node: Node | None, bound: float | None) -> bool:
    if node is None or node.created is None or bound is None:
        return False
    ready = next(
        (each.transition for each in node.conditions if each.condition == "Ready" and each.status == "True"), None
    )
    young = ready is not None and ready - node.created < START_BOOTSTRAP.value
    return young and ready is not None and bound < ready + START_BOOTSTRAP.value


def _measured(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after a reading of the counters, which may tell against pods that have no sandbox yet."""
    metrics, now = snapshot.metrics, snapshot.read_at(Source.METRICS)
    if metrics is None:
        return memory
    fresh = counters(metrics, now)
    if memory.counters is None:
        return replace(memory, counters=fresh)
    minor = snapshot.kubelet_minor
    window = between(
        memory.counters, fresh, pulls_known=fresh.pulls is not None or (minor is not None and minor >= (1, 30))
    )
    windows = (*(each for each in memory.windows if now - each.end < REMEMBERED), window)
    tracks = {uid: _blamed(track, (window,)) for uid, track in memory.tracks.items()}
    return replace(memory, counters=fresh, windows=windows, tracks=tracks)


def _blamed(track: Track, windows: Iterable[Window]) -> Track:
    """The track with what these windows tell against a pod that has no sandbox yet."""
    for window in windows:
        if not track.verdict and track.sandbox is None and not track.starts and track.begin < window.end:
            track = replace(track, evidence=against(track.pod, window) or track.evidence)
    return track


def _judge_all(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after every pod was judged by what was known of it when it was last listed."""
    if not memory.tracks:
        return memory
    now = snapshot.read_at(Source.PODS)
    events: Mapping[str, Sequence[Pull]] = snapshot.pulls
    for uid, track in memory.tracks.items():
        if track.skip or track.missing or (track.verdict and track.followed):
            continue
        if not track.verdict:
            alone = _alone(track, memory)
            judgement = judged(track, now, memory.windows, events, alone=alone, events_may_come=memory.events_may_come)
            memory = _counted(memory, uid, judgement) if judgement else memory
        else:
            memory = _readiness(memory, uid)
    return memory


def _alone(track: Track, memory: Memory) -> bool:
    """Whether no other pod was on its way in the windows in which this one was."""
    begin, end = span(memory.windows, (track.begin, track.started if track.started is not None else inf))
    return memory.departed <= begin and not any(
        other is not track
        and other.begin < end
        and (not other.pod.over if other.started is None else other.started > begin)
        for other in memory.tracks.values()
    )


def _counted(memory: Memory, uid: str, judgement: Judgement) -> Memory:
    """The memory after a verdict: counted once, and observed where the times are known."""
    track = replace(memory.tracks[uid], verdict=judgement.verdict)
    pair = (judgement.verdict, judgement.blame)
    memory = replace(
        memory,
        tracks={**memory.tracks, uid: track},
        counted=memory.counted | {uid},
        outcomes={**memory.outcomes, pair: memory.outcomes[pair] + 1},
    )
    memory = _skipped(memory, judgement.skip)
    if track.started is None or judgement.verdict == "unknown":
        return memory
    if track.interrupted:
        return _skipped(memory, "interrupted")
    return _timed(memory, track, times(track, judgement.pulls))


def _timed(memory: Memory, track: Track, found: Times) -> Memory:
    starts, stages = dict(memory.starts), dict(memory.stages)
    inconsistent = dict(memory.inconsistent)
    kind = "stateful" if track.stateful else "stateless"
    for clock, seconds in found.clocks.items():
        starts[kind, clock] = observed(starts[kind, clock], seconds)
    for stage, seconds in found.stages.items():
        _stage(stages, inconsistent, stage, seconds)
    pulls = observed(memory.pulls, found.pull) if found.pull is not None else memory.pulls
    return replace(memory, starts=starts, stages=stages, inconsistent=inconsistent, pulls=pulls)


def _stage(stages: dict[str, Tally], inconsistent: dict[str, int], stage: str, seconds: float) -> None:
    """Observe a stage: negative by less than the resolution of times it is nothing, by more it cannot be."""
    if seconds < -TIME_RESOLUTION.value:
        inconsistent[stage] += 1
    else:
        stages[stage] = observed(stages[stage], max(0.0, seconds))


def _readiness(memory: Memory, uid: str) -> Memory:
    """Follow a pod that has started until it is Ready, for the stages of readiness and the kubelet's reaction."""
    track = memory.tracks[uid]
    late = int(track.verdict == "failed" and track.started is not None)
    if track.verdict == "failed":
        done = replace(track, followed=track.started is not None or track.pod.over)
        return replace(memory, tracks={**memory.tracks, uid: done}, late=memory.late + late)
    stages, inconsistent, reactions = dict(memory.stages), dict(memory.inconsistent), memory.reactions
    if track.started is None or track.containers_ready is None or track.interrupted:
        return memory
    if track.pod.gated and track.ready is None:
        return memory
    reaction = track.containers_ready - track.started
    _stage(stages, inconsistent, "ready_app", reaction)
    if track.pod.gated and track.ready is not None:
        _stage(stages, inconsistent, "ready_gates", track.ready - track.containers_ready)
    if not track.pod.probed and reaction >= -TIME_RESOLUTION.value:
        reactions = observed(reactions, max(0.0, reaction))
    done = replace(track, followed=True)
    return replace(
        memory, tracks={**memory.tracks, uid: done}, stages=stages, inconsistent=inconsistent, reactions=reactions
    )


def _vanished(memory: Memory, gone: Sequence[Track]) -> Memory:
    """Forget pods that are listed no more, after the verdict that is still due."""
    memory = _closed(memory, gone, "vanished")
    return replace(memory, counted=memory.counted - {track.pod.uid for track in gone})


def _closed(memory: Memory, tracks: Iterable[Track], reason: str) -> Memory:
    """Give pods the verdict that is still due: if they had not started, the exporter has lost them for a reason."""
    for track in tracks:
        if not track.verdict and not track.skip:
            lost = Judgement("unknown", skip=reason)
            ended = judged(track, inf, memory.windows, {}, alone=_alone(track, memory)) if track.started else None
            memory = _counted(memory, track.pod.uid, ended or lost)
    return memory


def _skipped(memory: Memory, reason: str) -> Memory:
    if not reason:
        return memory
    return replace(memory, skipped={**memory.skipped, reason: memory.skipped[reason] + 1})
