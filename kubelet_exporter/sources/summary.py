"""The decoder of /stats/summary: what node, pods and volumes of claims use. One bad object costs itself alone."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from kubelet_exporter.snapshot import Summary, Supply, SystemContainer, VolumeStats
from kubelet_exporter.sources.decode import NONE, Decoded, Decoder, Raw, amount, one, parsed
from kubelet_exporter.sources.pod_stats import ContainerStats, MemoryStats, PodFigures, pod_stats, working_set

PODS = "pods"
WRAPPED = 2.0**63
KINDS = ("some", "full")


class Stall(msgspec.Struct, rename="camel"):
    """What is used of PSIData: the share of a minute in percent; `total` is in units that differ by version, and only 0 or not."""

    total: float | None = None
    avg60: float | None = None


class CPUStats(msgspec.Struct, rename="camel"):
    """What is used of processor or devices in /stats/summary."""

    psi: Raw = NONE


class SwapStats(msgspec.Struct, rename="camel"):
    """What is used of swap in /stats/summary."""

    swap_available_bytes: float | None = None
    swap_usage_bytes: float | None = None


class FsStats(msgspec.Struct, rename="camel"):
    """What is used of a file system in /stats/summary."""

    available_bytes: float | None = None
    capacity_bytes: float | None = None
    used_bytes: float | None = None
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


class NodeStats(msgspec.Struct, rename="camel"):
    """What is used of the node in /stats/summary."""

    system_containers: list[Raw] | None = None
    memory: MemoryStats | None = None
    fs: FsStats | None = None
    runtime: RuntimeStats | None = None
    rlimit: RlimitStats | None = None
    swap: Raw = NONE
    cpu: Raw = NONE
    io: Raw = NONE


class SummaryObject(msgspec.Struct, rename="camel"):
    """What is used of /stats/summary; a body without a node is none."""

    node: Raw
    pods: list[Raw] | None = None


def summary(excluded: re.Pattern[str] | None = None) -> Decoder:
    """A decoder of /stats/summary; claims whose namespace/name matches `excluded` are left out and counted."""

    def decode(body: bytes) -> Decoded:
        dropped: Counter[str] = Counter()
        document = parsed(body, SummaryObject)
        pods = [pod for raw in document.pods or () if (pod := pod_stats(bytes(raw), dropped))]
        node = NodeStats() if bytes(document.node) == b"null" else one(bytes(document.node), NodeStats)
        dropped["malformed"] += node is None
        return Decoded(
            replace(
                _node(node or NodeStats(), dropped),
                volumes=tuple(_newest(pods, excluded, dropped)),
                pods={pod.uid: pod.usage for pod in pods if pod.uid},
            ),
            +dropped,
        )

    return decode


def _newest(
    pods: Iterable[PodFigures], excluded: re.Pattern[str] | None, dropped: Counter[str]
) -> Iterable[VolumeStats]:
    """One entry a claim, of the pod that was measured last."""
    newest: dict[tuple[str, str], VolumeStats] = {}
    for volume in (volume for pod in pods for volume in pod.claims):
        key = (volume.namespace, volume.claim)
        if excluded and excluded.search("/".join(key)):
            dropped["excluded"] += 1
        elif key not in newest or (newest[key].time or 0) < (volume.time or 0):
            newest[key] = volume
    return newest.values()


def _node(node: NodeStats, dropped: Counter[str]) -> Summary:
    containers = [one(bytes(each), ContainerStats) for each in node.system_containers or ()]
    dropped["malformed"] += containers.count(None)
    known = [each for each in containers if each]
    return Summary(
        system=tuple(SystemContainer(each.name, working_set(each.memory)) for each in known),
        supplies=_supplies(node, known),
        images=amount(((node.runtime or RuntimeStats()).image_fs or FsStats()).used_bytes),
        swap=_swap(node.swap),
        pressure=_pressure(node),
    )


def _swap(part: Raw) -> Supply:
    """What there is of swap; zeros are none, or a runtime that does not tell."""
    swap = one(bytes(part), SwapStats) or SwapStats()
    available, used = amount(swap.swap_available_bytes), amount(swap.swap_usage_bytes)
    return (
        Supply(available, available + used)
        if available is not None and used is not None and available + used
        else Supply()
    )


def _pressure(node: NodeStats) -> Mapping[tuple[str, str], float]:
    """The share of the last minute that processes waited, by resource and kind.

    A kernel without PSI shows zeros from the start; one with it has waited for something since it booted.
    """
    memory = node.memory.psi if node.memory else NONE
    stalls = {
        (resource, kind): stall
        for resource, psi in (("cpu", _psi(node.cpu)), ("memory", memory), ("io", _psi(node.io)))
        for kind, stall in _stalls(psi).items()
        if kind in KINDS
    }
    if not any(stall.total for stall in stalls.values()):
        return {}
    shares = {key: amount(stall.avg60) for key, stall in stalls.items()}
    return {key: share / 100 for key, share in shares.items() if share is not None and share <= 100}


def _stalls(psi: Raw) -> Mapping[str, Stall]:
    return one(bytes(psi), dict[str, Stall]) or {}


def _psi(part: Raw) -> Raw:
    return (one(bytes(part), CPUStats) or CPUStats()).psi


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
