"""Whatever a kubelet does wrong is counted by its reason, costs no other source, and the last good state stays for its time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from simulated import AHEAD, ALL, eventually, film, reading, samples, simulating, still

from kubelet_exporter import demo
from kubelet_exporter.serve import exporting
from kubelet_exporter.simulator import faults
from kubelet_exporter.simulator.faults import Fault, Kind
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.snapshot import ALWAYS_READ, Reason, Source
from kubelet_exporter.sources.endpoints import INTERVALS, PATHS
from kubelet_exporter.sources.recording import Line
from kubelet_exporter.state import State

# Faults that make a reading fail, and how it is counted.
COUNTED: dict[Kind, Reason] = {
    "delay": Reason.TIMEOUT,
    "status": Reason.STATUS,
    "cut": Reason.TRUNCATED,
    "content_type": Reason.CONTENT_TYPE,
    "gzip_cut": Reason.TRUNCATED,
    "hang": Reason.TIMEOUT,
    "reset": Reason.CONNECTION,
    "unauthorized": Reason.UNAUTHORIZED,
    "forbidden": Reason.FORBIDDEN,
}
BORNE: frozenset[Kind] = frozenset({"duplicate_container", "null_items"})
VALUES = {"delay": "60", "status": "503", "content_type": "text/html"}
RIGHTS = {
    Source.HEALTHZ: "nodes/healthz",
    Source.PODS: "nodes/pods",
    Source.METRICS: "nodes/metrics",
    Source.PROBES: "nodes/metrics",
    Source.SUMMARY: "nodes/stats",
    Source.CONFIGZ: "nodes/configz",
}
# A series that only this source gives, and that goes when the source is not held any longer.
WITNESS = {
    Source.PODS: "pods",
    Source.METRICS: "pleg_relist_duration_seconds_count",
    Source.SUMMARY: "volume_capacity_bytes",
    Source.CONFIGZ: "pods_limit",
}


def path_of(source: Source) -> str:
    return next(path for path, each in PATHS.items() if each == source)


def test_every_fault_has_a_test() -> None:
    assert set(get_args(Kind)) == set(faults.HELP) == COUNTED.keys() | BORNE


@pytest.mark.parametrize("kind", COUNTED)
@pytest.mark.parametrize("source", sorted(ALL))
def test_a_fault_is_counted_by_its_reason_and_the_other_sources_are_read(
    source: Source, kind: Kind, tmp_path: Path
) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            await found.read()
            simulator.faults = {path_of(source): Fault(kind, VALUES.get(kind, ""))}
            found.change(source, deadline=0.3 if COUNTED[kind] == Reason.TIMEOUT else 12)
            await found.read()

            assert {(source, COUNTED[kind]): 1.0} == found.errors()
            assert ALL - {source} == found.up()

            simulator.faults = {}
            found.change(source, deadline=12)
            await found.read()

            assert {(source, COUNTED[kind]): 1.0} == found.errors()
            assert ALL == found.up()

    asyncio.run(run())


def test_a_delay_within_the_deadline_is_no_error(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            simulator.faults = {"/pods": Fault("delay", "0.2")}
            readings = await found.read()

            assert {} == found.errors()
            assert readings[Source.PODS].seconds >= 0.2

    asyncio.run(run())


@pytest.mark.parametrize("source", WITNESS)
def test_the_last_good_value_stays_and_goes_after_its_hold(source: Source, tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            await found.read()
            before = found.values(WITNESS[source])
            simulator.faults = {path_of(source): Fault("cut")}
            await found.read()
            hold = found.points[source].hold

            assert before
            assert before == found.values(WITNESS[source])

            found.later = hold - 60
            assert before == found.values(WITNESS[source])

            found.later = hold + 60
            assert [] == found.values(WITNESS[source])

    asyncio.run(run())


def test_the_time_of_the_last_success_stays_while_a_source_fails(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            first = (await found.read())[Source.PODS]
            simulator.faults = {"/pods": Fault("reset")}
            await found.read()

            assert [first.read_at] == found.values("source_last_success_timestamp_seconds", source="pods")
            assert [2.0] == found.values("source_reads_total", source="pods")

    asyncio.run(run())


def test_the_last_relist_outlives_unreadable_metrics(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            await found.read()
            before = found.values("pleg_last_relist_timestamp_seconds")
            simulator.faults = {"/metrics": Fault("hang")}
            found.change(Source.METRICS, deadline=0.2)
            found.later = found.points[Source.METRICS].hold + 60
            await found.read(Source.METRICS)

            assert 1 == len(before)
            assert before == found.values("pleg_last_relist_timestamp_seconds")

    asyncio.run(run())


@pytest.mark.parametrize("source", RIGHTS)
def test_a_403_names_the_missing_right_until_it_is_granted(source: Source, tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            simulator.faults = {path_of(source): Fault("forbidden")}
            await found.read()

            assert [1.0] == found.values("source_missing_right")
            assert [1.0] == found.values("source_missing_right", source=source, right=RIGHTS[source])

            simulator.faults = {}
            await found.read()

            assert [] == found.values("source_missing_right")

    asyncio.run(run())


# Faults of the content


def test_null_items_are_no_pods_and_no_volumes(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            simulator.faults = {"*": Fault("null_items")}
            await found.read()

            assert {} == found.errors()
            assert [0.0] * 5 == found.values("pods")
            assert [] == found.values("volume_capacity_bytes")

    asyncio.run(run())


def test_a_duplicate_container_breaks_metrics_only_as_in_a_real_kubelet(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            await found.read()
            pods, volumes = found.values("pods"), found.values("volume_capacity_bytes")
            simulator.faults = {"*": Fault("duplicate_container")}
            await found.read()

            assert {("metrics", "status"): 1.0} == found.errors()
            assert (pods, volumes) == (found.values("pods"), found.values("volume_capacity_bytes"))

    asyncio.run(run())


# The whole exporter


def test_no_second_request_is_sent_while_one_hangs_and_the_others_go_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with simulating(tmp_path, still()) as simulator:
            simulator.faults = {"/metrics": Fault("hang"), "/stats/summary": Fault("hang")}
            settings = replace(
                demo.settings(simulator),
                apiserver_url=None,
                intervals=dict.fromkeys(INTERVALS, 0.05),
                kubelet_timeout=60.0,
            )
            async with exporting(settings) as exporter:
                await eventually(lambda: simulator.requests.get("/pods", 0) >= 8)

                assert 1 == simulator.requests["/metrics"]
                assert 1 == simulator.requests["/stats/summary"]
                assert {
                    Source.HEALTHZ,
                    Source.PODS,
                    Source.PROBES,
                    Source.CONFIGZ,
                } == exporter.state.snapshot.readings.keys()
                assert not any(task.done() for task in exporter.tasks)

    asyncio.run(run())


def test_an_exporter_in_full_counts_a_hang_by_its_deadline_and_recovers(tmp_path: Path) -> None:
    async def run() -> None:
        async with simulating(tmp_path) as simulator:
            simulator.faults = {"/healthz": Fault("hang")}
            intervals = {**INTERVALS, Source.HEALTHZ: 0.05}
            settings = replace(demo.settings(simulator), intervals=intervals, kubelet_timeout=1.5)
            async with exporting(settings) as exporter:
                state = exporter.state
                await eventually(lambda: ALWAYS_READ == state.snapshot.readings.keys())
                down = {source for source, each in state.snapshot.readings.items() if each.failure}
                simulator.faults = {}
                await eventually(lambda: state.snapshot.readings[Source.HEALTHZ].failure is None)
                counted = {
                    (labels["source"], labels["reason"])
                    for name, labels, value in samples(state.scrape().plain)
                    if name == "source_errors_total" and value
                }

                assert {Source.HEALTHZ} == down
                assert {("healthz", "timeout")} == counted

    asyncio.run(run())


def test_answers_of_a_recorded_failure_are_played_as_failures(tmp_path: Path) -> None:
    async def run() -> None:
        lines = tuple(
            Line(line.t, line.path, 403, "Forbidden") if line.path == "/pods" else line for line in still().lines
        )
        async with reading(tmp_path, replace(still(), lines=lines)) as (_, found):
            await found.read()

            assert {("pods", "forbidden"): 1.0} == found.errors()

    asyncio.run(run())


def test_a_recorded_film_is_read_where_its_pods_run(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path, film()) as (simulator, found):
            simulator.player = Player(film(), AHEAD)
            await found.read()

            assert ALL == found.up()
            assert 1 < sum(found.values("pods", phase="Running"))

    asyncio.run(run())


# What can be asked for


@pytest.mark.parametrize("text", ["/metrics", "metrics=hang", "=hang", "/metrics=status:many", "/pods=delay:long"])
def test_a_fault_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no fault|not PATH=KIND|takes a number"):
        faults.parse(text)


def test_a_misspelt_fault_names_the_right_one() -> None:
    with pytest.raises(ValueError, match="did you mean forbidden"):
        faults.parse("/pods=forbiden")


def test_a_fault_has_a_path_a_kind_and_a_value() -> None:
    assert ("/metrics", Fault("delay", "2.5")) == faults.parse("/metrics=delay:2.5")
    assert ("*", Fault("status", "500")) == faults.parse("*=status")


# Parts of a node


def failures(state: State) -> dict[Source, Reason]:
    """Which sources fail, and why."""
    return {source: each.failure.reason for source, each in state.snapshot.readings.items() if each.failure}


@pytest.mark.parametrize(
    ("part", "sources", "finding"),
    [
        ("runtime=hang", {Source.METRICS, Source.SUMMARY}, "runtime_hung 1.0"),
        ("kubelet=reset", set(PATHS.values()), 'fault{fault="kubelet_down"} 1.0'),
        ("apiserver=hang", {Source.NODE, Source.LEASE}, 'fault{fault="apiserver_unreachable"} 1.0'),
        ("*=forbidden", set(ALWAYS_READ), 'fault{fault="rights_lost"} 1.0'),
    ],
)
def test_a_part_that_fails_takes_its_sources_along_and_is_found(
    part: str, sources: set[Source], finding: str, tmp_path: Path
) -> None:
    async def run() -> None:
        async with simulating(tmp_path) as simulator:
            simulator.faults = dict([faults.parse(part)])
            settings = replace(demo.settings(simulator), kubelet_timeout=1.5, node_label=False)
            async with exporting(settings) as exporter:
                await eventually(lambda: sources <= failures(exporter.state).keys())
                await eventually(lambda: f"kubelet_exporter_{finding}\n" in exporter.state.scrape().plain.decode())

                assert sources == failures(exporter.state).keys()

    asyncio.run(run())


def test_the_fault_of_a_path_comes_before_that_of_its_part_and_that_before_all() -> None:
    given = dict(map(faults.parse, ("/metrics=reset", "runtime=hang", "kubelet=forbidden", "*=cut")))
    paths = ("/metrics", "/stats/summary", "/pods", "/api/v1/nodes")

    assert ["reset", "hang", "forbidden", "cut"] == [
        fault.kind for path in paths if (fault := faults.chosen(given, path))
    ]
    assert faults.chosen({}, "/pods") is None
