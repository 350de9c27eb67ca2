"""Whom a node evicts first, by the kubelet's own rules. They look at no QoS class.

Source: pkg/kubelet/eviction/helpers.go rankMemoryPressure, rankDiskPressureFunc, rankPIDPressure; buildSignalToRankFunc for the disks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from kubelet_exporter.catalog.eviction.thresholds import ALLOCATABLE, MEMORY, thresholds
from kubelet_exporter.catalog.pod_totals import request
from kubelet_exporter.catalog.pods import distinct
from kubelet_exporter.pod import Pod
from kubelet_exporter.snapshot import Disk, PodUsage, Snapshot, Summary

Part = Literal["writable", "logs", "volumes"]

PROCESSES = "pid.available"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One pod's place among those that would be evicted for a signal; `above` is what it uses above its request, if known."""

    signal: str
    namespace: str
    pod: str
    rank: int
    above: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What a pod uses and requests in a signal's unit, and what the kubelet subtracts where two pods are otherwise alike."""

    used: float
    requested: float = 0.0
    subtracted: float = 0.0


def candidates(snapshot: Snapshot, _: object) -> Iterator[Candidate]:
    """The first pods of each signal that has a threshold here; nothing without pods, statistics or configuration."""
    if snapshot.pods is None or snapshot.summary is None or snapshot.config is None:
        return
    pods = [pod for pod in distinct(snapshot.pods) if not pod.over and not pod.critical]
    for signal in dict.fromkeys(each.signal for each in thresholds(snapshot.config)):
        if signal in snapshot.summary.supplies and (signal != PROCESSES or _processes_known(snapshot.summary)):
            yield from islice(ranked(signal, pods, snapshot.summary), snapshot.eviction_top)


def _processes_known(summary: Summary) -> bool:
    """Some runtimes count no processes of pods: the kubelet then takes any pod of the lowest priority."""
    return any(usage.processes is not None for usage in summary.pods.values())


def ranked(signal: str, pods: Iterable[Pod], summary: Summary) -> Iterator[Candidate]:
    """The pods in the order of their eviction; pods alike come in the order of their names."""
    parts = disk_parts(signal, summary)
    known = [(pod, _figures(signal, pod, usage_of(pod, summary), parts)) for pod in pods]
    for rank, (pod, figures) in enumerate(sorted(known, key=lambda each: _key(signal, *each)), 1):
        above = None if figures is None else figures.used - figures.requested
        yield Candidate(signal, pod.namespace, pod.name, rank, above)


def _key(signal: str, pod: Pod, figures: Figures | None) -> tuple[Any, ...]:
    """Without statistics first, then above the request, then lower priority, then most; of processes priority comes first."""
    if figures is None:
        most: tuple[Any, ...] = (0, 0.0)
        exceeds = 0
    else:
        most = (1, figures.subtracted - figures.used)
        exceeds = 1 if figures.used > figures.requested else 2
    if signal == PROCESSES:
        exceeds = 0
    return exceeds, pod.priority, *most, pod.namespace, pod.name


def usage_of(pod: Pod, summary: Summary) -> PodUsage | None:
    """The statistics of a pod; those of a static pod have the UID of its file, not of its mirror pod."""
    return summary.pods.get(pod.uid) or summary.pods.get(pod.mirrors or "")


def _figures(signal: str, pod: Pod, usage: PodUsage | None, parts: frozenset[Part]) -> Figures | None:
    if usage is None:
        return None
    if signal == PROCESSES:
        return Figures(usage.processes or 0.0)
    if signal in (MEMORY, ALLOCATABLE):
        requested = request(pod).memory or 0.0
        return Figures(usage.memory or 0.0, requested, requested)
    used = sum(_amount(disk, signal) for part in parts for disk in _disks(part, pod, usage))
    requested = request(pod).storage or 0.0
    # Nobody can request inodes, yet the kubelet subtracts the requested bytes.
    return Figures(used, 0.0 if signal.endswith("inodesFree") else requested, requested)


def _disks(part: Part, pod: Pod, usage: PodUsage) -> Iterable[Disk]:
    match part:
        case "writable":
            return (usage.writable,)
        case "logs":
            return (usage.logs,)
        case "volumes":
            return (disk for name, disk in usage.volumes.items() if name in pod.local_volumes)


def _amount(disk: Disk, signal: str) -> float:
    return (disk.inodes if signal.endswith("inodesFree") else disk.bytes) or 0.0


def disk_parts(signal: str, summary: Summary) -> frozenset[Part]:
    """What of a pod's disk counts for a signal: images, writable layers, logs and volumes may lie on one, two or three file systems.

    The kubelet compares devices. /stats/summary does not name them, so file systems of different size are taken as different.
    """
    name = signal.partition(".")[0]
    if _same(summary, "nodefs", "imagefs"):
        return frozenset(("writable", "logs", "volumes"))
    if _same(summary, "nodefs", "containerfs"):
        return frozenset() if name == "imagefs" else frozenset(("writable", "logs", "volumes"))
    return frozenset(("logs", "volumes")) if name == "nodefs" else frozenset(("writable",))


def _same(summary: Summary, one: str, other: str) -> bool:
    """Whether two file systems have the same size and inodes; one that is unknown is not a different one."""
    sizes = [
        tuple(summary.supplies[signal].capacity if signal in summary.supplies else None for signal in signals)
        for signals in ((f"{name}.available", f"{name}.inodesFree") for name in (one, other))
    ]
    return all(
        first == second for first, second in zip(*sizes, strict=True) if first is not None and second is not None
    )
