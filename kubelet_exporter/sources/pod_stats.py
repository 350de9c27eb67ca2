"""What one pod of /stats/summary uses, and the volumes of its claims."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from kubelet_exporter.snapshot import Disk, PodUsage, VolumeStats
from kubelet_exporter.sources.decode import NONE, Raw, amount, moment, one


class PodReference(msgspec.Struct, rename="camel"):
    """The pod that statistics are of."""

    uid: str = ""


class ClaimReference(msgspec.Struct, rename="camel"):
    """The claim that a volume belongs to."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    namespace: Annotated[str, msgspec.Meta(min_length=1)]


class VolumeObject(msgspec.Struct, rename="camel"):
    """What is used of a volume in /stats/summary."""

    name: str = ""
    pvc_ref: ClaimReference | None = None
    time: str | None = None
    capacity_bytes: float | None = None
    available_bytes: float | None = None
    used_bytes: float | None = None
    inodes: float | None = None
    inodes_free: float | None = None
    inodes_used: float | None = None


class DiskStats(msgspec.Struct, rename="camel"):
    """What is used of the numbers of a container's disk or of ephemeral storage."""

    used_bytes: float | None = None
    inodes_used: float | None = None


class MemoryStats(msgspec.Struct, rename="camel"):
    """What is used of memory in /stats/summary."""

    available_bytes: float | None = None
    working_set_bytes: float | None = None
    psi: Raw = NONE


class ContainerStats(msgspec.Struct, rename="camel"):
    """What is used of a container in /stats/summary."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    memory: MemoryStats | None = None
    rootfs: DiskStats | None = None
    logs: DiskStats | None = None


class ProcessStats(msgspec.Struct):
    """What is used of ProcessStats, which alone is written with underscores."""

    process_count: float | None = None


class PodStats(msgspec.Struct, rename="camel"):
    """What is used of a pod in /stats/summary."""

    pod_ref: PodReference | None = None
    containers: list[Raw] | None = None
    memory: MemoryStats | None = None
    volume: list[Raw] | None = None
    ephemeral_storage: DiskStats | None = msgspec.field(default=None, name="ephemeral-storage")
    process_stats: ProcessStats | None = msgspec.field(default=None, name="process_stats")


@dataclass(frozen=True, slots=True)
class PodFigures:
    """A pod's UID, what it uses, and its claims."""

    uid: str
    usage: PodUsage
    claims: tuple[VolumeStats, ...]


def pod_stats(text: bytes, dropped: Counter[str]) -> PodFigures | None:
    """The numbers of one pod; a bad container or volume costs itself alone and is counted, as is a bad pod."""
    pod = one(text, PodStats)
    if pod is None:
        dropped["malformed"] += 1
        return None
    parts = [one(bytes(raw), ContainerStats) for raw in pod.containers or ()]
    volumes = [one(bytes(raw), VolumeObject) for raw in pod.volume or ()]
    dropped["malformed"] += parts.count(None) + volumes.count(None)
    containers, mounted = [each for each in parts if each], [each for each in volumes if each]
    usage = PodUsage(
        memory=working_set(pod.memory),
        storage=amount((pod.ephemeral_storage or DiskStats()).used_bytes),
        processes=amount((pod.process_stats or ProcessStats()).process_count),
        writable=_sum(each.rootfs for each in containers),
        logs=_sum(each.logs for each in containers),
        containers={each.name: used for each in containers if (used := working_set(each.memory)) is not None},
        volumes={
            each.name: Disk(amount(each.used_bytes), amount(each.inodes_used)) for each in mounted if not each.pvc_ref
        },
    )
    claims = tuple(_volume(each, each.pvc_ref) for each in mounted if each.pvc_ref)
    return PodFigures((pod.pod_ref or PodReference()).uid, usage, claims)


def working_set(memory: MemoryStats | None) -> float | None:
    """The working set in bytes."""
    return amount(memory.working_set_bytes) if memory else None


def _sum(disks: Iterable[DiskStats | None]) -> Disk:
    known = [disk for disk in disks if disk]
    used = [value for disk in known if (value := amount(disk.used_bytes)) is not None]
    inodes = [value for disk in known if (value := amount(disk.inodes_used)) is not None]
    return Disk(sum(used) if used else None, sum(inodes) if inodes else None)


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
