"""The decoder of /stats/summary: volumes of claims, the newest of each, and what a bad one costs."""

from __future__ import annotations

import random
import re
from dataclasses import fields
from typing import Any

import pytest
from bodies import NOW, WRONG, body, summary, volume
from hypothesis import given
from hypothesis import strategies as st

from kubelet_exporter.snapshot import Summary, VolumeStats
from kubelet_exporter.sources import summary as stats
from kubelet_exporter.sources.decode import Decoded, Malformed


def wrong(*right: str) -> pytest.MarkDecorator:
    """Values of every JSON type but these."""
    values = {name: value for name, value in WRONG.items() if name not in right}
    return pytest.mark.parametrize("value", list(values.values()), ids=list(values))


def claims(content: bytes, excluded: str | None = None) -> tuple[list[str], dict[str, int]]:
    """The claims of /stats/summary in their order, and what was dropped."""
    decoded = stats.summary(re.compile(excluded) if excluded else None)(content)
    return [each.claim for each in decoded.value.volumes], dict(decoded.dropped)


def test_a_volume_has_bytes_inodes_and_its_time() -> None:
    numbers: dict[str, Any] = {
        "capacityBytes": 100,
        "availableBytes": 40,
        "usedBytes": 50,
        "inodes": 10,
        "inodesFree": 6,
        "inodesUsed": 4,
    }

    assert Decoded(Summary((VolumeStats("shop", "data", NOW, 100, 40, 50, 10, 6, 4),))) == stats.summary()(
        summary(volume(**numbers))
    )


def test_a_volume_with_its_claim_alone_has_no_numbers() -> None:
    content = summary({"pvcRef": {"name": "data", "namespace": "shop"}})

    assert Decoded(Summary((VolumeStats("shop", "data"),))) == stats.summary()(content)


@pytest.mark.parametrize(
    "content",
    [
        summary(pods=[]),
        body({"node": {}}),
        body({"node": None, "pods": None}),
        summary(pods=[{}]),
        summary(pods=[{"volume": None}]),
        summary(pods=[{"volume": [], "containers": None, "network": None}]),
        summary({"name": "tmp", "capacityBytes": 1}),
        summary({"name": "tmp", "pvcRef": None}),
    ],
)
def test_what_has_no_claim_is_no_volume_and_no_fault(content: bytes) -> None:
    assert ([], {}) == claims(content)


@pytest.mark.parametrize(
    "content", [b"{}", body({"pods": []}), body({"node": {}, "pods": {}}), body({"node": {}, "pods": 1})]
)
def test_a_summary_without_a_node_or_with_other_pods_is_malformed(content: bytes) -> None:
    with pytest.raises(Malformed):
        stats.summary()(content)


@wrong("object")
def test_a_bad_pod_of_the_summary_costs_its_volumes(value: Any) -> None:
    assert (["data"], {"malformed": 1}) == claims(summary(pods=[value, {"volume": [volume()]}]))


@wrong("list", "null")
def test_a_bad_list_of_volumes_costs_its_pod(value: Any) -> None:
    assert (["data"], {"malformed": 1}) == claims(summary(pods=[{"volume": value}, {"volume": [volume()]}]))


@wrong("object")
def test_a_bad_volume_costs_itself(value: Any) -> None:
    assert (["a", "b"], {"malformed": 1}) == claims(summary(volume("a"), value, volume("b")))


@wrong("object", "null")
def test_a_bad_claim_costs_its_volume(value: Any) -> None:
    assert (["data"], {"malformed": 1}) == claims(summary({"pvcRef": value}, volume()))


@pytest.mark.parametrize(
    "claim",
    [
        {},
        {"name": "a"},
        {"namespace": "b"},
        {"name": "", "namespace": "b"},
        {"name": "a", "namespace": ""},
        {"name": 1},
    ],
)
def test_a_claim_without_name_or_namespace_costs_its_volume(claim: Any) -> None:
    assert (["data"], {"malformed": 1}) == claims(summary({"pvcRef": claim}, volume()))


@pytest.mark.parametrize("key", ["capacityBytes", "availableBytes", "usedBytes", "inodes", "inodesFree", "inodesUsed"])
@pytest.mark.parametrize("value", ["1", [], {}, True])
def test_a_number_of_another_type_costs_its_volume(key: str, value: Any) -> None:
    assert (["b"], {"malformed": 1}) == claims(summary(volume("a", **{key: value}), volume("b")))


