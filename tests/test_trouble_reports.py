"""One test or more for each trouble that others reported of kubelets and their exporters, by the number of the report.

Bodies in, lines of the scrape out. Reports on what the exporter does not read yet are here only with: no crash, others kept.
"""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from bodies import (
    FULL,
    NOW,
    RELISTS,
    SEEN,
    Known,
    body,
    everything,
    faults,
    histogram,
    summary,
    volume,
)
from conftest import need
from queries import nodes, parsed

from kubelet_exporter.catalog import TOPICS, volumes
from kubelet_exporter.catalog.facts import FACTS
from kubelet_exporter.catalog.facts.volumes import VOLUME_FILLING
from kubelet_exporter.catalog.model import PREFIX, resolve
from kubelet_exporter.generate import rules
from kubelet_exporter.generate.overrides import Overrides
from kubelet_exporter.snapshot import Reason, Source
from kubelet_exporter.sources.metrics import metrics
from kubelet_exporter.units import rfc3339

EXPRESSIONS = [record.expr for topic in TOPICS for record in topic.records] + [
    alert.expr for topic in TOPICS for alert in topic.alerts
]
CLAIM = '{namespace="shop",persistentvolumeclaim="data"}'


# A. Histograms, summaries, counters


def test_4_quantiles_that_are_nan_are_left_out_and_the_rest_of_the_summary_is_kept() -> None:
    name = "kubelet_pleg_relist_latency_microseconds"
    text = f'# TYPE {name} summary\n{name}{{quantile="0.5"}} NaN\n{name}{{quantile="0.99"}} NaN\n{name}_sum 5\n{name}_count 198\n'
    decoded = metrics([name])(text.encode())

    assert {f"{name}_sum": 5, f"{name}_count": 198} == {
        key: found[0].value for key, found in decoded.value.samples.items()
    }
    assert {"not_finite": 2} == dict(decoded.dropped)


def test_4_no_nan_of_the_kubelet_reaches_the_scrape() -> None:
    known = Known().read(Source.METRICS, f"{SEEN} NaN\n{histogram(total=math.nan)}")

    assert ({}, []) == (known.values("pleg_relist"), faults(known.text()))
    assert 'source_dropped_total{reason="not_finite",source="metrics"} 2.0' in known.series()


def test_5_a_histogram_without_observations_is_all_zeros_and_has_no_mean_of_its_own() -> None:
    known = Known().read(Source.METRICS, histogram(buckets={"1": 0, "+Inf": 0}, total=0))

    assert {f"pleg_{RELISTS[13:]}{suffix}": 0.0 for suffix in ("_bucket", "_sum", "_count")} == known.values(
        "pleg_relist"
    )
    assert [] == faults(known.text())


def test_6_a_renamed_counter_of_which_both_are_alive_is_two_literal_names() -> None:
    labels = '{eviction_signal="memory.available"}'
    text = "".join(
        f"# TYPE {name} counter\n{name}{labels} 1\n" for name in ("kubelet_evictions", "kubelet_evictions_total")
    )

    for wanted in (
        ["kubelet_evictions"],
        ["kubelet_evictions_total"],
        ["kubelet_evictions", "kubelet_evictions_total"],
    ):
        samples = metrics(wanted)(text.encode()).value.samples

        assert dict.fromkeys(wanted, 1) == {name: len(found) for name, found in samples.items()}


