"""Histograms that are filled by a fold, and lengths of unions of intervals."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from kubelet_exporter.samples import Histogram

Interval = tuple[float, float]

# Subset of the kubelet's podStartupDurationBuckets (pkg/kubelet/metrics/metrics.go), so that both meet at these bounds.
START_BOUNDS = (0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 300, 600, 1800)
# For stages, which may be much shorter than a start. There are many stages, so these are few.
STAGE_BOUNDS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)


@dataclass(frozen=True, slots=True)
class Tally:
    """Observations counted by upper bound; the last count is of those above every bound."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float = 0.0

    @property
    def histogram(self) -> Histogram:
        """The same as cumulative buckets."""
        return Histogram(tuple(zip((*self.bounds, inf), map(float, accumulate(self.counts)), strict=True)), self.sum)


def empty(bounds: Sequence[float]) -> Tally:
    """A tally of nothing."""
    return Tally(tuple(bounds), (0,) * (len(bounds) + 1))


def observed(tally: Tally, value: float) -> Tally:
    """The tally after one more observation, which must not be negative; raises ValueError."""
    if value < 0:
        raise ValueError(f"a duration cannot be {value:g} s")
    at = bisect_left(tally.bounds, value)
    counts = (*tally.counts[:at], tally.counts[at] + 1, *tally.counts[at + 1 :])
    return Tally(tally.bounds, counts, tally.sum + value)


def covered(intervals: Iterable[Interval], within: Interval) -> float:
    """How many seconds of `within` are covered by the union of the intervals."""
    begin, end = within
    total, reached = 0.0, begin
    for low, high in sorted(intervals):
        low, high = max(low, reached), min(high, end)  # noqa: PLW2901
        if high > low:
            total += high - low
            reached = high
    return total
