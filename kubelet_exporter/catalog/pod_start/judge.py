"""The verdict on one start: good, slow, failed, excluded or unknown, and whose fault it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kubelet_exporter.catalog import blame
from kubelet_exporter.catalog.blame import Blame
from kubelet_exporter.catalog.facts.pod_start import (
    START_BLOCK,
    START_CLOCK,
    START_GOOD,
    START_GOOD_STATEFUL,
    START_SETTLE,
)
from kubelet_exporter.catalog.facts.times import TIME_RESOLUTION
from kubelet_exporter.catalog.pod_start.evidence import Window, pulled
from kubelet_exporter.catalog.pod_start.track import HALF, Track
from kubelet_exporter.catalog.tally import Interval, covered

Verdict = Literal["good", "slow", "failed", "excluded", "unknown"]

NODE_BLAMES: tuple[Blame, ...] = ("runtime", "network", "storage", "node", "unknown")
PAIRS: tuple[tuple[Verdict, Blame], ...] = (
    ("good", "none"),
    *(("slow", each) for each in NODE_BLAMES),
    *(("failed", each) for each in ("user", "registry", "control_plane", *NODE_BLAMES)),
    ("excluded", "none"),
    ("unknown", "none"),
)


@dataclass(frozen=True, slots=True)
class Pull:
    """One pull of an image for a pod, from an event: when it ended, how long it took, and how long it waited in the queue."""

    end: float
    seconds: float
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Pulls:
    """What is known of a pod's pulls: at most `most` seconds, or just that if `exact`.

    Where events tell, `intervals` are when, and `waited` seconds of it were spent in the queue.
    """

    most: float
    exact: bool = False
    intervals: tuple[Interval, ...] = ()
    waited: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, its blame, and why the start is left out if it is."""

    verdict: Verdict
    blame: Blame = "none"
    skip: str = ""
    pulls: Pulls | None = None


def threshold(track: Track) -> float:
    """Seconds of node time within which this start is good."""
    return (START_GOOD_STATEFUL if track.stateful else START_GOOD).value


def judged(
    track: Track,
    now: float,
    windows: Sequence[Window],
    events: Mapping[str, Sequence[Pull]],
    *,
    alone: bool,
    events_may_come: bool = False,
) -> Judgement | None:
    """The verdict, None as long as there is none. `alone` tells that no other pod was starting meanwhile."""
    if track.started is not None:
        pulls = pulls_of(track, track.started, windows, events, alone=alone)
        settled = now - track.started > START_SETTLE.value or (pulls is not None and not events_may_come)
        return _of_started(track, track.started, pulls, settled=settled)
    if track.started_somehow:
        return Judgement("unknown", skip="start_time_lost")
    if track.pod.over:
        return _of_ended(track, now)
    if track.pod.deletion is not None:
        return _of_deleted(track, track.pod.deletion, now)
    return _of_stuck(track, now)


def pulls_of(
    track: Track, end: float, windows: Sequence[Window], events: Mapping[str, Sequence[Pull]], *, alone: bool
) -> Pulls | None:
    """What is known of the pulls of a pod: from events exactly, else from the growth of the kubelet's histogram.

    No growth means no pull. Growth while no other pod was starting is this pod's, unless part of it lies in a wait that is
    left out already. Else it is an upper bound; one within the resolution of times is nothing for a start that is good anyhow.
    """
    if (told := events.get(track.pod.uid)) is not None:
        intervals = tuple((pull.end - pull.seconds - pull.waited, pull.end) for pull in told)
        length = covered(intervals, (track.begin, end))
        return Pulls(length, exact=True, intervals=intervals, waited=sum(pull.waited for pull in told))
    found = pulled(windows, (track.begin, end))
    if found is None:
        return None
    count, seconds = found
    exact = count == 0 or (alone and not track.blocks)
    if not exact and seconds <= TIME_RESOLUTION.value and track.node_time(end) <= threshold(track):
        return Pulls(0.0, exact=True)
    return Pulls(seconds, exact=exact)


def platform_time(track: Track, end: float, pulls: Pulls) -> float | None:
    """Node time without pulls, None if their time is not known."""
    if not pulls.exact:
        return None
    if not pulls.intervals:
        return _least(track, end, pulls)
    apart = [*track.inits(end), *track.held_up(end), *pulls.intervals]
    return max(0.0, end - track.begin - covered(apart, (track.begin, end)))


