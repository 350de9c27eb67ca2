"""Whom a node evicts first: the kubelet's rules worked out by hand, and a node that really evicted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bodies import Known, body, configz
from bodies import pods as listing
from hypothesis import given
from hypothesis import strategies as st
from recorded import played

from kubelet_exporter.catalog.eviction.ranking import disk_parts, ranked
from kubelet_exporter.catalog.pod_totals import limit, request
from kubelet_exporter.catalog.pods import distinct
from kubelet_exporter.pod import SYSTEM_CRITICAL, Container, Pod, Resources, Role
from kubelet_exporter.snapshot import Disk, PodUsage, Source, Summary, Supply

MIB = 2.0**20
MEMORY, PROCESSES, DISK, INODES = "memory.available", "pid.available", "nodefs.available", "nodefs.inodesFree"


def asking(name: str = "c", role: Role = "app", **amounts: float) -> Container:
    """A container with requests."""
    return Container(name, role, requests=Resources(**amounts))


def pod(name: str, *containers: Container, **fields: Any) -> Pod:
    """A running pod whose UID is its name."""
    return Pod(name, "shop", name, "Running", containers=containers, **fields)


def order(signal: str, pods: list[Pod], **usages: PodUsage) -> list[str]:
    """The names of the pods in the order of their eviction."""
    return [each.pod for each in ranked(signal, pods, Summary(pods=usages))]


def memory(mebibytes: float) -> PodUsage:
    """A pod that uses so much memory."""
    return PodUsage(memory=mebibytes * MIB)


# Memory


@pytest.mark.parametrize(
    ("expected", "pods", "usages"),
    [
        pytest.param(
            ["above", "below"],
            [pod("below", asking(memory=500 * MIB)), pod("above", asking(memory=10 * MIB))],
            {"below": memory(400), "above": memory(11)},
            id="above the request before below it, though it uses less",
        ),
        pytest.param(
            ["low", "high"],
            [pod("high", priority=1000), pod("low", priority=-5)],
            {"high": memory(900), "low": memory(1)},
            id="lower priority before more memory",
        ),
        pytest.param(
            ["above-high", "below-low"],
            [pod("below-low", asking(memory=50 * MIB), priority=-5), pod("above-high", priority=1000)],
            {"below-low": memory(40), "above-high": memory(1)},
            id="above the request before lower priority",
        ),
        pytest.param(
            ["most", "less"],
            [pod("less", asking(memory=700 * MIB)), pod("most", asking(memory=10 * MIB))],
            {"less": memory(800), "most": memory(200)},
            id="most above the request, not most of all",
        ),
        pytest.param(
            ["nearest", "farthest"],
            [pod("farthest", asking(memory=900 * MIB)), pod("nearest", asking(memory=100 * MIB))],
            {"farthest": memory(500), "nearest": memory(90)},
            id="below their requests the one nearest to it",
        ),
        pytest.param(
            ["unknown", "known"],
            [pod("known", priority=-5), pod("unknown", asking(memory=MIB), priority=1000)],
            {"known": memory(900)},
            id="without statistics before all others",
        ),
        pytest.param(
            ["alike-a", "alike-b"],
            [pod("alike-b"), pod("alike-a")],
            {"alike-a": memory(5), "alike-b": memory(5)},
            id="alike: in the order of their names",
        ),
        pytest.param(
            ["above", "exact"],
            [pod("exact", asking(memory=5 * MIB)), pod("above", asking(memory=5 * MIB), priority=7)],
            {"exact": memory(5), "above": memory(5.5)},
            id="exactly the request is not above it",
        ),
        pytest.param(
            ["small", "guaranteed"],
            [pod("guaranteed", asking(memory=400 * MIB)), pod("small")],
            {"guaranteed": memory(400), "small": memory(0.1)},
            id="a guaranteed pod at its request comes after a small one without",
        ),
    ],
)
def test_of_memory_above_the_request_then_priority_then_most_above(
    expected: list[str], pods: list[Pod], usages: dict[str, PodUsage]
) -> None:
    assert expected == order(MEMORY, pods, **usages)
    assert expected == order("allocatableMemory.available", pods[::-1], **usages)


# Processes


def test_of_processes_lower_priority_then_more_and_no_requests() -> None:
    pods = [pod("few"), pod("many", asking(memory=900 * MIB)), pod("high", priority=10), pod("low", priority=-1)]
    usages = {"few": 3, "many": 40, "high": 5000, "low": 1}

    assert ["low", "many", "few", "high"] == order(
        PROCESSES, pods, **{name: PodUsage(processes=count) for name, count in usages.items()}
    )


def test_where_no_processes_are_counted_nobody_can_say_who_goes_first() -> None:
    known = Known().read(Source.CONFIGZ, configz(evictionHard={"pid.available": "10%"}))
    known.read(Source.PODS, listing({"metadata": {"name": "web", "uid": "u"}, "status": {"phase": "Running"}}))
    stats: dict[str, Any] = {"podRef": {"uid": "u"}, "memory": {"workingSetBytes": 5}}
    node = {"rlimit": {"maxpid": 100, "curproc": 5}}
    known.read(Source.SUMMARY, body({"node": node, "pods": [stats]}))
    before = known.series("eviction_rank", "eviction_score")
    known.read(Source.SUMMARY, body({"node": node, "pods": [stats | {"process_stats": {"process_count": 7}}]}))

    assert [] == before
    labels = '{namespace="default",pod="web",signal="pid.available"}'
    assert [f"eviction_rank{labels} 1.0", f"eviction_score{labels} 7.0"] == known.series(
        "eviction_rank", "eviction_score"
    )


# Disks

USAGE = PodUsage(
    storage=99 * MIB,
    writable=Disk(10 * MIB, 100),
    logs=Disk(3 * MIB, 7),
    volumes={"scratch": Disk(1 * MIB, 2), "token": Disk(500 * MIB, 900)},
)
ON_DISK = frozenset({"scratch"})


def capacities(**sizes: float) -> dict[str, Supply]:
    """What there is of these file systems."""
    return {f"{name}.available": Supply(1, size) for name, size in sizes.items()}


@pytest.mark.parametrize(
    ("signal", "supplies", "expected"),
    [
        ("nodefs.available", capacities(nodefs=100, imagefs=100, containerfs=100), 14),
        ("imagefs.available", capacities(nodefs=100, imagefs=100, containerfs=100), 14),
        ("nodefs.available", capacities(nodefs=100), 14),
        ("nodefs.available", capacities(nodefs=100, imagefs=50, containerfs=50), 4),
        ("imagefs.available", capacities(nodefs=100, imagefs=50, containerfs=50), 10),
        ("containerfs.available", capacities(nodefs=100, imagefs=50, containerfs=50), 10),
        ("nodefs.available", capacities(nodefs=100, imagefs=50, containerfs=100), 14),
        ("imagefs.available", capacities(nodefs=100, imagefs=50, containerfs=100), 0),
        ("containerfs.available", capacities(nodefs=100, imagefs=50, containerfs=100), 14),
    ],
)
def test_what_counts_depends_on_where_images_and_containers_lie(
    signal: str, supplies: dict[str, Supply], expected: float
) -> None:
    (found,) = ranked(signal, [pod("a", local_volumes=ON_DISK)], Summary(pods={"a": USAGE}, supplies=supplies))

    assert expected * MIB == found.above


def test_of_inodes_nothing_can_be_requested_but_requested_bytes_are_subtracted() -> None:
    pods = [pod("many", asking(storage=1000)), pod("few"), pod("none", asking(storage=5))]
    usages = {"many": 1500, "few": 600, "none": 0}
    found = list(
        ranked(
            INODES,
            pods,
            Summary(pods={name: PodUsage(writable=Disk(0, inodes)) for name, inodes in usages.items()}),
        )
    )

    # 1500 - 1000 is less than 600: the kubelet's own rule (exceedDiskRequests and disk in helpers.go).
    assert [("few", 600), ("many", 1500), ("none", 0)] == [(each.pod, each.above) for each in found]


def test_on_disk_a_pod_above_its_ephemeral_storage_request_goes_first() -> None:
    pods = [pod("asked", asking(storage=500 * MIB)), pod("unasked", priority=9)]
    usage = {"asked": PodUsage(writable=Disk(400 * MIB)), "unasked": PodUsage(logs=Disk(1 * MIB))}

    assert ["unasked", "asked"] == order(DISK, pods, **usage)


def test_disk_parts_of_an_unknown_layout_are_those_of_one_disk() -> None:
    assert {"writable", "logs", "volumes"} == disk_parts(DISK, Summary())


# What a pod requests


def test_a_pod_requests_what_runs_together_at_most() -> None:
    web = pod(
        "web",
        asking("first", "init", memory=900),
        asking("mesh", "sidecar", memory=100),
        asking("second", "init", memory=500),
        asking("app", memory=300),
        asking("more", memory=200),
    )

    assert 900 == request(web).memory
    assert 600 == request(replace(web, containers=web.containers[1:])).memory
    assert 650 == request(replace(web, containers=web.containers[1:], overhead=Resources(memory=50))).memory
    assert 70 == request(replace(web, requests=Resources(memory=70))).memory
    assert request(pod("bare", Container("c"), overhead=Resources(memory=50))).memory is None
    assert limit(web).memory is None


# Who is no candidate


def test_static_critical_and_ended_pods_are_left_out_and_five_remain() -> None:
    def listed(name: str, phase: str = "Running", source: str = "api", **spec: Any) -> dict[str, Any]:
        annotations = {"kubernetes.io/config.source": source}
        return {
            "metadata": {"name": name, "namespace": "shop", "uid": name, "annotations": annotations},
            "spec": spec,
            "status": {"phase": phase},
        }

    known = Known().read(Source.CONFIGZ, configz(evictionHard={"memory.available": "100Mi"}))
    known.read(
        Source.PODS,
        listing(
            listed("static", source="file"),
            listed("critical", priority=SYSTEM_CRITICAL),
            listed("failed", "Failed"),
            listed("done", "Succeeded"),
            listed("just-below-critical", priority=SYSTEM_CRITICAL - 1),
            *(listed(f"web-{number}") for number in range(7)),
        ),
    )
    known.read(Source.SUMMARY, body({"node": {"memory": {"availableBytes": 5, "workingSetBytes": 5}}, "pods": []}))

    assert [f"web-{number}" for number in range(5)] == [
        line.split('pod="')[1].split('"')[0] for line in known.series("eviction_rank")
    ]
    # The critical pods and those that are over are in nobody's way, however many are asked for.
    known.snapshot = replace(known.snapshot, eviction_top=50)
    assert 8 == len(known.at(known.clock()).series("eviction_rank"))


# Properties

amounts = st.one_of(st.none(), st.floats(0, 1e12))


@st.composite
def nodes(draw: st.DrawFn) -> tuple[list[Pod], Summary]:
    """Pods with requests and priorities, and what some of them use."""
    names = [f"p{number}" for number in range(draw(st.integers(0, 8)))]
    pods = [
        pod(
            name,
            Container("c", requests=Resources(memory=draw(amounts), storage=draw(amounts))),
            priority=draw(st.integers(-3, 3)),
        )
        for name in names
    ]
    usages = {
        name: PodUsage(draw(amounts), draw(amounts), draw(amounts), Disk(draw(amounts), draw(amounts)))
        for name in names
        if draw(st.booleans())
    }
    return pods, Summary(pods=usages)


@given(nodes(), st.sampled_from([MEMORY, PROCESSES, DISK, INODES]), st.randoms())
def test_a_ranking_has_each_pod_once_and_does_not_depend_on_the_order_of_the_list(
    node: tuple[list[Pod], Summary], signal: str, random: Any
) -> None:
    pods, summary = node
    shuffled = random.sample(pods, len(pods))

    found = list(ranked(signal, pods, summary))
    assert found == list(ranked(signal, shuffled, summary))
    assert list(range(1, len(pods) + 1)) == [each.rank for each in found]
    assert {each.name for each in pods} == {each.pod for each in found}
    unknown = [each.above is None for each in found]
    assert signal == PROCESSES or unknown == sorted(unknown, reverse=True)


# A node that evicted


def test_the_pods_that_a_real_node_evicted_come_first() -> None:
    """Of memory this kubelet evicted oom, nocm, nosandbox and crash, one about every second.

    All four had no statistics: a container that waits or crashes has none, and a pod without comes before all others, whatever it
    requests. Three more had none either (badimage, nocmvol, noexec); among equals the kubelet's order is chance. None that had
    statistics was evicted, and our ranking has none before these seven.
    """
    known = played("v1.36-memory-pressure")
    assert known.snapshot.pods
    assert known.snapshot.summary
    gone = {
        each.name
        for each in known.snapshot.pods
        if each.reason == "Evicted" and "low on resource: memory" in each.message
    }
    alive = [
        replace(each, phase="Pending", reason="") if each.name in gone else each
        for each in distinct(known.snapshot.pods)
        if not each.critical and (each.name in gone or not each.over)
    ]
    found = list(ranked(MEMORY, alive, known.snapshot.summary))

    assert {"oom", "nocm", "nosandbox", "crash"} == gone
    assert {*gone, "badimage", "nocmvol", "noexec"} == {each.pod for each in found[:7]}
    assert {None} == {each.above for each in found[:7]}
    assert all(each.above is not None for each in found[7:])
    assert "static-agent-node-a" not in {each.pod for each in found}