def scraped_twice(tmp_path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Promtool evaluates every rule over a node with all it can tell, whose series come from two services."""
    files = {Path(name).name: text for name, text in rules.files(Overrides()).items() if name.startswith("alerts/")}
    files["more.rules.yaml"] = yaml.safe_dump(
        {"groups": [{"name": "more", "rules": [{"record": "x", "expr": e} for e in more]}]}
    )
    known = everything().fail(Source.LEASE, Reason.FORBIDDEN)
    series = [line.rpartition(" ") for line in known.text().splitlines() if line[0] != "#"]
    scene = {
        "interval": "30s",
        "input_series": [
            {"series": f'{name[:-1]},cluster="east",service="{service}"}}', "values": f"{value}x20"}
            for name, _, value in series
            for service in ("kubelet", "prometheus-operator-kubelet")
        ],
        "promql_expr_test": [{"expr": "vector(1)", "eval_time": "10m", "exp_samples": [{"value": 1}]}],
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    test = {"rule_files": list(files), "evaluation_interval": "30s", "tests": [scene]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test), encoding="utf-8")
    command = [need("promtool"), "test", "rules", "test.yaml"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_7_no_rule_breaks_where_two_services_scrape_one_kubelet(tmp_path: Path) -> None:
    done = scraped_twice(tmp_path)

    assert (0, "") == (done.returncode, done.stderr)


def test_7_a_join_without_aggregation_would_break(tmp_path: Path) -> None:
    join = f"{PREFIX}pods * on (cluster, node) group_left {PREFIX}pods_limit"
    done = scraped_twice(tmp_path, join)

    assert "many-to-many" in done.stdout + done.stderr
    assert 0 != done.returncode


def bare(tree: Any) -> list[str]:
    """The series in an operand that are not aggregated; recording rules are."""
    if isinstance(tree, promql_parser.AggregateExpr):
        return []
    if isinstance(tree, promql_parser.VectorSelector):
        name = tree.name or ""
        return [] if ":" in name else [name]
    inner = [getattr(tree, name, None) for name in ("expr", "lhs", "rhs")]
    return [name for each in [*inner, *(getattr(tree, "args", None) or [])] if each for name in bare(each)]


def joined(expr: str) -> list[Any]:
    """Both sides of every join on labels in an expression."""
    joins: list[Any] = [
        node
        for node in nodes(parsed(resolve(expr, FACTS)))
        if isinstance(node, promql_parser.BinaryExpr) and node.modifier
    ]
    return [side for join in joins if join.modifier.matching for side in (join.lhs, join.rhs)]


def test_7_both_sides_of_every_join_on_labels_are_aggregated() -> None:
    assert len([side for expr in EXPRESSIONS for side in joined(expr)]) >= 6
    assert [] == [(name, expr) for expr in EXPRESSIONS for side in joined(expr) for name in bare(side)]
    assert ["a", "b"] == [
        name for side in joined("a and on (node) (time() - b > max by (node) (c))") for name in bare(side)
    ]


# B. Volumes and filesystems


def test_8_statistics_that_are_frozen_keep_their_time_while_they_are_read() -> None:
    known = Known()
    for minutes in range(60):
        known.at(NOW + 60 * minutes).read(Source.SUMMARY, summary(volume(**FULL)))

    assert [f"volume_stats_timestamp_seconds{CLAIM} 1.8e+09"] == known.series("volume_stats_timestamp_seconds")
    assert f"time() - max by ({volumes.BY_CLAIM}) ({volumes.STATS_TIME})" in volumes.STATS_STALE.expr
    assert [] == [expr for expr in EXPRESSIONS if "predict_linear" in expr]


def test_9_a_capacity_of_8_exbibytes_is_a_number_and_leaves_nothing_used() -> None:
    numbers: dict[str, Any] = {
        "capacityBytes": 9223372036853727232,
        "availableBytes": 9223372036853721088,
        "usedBytes": 6144,
    }
    told = Known().read(Source.SUMMARY, summary(volume(**numbers))).values("volume")

    assert (9223372036853727232.0, 6144.0) == (told["volume_capacity_bytes"], told["volume_used_bytes"])
    assert 0 <= 1 - told["volume_available_bytes"] / told["volume_capacity_bytes"] < VOLUME_FILLING.value / 1e6


def test_10a_inodes_of_0_are_no_inodes() -> None:
    numbers: dict[str, Any] = {**FULL, "inodes": 0, "inodesFree": 0, "inodesUsed": 0}
    told = Known().read(Source.SUMMARY, summary(volume(**numbers))).values("volume")

    assert {
        "volume_capacity_bytes",
        "volume_available_bytes",
        "volume_used_bytes",
        "volume_stats_timestamp_seconds",
    } == set(told)


def test_10b_inodes_without_a_limit_look_full_until_their_total_moves() -> None:
    known, shown = Known(), []
    for total in (41000, 41000, 41007, 41007, 41009):
        known.read(Source.SUMMARY, summary(volume(inodes=total, inodesFree=0, inodesUsed=total)))
        shown.append(sorted(name for name in known.values("volume_inodes")))

    assert [["volume_inodes", "volume_inodes_free", "volume_inodes_used"]] * 2 + [[]] * 3 == shown


def test_10b_such_a_claim_can_be_left_out() -> None:
    known = Known()
    known.decoders = {**known.decoders, Source.SUMMARY: _excluding("^shop/ceph")}
    known.read(Source.SUMMARY, summary(volume("cephfs", inodes=41000, inodesFree=0), volume("data", capacityBytes=1)))

    assert [f"volume_capacity_bytes{CLAIM} 1.0"] == [line for line in known.series() if line.startswith("volume_c")]
    assert 'source_dropped_total{reason="excluded",source="summary"} 1.0' in known.series()


def _excluding(pattern: str) -> Any:
    from kubelet_exporter.sources.endpoints import decoders  # noqa: PLC0415  # one test needs it

    return decoders(re.compile(pattern))[Source.SUMMARY]


def test_11_a_capacity_of_0_says_nothing() -> None:
    zeros: dict[str, Any] = {"capacityBytes": 0, "availableBytes": 0, "usedBytes": 0}
    content = body(
        {"node": {"runtime": {"imageFs": zeros}}, "pods": [{"volume": [volume("zero", **zeros), volume(**FULL)]}]}
    )
    known = Known().read(Source.SUMMARY, content)

    assert [f"volume_capacity_bytes{CLAIM} 100.0"] == known.series("volume_capacity_bytes")
    assert [f"volume_available_bytes{CLAIM} 25.0"] == known.series("volume_available_bytes")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_12_a_claim_of_several_pods_is_one_series_with_the_newest_numbers(order: tuple[int, int]) -> None:
    stats = [
        {**volume(usedBytes=used, capacityBytes=200), "time": rfc3339(NOW + age)} for used, age in ((100, 0), (104, 1))
    ]
    content = summary(pods=[{"podRef": {"name": f"pod-{index}"}, "volume": [stats[index]]} for index in order])
    known = Known().read(Source.SUMMARY, content)

    assert [f"volume_used_bytes{CLAIM} 104.0"] == known.series("volume_used_bytes")
    assert [] == [line for line in known.series() if "pod-" in line]