def _least(track: Track, end: float, pulls: Pulls | None) -> float:
    """Node time that surely was no pull: what is left of the total, or all of it before an exact sandbox."""
    left = track.node_time(end) - pulls.most if pulls else 0.0
    before = track.node_time(min(end, track.sandbox)) if track.exact and track.sandbox is not None else 0.0
    return max(0.0, left, before)


def _slow(track: Track, pulls: Pulls | None) -> Judgement:
    """Slow, unless a volume that waits for an object of the user's may have been the cause."""
    if track.evidence == "user" and track.sandbox is not None and track.sandbox - track.begin > threshold(track):
        return Judgement("excluded", skip="user_evidence", pulls=pulls)
    return Judgement("slow", culprit(track), pulls=pulls)


def _of_started(track: Track, end: float, pulls: Pulls | None, *, settled: bool) -> Judgement | None:
    """The verdict on a pod that has started; `settled` tells that no more will be known of its pulls."""
    limit, total = threshold(track), track.node_time(end)
    exact = platform_time(track, end, pulls) if pulls else None
    if exact is not None:
        return Judgement("good", pulls=pulls) if exact <= limit else _slow(track, pulls)
    if total <= limit and (pulls or settled):
        return Judgement("good", pulls=pulls)
    if _least(track, end, pulls) > limit and (pulls or settled):
        return _slow(track, pulls)
    return Judgement("excluded", skip="pull_unknown") if settled else None


def undecided(track: Track, judgement: Judgement | None) -> bool:
    """Whether only the pod's pull time is missing for a verdict, which its events would tell."""
    if judgement is not None or track.started is None:
        return False
    return _least(track, track.started, None) <= threshold(track) < track.node_time(track.started)


def _of_ended(track: Track, now: float) -> Judgement:
    if blame.taken_away(track.pod):
        return Judgement("excluded", skip="taken_away")
    rejected = blame.of_rejection(track.pod)
    if rejected:
        return Judgement("failed", rejected)
    if track.pod.deletion is not None:
        return _of_deleted(track, track.pod.deletion, now)
    held = blame.of_containers(track.pod)
    ran = any(each.role == "init" and each.name in track.starts for each in track.pod.containers)
    return Judgement("failed", held or ("user" if ran else culprit(track)))


def _of_deleted(track: Track, deletion: float, now: float) -> Judgement:
    """Right-censored: what is slow already is bad, though somebody took it away; the rest is left out.

    The deletion's time is that of its request and the grace. Before an exact sandbox, or while sandboxes and mounts fail, nothing
    is pulled.
    """
    if blame.taken_away(track.pod):
        return Judgement("excluded", skip="taken_away")
    asked = min(now, deletion - (track.pod.grace or 0.0) + HALF)
    reached = asked if track.sandbox is None else min(asked, track.sandbox)
    pulled_nothing = track.exact or (track.sandbox is None and track.evidence != "none")
    if track.evidence == "user" or not pulled_nothing or track.node_time(reached) <= threshold(track):
        return Judgement("excluded", skip="deleted")
    return Judgement("slow", culprit(track))


def _of_stuck(track: Track, now: float) -> Judgement | None:
    if track.blocked is not None:
        return Judgement("failed", track.blocker) if now - track.blocked > START_BLOCK.value else None
    if _by_its_user(track):
        return Judgement("failed", "user") if now - track.begin > START_BLOCK.value else None
    # Behind the sandbox an image may be being pulled, which nothing tells before it ends.
    pulls_nothing = (track.exact and track.sandbox is None) or track.evidence not in ("none", "user")
    patience = START_CLOCK if pulls_nothing else START_BLOCK
    return Judgement("failed", culprit(track)) if track.node_time(now) > patience.value else None


def _by_its_user(track: Track) -> bool:
    """Whether it lacks something that its user should have made, or its init containers fail again and again."""
    failing = any(each.role == "init" and each.restarts for each in track.pod.containers)
    return (track.evidence == "user" and track.sandbox is None) or (track.stage == "init" and failing)


def culprit(track: Track) -> Blame:
    """Whom time lost on the node is blamed on: by evidence, else the node up to the sandbox and the runtime behind it.

    A pod that never started and shows no evidence may have waited for a pull, unless an exact sandbox is missing: unknown.
    """
    if track.evidence not in ("none", "user", "registry", "control_plane"):
        return track.evidence
    if track.sandbox is None:
        return "node" if track.exact else "unknown"
    if track.sandbox - track.begin > threshold(track):
        return "node"
    return "runtime" if track.started is not None else "unknown"
