"""How long each stage of one start took."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubelet_exporter.catalog.pod_start.judge import Pulls, platform_time
from kubelet_exporter.catalog.pod_start.track import HALF, Track
from kubelet_exporter.catalog.tally import covered


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds by clock and by stage; what is not known is absent. A negative stage shows inconsistent clocks."""

    clocks: Mapping[str, float] = field(default_factory=dict)
    stages: Mapping[str, float] = field(default_factory=dict)
    pull: float | None = None


def times(track: Track, pulls: Pulls | None) -> Times:
    """The times of a pod that has started. Without its pull time only the clock that contains it and the stages before are known.

    From the pod's being seen to its start, the stages add up to the total: prepare, init, pull, pull_wait, containers.
    """
    end = track.started
    if end is None:
        return Times()
    total = end - track.begin
    clocks = {"total": total}
    sandbox = _sandbox(track, end, pulls)
    stages = {**_handoff(track), **_prepare(track, sandbox, pulls)}
    inits = covered(track.inits(end), (sandbox, end))
    if inits:
        stages["init"] = inits
    platform = platform_time(track, end, pulls) if pulls else None
    if pulls is None or platform is None:
        return Times(clocks, stages)
    clocks["platform"] = platform
    pull = min(_apart(track, pulls, end), max(0.0, end - (sandbox if "prepare" in stages else track.begin) - inits))
    if pull:
        stages["pull"] = pull - min(pull, pulls.waited or 0.0)
        if pulls.waited is not None:
            stages["pull_wait"] = min(pull, pulls.waited)
    if "prepare" in stages:
        stages["containers"] = total - stages["prepare"] - inits - pull
    return Times(clocks, stages, stages.get("pull"))


def _handoff(track: Track) -> Mapping[str, float]:
    """Scheduled to seen, on two clocks."""
    if track.pod.scheduled is None or track.seen is None:
        return {}
    return {"handoff": track.seen - (track.pod.scheduled + HALF)}


def _prepare(track: Track, sandbox: float, pulls: Pulls | None) -> Mapping[str, float]:
    """Seen to sandbox, unless its time may contain a pull."""
    unknown = pulls is None or (pulls.most > 0 and not pulls.intervals)
    if track.sandbox is None or (unknown and not track.exact):
        return {}
    return {"prepare": sandbox - track.begin}


def _sandbox(track: Track, end: float, pulls: Pulls | None) -> float:
    """When the sandbox was ready, at the latest when the first container started, or its image was first pulled."""
    pulled = [] if pulls is None or track.exact else [begin for begin, _ in pulls.intervals]
    first = min([*track.starts.values(), *pulled], default=end)
    return max(track.begin, min(first, end, track.sandbox if track.sandbox is not None else end))


def _apart(track: Track, pulls: Pulls, end: float) -> float:
    """Pull time that is not init time."""
    if not pulls.intervals:
        return pulls.most
    inits = track.inits(end)
    within = (track.begin, end)
    return covered([*inits, *pulls.intervals], within) - covered(inits, within)
