"""The decoder of /stats/summary: volumes of claims, system containers, eviction signals. One bad object costs itself alone."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import msgspec

from kubelet_exporter.snapshot import Summary, Supply, SystemContainer, VolumeStats
from kubelet_exporter.sources.decode import Decoded, Decoder, Raw, amount, moment, one, parsed

PODS = "pods"
WRAPPED = 2.0**63


class ClaimReference(msgspec.Struct, rename="camel"):
    """The claim that a volume belongs to."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    namespace: Annotated[str, msgspec.Meta(min_length=1)]


class VolumeObject(msgspec.Struct, rename="camel"):
    """What is used of a volume in /stats/summary."""

    pvc_ref: ClaimReference | None = None
    time: str | None = None
    capacity_bytes: float | None = None
    available_bytes: float | None = None
    used_bytes: float | None = None
    inodes: float | None = None
    inodes_free: float | None = None
    inodes_used: float | None = None


class MemoryStats(msgspec.Struct, rename="camel"):
    """What is used of memory in /stats/summary."""

    available_bytes: float | None = None
    working_set_bytes: float | None = None


class FsStats(msgspec.Struct, rename="camel"):
    """What is used of a file system in /stats/summary."""

    available_bytes: float | None = None
    capacity_bytes: float | None = None
    inodes_free: float | None = None
    inodes: float | None = None


class RuntimeStats(msgspec.Struct, rename="camel"):
    """What is used of the runtime in /stats/summary."""

    image_fs: FsStats | None = None
    container_fs: FsStats | None = None


class RlimitStats(msgspec.Struct, rename="camel"):
    """What is used of process numbers in /stats/summary."""

    maxpid: float | None = None
    curproc: float | None = None


class ContainerStats(msgspec.Struct, rename="camel"):
    """What is used of a container in /stats/summary."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    memory: MemoryStats | None = None


class NodeStats(msgspec.Struct, rename="camel"):
    """What is used of the node in /stats/summary."""

    system_containers: list[Raw] | None = None
    memory: MemoryStats | None = None
    fs: FsStats | None = None
    runtime: RuntimeStats | None = None
    rlimit: RlimitStats | None = None


class PodStats(msgspec.Struct, rename="camel"):
    """What is used of a pod in /stats/summary."""

    volume: list[Raw] | None = None


class SummaryObject(msgspec.Struct, rename="camel"):
    """What is used of /stats/summary; a body without a node is none."""

    node: Raw
    pods: list[Raw] | None = None


def summary(excluded: re.Pattern[str] | None = None) -> Decoder:
    """A decoder of /stats/summary; claims whose namespace/name matches `excluded` are left out and counted."""

    def decode(body: bytes) -> Decoded:
        dropped: Counter[str] = Counter()
        newest: dict[tuple[str, str], VolumeStats] = {}
        document = parsed(body, SummaryObject)
        for volume in _claims(document.pods or (), dropped):
            key = (volume.namespace, volume.claim)
            if excluded and excluded.search("/".join(key)):
                dropped["excluded"] += 1
            elif key not in newest or (newest[key].time or 0) < (volume.time or 0):
                newest[key] = volume
        node = NodeStats() if bytes(document.node) == b"null" else one(bytes(document.node), NodeStats)
        containers = [one(bytes(each), ContainerStats) for each in node.system_containers or ()] if node else [None]
        if None in containers:
            dropped["malformed"] += containers.count(None)
        known = [each for each in containers if each]
        system = [
            SystemContainer(each.name, amount((each.memory or MemoryStats()).working_set_bytes)) for each in known
        ]
        return Decoded(Summary(tuple(newest.values()), tuple(system), _supplies(node or NodeStats(), known)), dropped)

    return decode


def _supplies(node: NodeStats, containers: Iterable[ContainerStats]) -> Mapping[str, Supply]:
    """The eviction signals, as makeSignalObservations in pkg/kubelet/eviction/helpers.go computes them."""
    runtime, rlimit = node.runtime or RuntimeStats(), node.rlimit or RlimitStats()
    pods = next((each.memory for each in containers if each.name == PODS and each.memory), MemoryStats())
    free = None if None in (rlimit.maxpid, rlimit.curproc) else (rlimit.maxpid or 0) - (rlimit.curproc or 0)
    supplies = {
        "memory.available": _memory(node.memory or MemoryStats()),
        "allocatableMemory.available": _memory(pods),
        "pid.available": Supply(amount(free), amount(rlimit.maxpid)),
    }
    for name, fs in (("nodefs", node.fs), ("imagefs", runtime.image_fs), ("containerfs", runtime.container_fs)):
        stats = fs or FsStats()
        supplies[f"{name}.available"] = Supply(amount(stats.available_bytes), amount(stats.capacity_bytes))
        supplies[f"{name}.inodesFree"] = Supply(amount(stats.inodes_free), amount(stats.inodes) or None)
    return {signal: supply for signal, supply in supplies.items() if supply.available is not None}


def _memory(memory: MemoryStats) -> Supply:
    """The kubelet's number wraps round below zero where more is used than there may be: that is none."""
    available, used = amount(memory.available_bytes), amount(memory.working_set_bytes)
    if available is not None and available >= WRAPPED:
        available = 0.0
    return Supply(available, None if available is None or used is None else available + used)


def _claims(pods: Iterable[Raw], dropped: Counter[str]) -> Iterator[VolumeStats]:
    for raw in pods:
        pod = one(bytes(raw), PodStats)
        volumes = [one(bytes(volume), VolumeObject) for volume in (pod.volume or ()) if pod] if pod else [None]
        for volume in volumes:
            if volume is None:
                dropped["malformed"] += 1
            elif volume.pvc_ref:
                yield _volume(volume, volume.pvc_ref)


def _volume(volume: VolumeObject, claim: ClaimReference) -> VolumeStats:
    return VolumeStats(
        namespace=claim.namespace,
        claim=claim.name,
        time=moment(volume.time),
        capacity=amount(volume.capacity_bytes),
        available=amount(volume.available_bytes),
        used=amount(volume.used_bytes),
        inodes=amount(volume.inodes),
        inodes_free=amount(volume.inodes_free),
        inodes_used=amount(volume.inodes_used),
    )
