"""What the fold of pod starts makes of a film, pod by pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pytest

from kubelet_exporter import catalog
from kubelet_exporter.catalog.pod_start.judge import judged
from kubelet_exporter.catalog.pod_start.memory import STAGES, Memory, _alone
from kubelet_exporter.catalog.pod_start.stages import times
from kubelet_exporter.catalog.pod_start.track import Track
from kubelet_exporter.snapshot import Reading, Snapshot, Source
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.endpoints import PATHS, decoders

RECORDINGS = Path(__file__).parent / "recordings"
LATER = 700.0  # longer than anybody may hold up a start


class Row(NamedTuple):
    """What is right for one pod, and why; seconds, None where they cannot be known. A UID tells pods of one name apart."""

    name: str
    verdict: str
    blame: str = "none"
    skip: str = ""
    prepare: float | None = None
    init: float | None = None
    pull: float | None = None
    pull_wait: float | None = None
    containers: float | None = None
    why: str = ""
    uid: str = ""

    @property
    def stages(self) -> dict[str, float]:
        """The stages that are known."""
        stages = {name: getattr(self, name) for name in ("prepare", "init", "pull", "pull_wait", "containers")}
        return {name: seconds for name, seconds in stages.items() if seconds is not None}


@dataclass(frozen=True, slots=True)
class Found:
    """What the fold said of one pod, and after how many seconds of the film."""

    verdict: str
    blame: str
    skip: str
    stages: Mapping[str, float]
    at: float


@dataclass(slots=True)
class Fold:
    """The memory of a node whose readings come one by one, and what was said of each pod."""

    snapshot: Snapshot = field(default_factory=lambda: Snapshot("node-a", 0.0))
    ledger: catalog.Ledger = field(
        default_factory=lambda: {**catalog.first_ledger(), "pod_start": Memory(events_may_come=True)}
    )
    begin: float = 0.0
    found: dict[str, Found] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def memory(self) -> Memory:
        """What is remembered of starts."""
        memory: Memory = self.ledger["pod_start"]
        return memory

    def take(self, readings: Iterable[Reading]) -> Fold:
        """Take readings and note each verdict when it is given."""
        for reading in readings:
            self.begin = self.begin or reading.attempted_at
            self.snapshot = self.snapshot.take(reading, reading.attempted_at)
            self.ledger = catalog.advance(self.ledger, self.snapshot)
            for uid, track in self.memory.tracks.items():
                self.names[uid] = track.pod.name
                if uid not in self.found and (track.skip or track.verdict):
                    self.found[uid] = self._said(track)
        return self

    def _said(self, track: Track) -> Found:
        at = self.snapshot.now - self.begin
        if track.skip:
            return Found("", "none", track.skip, {}, at)
        memory, now = self.memory, self.snapshot.read_at(Source.PODS)
        said = judged(
            replace(track, verdict=""),
            now,
            memory.windows,
            self.snapshot.pulls,
            alone=_alone(track, memory),
            events_may_come=memory.events_may_come,
        )
        assert said
        stages = {name: seconds for name, seconds in times(track, said.pulls).stages.items() if name != "handoff"}
        return Found(said.verdict, said.blame, said.skip, stages, at)

    def later(self, seconds: float = LATER) -> Fold:
        """Read the same pods once more after a while."""
        last = self.snapshot.readings[Source.PODS]
        then = last.attempted_at + seconds
        return self.take([replace(last, attempted_at=then, read_at=then)])

    def of(self, row: Row) -> Found | None:
        """What was said of the pod of a row."""
        uids = [uid for uid, name in self.names.items() if name == row.name and uid.startswith(row.uid)]
        assert len(uids) == 1, f"{row.name}: {uids}"
        return self.found.get(uids[0])

    def undecided(self) -> set[str]:
        """The names of pods of which nothing was said yet."""
        return {name for uid, name in self.names.items() if uid not in self.found}


def film(name: str) -> list[Reading]:
    """All readings of a film."""
    return list(recording.readings(recording.load(RECORDINGS / f"{name}.jsonl.gz"), PATHS, decoders()))


def check(fold: Fold, rows: Sequence[Row]) -> None:
    """Every pod is in the table, all is as the table says, and the counters say the same."""
    for row in rows:
        found = fold.of(row)
        assert found, row
        assert (row.verdict, row.blame, row.skip) == (found.verdict, found.blame, found.skip), row
        assert row.stages == pytest.approx(found.stages, abs=0.001), row
    assert len(rows) == len(fold.names)
    counted = {pair: count for pair, count in fold.memory.outcomes.items() if count}
    assert Counter((row.verdict, row.blame) for row in rows if row.verdict) == counted
    skipped = {reason: count for reason, count in fold.memory.skipped.items() if count}
    assert Counter(row.skip for row in rows if row.skip) == skipped
    for stage in set(STAGES) - {"handoff", "ready_app", "ready_gates"}:
        times = [row.stages[stage] for row in rows if stage in row.stages]
        tally = fold.memory.stages[stage]
        assert len(times) == sum(tally.counts), stage
        assert sum(times) == pytest.approx(tally.sum, abs=0.01), stage
