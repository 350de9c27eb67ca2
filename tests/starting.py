"""Constructed starts: pods, counters and the Node as the decoders give them, with times in seconds after BEGIN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubelet_exporter.catalog.pod_start import memory as pod_start
from kubelet_exporter.catalog.pod_start.evidence import BORN, PULL, SANDBOX_ERRORS, SANDBOXES, STORAGE
from kubelet_exporter.catalog.pod_start.judge import Pull
from kubelet_exporter.catalog.pod_start.memory import Memory
from kubelet_exporter.catalog.pod_start.track import Track
from kubelet_exporter.pod import Container, Pod
from kubelet_exporter.samples import Metrics, Sample
from kubelet_exporter.snapshot import Condition, Node, Reading, Snapshot, Source

BEGIN = 1_800_000_000.0
TIMES = {
    *("created", "scheduled", "seen", "accepted", "sandbox", "initialized", "containers_ready", "ready", "deletion"),
    *("started", "finished", "last_started"),
}
NO_IMAGE = "failed to pull and unpack image: failed to resolve reference: not found"


def _absolute(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: BEGIN + value if key in TIMES and value is not None else value for key, value in fields.items()}


def container(name: str = "app", **fields: Any) -> Container:
    """A container; an app that has not started unless told otherwise."""
    return Container(name, **_absolute(fields))


def app(started: float | None = None, **fields: Any) -> Container:
    """The app container, started at a time."""
    return container(started=started, **fields)


def pod(uid: str = "a", at: float = 10.0, *containers: Container, **fields: Any) -> Pod:
    """A pod that was created, bound and seen at a time."""
    known = {"namespace": "shop", "name": f"web-{uid}", "phase": "Pending", "created": at, "scheduled": at, "seen": at}
    return Pod(uid, containers=containers or (app(),), **_absolute({**known, **fields}))


def started(uid: str = "a", at: float = 10.0, after: float = 1.0, **fields: Any) -> Pod:
    """A pod whose only container started some seconds after it was seen."""
    return pod(uid, at, app(at + after), **{"phase": "Running", "sandbox": at, **fields})


def samples(values: Mapping[str, float], label: str) -> tuple[Sample, ...]:
    """One sample for each value of a label."""
    return tuple(Sample({label: key}, value) for key, value in values.items())


class Starts:
    """A node whose readings come one by one; 1.36 unless told otherwise."""

    def __init__(self, memory: Memory | None = None, version: str | None = "v1.36.2") -> None:
        """Begin with nothing read but the Node, if its version is known."""
        self.memory = replace(memory or Memory(), events_may_come=True)
        self.snapshot = Snapshot("node-a", BEGIN)
        if version:
            self.node(version)

    def take(self, source: Source, value: Any, at: float, steady: float | None = None) -> Starts:
        """Take one reading; `steady` is its time on a clock that is never stepped, None as in recordings."""
        reading = Reading(source, BEGIN + at, 0.01, value=value, read_at=BEGIN + at, hold=1e9, steady=steady)
        self.snapshot = self.snapshot.take(reading, BEGIN + at)
        self.memory = pod_start.advance(self.memory, self.snapshot)
        return self

    def node(self, version: str = "v1.36.2", created: float = -1e6, ready: float = -1e6) -> Starts:
        """Read the Node."""
        conditions = (Condition("Ready", "True", BEGIN + ready),)
        value = Node("node-a", created=BEGIN + created, kubelet_version=version, conditions=conditions)
        return self.take(Source.NODE, value, 0.0)

    def pods(self, at: float, *pods: Pod, steady: float | None = None) -> Starts:
        """List these pods."""
        return self.take(Source.PODS, pods, at, steady)

    def counters(
        self,
        at: float,
        *,
        pulls: tuple[float, float] | None = (0, 0),
        errors: Mapping[str, float] | None = None,
        sandboxes: Mapping[str, float] | None = None,
        mounts: Mapping[str, float] | None = None,
        born: float = -1000.0,
    ) -> Starts:
        """Read the kubelet's counters: number and seconds of pulls, failed sandboxes by handler, failed mounts by plugin."""
        found = {
            BORN: (Sample({}, BEGIN + born),),
            SANDBOX_ERRORS: samples(errors or {}, "runtime_handler"),
            f"{SANDBOXES}_count": samples(sandboxes or errors or {}, "runtime_handler"),
            f"{STORAGE}_count": tuple(
                Sample({"volume_plugin": f"kubernetes.io/{plugin}", "status": "fail-unknown"}, value)
                for plugin, value in (mounts or {}).items()
            ),
        }
        if pulls is not None:
            found |= {f"{PULL}_count": (Sample({}, pulls[0]),), f"{PULL}_sum": (Sample({}, pulls[1]),)}
        return self.take(Source.METRICS, Metrics(found), at)

    def events(self, at: float, **pulls: Sequence[Pull]) -> Starts:
        """Read what events tell of the pulls of pods, by UID."""
        return self.take(Source.EVENTS, pulls, at)

    def track(self, uid: str = "a") -> Track:
        """What is remembered of a pod."""
        return self.memory.tracks[uid]

    def outcomes(self) -> dict[str, int]:
        """Verdicts and blames that were given, as "verdict/blame"."""
        return {f"{verdict}/{blame}": n for (verdict, blame), n in self.memory.outcomes.items() if n}

    def only(self) -> str:
        """The one verdict that was given, "" if there was none."""
        assert len(self.outcomes()) <= 1
        return next(iter(self.outcomes()), "")

    def skipped(self) -> dict[str, int]:
        """Why pods were left out."""
        return {reason: n for reason, n in self.memory.skipped.items() if n}

    def said(self) -> tuple[dict[str, int], dict[str, int]]:
        """Verdicts that were given, and why pods were left out."""
        return self.outcomes(), self.skipped()

    def stages(self) -> dict[str, float]:
        """The sum of each stage that was observed."""
        return {stage: round(tally.sum, 6) for stage, tally in self.memory.stages.items() if sum(tally.counts)}

    def clocks(self) -> dict[str, float]:
        """The sum of each clock that was observed, of both classes."""
        sums = {"platform": 0.0, "total": 0.0}
        for (_, clock), tally in self.memory.starts.items():
            sums[clock] += tally.sum
        return sums


def watched(version: str | None = "v1.36.2") -> Starts:
    """A node that has been followed since its beginning, without pods and pulls."""
    return Starts(version=version).counters(0).pods(0)


def pull(end: float, seconds: float, waited: float = 0.0) -> Pull:
    """A pull as its event tells it."""
    return Pull(BEGIN + end, seconds, waited)


def again(starts: Starts, **memory: Any) -> Starts:
    """A new exporter on the same node, which knows of the one before only what it is given."""
    fresh = Starts(Memory(**memory), None)
    fresh.snapshot = replace(starts.snapshot, readings={Source.NODE: starts.snapshot.readings[Source.NODE]})
    return fresh
