"""Listings that lack pods for a moment, and clocks that are stepped between two listings."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from films import RECORDINGS, Fold, film
from simulated import reading
from starting import Starts, app, pod, started, watched

from kubelet_exporter.catalog.facts.pod_start import START_CLOCK
from kubelet_exporter.catalog.pod_start.metrics import progress
from kubelet_exporter.snapshot import Reading, Source
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.endpoints import PATHS, decoders

CLOCK = START_CLOCK.value
HOUR = 3600.0


def starting(starts: Starts) -> int:
    """How many pods are shown on their way."""
    return sum(row.count for row in progress(starts.snapshot, starts.memory))


# Pods that are not listed


def test_a_pod_that_one_listing_lacks_is_not_shown_and_goes_on_when_it_is_listed_again() -> None:
    starts = watched().pods(11, pod()).pods(16)
    assert ({}, {}, 0) == (*starts.said(), starting(starts))

    starts.pods(21, pod(sandbox=12))
    assert 1 == starting(starts)
    starts.pods(26, started(after=4, sandbox=12)).counters(27)

    assert ({"good/none": 1}, {}) == starts.said()
    assert (4.5, 2.5) == (starts.clocks()["total"], starts.stages()["prepare"])


def test_a_pod_that_one_listing_lacks_is_not_judged_by_it() -> None:
    starts = watched().pods(11, pod()).pods(20 + CLOCK).counters(21 + CLOCK)
    assert {} == starts.outcomes()

    starts.pods(25 + CLOCK, pod())

    assert "failed/node" == starts.only()


def test_a_pod_that_two_listings_in_a_row_lack_is_lost_once() -> None:
    starts = watched().pods(11, pod()).pods(16).pods(21)
    assert ({"unknown/none": 1}, {"vanished": 1}) == starts.said()

    starts.pods(26).counters(30).pods(31)

    assert ({"unknown/none": 1}, {"vanished": 1}) == starts.said()
    assert ({}, frozenset()) == (starts.memory.tracks, starts.memory.counted)


@pytest.mark.parametrize("listed", [pod(), started()], ids=["on its way", "started"])
def test_two_listings_that_lack_a_pod_but_not_in_a_row_are_no_end(listed: Any) -> None:
    starts = watched().pods(12, listed).counters(15)
    before = starts.said()

    for at in range(20, 100, 10):
        starts.pods(at).pods(at + 5, listed)
    starts.pods(100)

    assert before == starts.said()
    assert ["a"] == list(starts.memory.tracks)


def test_a_pod_that_a_listing_lacks_may_still_have_pulled_what_was_pulled_meanwhile() -> None:
    starts = watched().pods(11, pod("a")).pods(29, started("b", 12, 15)).counters(30, pulls=(1, 13))

    assert "" == starts.track("b").verdict


def counts(readings: Sequence[Reading]) -> tuple[Mapping[Any, int], Mapping[str, int]]:
    """What was counted by the end of a film and a while after it."""
    memory = Fold().take(readings).later().memory
    return memory.outcomes, memory.skipped


def emptied(readings: Sequence[Reading], place: int) -> list[Reading]:
    """A film one listing of which is `items: []`."""
    empty = decoders()[Source.PODS](b'{"kind": "PodList", "items": []}')
    return [*readings[:place], replace(readings[place], value=empty.value), *readings[place + 1 :]]


@pytest.mark.parametrize("name", ["v1.31-film-starts", "v1.36-film-starts"])
def test_an_empty_listing_anywhere_within_a_film_changes_no_count(name: str) -> None:
    readings = film(name)
    _, *within, _ = (place for place, each in enumerate(readings) if each.source is Source.PODS)

    whole = counts(readings)
    assert [whole] * len(within) == [counts(emptied(readings, place)) for place in within]


def test_an_empty_first_listing_makes_no_new_starts_of_old_pods() -> None:
    readings = film("v1.36-film-terminations")
    first = next(place for place, each in enumerate(readings) if each.source is Source.PODS)

    whole, without = counts(readings), counts(emptied(readings, first))
    judged = {pair: count for pair, count in whole[0].items() if pair[0] != "unknown"}
    assert judged == {pair: count for pair, count in without[0].items() if pair[0] != "unknown"}


def test_a_failed_sandbox_that_was_counted_just_before_a_pod_was_listed_tells() -> None:
    readings = film("v1.36-film-sandbox-failures")
    fourth = [place for place, each in enumerate(readings) if each.source is Source.PODS][4]

    outcomes, _ = counts(emptied(readings, fourth))

    assert 5 == outcomes["slow", "network"]


@pytest.mark.parametrize("name", ["badimage", "crash", "orders-0", "nosandbox"])
def test_a_pod_that_is_malformed_in_one_listing_is_dropped_there_and_counted_as_ever(name: str) -> None:
    film = recording.load(RECORDINGS / "v1.36-film-starts.jsonl.gz")
    listed = [place for place, line in enumerate(film.lines) if f'"name":"{name}"' in (line.body or "")]
    place = listed[len(listed) // 10]
    body = json.loads(film.lines[place].body or "")
    for item in body["items"]:
        item["metadata"]["uid"] = 7 if item["metadata"]["name"] == name else item["metadata"]["uid"]
    lines = list(film.lines)
    lines[place] = msgspec.structs.replace(lines[place], body=json.dumps(body))

    readings, broken = (
        list(recording.readings(replace(film, lines=tuple(each)), PATHS, decoders())) for each in (film.lines, lines)
    )

    dropped = [each.dropped for each in broken if each.source is Source.PODS and each.dropped]
    assert [{"malformed": 1}] == dropped
    assert counts(readings) == counts(broken)


# Clocks that are stepped


def steady(*pods: Any) -> Starts:
    """A node without pulls whose listings tell both clocks, and what it lists at 12."""
    return Starts().counters(0).pods(0, steady=500.0).pods(12, *pods, steady=512.0)


@pytest.mark.parametrize("step", [HOUR, -HOUR, 1.5, -1.5])
def test_a_start_in_progress_while_the_clock_is_stepped_is_lost_and_not_timed(step: float) -> None:
    starts = steady(pod()).pods(17 + step, pod(), steady=517.0)
    assert ({"unknown/none": 1}, {"interrupted": 1}) == starts.said()

    late = started(after=10 + step, containers_ready=21 + step)
    for at in (22.0, 27.0, 90.0, 90.0 + HOUR):
        starts.pods(at + step, late, steady=500.0 + at).counters(at + 1 + step)

    assert ({"unknown/none": 1}, {"interrupted": 1}) == starts.said()
    assert ({}, {"platform": 0.0, "total": 0.0}) == (starts.stages(), starts.clocks())


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_start_that_was_over_when_the_clock_was_stepped_has_its_verdict_and_its_times(step: float) -> None:
    starts = steady(started()).pods(17 + step, started(), steady=517.0)

    assert ({"good/none": 1}, {}) == starts.said()
    assert 1.5 == starts.clocks()["total"]


def test_a_readiness_that_comes_after_a_step_is_not_timed() -> None:
    ready = started(containers_ready=HOUR + 18)
    starts = steady(started()).counters(15)
    starts.pods(HOUR + 17, started(), steady=517.0).pods(HOUR + 22, ready, steady=522.0)

    assert {"good/none": 1} == starts.outcomes()
    assert ("ready_app" in starts.stages(), sum(starts.memory.reactions.counts)) == (False, 0)


def test_a_pod_that_is_first_listed_after_a_step_may_lie_on_both_sides_of_it_and_is_left_out() -> None:
    """Seen at 13, before the step, and started 2 s later: by the clock an hour later."""
    new = started("a", 13, HOUR + 2)
    starts = steady().pods(HOUR + 17, new, steady=517.0).counters(HOUR + 20).pods(HOUR + 90, new, steady=590.0)

    assert ({}, {"interrupted": 1}) == starts.said()
    assert 0.0 == starts.clocks()["total"]


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_pods_that_come_after_a_step_are_judged_as_ever(step: float) -> None:
    starts = steady().counters(15 + step).pods(17 + step, steady=517.0)
    starts.pods(22 + step, started("b", 20 + step), steady=522.0).counters(25 + step)

    assert ({"good/none": 1}, {}) == starts.said()


@pytest.mark.parametrize("step", [0.5, -0.5, 1.0, -1.0])
def test_a_step_within_the_resolution_of_times_is_none(step: float) -> None:
    starts = steady(pod()).pods(17 + step, started(after=4), steady=517.0).counters(20)

    assert ({"good/none": 1}, {}) == starts.said()
    assert 4.5 == starts.clocks()["total"]


def test_a_clock_that_is_slewed_for_long_is_not_stepped() -> None:
    waiting = pod("a", 10, app(waiting="CreateContainerConfigError"), sandbox=10)
    starts = steady(waiting)

    for place in range(1, 20):
        starts.pods(12 + 5.9 * place, waiting, steady=512.0 + 5 * place)

    assert ({}, {}) == starts.said()


@pytest.mark.parametrize("clocks", [(None, None), (512.0, None), (None, 517.0)])
def test_without_a_steady_clock_as_in_recordings_nothing_is_taken_for_a_step(
    clocks: tuple[float | None, float | None],
) -> None:
    waiting = pod("a", 10, app(waiting="CreateContainerConfigError"), sandbox=10)
    starts = Starts().counters(0).pods(0).pods(12, waiting, steady=clocks[0]).pods(300, waiting, steady=clocks[1])

    assert ({}, {}) == starts.said()


def test_a_reading_of_a_kubelet_tells_its_time_on_the_steady_clock(tmp_path: Path) -> None:
    async def run() -> Reading:
        async with reading(tmp_path) as (_, found):
            return (await found.read(Source.PODS))[Source.PODS]

    begin = time.monotonic()
    read = asyncio.run(run())

    assert read.steady is not None
    assert begin <= read.steady <= time.monotonic()
