"""Thresholds of eviction as a kubelet reads them, what is left of each signal, and evictions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bodies import Known, body, configz, pods
from hypothesis import given
from hypothesis import strategies as st
from recorded import played

from kubelet_exporter.catalog.eviction.metrics import LIMITS
from kubelet_exporter.catalog.eviction.thresholds import DEFAULTS, SIGNALS, Threshold, thresholds
from kubelet_exporter.catalog.facts.eviction import EVICTION_NEAR
from kubelet_exporter.snapshot import Source

MIB = 2**20


def read(**config: Any) -> set[tuple[str, str, float | None, float | None]]:
    """The thresholds of a configuration."""
    return {(each.signal, each.kind, each.amount, each.share) for each in thresholds(config)}


# Thresholds


@pytest.mark.parametrize(
    ("text", "amount", "share"),
    [
        ("100Mi", 100 * MIB, None),
        ("1.5Gi", 1536 * MIB, None),
        ("1e9", 1e9, None),
        ("104857600", 104857600, None),
        ("0", 0, None),
        ("10%", None, 0.1),
        ("7.5%", None, 0.075),
    ],
)
def test_a_threshold_is_an_amount_or_a_share(text: str, amount: float | None, share: float | None) -> None:
    assert {("memory.available", "hard", amount, share)} == read(evictionHard={"memory.available": text})


@pytest.mark.parametrize("text", ["0%", "100%", "00%", "-5Mi", "120%", "much", "", "5 Mi"])
def test_what_switches_a_threshold_off_or_is_none_gives_none(text: str) -> None:
    assert set() == read(evictionHard={"memory.available": text})


def test_a_threshold_that_is_set_switches_the_others_off_unless_defaults_are_merged() -> None:
    one = {"nodefs.available": "3%"}

    assert {"nodefs.available"} == {signal for signal, *_ in read(evictionHard=one)}
    assert set(DEFAULTS) == {signal for signal, *_ in read(evictionHard=one, mergeDefaultEvictionSettings=True)}
    assert ("nodefs.available", "hard", None, 0.03) in read(evictionHard=one, mergeDefaultEvictionSettings=True)


def test_a_soft_threshold_needs_a_grace_period() -> None:
    soft = {"memory.available": "1Gi", "nodefs.available": "20%"}

    assert {("memory.available", "soft", 1024 * MIB, None)} == read(
        evictionSoft=soft, evictionSoftGracePeriod={"memory.available": "1m30s"}
    )


def test_pods_as_a_whole_have_the_threshold_of_memory_where_it_is_enforced() -> None:
    hard = {"memory.available": "100Mi"}
    signals = [
        {signal for signal, *_ in read(evictionHard=hard, enforceNodeAllocatable=enforced)}
        for enforced in (["pods"], ["none"], None)
    ]

    assert [{"memory.available", "allocatableMemory.available"}, {"memory.available"}, {"memory.available"}] == signals


def test_what_is_set_for_containerfs_or_for_no_signal_is_ignored() -> None:
    assert set() == read(evictionHard={"containerfs.available": "5%", "cpu.available": "1"})


def test_old_kubelets_write_one_text() -> None:
    text = "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<0%"

    assert {("memory.available", "hard", 100 * MIB, None), ("nodefs.available", "hard", None, 0.1)} == read(
        evictionHard=text
    )


@pytest.mark.parametrize("value", [None, [], 5, "", "memory.available"])
def test_what_is_no_threshold_at_all_gives_none(value: Any) -> None:
    assert set() == read(evictionHard=value, evictionSoft=value, evictionSoftGracePeriod=value)


@given(
    st.dictionaries(
        st.sampled_from(SIGNALS), st.one_of(st.text(max_size=8), st.from_regex(r"[0-9]{1,4}(%|Mi|Gi|)", fullmatch=True))
    ),
    st.one_of(st.none(), st.floats(0, 1e15)),
)
def test_no_threshold_is_negative_or_more_than_all_there_is(given_: dict[str, str], capacity: float | None) -> None:
    for each in thresholds({"evictionHard": given_}):
        amount = each.of(capacity)
        assert amount is None or amount >= 0
        assert each.share is None or 0 < each.share < 1


def test_a_share_of_an_unknown_capacity_is_unknown() -> None:
    assert Threshold("nodefs.available", "hard", share=0.1).of(None) is None
    assert 20 == Threshold("nodefs.available", "hard", share=0.1).of(200)
    assert 7 == Threshold("nodefs.available", "hard", amount=7).of(None)


# What is left


def stats(**node: Any) -> bytes:
    """An answer of /stats/summary with these parts of the node."""
    return body({"node": {"nodeName": "node-a", **node}, "pods": []})


def by_signal(known: Known, metric: str) -> dict[str, float]:
    """The values of a metric by signal."""
    lines = (line.rsplit(" ", 1) for line in known.series(metric))
    return {re.findall('signal="([^"]*)"', name)[0]: float(value) for name, value in lines}


FS = {"availableBytes": 40, "capacityBytes": 100, "inodesFree": 8, "inodes": 10}
NODE: dict[str, Any] = {
    "memory": {"availableBytes": 700, "workingSetBytes": 300},
    "systemContainers": [{"name": "pods", "memory": {"availableBytes": 600, "workingSetBytes": 200}}],
    "fs": FS,
    "runtime": {"imageFs": {**FS, "availableBytes": 30}, "containerFs": {**FS, "availableBytes": 20}},
    "rlimit": {"maxpid": 1000, "curproc": 400},
}


def test_each_signal_is_observed_as_the_kubelet_does() -> None:
    known = Known().read(Source.SUMMARY, stats(**NODE))

    assert {
        "memory.available": 700,
        "allocatableMemory.available": 600,
        "nodefs.available": 40,
        "imagefs.available": 30,
        "containerfs.available": 20,
    } == by_signal(known, "eviction_available_bytes")
    assert {"nodefs.inodesFree": 8, "imagefs.inodesFree": 8, "containerfs.inodesFree": 8} == by_signal(
        known, "eviction_available_inodes"
    )
    assert {"pid.available": 600} == by_signal(known, "eviction_available_pids")


def test_shares_become_amounts_of_what_there_is() -> None:
    hard = {"memory.available": "10%", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "pid.available": "10%"}
    known = Known().read(Source.CONFIGZ, configz(evictionHard=hard))
    before = by_signal(known, "eviction_threshold_bytes")
    known.read(Source.SUMMARY, stats(**NODE))

    assert ({}, {"memory.available": 100, "nodefs.available": 10}) == (
        before,
        by_signal(known, "eviction_threshold_bytes"),
    )
    assert {"nodefs.inodesFree": 0.5} == by_signal(known, "eviction_threshold_inodes")
    assert {"pid.available": 100} == by_signal(known, "eviction_threshold_pids")


def test_a_number_that_wrapped_below_zero_is_none_left() -> None:
    known = Known().read(Source.SUMMARY, stats(memory={"availableBytes": 2**64 - 4096, "workingSetBytes": 5}))

    assert {"memory.available": 0} == by_signal(known, "eviction_available_bytes")


def test_more_processes_than_there_may_be_and_file_systems_without_inodes_are_unknown() -> None:
    known = Known().read(Source.CONFIGZ, configz(evictionHard={"nodefs.inodesFree": "5%"}))
    known.read(Source.SUMMARY, stats(rlimit={"maxpid": 5, "curproc": 9}, fs={**FS, "inodes": 0, "inodesFree": 0}))

    assert {} == by_signal(known, "eviction_available_pids")
    assert {} == by_signal(known, "eviction_threshold_inodes")


def test_a_signal_without_threshold_is_a_finding_and_those_that_follow_others_are_not() -> None:
    known = Known().read(Source.SUMMARY, stats(**NODE))
    before = by_signal(known, "eviction_unguarded")
    known.read(Source.CONFIGZ, configz(evictionHard={"memory.available": "100Mi", "nodefs.available": "0%"}))

    assert {} == before
    assert dict.fromkeys(
        ("nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"), 1
    ) == by_signal(known, "eviction_unguarded")


# Evictions


def test_every_signal_is_counted_from_0_once_metrics_were_read() -> None:
    known = Known().read(Source.METRICS, 'kubelet_evictions{eviction_signal="memory.available"} 3\n')

    assert dict.fromkeys((*SIGNALS, *LIMITS), 0.0) | {"memory.available": 3.0} == by_signal(known, "evictions_total")
    assert {} == by_signal(Known(), "evictions_total")


def test_a_recorded_node_under_memory_pressure_is_at_its_threshold_and_has_evicted() -> None:
    known = played("v1.36-memory-pressure")
    left, limit = (by_signal(known, f"eviction_{name}_bytes") for name in ("available", "threshold"))

    assert by_signal(known, "evictions_total")["memory.available"] >= 1
    # Its threshold was set to 21700Mi of 24 GiB to make it evict.
    assert 0.95 < left["memory.available"] / limit["memory.available"] < 1.2


@pytest.mark.parametrize("name", ["v1.31-mixed", "v1.34-mixed", "v1.36-mixed"])
def test_a_recorded_node_that_is_well_is_far_from_evicting(name: str) -> None:
    known = played(name)
    left, limit = (by_signal(known, f"eviction_{part}_bytes") for part in ("available", "threshold"))

    assert {"memory.available", "nodefs.available", "imagefs.available"} <= limit.keys() & left.keys()
    assert [] == [signal for signal in limit.keys() & left.keys() if left[signal] < EVICTION_NEAR.value * limit[signal]]
    # Its configuration sets five thresholds, and so switches off the kubelet's default for this one.
    assert {"imagefs.inodesFree": 1.0} == by_signal(known, "eviction_unguarded")


# Victims


def listed(
    name: str, reason: str = "", owner: str | None = "ReplicaSet", namespace: str = "shop", **status: Any
) -> dict[str, Any]:
    """A pod as /pods lists it; one with a reason has failed for it."""
    owners = [{"kind": "Node"}, {"kind": owner, "controller": True}] if owner else []
    phase = "Failed" if reason else "Running"
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": name, "ownerReferences": owners},
        "status": {"phase": phase, "reason": reason, **status},
    }


def victims(known: Known) -> dict[tuple[str, str], float]:
    """How many pods were seen evicted, by namespace and kind of owner."""
    lines = (line.rsplit(" ", 1) for line in known.series("evicted_pods_total"))
    found = {tuple(re.findall('="([^"]*)"', name)): float(value) for name, value in lines}
    return {(namespace, owner): value for (namespace, owner), value in found.items()}


def test_an_evicted_pod_is_counted_once_from_its_first_listing_on() -> None:
    known = Known().read(Source.PODS, pods(listed("a"), listed("b", owner="StatefulSet"), listed("old", "Evicted")))
    begin = victims(known)
    for _ in range(3):
        known.read(
            Source.PODS, pods(listed("a", "Evicted"), listed("b", owner="StatefulSet"), listed("old", "Evicted"))
        )
    once = victims(known)
    known.read(Source.PODS, pods(listed("b", "Evicted", owner="StatefulSet")))

    assert {("shop", "ReplicaSet"): 0, ("shop", "StatefulSet"): 0} == begin
    assert {("shop", "ReplicaSet"): 1, ("shop", "StatefulSet"): 0} == once
    assert {("shop", "ReplicaSet"): 1, ("shop", "StatefulSet"): 1} == victims(known)


def test_who_was_refused_or_failed_otherwise_was_not_evicted() -> None:
    known = Known().read(Source.PODS, pods())
    message = "Pod was rejected: The node had condition: [MemoryPressure]."
    known.read(
        Source.PODS, pods(listed("a", "Evicted", message=message), listed("b", "OutOfcpu"), listed("c", "Preempting"))
    )

    assert {("shop", "ReplicaSet"): 0} == victims(known)


def test_kinds_of_owners_and_namespaces_are_bounded() -> None:
    known = Known().read(Source.PODS, pods())
    many = [listed(f"p{number}", "Evicted", f"Kind{number}", f"n{number:02}") for number in range(40)]
    known.read(Source.PODS, pods(*many, listed("bare", "Evicted", owner=None, namespace="n00")))

    assert 32 == len(victims(known))
    assert 10 == victims(known)["_other", "other"]
    assert 1 == victims(known)["n00", "none"]


def test_the_eviction_of_a_recorded_pod_for_its_own_limit_is_counted_by_the_kubelet() -> None:
    known = played("v1.36-ephemeral-evicted")

    assert (
        by_signal(known, "evictions_total")["ephemeralpodfs.limit"]
        + by_signal(known, "evictions_total")["ephemeralcontainerfs.limit"]
        >= 1
    )
