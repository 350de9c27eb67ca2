"""When each signal will reach its threshold, by the trend of the exporter's own readings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubelet_exporter.catalog.eviction.thresholds import thresholds
from kubelet_exporter.catalog.trend import Trend, Watch, noted, time_left
from kubelet_exporter.snapshot import Snapshot, Source

# An hour of readings tells of a day at most.
WATCH = Watch(spacing=60, most=60, fewest=6, reach=24)

Trends = Mapping[str, Trend]


@dataclass(frozen=True, slots=True)
class Left:
    """The seconds until a signal reaches its hard threshold."""

    signal: str
    seconds: float


def advance(trends: Trends, snapshot: Snapshot) -> Trends:
    """The trends after one more reading of /stats/summary; a signal that is no longer told of is forgotten."""
    if snapshot.latest != Source.SUMMARY or not snapshot.fresh(Source.SUMMARY) or snapshot.summary is None:
        return trends
    at = snapshot.read_at(Source.SUMMARY)
    return {
        signal: noted(trends.get(signal, Trend()), (at, supply.available), WATCH)
        for signal, supply in snapshot.summary.supplies.items()
        if supply.available is not None
    }


def left(snapshot: Snapshot, trends: Trends) -> Iterator[Left]:
    """Each signal that falls steadily towards its hard threshold, or has reached it."""
    supplies = snapshot.summary.supplies if snapshot.summary else {}
    for each in thresholds(snapshot.config or {}):
        supply = supplies.get(each.signal)
        if each.kind != "hard" or supply is None or supply.available is None:
            continue
        floor = each.of(supply.capacity)
        seconds = None if floor is None else time_left(trends.get(each.signal, Trend()), supply.available, floor, WATCH)
        if seconds is not None:
            yield Left(each.signal, seconds)
