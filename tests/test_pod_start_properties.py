"""What holds for every start: times add up, nothing is negative, nothing is counted twice, nothing is remembered for ever."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from films import film
from hypothesis import given, settings
from hypothesis import strategies as st
from starting import BEGIN, Starts, container, pod, pull

from kubelet_exporter.catalog.facts.pod_start import START_GOOD
from kubelet_exporter.catalog.pod_start.judge import pulls_of
from kubelet_exporter.catalog.pod_start.memory import REMEMBERED, Memory, advance, pending
from kubelet_exporter.catalog.pod_start.stages import times
from kubelet_exporter.catalog.pod_start.track import begun
from kubelet_exporter.pod import Container, Pod
from kubelet_exporter.snapshot import Reading, Snapshot, Source

POLL, SCRAPE, END = 5, 15, 240
PARTS = {"prepare", "init", "pull", "pull_wait", "containers"}
VERSIONS = st.sampled_from(["v1.31.14", "v1.36.2"])
few = settings(max_examples=150, derandomize=True, deadline=None)


@dataclass(frozen=True)
class Plan:
    """What happens to one pod: when it is seen, for how long each part of its start lasts, and when it is gone."""

    uid: str
    seen: float
    prepare: float
    init: float
    wait: float
    pull: float
    create: float
    gone: float
    held: bool

    @property
    def sandbox(self) -> float:
        return self.seen + self.prepare

    @property
    def inited(self) -> float:
        return self.sandbox + self.init

    @property
    def pulled(self) -> float:
        return self.inited + (self.wait + self.pull if self.pull else 0)

    @property
    def started(self) -> float:
        return math.inf if self.held else self.pulled + self.create

    def at(self, now: float, *, exact: bool) -> Pod:
        """The pod as it is listed at a time; all but `seen` is cut to whole seconds."""

        def since(moment: float) -> float | None:
            return float(math.floor(moment)) if moment <= now else None

        init: Any = {"role": "init", "started": since(self.sandbox), "finished": since(self.inited)}
        inits = [container("init", **init)] if self.init else []
        app = container(started=since(self.started), waiting="ErrImagePull" * (self.held and now > self.pulled))
        sandbox = since(self.sandbox if exact else self.started)
        cut = float(math.floor(self.seen))
        phase = "Running" if self.started <= now else "Pending"
        known = {
            "scheduled": cut,
            "created": cut,
            "accepted": cut,
            "sandbox": sandbox,
            "initialized": since(self.inited),
        }
        return pod(self.uid, self.seen, *inits, app, phase=phase, containers_ready=since(self.started), **known)


SHORT = st.floats(0, 8)
LONG = st.one_of(st.just(0.0), st.floats(0, 40))


def plans(earliest: float = 0) -> st.SearchStrategy[list[Plan]]:
    """Plans of up to six pods."""
    one = st.builds(
        Plan,
        *(st.just(""), st.floats(earliest, 120), st.one_of(SHORT, LONG), LONG, LONG, LONG, SHORT),
        gone=st.one_of(st.just(math.inf), st.floats(10, END)),
        held=st.booleans(),
    )
    return st.lists(one, max_size=6).map(
        lambda found: [Plan(**{**vars(plan), "uid": f"uid-{place}"}) for place, plan in enumerate(found)]
    )


def listed(plans: Sequence[Plan], now: float, version: str) -> list[Pod]:
    """The pods of the node at a time."""
    return [plan.at(now, exact=version > "v1.35") for plan in plans if plan.seen <= now < max(plan.gone, plan.seen + 1)]


def steps(plans: Sequence[Plan], version: str, shuffle: random.Random | None = None) -> Iterator[tuple[float, Any]]:
    """Each poll of the node: the pods, or the number and seconds of its pulls."""
    for now in range(0, END, POLL):
        if now % SCRAPE == 0:
            done = [plan.wait + plan.pull for plan in plans if plan.pull and plan.pulled <= min(now, plan.gone)]
            yield now, (len(done), sum(done))
        pods = listed(plans, now, version)
        if shuffle:
            shuffle.shuffle(pods)
        yield now + 1, pods


def step(starts: Starts, at: float, found: Any) -> Starts:
    """Take one poll."""
    return starts.counters(at, pulls=found) if isinstance(found, tuple) else starts.pods(at, *found)


def played(plans: Sequence[Plan], version: str, shuffle: random.Random | None = None) -> Starts:
    """The node after all polls."""
    starts = Starts(version=version)
    for at, found in steps(plans, version, shuffle):
        step(starts, at, found)
    return starts


SECONDS = st.one_of(st.none(), st.floats(0, 100))


@st.composite
def containers(draw: st.DrawFn) -> list[Container]:
    """Containers with any times, sensible or not."""
    fields = st.fixed_dictionaries({"started": SECONDS, "finished": SECONDS, "startup": st.booleans()})
    roles = [*draw(st.lists(st.sampled_from(["init", "sidecar"]), max_size=3)), "app"]
    return [container(f"{place}", role=role, **draw(fields)) for place, role in enumerate(roles)]


@few
@given(
    containers(),
    st.floats(0, 100),
    SECONDS,
    SECONDS,
    st.one_of(st.none(), st.lists(st.builds(pull, st.floats(0, 120), st.floats(0, 90), st.floats(0, 60)), max_size=4)),
    st.booleans(),
)
def test_stages_of_a_start_add_up_to_its_total_and_none_is_negative(
    parts: list[Container],
    seen: float,
    sandbox: float | None,
    initialized: float | None,
    told: Any,
    exact: bool,  # noqa: FBT001
) -> None:
    listed = pod("a", seen, *parts, sandbox=sandbox, initialized=initialized)
    track = begun(listed, BEGIN + 200, exact=exact)
    end = track.started if track.started is not None else 0.0

    pulls = pulls_of(track, end, (), {} if told is None else {"a": told}, alone=True)
    found = times(track, pulls)

    own = {stage: seconds for stage, seconds in found.stages.items() if stage in PARTS}
    assert all(seconds >= -1e-6 for seconds in (*own.values(), *found.clocks.values()))
    if "containers" in own:
        assert sum(own.values()) == pytest.approx(found.clocks["total"], abs=1e-5)
    else:
        assert sum(own.values()) <= found.clocks.get("total", 0.0) + 1e-5


@few
@given(plans(), VERSIONS)
def test_no_observation_is_negative_and_a_node_with_one_clock_has_no_times_that_cannot_be(
    plans: list[Plan], version: str
) -> None:
    memory = played(plans, version).memory

    tallies = (*memory.starts.values(), *memory.stages.values(), memory.pulls, memory.reactions)
    assert all(tally.sum >= 0 for tally in tallies)
    assert 0 == sum(memory.inconsistent.values())


@few
@given(plans(5), VERSIONS)
def test_every_pod_that_was_listed_has_one_verdict_or_waits_for_it(plans: list[Plan], version: str) -> None:
    starts = played(plans, version)

    seen = {each.uid for _, found in steps(plans, version) if isinstance(found, list) for each in found}
    assert sum(starts.outcomes().values()) + len(pending(starts.memory)) + starts.skipped().get(
        "preexisting", 0
    ) == len(seen)
    assert {track.pod.uid for track in starts.memory.tracks.values() if track.verdict} == starts.memory.counted


@few
@given(plans(5), VERSIONS)
def test_a_start_is_called_slow_only_if_it_was_and_good_only_if_it_was(plans: list[Plan], version: str) -> None:
    """Within the resolution of one second at each end; image pulls, their queue and init containers are not the node's."""
    starts = played(plans, version)

    for plan in plans:
        track = starts.memory.tracks.get(plan.uid)
        if track and track.started is not None and track.verdict in ("good", "slow"):
            truth = plan.prepare + plan.create
            assert track.verdict == "good" or truth > START_GOOD.value - 2, plan
            assert track.verdict == "slow" or truth < START_GOOD.value + 2, plan


