"""Searches of the kubelet's log, over HTTPS against the simulated kubelet: each line counts once, and no text is kept."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from bodies import NOW, Known
from simulated import eventually, simulating

from kubelet_exporter import demo
from kubelet_exporter.config import Settings, log_patterns
from kubelet_exporter.serve import node_kubelet
from kubelet_exporter.simulator import faults
from kubelet_exporter.simulator.servers import Simulator
from kubelet_exporter.snapshot import Reading, Reason, Source
from kubelet_exporter.sources import kubelet, log_query
from kubelet_exporter.sources.log_query import Span

SANDBOX, PULL = "FailedCreatePodSandBox", "ImagePullBackOff"
SPAN = Span(NOW, NOW + 60)
Use = Callable[[Simulator, kubelet.Kubelet], Awaitable[None]]


def using(folder: Path, use: Use) -> None:
    """Use a client of a simulated kubelet."""

    async def run() -> None:
        async with simulating(folder) as simulator, kubelet.session() as session:
            await use(simulator, node_kubelet(demo.settings(simulator), session))

    asyncio.run(run())


def searched(folder: Path, log: list[tuple[float, str]], *given: str, span: Span = SPAN) -> Reading:
    """One search of a log, with these faults of the kubelet."""
    readings: list[Reading] = []

    async def use(simulator: Simulator, client: kubelet.Kubelet) -> None:
        simulator.log = log
        simulator.faults = dict(map(faults.parse, given))
        readings.append(await log_query.search(client, (SANDBOX, PULL), span))

    using(folder, use)
    return readings[0]


def test_lines_are_counted_by_pattern_and_their_text_is_not_kept(tmp_path: Path) -> None:
    log = [(NOW + 1, f"E1204 {SANDBOX}: secret-word"), (NOW + 2, f"again {SANDBOX}"), (NOW + 3, "nothing")]
    reading = searched(tmp_path, log)

    assert {SANDBOX: 2, PULL: 0} == reading.value
    assert "secret" not in repr(reading)


@pytest.mark.parametrize(
    ("at", "lines"),
    [(NOW - 0.1, 0), (NOW, 1), (NOW + 59.9, 1), (NOW + 60.1, 0)],
    ids=["before", "begin", "end", "next"],
)
def test_a_line_belongs_to_one_search(at: float, lines: int, tmp_path: Path) -> None:
    value = searched(tmp_path, [(at, SANDBOX)]).value

    assert {SANDBOX: lines, PULL: 0} == value


def test_the_remarks_of_journalctl_are_no_lines() -> None:
    assert [0, 0, 2] == [
        log_query.count(body).value for body in (b"", b"-- No entries --\n", b"-- Boot 1 --\na\n\nb\n")
    ]


def test_a_kubelet_without_log_queries_is_told_what_it_lacks(tmp_path: Path) -> None:
    listing = searched(tmp_path, [], "/logs/=content_type:text/html").failure
    absent = searched(tmp_path, [], "/logs/=status:404").failure

    assert listing
    assert absent
    assert [Reason.CONTENT_TYPE, Reason.STATUS] == [listing.reason, absent.reason]
    assert all(
        "set enableSystemLogQuery and the feature gate NodeLogQuery" in each.message for each in (listing, absent)
    )


def test_a_missing_right_names_it(tmp_path: Path) -> None:
    failure = searched(tmp_path, [], "/logs/=forbidden").failure

    assert failure
    assert (Reason.FORBIDDEN, True) == (failure.reason, "subresource(s)=[log proxy]" in failure.message)
    assert ['source_missing_right{right="nodes/log",source="logs"} 1.0'] == (
        Known().fail(Source.LOGS, Reason.FORBIDDEN).series("source_missing_right")
    )


def test_what_a_search_missed_the_next_one_finds(tmp_path: Path) -> None:
    readings: list[Reading] = []

    async def use(simulator: Simulator, client: kubelet.Kubelet) -> None:
        simulator.log = [(time.time() + 0.5, SANDBOX)]
        simulator.faults = dict([faults.parse("/logs/=status:500")])
        task = asyncio.create_task(log_query.follow_log(client, (SANDBOX,), readings.append, 0.3))
        await eventually(lambda: len(readings) >= 1)
        simulator.faults = {}
        await eventually(lambda: sum(each.value[SANDBOX] for each in readings if each.failure is None) == 1)
        await asyncio.sleep(1.5)
        task.cancel()

    using(tmp_path, use)

    assert readings[0].failure
    assert 1 == sum(each.value[SANDBOX] for each in readings if each.failure is None)


# What is counted


def test_counts_add_up_from_0_and_failed_searches_add_nothing() -> None:
    known = Known()
    before = known.series("kubelet_log_matches_total")
    for lines in (0, 3, 2):
        known.take(Reading(Source.LOGS, NOW, 0.1, value={SANDBOX: lines}, read_at=NOW))
        known.fail(Source.LOGS)

    assert ([], [f'kubelet_log_matches_total{{pattern="{SANDBOX}"}} 5.0']) == (
        before,
        known.series("kubelet_log_matches_total"),
    )


# The flag


def test_patterns_are_separated_by_commas_and_named_once() -> None:
    assert (SANDBOX, PULL) == log_patterns(f"{SANDBOX}, {PULL},{SANDBOX},")


@pytest.mark.parametrize("text", ["a b", "x|y", "a" * 101, ",".join("abcdefghijk")])
def test_patterns_that_cost_too_much_or_are_no_texts_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        log_patterns(text)


def test_the_log_is_not_searched_unless_asked_for() -> None:
    assert () == Settings("node-a").log_patterns
