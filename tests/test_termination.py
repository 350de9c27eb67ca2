"""Terminations: what is remembered of a deletion, what is observed when the pod is gone, and who is overdue.

The recorded film of terminations has a file of its own.
"""

from __future__ import annotations

from typing import Any

import pytest
from bodies import NOW, Known, pod, pods

from kubelet_exporter.catalog import first_ledger
from kubelet_exporter.catalog.tally import START_BOUNDS
from kubelet_exporter.catalog.termination import Memory, Overdue, overdue
from kubelet_exporter.snapshot import Source
from kubelet_exporter.units import rfc3339

GRACE = 30


def ending(name: str = "web-0", uid: str = "uid-a", asked: float = NOW, grace: float | None = GRACE) -> dict[str, Any]:
    """A pod whose deletion was asked for at a time."""
    until = rfc3339(asked + (grace or 0))
    return pod(name, uid, deletionTimestamp=until, deletionGracePeriodSeconds=grace)


def listed(known: Known, *listings: tuple[float, list[Any]]) -> Known:
    """The same after these listings of pods, each so many seconds after NOW."""
    for seconds, items in listings:
        known.at(NOW + seconds).read(Source.PODS, pods(*items))
    return known


def taken(known: Known) -> tuple[float, float]:
    """How many terminations were observed, and their seconds together."""
    histogram = memory(known).taken.histogram
    return histogram.count, histogram.sum


def memory(known: Known) -> Memory:
    """What the topic remembers."""
    remembered: Memory = known.ledger["termination"]
    return remembered


def late(known: Known) -> list[Overdue]:
    """The rows of pods that are overdue."""
    return list(overdue(known.snapshot, None))  # type: ignore[arg-type]  # it needs no memory


# What is remembered


@pytest.mark.parametrize(
    ("asked", "grace"), [(NOW, 30), (NOW - 100, 30), (NOW, 0), (NOW, None), (NOW - 7, 3600)], ids=repr
)
def test_a_deletion_was_asked_for_the_grace_period_before_its_time(asked: float, grace: float | None) -> None:
    known = listed(Known(), (0, [ending(asked=asked, grace=grace)]))

    assert {"uid-a": asked} == memory(known).asked


def test_pods_that_nobody_deletes_are_not_remembered() -> None:
    known = listed(Known(), (0, [pod("web-0", "uid-a"), pod("job", "uid-j", "Succeeded"), ending("web-1", "uid-b")]))

    assert {"uid-b": NOW} == memory(known).asked


def test_the_first_answer_counts_when_the_kubelet_shortens_the_grace_period() -> None:
    shortened = pod("web-0", "uid-a", deletionTimestamp=rfc3339(NOW + 2), deletionGracePeriodSeconds=0)
    known = listed(Known(), (1, [ending()]), (3, [shortened]), (100, []), (101, []))

    assert (1, 100) == taken(known)


def test_a_pod_that_is_gone_for_good_is_forgotten() -> None:
    known = listed(Known(), (0, [ending(uid=f"uid-{number}") for number in range(100)]), (5, []), (6, []))

    assert ({}, {}) == (memory(known).asked, memory(known).gone)


# What is observed


def test_the_time_ends_when_the_pod_is_first_lacking_and_counts_when_it_is_lacking_again() -> None:
    known = listed(Known(), (0, [ending()]), (5, [ending()]), (10, []))
    first = taken(known)
    listed(known, (15, []))

    assert ((0, 0), (1, 10)) == (first, taken(known))


def test_a_termination_is_observed_once() -> None:
    known = listed(Known(), (0, [ending()]), (10, []), (15, []), (20, []), (25, []))

    assert (1, 10) == taken(known)


def test_a_pod_that_one_listing_lacks_is_not_gone() -> None:
    known = listed(Known(), (0, [ending()]), (5, []), (10, [ending()]), (15, [ending()]))
    before = taken(known)
    listed(known, (20, []), (25, []))

    assert ((0, 0), (1, 20)) == (before, taken(known))


def test_a_pod_that_one_listing_tells_badly_is_not_gone() -> None:
    bad = {**ending(), "status": {"phase": 7}}
    known = listed(Known(), (0, [ending()]), (5, [bad]), (10, [ending()]), (20, []), (25, []))

    assert (1, 20) == taken(known)


def test_a_new_pod_of_the_same_name_ends_the_old_one() -> None:
    new = pod("web-0", "uid-b")
    known = listed(Known(), (0, [ending()]), (10, [new]), (11, [new]))

    assert ((1, 10), {}) == (taken(known), memory(known).asked)


def test_two_pods_of_one_name_are_observed_each() -> None:
    both = [ending(uid="uid-a", grace=5), ending(uid="uid-b", asked=NOW + 2)]
    known = listed(Known(), (3, both), (9, both[1:]), (14, []), (15, []))

    assert (2, 9 + 12) == taken(known)


def test_a_pod_that_is_gone_without_a_deletion_is_not_observed() -> None:
    known = listed(Known(), (0, [pod()]), (5, []), (10, []))

    assert (0, 0) == taken(known)


def test_a_pod_that_is_gone_before_its_deletion_was_asked_for_took_no_time() -> None:
    known = listed(Known(), (0, [ending(asked=NOW + 60)]), (5, []), (10, []))

    assert (1, 0) == taken(known)


def test_a_restart_of_the_exporter_loses_no_time_of_a_pod_that_is_still_there() -> None:
    listed(Known(), (0, [ending()]), (5, [ending()]))
    restarted = listed(Known(), (20, [ending()]), (40, []), (45, []))

    assert (1, 40) == taken(restarted)