@few
@given(plans(5), VERSIONS, st.sets(st.integers(2, 60), max_size=4))
def test_restarts_of_the_exporter_count_each_start_at_most_once(
    plans: list[Plan], version: str, cuts: set[int]
) -> None:
    starts = Starts(version=version)
    counted: list[str] = []
    outcomes = 0
    for place, (at, found) in enumerate(steps(plans, version)):
        if place in cuts and starts.memory.first is not None:
            outcomes += sum(starts.outcomes().values())
            now, old = starts.snapshot.read_at(Source.PODS), starts.memory
            starts = Starts(Memory(checkpoint=now, counted=old.counted, pending=pending(old)), version)
        before = starts.memory.counted
        step(starts, at, found)
        counted += starts.memory.counted - before

    assert len(counted) == len(set(counted))
    assert outcomes + sum(starts.outcomes().values()) <= len(plans)


@few
@given(plans(), VERSIONS, st.integers(0, 1000))
def test_the_order_of_pods_in_a_list_is_irrelevant(plans: list[Plan], version: str, seed: int) -> None:
    one, other = played(plans, version), played(plans, version, random.Random(seed))

    assert (one.said(), one.memory.inconsistent) == (other.said(), other.memory.inconsistent)
    assert one.stages() == pytest.approx(other.stages())
    assert one.clocks() == pytest.approx(other.clocks())


