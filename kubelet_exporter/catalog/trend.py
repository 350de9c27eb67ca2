"""Whether readings fall steadily, and when they will have fallen to a floor. Robust against jumps: no two points decide.

The slope is the median of the slopes between all pairs of readings (Theil-Sen estimator).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Watch:
    """How a trend is watched: seconds between two points, the most and the fewest points, and how far ahead it may tell.

    `reach` is the time ahead as a multiple of the time that the points span.
    """

    spacing: float
    most: int
    fewest: int
    reach: float


@dataclass(frozen=True, slots=True)
class Trend:
    """Points of time and value, and the amount a second by which the value falls; None while it does not, or nothing can be said."""

    points: tuple[Point, ...] = ()
    fall: float | None = None


# Of all pairs of points so many must fall before it is called a trend: half of them do by chance.
STEADY = 2 / 3


def noted(trend: Trend, point: Point, watch: Watch) -> Trend:
    """The trend after one more reading; it is left as it is when the last point is not yet so old."""
    if trend.points and point[0] - trend.points[-1][0] < watch.spacing:
        return trend
    points = (*trend.points, point)[-watch.most :]
    return Trend(points, _fall(points) if len(points) >= watch.fewest else None)


def _fall(points: Sequence[Point]) -> float | None:
    slopes = [(last - first) / (later - sooner) for (sooner, first), (later, last) in combinations(points, 2)]
    falling = sum(slope < 0 for slope in slopes)
    slope = median(slopes)
    return -slope if slope < 0 and falling >= STEADY * len(slopes) else None


def time_left(trend: Trend, value: float, floor: float, watch: Watch) -> float | None:
    """Seconds until the value falls to the floor: 0 if it has, None without a trend or beyond what the points can tell."""
    if value <= floor:
        return 0.0
    if trend.fall is None:
        return None
    left = (value - floor) / trend.fall
    span = trend.points[-1][0] - trend.points[0][0]
    return left if left <= watch.reach * span else None
