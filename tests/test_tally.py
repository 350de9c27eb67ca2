"""Histograms that a fold fills, and unions of intervals."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubelet_exporter.catalog.tally import STAGE_BOUNDS, START_BOUNDS, Interval, Tally, covered, empty, observed
from kubelet_exporter.samples import Histogram

SECONDS = st.integers(0, 40).map(float)
INTERVALS = st.lists(st.tuples(SECONDS, SECONDS))


def test_an_empty_tally_has_every_bucket_at_0() -> None:
    assert Histogram(((1, 0.0), (5, 0.0), (inf, 0.0)), 0.0) == empty((1, 5)).histogram


@pytest.mark.parametrize(
    ("value", "counts"), [(0.0, (1, 1, 1)), (1.0, (1, 1, 1)), (1.5, (0, 1, 1)), (5.0, (0, 1, 1)), (5.1, (0, 0, 1))]
)
def test_an_upper_bound_belongs_to_its_bucket(value: float, counts: tuple[int, ...]) -> None:
    histogram = observed(empty((1, 5)), value).histogram

    assert (counts, value) == (tuple(count for _, count in histogram.buckets), histogram.sum)


def test_an_observation_leaves_the_old_tally_as_it_was() -> None:
    tally = empty((1, 5))

    observed(tally, 3)

    assert empty((1, 5)) == tally


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(ValueError, match=r"cannot be -0\.1 s"):
        observed(empty((1, 5)), -0.1)


@given(st.lists(SECONDS))
def test_count_and_sum_are_those_of_the_observations(values: list[float]) -> None:
    tally: Tally = empty(STAGE_BOUNDS)
    for value in values:
        tally = observed(tally, value)

    histogram = tally.histogram
    assert (len(values), sum(values)) == (histogram.count, histogram.sum)
    assert [sum(value <= bound for value in values) for bound, _ in histogram.buckets] == [
        n for _, n in histogram.buckets
    ]


@pytest.mark.parametrize("bounds", [START_BOUNDS, STAGE_BOUNDS])
def test_bounds_rise_and_contain_the_limits_that_rules_use(bounds: tuple[float, ...]) -> None:
    assert sorted(set(bounds)) == list(bounds)
    assert {5, 30} <= set(bounds)


@pytest.mark.parametrize(
    ("intervals", "seconds"),
    [
        ([], 0),
        ([(12, 15)], 3),
        ([(0, 100)], 10),
        ([(0, 12), (18, 100)], 4),
        ([(0, 5), (25, 30)], 0),
        ([(12, 16), (14, 18)], 6),
        ([(12, 18), (13, 14)], 6),
        ([(12, 14), (14, 16)], 4),
        ([(15, 12)], 0),
        ([(12, 12)], 0),
    ],
    ids=["none", "one", "all", "both ends", "outside", "overlapping", "nested", "touching", "reversed", "empty"],
)
def test_intervals_cover_the_length_of_their_union(intervals: list[Interval], seconds: float) -> None:
    assert seconds == covered(intervals, (10, 20)) == covered(reversed(intervals), (10, 20))


@given(INTERVALS, st.tuples(SECONDS, SECONDS))
def test_what_is_covered_is_what_is_found_second_by_second(intervals: list[Interval], within: Interval) -> None:
    low, high = within
    seconds = [at for at in range(int(low), int(high)) if any(begin <= at < end for begin, end in intervals)]

    assert len(seconds) == covered(intervals, within)
