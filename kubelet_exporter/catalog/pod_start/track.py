"""One pod on its way: what its status told over time, of which the latest status shows only the latest.

Times of Kubernetes are cut to whole seconds: the middle of the second is taken, so that differences to the kubelet's exact
`config.seen` are unbiased.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kubelet_exporter.catalog import blame
from kubelet_exporter.catalog.blame import Blame
from kubelet_exporter.catalog.facts.times import TIME_RESOLUTION
from kubelet_exporter.catalog.tally import Interval, covered
from kubelet_exporter.pod import Pod

HALF = TIME_RESOLUTION.value / 2


@dataclass(frozen=True, slots=True)
class Track:
    """What is known of one pod's start, keyed elsewhere by UID.

    `listed` is when it was first listed, `exact` whether its sandbox's time is; `starts` when each container started for the
    first time; `blocks` when user or registry held it up, and `blocked` since when they do; `evidence` whom the node's own
    counters blame; `skip` why it is not counted, "" if it is; `verdict` is "" while there is none; `missing` whether the last
    listing lacked it.
    """

    pod: Pod
    listed: float
    exact: bool = False
    skip: str = ""
    seen: float | None = None
    sandbox: float | None = None
    starts: Mapping[str, float] = field(default_factory=dict)
    containers_ready: float | None = None
    ready: float | None = None
    blocks: tuple[Interval, ...] = ()
    blocked: float | None = None
    blocker: Blame = "none"
    evidence: Blame = "none"
    interrupted: bool = False
    verdict: str = ""
    followed: bool = False
    missing: bool = False

    @property
    def begin(self) -> float:
        """When the kubelet saw the pod, or as near as is known."""
        return self.seen if self.seen is not None else self.listed

    @property
    def stateful(self) -> bool:
        """Whether it has volumes that must be attached or mounted."""
        return not self.pod.stateless

    @property
    def started(self) -> float | None:
        """When the last of its containers and sidecars started for the first time; None if one never did or nothing tells when."""
        needed = [container.name for container in self.pod.containers if container.role != "init"]
        if not needed or any(name not in self.starts for name in needed):
            return None
        return max(self.begin, *(self.starts[name] for name in needed))

    @property
    def started_somehow(self) -> bool:
        """Whether all of its containers were started, even if nothing tells when."""
        needed = [container for container in self.pod.containers if container.role != "init"]
        return bool(needed) and all(container.name in self.starts or container.was_started for container in needed)

    def inits(self, now: float) -> list[Interval]:
        """When its init containers ran, from the first start to the last end of each, and its sidecars until their startup probe."""
        return [
            (self.starts.get(each.name, self.sandbox or self.begin), self._done(place, now))
            for place, each in enumerate(self.pod.containers)
            if (each.role == "init" or (each.role == "sidecar" and each.startup))
            and (each.name in self.starts or each.was_started)
        ]

    def _done(self, place: int, now: float) -> float:
        """When an init container ended or a sidecar let the next container start."""
        container, *later = self.pod.containers[place:]
        if container.role == "init":
            return now if container.finished is None else container.finished + HALF
        begun = [self.starts[each.name] for each in later if each.name in self.starts]
        initialized = _middle(self.pod.initialized)
        return min([*begun, *([] if initialized is None else [initialized])], default=now)

    def held_up(self, now: float) -> list[Interval]:
        """When user or registry held it up."""
        return [*self.blocks, (self.blocked, now)] if self.blocked is not None else [*self.blocks]

    def node_time(self, end: float) -> float:
        """Seconds from seen to `end` without init containers and waits of the user's or registry's making; pulls are in it."""
        return max(0.0, end - self.begin) - covered([*self.inits(end), *self.held_up(end)], (self.begin, end))

    @property
    def got_on(self) -> float:
        """When it last got on: it was seen, its sandbox was ready, a container started, an init container ended."""
        ends = [
            each.finished + HALF for each in self.pod.containers if each.role == "init" and each.finished is not None
        ]
        return max(self.begin, self.sandbox or self.begin, *self.starts.values(), *ends)

    @property
    def stage(self) -> str:
        """Where it is: prepare (volumes and sandbox), init or containers."""
        if self.sandbox is None and not self.starts:
            return "prepare"
        inits = any(each.role != "app" for each in self.pod.containers)
        return "init" if inits and self.pod.initialized is None else "containers"


def begun(pod: Pod, now: float, *, exact: bool) -> Track:
    """The track of a pod that is listed for the first time.

    `exact` tells whether this kubelet's PodReadyToStartContainers is set right after the sandbox, as from 1.36 on; before it is
    set after the first image pull, an upper bound of which the first start of a container may be the better one.
    """
    return followed(Track(pod, now, exact), pod, now)


def followed(track: Track, pod: Pod, now: float) -> Track:
    """The track after one more listing; first times stay, whatever the status shows later."""
    starts = {each.name: each.first_started + HALF for each in pod.containers if each.first_started is not None} | dict(
        track.starts
    )
    seen = _seen(track, pod)
    sandbox = track.sandbox if track.sandbox is not None else _sandbox(pod, starts, exact=track.exact)
    restarted = any(each.restarts for each in pod.containers if each.role != "init")
    return _held_up(
        replace(
            track,
            pod=pod,
            missing=False,
            seen=seen,
            starts=starts,
            sandbox=None if sandbox is None else max(sandbox, seen or sandbox),
            containers_ready=_first(track.containers_ready, pod.containers_ready, lost=restarted),
            ready=_first(track.ready, pod.ready, lost=restarted),
            interrupted=track.interrupted or _seen_again(track, pod),
        ),
        pod,
        now,
    )


def _seen(track: Track, pod: Pod) -> float | None:
    """When the kubelet first saw it: a kubelet that restarts sees all its pods anew."""
    if track.seen is not None:
        return track.seen
    return pod.seen if pod.seen is not None else _middle(pod.accepted)


def _seen_again(track: Track, pod: Pod) -> bool:
    return track.seen is not None and pod.seen is not None and pod.seen - track.seen > TIME_RESOLUTION.value


def _sandbox(pod: Pod, starts: Mapping[str, float], *, exact: bool) -> float | None:
    condition = _middle(pod.sandbox)
    if exact:
        return condition
    return min([*starts.values(), *([] if condition is None else [condition])], default=None)


def _first(known: float | None, now: float | None, *, lost: bool) -> float | None:
    """The first time of a condition: after a restart of a container the status shows a later one."""
    if known is not None or lost:
        return known
    return _middle(now)


def _held_up(track: Track, pod: Pod, now: float) -> Track:
    """Open or close the wait that user or registry are to blame for.

    It began when the pod last got on, for the attempt that failed is part of it. A back-off need not tell its cause: in 1.31 that
    of a pull does not.
    """
    if track.started is not None:
        culprit: Blame = "none"
    else:
        culprit = blame.of_containers(pod) or "none"
    evidence = culprit if culprit not in ("none", "user", "registry", "unknown") else track.evidence
    if culprit == "unknown" and track.blocked is not None:
        return track
    holds = culprit in ("user", "registry")
    if holds and track.blocked is None:
        return replace(track, blocked=min(now, track.got_on), blocker=culprit, evidence=evidence)
    if not holds and track.blocked is not None:
        return replace(track, blocks=(*track.blocks, (track.blocked, now)), blocked=None, evidence=evidence)
    return replace(track, blocker=culprit if holds else track.blocker, evidence=evidence)


def _middle(time: float | None) -> float | None:
    return None if time is None else time + HALF
