"""Whether readings fall steadily and when they reach a floor; of eviction signals, by the exporter's own readings."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from bodies import NOW, Known, body, configz
from hypothesis import given
from hypothesis import strategies as st

from kubelet_exporter.catalog.eviction.forecast import WATCH as SIGNALS
from kubelet_exporter.catalog.trend import Trend, Watch, noted, time_left
from kubelet_exporter.snapshot import Reason, Source

WATCH = Watch(spacing=60, most=60, fewest=6, reach=24)
MINUTE = 60.0


def seen(*values: float, watch: Watch = WATCH, every: float = MINUTE) -> Trend:
    """The trend after these values."""
    trend = Trend()
    for number, value in enumerate(values):
        trend = noted(trend, (number * every, value), watch)
    return trend


def test_a_steady_fall_is_told_to_the_second() -> None:
    trend = seen(*(1000 - 10 * minute for minute in range(30)))

    assert trend.fall
    assert math.isclose(10 / 60, trend.fall)
    assert math.isclose(61 * MINUTE, time_left(trend, 710, 100, WATCH) or 0)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([500.0] * 30, id="flat"),
        pytest.param([float(minute) for minute in range(30)], id="rising"),
        pytest.param([900.0] * 15 + [100.0] * 15, id="one jump"),
        pytest.param([900.0, 100.0] * 15, id="up and down"),
        pytest.param([500.0 + 200 * math.sin(minute) for minute in range(30)], id="waves"),
        pytest.param([900.0, 800.0, 700.0, 600.0, 500.0], id="too few"),
        pytest.param([500.0] * 29 + [0.0], id="one low reading"),
    ],
)
def test_without_a_steady_fall_nothing_is_told(values: list[float]) -> None:
    trend = seen(*values)

    assert trend.fall is None
    assert time_left(trend, 500, 100, WATCH) is None


def test_two_wild_readings_do_not_change_what_is_told() -> None:
    steady = [1000 - 10.0 * minute for minute in range(30)]
    wild = [0.0 if minute == 7 else 5000.0 if minute == 20 else value for minute, value in enumerate(steady)]

    fall = seen(*wild).fall
    assert fall
    assert math.isclose(10 / 60, fall, rel_tol=0.05)


def test_at_or_below_the_floor_nothing_is_left_whatever_the_trend() -> None:
    assert [0.0, 0.0] == [time_left(Trend(), value, 100, WATCH) for value in (100, 7)]


def test_nothing_is_told_beyond_what_the_readings_can_tell() -> None:
    trend = seen(*(1000.0 - minute for minute in range(11)))  # a minute costs 1, and ten minutes were seen

    assert math.isclose(240 * MINUTE, time_left(trend, 240, 0, WATCH) or 0)
    assert time_left(trend, 241, 0, WATCH) is None


def test_points_are_as_far_apart_as_is_watched_and_the_oldest_leave() -> None:
    trend = seen(*range(1000), every=15.0)

    assert 60 == len(trend.points)
    assert {60.0} == {later - sooner for (sooner, _), (later, _) in pairwise(trend.points)}
    assert 996 == trend.points[-1][1]


@given(st.lists(st.floats(0, 1e19), max_size=70), st.floats(0, 1e19), st.floats(0, 1e19))
def test_what_is_left_is_finite_and_never_negative(values: list[float], value: float, floor: float) -> None:
    left = time_left(seen(*values), value, floor, WATCH)

    assert left is None or (math.isfinite(left) and left >= 0)


# Eviction


HARD = configz(evictionHard={"memory.available": "100"})


def falling(minutes: int, begin: float = 2000.0, each: float = 10.0, config: bytes = HARD) -> Known:
    """A node whose memory shrinks by `each` a minute."""
    known = Known()
    for minute in range(minutes):
        known.at(NOW + minute * MINUTE).read(Source.SUMMARY, stats(begin - each * minute))
    return known.read(Source.CONFIGZ, config)


def stats(available: Any, **more: Any) -> bytes:
    """An answer of /stats/summary with so much memory."""
    return body({"node": {"memory": {"availableBytes": available, "workingSetBytes": 10, **more}}, "pods": []})


def left(known: Known) -> dict[str, float]:
    """The seconds until eviction, by series."""
    lines = (line.rsplit(" ", 1) for line in known.series("eviction_time_left_seconds"))
    return {name.split('"')[1]: float(value) for name, value in lines}


def test_a_node_whose_memory_shrinks_tells_when_it_evicts() -> None:
    known = falling(20)

    # 1810 - 100 are left, and 10 go each minute.
    assert {"memory.available": 171 * MINUTE} == {signal: round(seconds) for signal, seconds in left(known).items()}


def test_a_node_that_is_below_its_threshold_has_no_time_left() -> None:
    assert {"memory.available": 0.0} == left(Known().read(Source.CONFIGZ, HARD).read(Source.SUMMARY, stats(99)))


def test_a_signal_without_hard_threshold_or_a_steady_fall_has_no_time() -> None:
    assert {} == left(falling(20, config=configz(evictionHard={"nodefs.available": "5%"})))
    assert {} == left(falling(20, each=0))
    assert {} == left(falling(20, each=-10))
    assert {} == left(falling(SIGNALS.fewest - 1))


def test_failed_readings_and_other_sources_are_no_points() -> None:
    known = falling(20)
    before = left(known)
    for minute in range(20, 23):
        known.at(NOW + minute * MINUTE).fail(Source.SUMMARY, Reason.TIMEOUT)

    assert before == left(known)


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=True), st.integers(-(2**70), 2**70)), max_size=20))
def test_mutated_summaries_never_give_a_negative_headroom_or_an_infinite_forecast(values: list[Any]) -> None:
    known = Known().read(Source.CONFIGZ, HARD)
    for minute, value in enumerate(values):
        number = None if isinstance(value, float) and not math.isfinite(value) else value
        known.at(NOW + minute * MINUTE).read(Source.SUMMARY, stats(number))
        told = [
            float(line.rsplit(" ", 1)[1])
            for line in known.series("eviction_available_bytes", "eviction_time_left_seconds")
        ]
        assert all(math.isfinite(each) and each >= 0 for each in told)
