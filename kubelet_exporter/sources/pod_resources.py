"""What a pod requests, may use and mounts, out of its spec. An amount that cannot be read is taken as not set."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kubelet_exporter import units
from kubelet_exporter.pod import NOTHING_SET, Claim, Resources

Amounts = dict[str, str | int | float]
# Other kinds are memory (secret, projected, downwardAPI), or not the node's (claims, network file systems).
ON_DISK = ("hostPath", "configMap", "gitRepo")


class ResourceRequirements(msgspec.Struct, rename="camel"):
    """What is used of ResourceRequirements."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class Mount(msgspec.Struct, rename="camel"):
    """What is used of VolumeMount and VolumeDevice."""

    name: str
    read_only: bool | None = None


def amounts(given: Mapping[str, str | int | float] | None) -> Resources:
    """A ResourceList in base units."""
    if not given:
        return NOTHING_SET
    return Resources(*(_quantity(given.get(name)) for name in ("cpu", "memory", "ephemeral-storage")))


def _quantity(given: Any) -> float | None:
    try:
        return None if given is None else units.quantity(str(given))
    except ValueError:
        return None


def local_volumes(volumes: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The names of the volumes that use the node's disk (localVolumeNames in pkg/kubelet/eviction/helpers.go)."""
    return frozenset(
        str(volume.get("name", ""))
        for volume in volumes
        if any(volume.get(kind) is not None for kind in ON_DISK) or _on_disk(volume)
    )


def size_limits(volumes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Name and limit in bytes of each emptyDir on disk that has one."""
    for volume in volumes:
        limit = _quantity((volume.get("emptyDir") or {}).get("sizeLimit")) if _on_disk(volume) else None
        if limit is not None and limit > 0:
            yield str(volume.get("name", "")), limit


def claims(
    pod: str, volumes: Sequence[Mapping[str, Any]], mounts: Collection[Mount], devices: Collection[Mount]
) -> Iterator[Claim]:
    """A pod's PersistentVolumeClaims; a generic ephemeral volume has one named after pod and volume."""
    written = {mount.name for mount in mounts if not mount.read_only}
    read = {mount.name for mount in mounts if mount.read_only} - written
    block = {device.name for device in devices}
    for volume in volumes:
        name, claim = str(volume.get("name", "")), volume.get("persistentVolumeClaim")
        if isinstance(claim, Mapping) and claim.get("claimName"):
            yield Claim(str(claim["claimName"]), bool(claim.get("readOnly")) or name in read, name in block)
        elif volume.get("ephemeral") is not None:
            yield Claim(f"{pod}-{name}", name in read, name in block)


def _on_disk(volume: Mapping[str, Any]) -> bool:
    directory = volume.get("emptyDir")
    return isinstance(directory, Mapping) and not directory.get("medium")
