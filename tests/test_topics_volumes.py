"""Topic volumes: readings in, lines of the scrape out. Lines stand without the prefix kubelet_exporter_."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from bodies import (
    FULL,
    Known,
    summary,
    volume,
)

from kubelet_exporter.snapshot import Source


def test_a_volume_tells_bytes_inodes_and_the_time_of_its_statistics() -> None:
    labels = '{namespace="shop",persistentvolumeclaim="data"}'

    assert [
        f"volume_capacity_bytes{labels} 100.0",
        f"volume_available_bytes{labels} 25.0",
        f"volume_used_bytes{labels} 70.0",
        f"volume_inodes{labels} 50.0",
        f"volume_inodes_free{labels} 40.0",
        f"volume_inodes_used{labels} 10.0",
        f"volume_stats_timestamp_seconds{labels} 1.8e+09",
    ] == [line for line in Known().read(Source.SUMMARY, summary(volume(**FULL))).series() if line.startswith("volume")]


@pytest.mark.parametrize(
    ("numbers", "names"),
    [
        ({}, ""),
        ({"capacityBytes": 100}, "capacity_bytes"),
        ({"capacityBytes": 100, "availableBytes": 0, "usedBytes": 0}, "capacity_bytes"),
        ({"capacityBytes": 100, "availableBytes": 0, "usedBytes": 100}, "capacity_bytes available_bytes used_bytes"),
        ({"capacityBytes": 100, "availableBytes": 100, "usedBytes": 0}, "capacity_bytes available_bytes used_bytes"),
        ({"capacityBytes": 0, "availableBytes": 0, "usedBytes": 0}, ""),
        ({"availableBytes": 5, "usedBytes": 5}, ""),
        ({"capacityBytes": 100, "availableBytes": -1, "usedBytes": 5}, "capacity_bytes used_bytes"),
        ({"inodes": 0, "inodesFree": 0, "inodesUsed": 0}, ""),
        ({"inodes": 10, "inodesFree": 0, "inodesUsed": 10}, "inodes inodes_free inodes_used"),
        ({"inodes": 10, "inodesFree": 4}, "inodes inodes_free"),
        ({"inodesFree": 4, "inodesUsed": 6}, ""),
    ],
)
def test_zeros_that_stand_for_nothing_are_absent(numbers: Any, names: str) -> None:
    lines = Known().read(Source.SUMMARY, summary(volume(**numbers))).series()

    assert [*names.split(), "stats_timestamp_seconds"] == [
        line.partition("{")[0].removeprefix("volume_") for line in lines if line.startswith("volume")
    ]


@pytest.mark.parametrize(
    ("totals", "frees", "shown"),
    [
        ([100], [0], 3),
        ([100, 100], [0, 0], 3),
        ([100, 101], [0, 0], 0),
        ([100, 101, 101], [0, 0, 0], 0),
        ([100, 101, 101], [0, 0, 1], 3),
        ([100, 200], [1, 0], 3),
        ([100, 200, 200], [0, 1, 0], 3),
    ],
)
def test_inodes_whose_total_moves_while_none_is_free_are_no_limit(
    totals: list[int], frees: list[int], shown: int
) -> None:
    known = Known()
    for total, free in zip(totals, frees, strict=True):
        known.read(Source.SUMMARY, summary(volume(inodes=total, inodesFree=free, inodesUsed=total - free)))

    assert shown == len(known.series("volume_inodes", "volume_inodes_free", "volume_inodes_used"))


def test_volumes_stand_in_the_order_of_namespace_and_claim() -> None:
    volumes = [volume(claim, namespace, capacityBytes=1) for namespace, claim in ("bb", "ba", "ab", "aa")]
    lines = Known().read(Source.SUMMARY, summary(*volumes)).series("volume_capacity_bytes")

    assert 4 == len(lines)
    assert all(first < second for first, second in pairwise(lines))