@pytest.mark.parametrize("name", ["v1.36-film-starts", "v1.36-film-terminations", "v1.31-film-starts"])
def test_a_film_with_restarts_of_the_exporter_counts_what_it_counts_in_one_go(name: str) -> None:
    readings = [reading for reading in film(name) if reading.source in (Source.PODS, Source.METRICS, Source.NODE)]
    in_one_go = sum(folded(readings, frozenset())[1].values())

    @settings(max_examples=20, derandomize=True, deadline=None)
    @given(st.frozensets(st.integers(1, len(readings) - 1), max_size=4))
    def cut(cuts: frozenset[int]) -> None:
        counted, outcomes = folded(readings, cuts)

        assert len(counted) == len(set(counted))
        assert in_one_go == sum(outcomes.values())

    cut()


def folded(readings: Sequence[Reading], cuts: frozenset[int]) -> tuple[list[str], Counter[tuple[str, str]]]:
    """The UIDs that were counted and the outcomes, with a new exporter at each cut that has the checkpoint of the last one."""
    snapshot, memory = Snapshot("node-a", 0.0), Memory()
    counted: list[str] = []
    outcomes: Counter[tuple[str, str]] = Counter()
    for place, reading in enumerate(readings):
        if place in cuts and memory.first is not None:
            outcomes.update(memory.outcomes)
            memory = Memory(checkpoint=snapshot.read_at(Source.PODS), counted=memory.counted, pending=pending(memory))
        before = memory.counted
        snapshot = snapshot.take(reading, reading.attempted_at)
        memory = advance(memory, snapshot)
        counted += memory.counted - before
    outcomes.update(memory.outcomes)
    return counted, outcomes


def test_ten_thousand_pods_that_came_and_went_are_forgotten() -> None:
    starts = Starts().counters(0).pods(0)
    for place in range(100):
        at = 10 + 20 * place
        plans = [Plan(f"{place}-{n}", at, 0.2, 0, 0, 0, 1, math.inf, held=n % 10 == 0) for n in range(100)]
        starts.counters(at, pulls=(place, place)).pods(at + 1, *listed(plans, at + 1, "v1.36.2"))
        starts.pods(at + 6, *listed(plans, at + 6, "v1.36.2")).counters(at + 15, pulls=(place, place))
        starts.pods(at + 16).pods(at + 17)

    memory = starts.memory
    assert 10_000 == sum(memory.outcomes.values())
    assert (0, 0) == (len(memory.tracks), len(memory.counted))
    assert len(memory.windows) <= REMEMBERED / 5
    last = starts.counters(4000).counters(4000 + REMEMBERED).memory.windows
    assert len(last) <= 2
