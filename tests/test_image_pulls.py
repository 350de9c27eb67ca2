"""Image pulls by size: the kubelet's histogram with fewer bounds, of constructed texts and of recordings."""

from __future__ import annotations

import math
import re

import pytest
from bodies import NOW, Known, faults
from recorded import FOLDER, answers, played

from kubelet_exporter.catalog.image_pulls import BOUNDS, pulls
from kubelet_exporter.snapshot import Source

NAME = "kubelet_image_pull_duration_seconds"
MB = 1_000_000
SIZES = {"10MB-100MB": (10 * MB, 100 * MB), "100MB-500MB": (100 * MB, 500 * MB)}
EVENTS = FOLDER / "v1.36-film-slow-pulls.events.json"
# pkg/kubelet/metrics/metrics.go imagePullDurationBuckets, as each recording shows them.
KUBELET = (1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600)


def text(size: str, counts: dict[str, float], total: float = 0.5) -> str:
    """The kubelet's histogram of one size; counts by bound as they stand on the lines."""
    label = f'image_size_in_bytes="{size}"'
    lines = [f'{NAME}_bucket{{{label},le="{bound}"}} {count}' for bound, count in counts.items()]
    return "\n".join([*lines, f"{NAME}_sum{{{label}}} {total}", f"{NAME}_count{{{label}}} {counts['+Inf']}", ""])


def steps() -> dict[str, float]:
    """One pull in each bucket of the kubelet."""
    return {f"{bound}": count for count, bound in enumerate((*KUBELET, "+Inf"), start=1)}


def shown(known: Known) -> list[str]:
    """The lines of the metric."""
    return [line for line in known.series() if line.startswith("image_pull_by_size")]


def test_every_bound_that_is_kept_is_one_of_the_kubelet() -> None:
    assert {*map(float, KUBELET), math.inf} > BOUNDS
    assert math.inf in BOUNDS


def test_the_counts_at_the_kept_bounds_stay_as_they_were() -> None:
    known = Known().read(Source.METRICS, text("0-10MB", steps(), 12345.5))

    assert [
        'image_pull_by_size_seconds_bucket{le="1.0",size="0-10MB"} 1.0',
        'image_pull_by_size_seconds_bucket{le="5.0",size="0-10MB"} 2.0',
        'image_pull_by_size_seconds_bucket{le="10.0",size="0-10MB"} 3.0',
        'image_pull_by_size_seconds_bucket{le="30.0",size="0-10MB"} 5.0',
        'image_pull_by_size_seconds_bucket{le="60.0",size="0-10MB"} 6.0',
        'image_pull_by_size_seconds_bucket{le="120.0",size="0-10MB"} 7.0',
        'image_pull_by_size_seconds_bucket{le="300.0",size="0-10MB"} 10.0',
        'image_pull_by_size_seconds_bucket{le="600.0",size="0-10MB"} 13.0',
        'image_pull_by_size_seconds_bucket{le="1800.0",size="0-10MB"} 16.0',
        'image_pull_by_size_seconds_bucket{le="+Inf",size="0-10MB"} 19.0',
        'image_pull_by_size_seconds_count{size="0-10MB"} 19.0',
        'image_pull_by_size_seconds_sum{size="0-10MB"} 12345.5',
    ] == shown(known)


def test_each_size_has_its_own_histogram_in_a_steady_order() -> None:
    sizes = ["GT100GB", "0-10MB", "100MB-500MB"]
    known = Known().read(Source.METRICS, "".join(text(size, {"1": n, "+Inf": n}) for n, size in enumerate(sizes)))

    assert [("0-10MB", 1), ("100MB-500MB", 2), ("GT100GB", 0)] == [
        (row.size, row.histogram.count) for row in pulls(known.snapshot, None)
    ]


def test_a_kubelet_that_does_not_tell_pulls_has_none() -> None:
    assert [] == shown(Known().read(Source.METRICS, "kubelet_pleg_last_seen_seconds 5\n"))
    assert [] == shown(Known())


def test_a_kubelet_with_other_bounds_keeps_count_and_sum() -> None:
    known = Known().read(Source.METRICS, text("0-10MB", {"2": 1, "7": 4, "+Inf": 5}, 33))

    assert [
        'image_pull_by_size_seconds_bucket{le="+Inf",size="0-10MB"} 5.0',
        'image_pull_by_size_seconds_count{size="0-10MB"} 5.0',
        'image_pull_by_size_seconds_sum{size="0-10MB"} 33.0',
    ] == shown(known)


