"""Operations of the runtime by kind, the memory of the node's own parts, and the bounds that rules name."""

from __future__ import annotations

import re

import pytest
from bodies import Known, body
from recorded import played

from kubelet_exporter.catalog import cold_start
from kubelet_exporter.catalog.runtime_operations import BOUNDS, DURATION, ERRORS, OF_PODS, OPERATIONS, OTHER, TOTAL
from kubelet_exporter.snapshot import Source

KINDS = (*OPERATIONS, OTHER)
REAL = ("v1.31-mixed", "v1.34-mixed", "v1.36-mixed", "v1.36-110pods")


def operations(metric: str, **counts: float) -> str:
    """Lines of a counter by kind of operation."""
    return "".join(f'{metric}{{operation_type="{kind}"}} {count}\n' for kind, count in counts.items())


def by_kind(known: Known, metric: str) -> dict[str, float]:
    """The values of a metric by kind of operation."""
    lines = [line.rsplit(" ", 1) for line in known.series(metric)]
    return {re.findall('operation="([^"]*)"', name)[0]: float(value) for name, value in lines}


def test_every_kind_is_there_from_the_first_reading_on_though_it_never_happened() -> None:
    known = Known().read(Source.METRICS, operations(TOTAL, version=1))

    assert dict.fromkeys(KINDS, 0.0) | {OTHER: 1.0} == by_kind(known, "runtime_operations_total")
    assert dict.fromkeys(KINDS, 0.0) == by_kind(known, "runtime_operation_errors_total")


def test_kinds_that_nobody_asks_about_are_added_up() -> None:
    text = operations(TOTAL, version=3, status=5, new=4) + operations(ERRORS, version=1, new=1, status=2)
    known = Known().read(Source.METRICS, text)

    assert (7, 5) == tuple(by_kind(known, "runtime_operations_total")[kind] for kind in (OTHER, "status"))
    assert (2, 2) == tuple(by_kind(known, "runtime_operation_errors_total")[kind] for kind in (OTHER, "status"))


def test_a_kubelet_that_tells_of_no_operation_has_none() -> None:
    known = Known().read(Source.METRICS, "other 0\n")

    assert {} == known.values("runtime_operation")


def duration(kind: str, *counts: float) -> str:
    """A histogram of one kind of operation with the kubelet's bounds 0.005, 0.1953125, 0.48828125 and +Inf."""
    bounds = ("0.005", "0.1953125", "0.48828125", "+Inf")
    lines = [
        f'{DURATION}_bucket{{operation_type="{kind}",le="{bound}"}} {count}\n'
        for bound, count in zip(bounds, counts, strict=True)
    ]
    label = f'{{operation_type="{kind}"}}'
    return f"{''.join(lines)}{DURATION}_sum{label} 2.5\n{DURATION}_count{label} {counts[-1]}\n"


def test_durations_are_told_of_what_makes_and_ends_pods_with_few_of_the_bounds() -> None:
    known = Known().read(
        Source.METRICS, duration("run_podsandbox", 1, 2, 3, 5) + duration("list_containers", 9, 9, 9, 9)
    )

    assert [
        'runtime_operation_duration_seconds_bucket{le="0.1953125",operation="run_podsandbox"} 2.0',
        'runtime_operation_duration_seconds_bucket{le="0.48828125",operation="run_podsandbox"} 3.0',
        'runtime_operation_duration_seconds_bucket{le="+Inf",operation="run_podsandbox"} 5.0',
    ] == known.series("runtime_operation_duration_seconds_bucket")
    assert {"runtime_operation_duration_seconds_sum": 2.5} == known.values("runtime_operation_duration_seconds_sum")


@pytest.mark.parametrize("name", REAL)
def test_a_real_kubelet_has_the_kinds_and_bounds_that_are_named_here(name: str) -> None:
    known = played(name)
    found = by_kind(known, "runtime_operations_total")
    bounds = {re.findall('le="([^"]*)"', line)[0] for line in known.series("runtime_operation_duration_seconds_bucket")}

    assert {"run_podsandbox", "create_container", "start_container"} <= {kind for kind in OF_PODS if found[kind]}
    assert {*map(float, BOUNDS), float("inf")} == set(map(float, bounds))
    assert {edge.number for edge in cold_start.STEPS.values()} <= bounds


@pytest.mark.parametrize("name", REAL)
def test_the_means_of_the_three_steps_of_a_real_node_add_up_to_a_second_or_so(name: str) -> None:
    known = played(name)
    sums, counts = (by_kind(known, f"runtime_operation_duration_seconds_{part}") for part in ("sum", "count"))

    assert 0.05 < sum(sums[step] / counts[step] for step in cold_start.STEPS) < 10


# System containers


def stats(*containers: dict[str, object]) -> bytes:
    """An answer of /stats/summary with these system containers."""
    return body({"node": {"nodeName": "node-a", "systemContainers": list(containers)}, "pods": []})


def test_the_memory_of_the_nodes_own_parts_is_told_where_it_is_measured() -> None:
    known = Known().read(
        Source.SUMMARY,
        stats(
            {"name": "runtime", "memory": {"workingSetBytes": 50}},
            {"name": "pods", "memory": {}},
            {"name": "invented", "memory": {"workingSetBytes": 7}},
        ),
    )

    assert ['system_container_working_set_bytes{container="runtime"} 50.0'] == known.series(
        "system_container_working_set_bytes"
    )
