"""What all topics have in common: what is there at first, what is held and for how long, and the cap of series."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from bodies import (
    FULL,
    NOW,
    PODS,
    SEEN,
    Known,
    body,
    condition,
    configz,
    faults,
    histogram,
    node,
    summary,
    volume,
)
from prometheus_client.parser import text_string_to_metric_families

from kubelet_exporter import __version__, catalog
from kubelet_exporter.snapshot import Reason, Source
from kubelet_exporter.units import rfc3339

HELD = 300.0


def count(known: Known) -> int:
    """How many series a scrape has."""
    return len(known.series())


# The scrape as a whole


def test_nothing_is_known_of_the_node_at_first() -> None:
    names = {re.split(r"[{ ]", line)[0] for line in Known().series()}
    own = {"build_info", "source_reads_total", "source_bytes_total", "source_errors_total", "source_dropped_total"}
    own |= {"pleg_observed_seconds_total"}  # the exporter's own watching

    assert own <= names
    assert [] == [
        name for name in names - own if name.startswith(("source_up", "source_last", "pods", "node", "pleg", "volume"))
    ]
    assert [f'build_info{{version="{__version__}"}} 1.0'] == Known().series("build_info")


def test_what_the_exporter_counts_itself_is_there_from_the_start_at_0() -> None:
    families = list(text_string_to_metric_families(Known().text()))
    counters = {
        family.name: {sample.value for sample in family.samples} for family in families if family.type == "counter"
    }

    assert {} == {name: values for name, values in counters.items() if values - {0}}
    assert 4 <= len([name for name, values in counters.items() if values])


def test_every_metric_has_help_and_type_though_it_has_no_series() -> None:
    text = Known().text()
    metrics = [metric for topic in catalog.TOPICS for metric in topic.metrics]

    assert len(metrics) == text.count("# HELP ") == text.count("# TYPE ")
    assert [] == [str(metric) for metric in metrics if f"# HELP {metric} {metric.help}\n" not in text]


def test_the_node_is_a_label_of_every_series_or_of_none() -> None:
    with_node, without = (Known(node_label=label).read(Source.PODS, PODS) for label in (True, False))

    assert [] == [line for line in with_node.series() if 'node="node-a"' not in line]
    assert [] == [line for line in without.series() if "node=" in line]
    assert count(with_node) == count(without)


def test_label_values_are_escaped() -> None:
    known = Known().read(Source.SUMMARY, summary(volume('a"b\\c\nd', capacityBytes=1)))

    assert [r'volume_capacity_bytes{namespace="shop",persistentvolumeclaim="a\"b\\c\nd"} 1.0'] == known.series(
        "volume_capacity_bytes"
    )


def test_a_scrape_is_rendered_once_until_something_changes() -> None:
    known = Known().read(Source.PODS, PODS)
    first = known.scrape()

    assert first is known.scrape()
    assert first is not known.read(Source.PODS, PODS).scrape()


@pytest.mark.parametrize("source", list(Source))
def test_a_topic_does_not_move_with_readings_of_other_sources(source: Source) -> None:
    concerns = {"pleg": Source.METRICS, "volumes": Source.SUMMARY}
    known = Known()
    known.read(Source.METRICS, f"{SEEN} 1\n").read(Source.SUMMARY, summary(volume(inodes=5, inodesFree=0)))
    before = dict(known.ledger)
    known.fail(source, Reason.CONNECTION)
    others = [topic for topic in concerns if concerns[topic] != source]

    assert others
    assert [before[topic] for topic in others] == [known.ledger[topic] for topic in others]
    assert {source} == {each for each in Source if before["exporter"][each] != known.ledger["exporter"][each]}


# What is held, and for how long


@pytest.mark.parametrize(
    ("source", "content", "metric"),
    [
        (Source.PODS, PODS, "pods"),
        (Source.SUMMARY, summary(volume(**FULL)), "volume_capacity_bytes"),
        (Source.CONFIGZ, configz(maxPods=110), "pods_limit"),
        (Source.NODE, node(condition()), "node_condition"),
        (Source.LEASE, body({"spec": {"renewTime": rfc3339(NOW)}}), "node_lease_renew_timestamp_seconds"),
        (Source.METRICS, histogram().encode(), "pleg_relist_duration_seconds_bucket"),
    ],
)
@pytest.mark.parametrize("then", ["fails", "is silent"])
def test_a_value_is_held_for_a_while_and_then_absent(source: Source, content: bytes, metric: str, then: str) -> None:
    known = Known().read(source, content)
    fresh = known.series(metric)
    shown = []
    for age in (HELD / 2, HELD, HELD + 1):
        known.at(NOW + age)
        if then == "fails":
            known.fail(source)
        shown.append(known.series(metric))

    assert fresh
    assert [fresh, fresh, []] == shown


def test_a_source_that_is_read_seldom_is_held_longer() -> None:
    known = Known().read(Source.CONFIGZ, configz(maxPods=110))
    reading = known.snapshot.readings[Source.CONFIGZ]
    known.take(replace(reading, hold=900.0))

    assert ["pods_limit 110.0"] == known.at(NOW + 900).series("pods_limit")
    assert [] == known.at(NOW + 901).series("pods_limit")


# The cap of series


def with_volumes(claims: int, limit: int) -> Known:
    """A node with so many claims of 7 series each, and a cap."""
    volumes = [volume(f"claim-{number:03}", **FULL) for number in range(claims)]
    return Known(series_limit=limit).read(Source.SUMMARY, summary(*volumes)).read(Source.PODS, PODS)


def counted(known: Known) -> int:
    """How many series the cap knows of: all but its own."""
    return count(known) - len(known.series("series_dropped"))


def left_out(known: Known) -> float:
    """How many series of volumes are left out."""
    return known.values('series_dropped{topic="volumes"}')["series_dropped"]


def test_below_the_cap_nothing_is_left_out() -> None:
    known = with_volumes(10, 5000)

    assert 70 == len([line for line in known.series() if line.startswith("volume")])
    assert 0 == left_out(known)


def test_above_the_cap_whole_volumes_are_left_out_and_their_series_counted() -> None:
    nodes = counted(with_volumes(0, 5000))
    known = with_volumes(10, nodes + 3 * 7 + 6)

    assert [f'persistentvolumeclaim="claim-{number:03}"' for number in range(3)] == [
        line.partition(",")[2].partition("}")[0] for line in known.series("volume_capacity_bytes")
    ]
    assert 3 * 7 == len([line for line in known.series() if line.startswith("volume")])
    assert 49 == left_out(known)


@pytest.mark.parametrize("limit", [0, 1, -1])
def test_series_of_the_node_are_kept_whatever_the_cap_is(limit: int) -> None:
    known = with_volumes(2, limit)

    assert count(with_volumes(0, 5000)) == count(known)
    assert 14 == left_out(known)
    assert 5 == len(known.series("pods"))


def test_a_scrape_never_has_more_series_than_the_cap() -> None:
    limit = counted(with_volumes(0, 5000)) + 2 * 7

    assert limit >= count(with_volumes(10, limit))


def test_a_histogram_counts_as_many_series_as_it_has_lines() -> None:
    read: Callable[[int], Known] = lambda limit: (  # noqa: E731
        with_volumes(1, limit).read(Source.METRICS, histogram())
    )
    everything = count(read(5000))

    assert everything == count(read(everything))
    assert everything - 7 == count(read(everything - 1))


# The faults that tests of other files look for


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a NaN\n", "NaN"),
        ("a -1\n", "negative"),
        ('a{b="1"} 1\na{b="1"} 2\n', "twice"),
        ("a{ 1\n", "no line"),
    ],
)
def test_a_fault_of_a_scrape_would_be_found(text: str, kind: str) -> None:
    assert [kind] == [fault.partition(":")[0] for fault in faults(text)]
    assert [] == faults('a{b="1"} 1\na{b="2"} +Inf\n')