@pytest.mark.parametrize(
    "broken",
    [
        text("0-10MB", {"1": 3, "5": 2, "+Inf": 3}),
        text("0-10MB", {"1": 3, "+Inf": 3}).replace(f"{NAME}_sum", "other"),
        re.sub(r".*\+Inf.*\n", "", text("0-10MB", {"1": 3, "+Inf": 3})),
        text("", {"1": 3, "+Inf": 3}),
        f"{NAME}_count 3\n",
    ],
    ids=["falling", "no sum", "no +Inf", "no size", "no label"],
)
def test_a_size_whose_histogram_is_broken_is_left_out_and_the_others_stay(broken: str) -> None:
    known = Known().read(Source.METRICS, broken + text("10MB-100MB", {"1": 1, "+Inf": 1}))

    assert ["10MB-100MB"] == [row.size for row in pulls(known.snapshot, None)]
    assert [] == faults(known.text())


def test_pulls_that_were_read_too_long_ago_are_absent() -> None:
    known = Known().read(Source.METRICS, text("0-10MB", steps()))

    assert 12 == len(shown(known.at(NOW + 300)))
    assert [] == shown(known.at(NOW + 301))


def recorded(name: str) -> dict[tuple[str, str], float]:
    """Count, sum and the kept buckets at the end of a recording, by size, from its plain text."""
    last = [body for _, body in answers(name, "/metrics")][-1]
    found = re.findall(rf'^{NAME}_(\w+)\{{image_size_in_bytes="(.+?)"(?:,le="(.+?)")?\}} (\S+)$', last, re.MULTILINE)
    return {
        (size, bound or kind): float(value)
        for kind, size, bound, value in found
        if kind != "bucket" or float(bound) in BOUNDS
    }


def scraped(name: str) -> dict[tuple[str, str], float]:
    """The same from the scrape."""
    lines = [
        re.fullmatch(r'image_pull_by_size_seconds_(\w+)\{(?:le="(.+?)",)?size="(.+?)"\} (\S+)', line)
        for line in shown(played(name))
    ]
    assert None not in lines
    return {(line[3], (line[2] or line[1]).removesuffix(".0")): float(line[4]) for line in lines if line}


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("v1.36-film-slow-pulls", {"100MB-500MB": 1, "10MB-100MB": 3}),
        ("v1.36-film-starts", {"0-10MB": 2, "100MB-500MB": 4, "10MB-100MB": 2}),
        ("v1.31-film-starts", {"0-10MB": 1, "100MB-500MB": 2, "10MB-100MB": 1}),
        ("v1.34-mixed", {"0-10MB": 3, "100MB-500MB": 2, "10MB-100MB": 1}),
        # All images were there already: a kubelet tells the family from its first pull on.
        ("v1.36-film-terminations", {}),
    ],
)
def test_a_recording_ends_with_the_counts_of_its_text(name: str, counts: dict[str, int]) -> None:
    plain = recorded(name)

    assert counts == {size: count for (size, kind), count in plain.items() if kind == "count"}
    assert plain == scraped(name)
    assert len(plain) == 12 * len(counts)


def test_the_slow_pulls_are_those_that_their_events_tell_with_the_wait_in_the_queue() -> None:
    # 43, 64 and 85 MB in 7.053, 17.302 and 30.859 s; 106 MB in 34.402 s, of which half was wait.
    told = re.findall(r"\((\S+)s including waiting\)\. Image size: (\d+) bytes", EVENTS.read_text(encoding="utf-8"))
    sizes = {size: [float(s) for s, bytes_ in told if low <= int(bytes_) < high] for size, (low, high) in SIZES.items()}
    rows = {row.size: row.histogram for row in pulls(played("v1.36-film-slow-pulls").snapshot, None)}

    assert {"10MB-100MB": [7.053, 17.302, 30.859], "100MB-500MB": [34.402]} == sizes
    assert sizes.keys() == rows.keys()
    for size, seconds in sizes.items():
        assert [(bound, sum(each <= bound for each in seconds)) for bound in sorted(BOUNDS)] == list(rows[size].buckets)
        assert pytest.approx(sum(seconds)) == rows[size].sum