def test_a_volume_with_invalid_utf_8_costs_itself() -> None:
    content = summary(volume("aaa"), volume("b")).replace(b"aaa", b"a\xffa")

    assert (["b"], {"malformed": 1}) == claims(content)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-1", None),
        ("-9223372036854775808", None),
        ("-1e-9", None),
        ("null", None),
        ("1.5", 1.5),
        ("9223372036853727232", 9223372036853727232),
        ("18446744073709551616", 2.0**64),
        ("1e30", 1e30),
        ("1" + "0" * 60, 1e60),
    ],
)
def test_a_negative_number_is_unknown_and_a_large_one_a_number(text: str, number: float | None) -> None:
    content = summary(volume(capacityBytes="NUMBER")).replace(b'"NUMBER"', text.encode())

    assert [number] == [each.capacity for each in stats.summary()(content).value.volumes]


def test_minus_zero_is_zero() -> None:
    content = summary(volume(capacityBytes="NUMBER")).replace(b'"NUMBER"', b"-0.0")

    assert "0.0" == str(stats.summary()(content).value.volumes[0].capacity)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "NaN", "Infinity", "1" + "0" * 400], ids=lambda text: text[:9])
def test_a_number_that_is_not_finite_never_gets_through(text: str) -> None:
    content = summary(volume("a", capacityBytes="NUMBER"), volume("b")).replace(b'"NUMBER"', text.encode())

    try:
        result = claims(content)
    except Malformed:
        result = (["b"], {"malformed": 1})  # no JSON at all

    assert (["b"], {"malformed": 1}) == result


@pytest.mark.parametrize("time", [None, "", "yesterday", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"])
def test_a_time_that_is_none_is_unknown_and_costs_nothing_else(time: str | None) -> None:
    decoded = stats.summary()(summary({**volume(capacityBytes=1), "time": time}))

    assert [(None, 1)] == [(each.time, each.capacity) for each in decoded.value.volumes]


TIMES = [f"2026-01-01T00:00:0{second}Z" for second in range(4)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_a_claim_that_several_pods_share_the_newest_counts(order: tuple[int, ...]) -> None:
    shared = [{"volume": [{**volume("shared", usedBytes=100 + index), "time": TIMES[index]}]} for index in order]
    decoded = stats.summary()(summary(pods=shared))

    assert ([102], {}) == ([each.used for each in decoded.value.volumes], dict(decoded.dropped))


def test_a_time_is_newer_than_none() -> None:
    shared = [{**volume("shared", usedBytes=1), "time": None}, volume("shared", usedBytes=2)]

    assert [[2], [2]] == [
        [each.used for each in stats.summary()(summary(*volumes)).value.volumes] for volumes in (shared, shared[::-1])
    ]


any_volume = st.builds(
    lambda claim, namespace, time, used: {**volume(claim, namespace, usedBytes=used), "time": time},
    st.sampled_from(["a", "b"]),
    st.sampled_from(["x", "y"]),
    st.sampled_from(TIMES),
    st.integers(0, 9),
)


@given(
    st.lists(any_volume, unique_by=lambda each: (*each["pvcRef"].values(), each["time"])),
    st.randoms(use_true_random=False),
)
def test_the_order_of_volumes_is_irrelevant(volumes: list[Any], shuffle: random.Random) -> None:
    mixed = list(volumes)
    shuffle.shuffle(mixed)

    assert set(stats.summary()(summary(*volumes)).value.volumes) == set(stats.summary()(summary(*mixed)).value.volumes)


def test_excluded_claims_are_left_out_by_namespace_and_name_and_counted() -> None:
    content = summary(
        volume("data", "shop"), volume("data", "ceph"), volume("cephfs", "shop"), volume("ceph-x", "ceph")
    )

    assert (["data", "cephfs"], {"excluded": 2}) == claims(content, "^ceph/")
    assert (["data"], {"excluded": 3}) == claims(content, "ceph")
    assert (["data", "data", "cephfs", "ceph-x"], {}) == claims(content)


def test_a_windows_volume_keeps_its_bytes() -> None:
    windows = volume(capacityBytes=1000, availableBytes=600, usedBytes=400, inodes=0, inodesFree=0, inodesUsed=0)
    found = stats.summary()(summary(windows)).value.volumes[0]

    assert (1000, 600, 400, 0, 0, 0) == tuple(getattr(found, each.name) for each in fields(found)[3:])