def test_a_restart_of_the_exporter_takes_the_shortened_grace_period_for_granted() -> None:
    shortened = pod("web-0", "uid-a", deletionTimestamp=rfc3339(NOW + 2), deletionGracePeriodSeconds=0)
    restarted = listed(Known(), (20, [shortened]), (40, []), (45, []))

    assert (1, 38) == taken(restarted)


def test_a_failed_reading_changes_nothing() -> None:
    known = listed(Known(), (0, [ending()]))
    before = memory(known)
    known.at(NOW + 5).fail(Source.PODS)
    known.at(NOW + 400).fail(Source.PODS).fail(Source.METRICS)

    assert before is memory(known)


def test_a_failed_reading_between_two_listings_that_lack_a_pod_changes_nothing() -> None:
    known = listed(Known(), (0, [ending()]), (5, []))
    known.at(NOW + 10).fail(Source.PODS)
    between = taken(known)
    listed(known, (15, []))

    assert ((0, 0), (1, 5)) == (between, taken(known))


def test_readings_of_other_sources_change_nothing() -> None:
    known = listed(Known(), (0, [ending()]), (5, []))
    before = memory(known)
    known.at(NOW + 6).read(Source.HEALTHZ, "ok").read(Source.METRICS, "a 1\n")

    assert before is memory(known)


def test_the_histogram_is_there_at_0_from_the_start() -> None:
    assert memory(Known()) == first_ledger()["termination"]
    assert [
        *(f'pod_termination_seconds_bucket{{le="{float(bound)}"}} 0.0' for bound in START_BOUNDS),
        'pod_termination_seconds_bucket{le="+Inf"} 0.0',
        "pod_termination_seconds_count 0.0",
        "pod_termination_seconds_sum 0.0",
    ] == [line for line in Known().series() if line.startswith("pod_termination_seconds")]


def test_pods_that_are_being_deleted_are_counted_if_pods_are_known() -> None:
    some = listed(Known(), (0, [ending(uid="uid-a"), ending(uid="uid-b"), pod("web-2", "uid-c")]))

    assert ["pods_terminating 2.0"] == some.series("pods_terminating")
    assert ["pods_terminating 0.0"] == listed(Known(), (0, [pod()])).series("pods_terminating")
    assert [] == Known().fail(Source.PODS).series("pods_terminating")


# Who is overdue


@pytest.mark.parametrize(("seconds", "rows"), [(0, []), (29, []), (30, []), (30.5, [0.5]), (630, [600])])
def test_a_pod_is_overdue_past_the_time_that_includes_its_grace_period(seconds: float, rows: list[float]) -> None:
    known = listed(Known(), (seconds, [ending()]))

    assert [Overdue("shop", "web-0", each) for each in rows] == late(known)


def test_an_overdue_pod_has_a_line_until_it_is_gone() -> None:
    known = listed(Known(), (40, [ending()]))
    lines = known.series("pod_termination_overdue_seconds")
    listed(known, (45, []))

    assert ['pod_termination_overdue_seconds{namespace="shop",pod="web-0"} 10.0'] == lines
    assert [] == known.series("pod_termination_overdue_seconds")


def test_the_time_goes_on_between_two_readings() -> None:
    known = listed(Known(), (40, [ending()])).at(NOW + 55)

    assert ['pod_termination_overdue_seconds{namespace="shop",pod="web-0"} 25.0'] == known.series(
        "pod_termination_overdue_seconds"
    )


def test_the_longest_overdue_stands_first_and_equals_by_name() -> None:
    items = [
        ending("web-1", "1"),
        ending("web-9", "9", asked=NOW - 50),
        {**ending("web-0", "0"), "metadata": {**ending("web-0", "0")["metadata"], "namespace": "bar"}},
        ending("web-2", "2", asked=NOW + 100),
        ending("web-0", "a"),
    ]
    known = listed(Known(), (100, items))
    shown = [(row.namespace, row.pod, row.seconds) for row in late(known)]

    assert [("shop", "web-9", 120), ("bar", "web-0", 70), ("shop", "web-0", 70), ("shop", "web-1", 70)] == shown
    assert shown == [(row.namespace, row.pod, row.seconds) for row in late(listed(Known(), (100, items[::-1])))]


def test_of_pods_with_one_name_the_longest_overdue_counts() -> None:
    same = [ending(uid="1"), ending(uid="2", asked=NOW - 60), ending(uid="3", asked=NOW - 20)]

    assert [Overdue("shop", "web-0", 130)] == late(listed(Known(), (100, same)))


def test_the_shortened_time_counts_for_being_overdue() -> None:
    shortened = pod("web-0", "uid-a", deletionTimestamp=rfc3339(NOW + 2), deletionGracePeriodSeconds=0)

    assert [Overdue("shop", "web-0", 8)] == late(listed(Known(), (1, [ending()]), (10, [shortened])))


def test_the_cap_of_series_leaves_out_the_least_overdue() -> None:
    items = [ending(f"web-{number}", str(number), asked=NOW - number) for number in range(10)]
    whole = len(listed(Known(), (100, items)).series())
    known = listed(Known(series_limit=whole - 10 + 3), (100, items))

    assert ["web-9", "web-8", "web-7"] == [
        line.partition('pod="')[2].partition('"')[0] for line in known.series("pod_termination_overdue_seconds")
    ]
    assert 'series_dropped{topic="termination"} 7.0' in known.series("series_dropped")
