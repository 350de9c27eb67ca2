"""Which volume fills up: capacity, available and used bytes and inodes of each claim on this node."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_HOUR, HOLD_LONG
from kubelet_exporter.catalog.facts.volumes import VOLUME_FILLING, VOLUME_FULL, VOLUME_STATS_PERIOD, VOLUME_STATS_STALE
from kubelet_exporter.catalog.model import Alert, Fold, Metric, Panel, Query, Record, Runbook, Table, Topic
from kubelet_exporter.snapshot import Snapshot, Source, VolumeStats

LABELS = ("namespace", "persistentvolumeclaim")


@dataclass(frozen=True, slots=True)
class Volume:
    """One claim; None where nothing is known."""

    namespace: str
    persistentvolumeclaim: str
    stats: VolumeStats


@dataclass(frozen=True, slots=True)
class Inodes:
    """What is remembered of a claim: its inodes at the last reading, and whether they turned out to be no limit."""

    total: float
    unbounded: bool = False


Memory = Mapping[tuple[str, str], Inodes]


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """Learn which claims count inodes without a limit.

    Such file systems (CephFS) report free 0 and a total that grows with use. One reading looks like a full disk; a total
    that changes while free stays 0 does not (ceph-csi#3713).
    """
    if snapshot.latest != Source.SUMMARY or snapshot.summary is None:
        return memory
    return {
        (volume.namespace, volume.claim): _learn(memory.get((volume.namespace, volume.claim)), volume)
        for volume in snapshot.summary.volumes
        if volume.inodes and volume.inodes_free == 0
    }


def _learn(last: Inodes | None, volume: VolumeStats) -> Inodes:
    total = volume.inodes or 0.0
    return Inodes(total, last is not None and (last.unbounded or last.total != total))


def volumes(snapshot: Snapshot, memory: Memory) -> Iterator[Volume]:
    """One row a claim, in the order of namespace and name."""
    stats = snapshot.summary.volumes if snapshot.summary else ()
    for volume in sorted(stats, key=lambda each: (each.namespace, each.claim)):
        yield Volume(volume.namespace, volume.claim, believable(volume, memory))


def believable(volume: VolumeStats, memory: Memory) -> VolumeStats:
    """The numbers without those that the kubelet fills with zeros when it does not know them.

    A block volume has a capacity only; a file system without inodes has none of the three; a capacity of 0 says nothing.
    """
    if not volume.capacity:
        volume = replace(volume, capacity=None, available=None, used=None)
    elif not volume.available and not volume.used:
        volume = replace(volume, available=None, used=None)
    inodes = memory.get((volume.namespace, volume.claim))
    if not volume.inodes or (inodes and inodes.unbounded):
        volume = replace(volume, inodes=None, inodes_free=None, inodes_used=None)
    return volume


def _column(name: str, text: str, field: str, unit: str) -> Metric:
    return Metric(
        f"volume_{name}",
        f"{text} of the volume of a claim, from /stats/summary.",
        lambda row: getattr(row.stats, field),
        LABELS,
        unit="bytes" if unit == "bytes" else "seconds" if unit == "seconds" else "",
    )


CAPACITY = _column("capacity_bytes", "Size", "capacity", "bytes")
AVAILABLE = _column("available_bytes", "Bytes that can still be written", "available", "bytes")
USED = _column("used_bytes", "Bytes in use", "used", "bytes")
INODES = _column("inodes", "Inodes", "inodes", "")
INODES_FREE = _column("inodes_free", "Free inodes", "inodes_free", "")
INODES_USED = _column("inodes_used", "Inodes in use", "inodes_used", "")
STATS_TIME = _column("stats_timestamp_seconds", "Unix time of the statistics", "time", "seconds")

BY_CLAIM = "cluster, namespace, persistentvolumeclaim"
USED_RATIO = Record(
    "cluster_namespace_persistentvolumeclaim:kubelet_exporter_volume_used:ratio",
    f"1 - min by ({BY_CLAIM}) ({AVAILABLE} / {CAPACITY})",
)
INODES_USED_RATIO = Record(
    "cluster_namespace_persistentvolumeclaim:kubelet_exporter_volume_inodes_used:ratio",
    f"1 - min by ({BY_CLAIM}) ({INODES_FREE} / {INODES})",
)

CLAIM = "Claim {{ $labels.namespace }}/{{ $labels.persistentvolumeclaim }} of cluster {{ $labels.cluster }}"
DIAGNOSE = f"""
- `{AVAILABLE}` beside `{CAPACITY}` over the last days: a jump, or steady growth?
- Which pod writes? `kubectl -n NAMESPACE describe pvc CLAIM` names its pods; in the pod `du -xh --max-depth=2 MOUNTPOINT | sort -h | tail`.
- Files that are deleted but still open keep their blocks: restart their process.
"""
MITIGATE = """
Delete or move what is not needed. If the storage class allows expansion, raise `spec.resources.requests.storage` of the claim.
Rotate logs, shorten retention, compact the database.
"""

FILLING = Alert(
    "KubeletVolumeFilling",
    f"last_over_time({USED_RATIO}[10m]) > {VOLUME_FILLING}",  # the statistics vanish while a pod crash-loops
    HOLD_HOUR,
    "warning",
    "A volume is filling up.",
    f"{CLAIM} has been more than {VOLUME_FILLING:text} full for over {HOLD_HOUR:text}; it is now {{{{ $value | humanizePercentage }}}} full.",
    Runbook(
        f"1 - available / capacity of this claim is above {VOLUME_FILLING:text}, the line of the articles. A claim that several nodes "
        "mount raises one alert.",
        "None yet. At 100 % writes fail, and databases stop or corrupt their files.",
        DIAGNOSE,
        MITIGATE,
    ),
    keep_firing=HOLD_LONG,
)
FULL = Alert(
    "KubeletVolumeAlmostFull",
    f"{USED_RATIO} > {VOLUME_FULL}",
    HOLD_AT_ONCE,
    "critical",
    "A volume is almost full.",
    f"{CLAIM} is {{{{ $value | humanizePercentage }}}} full, more than {VOLUME_FULL:text}.",
    Runbook(
        f"1 - available / capacity of this claim is above {VOLUME_FULL:text}.",
        "Writes fail now or very soon.",
        DIAGNOSE,
        MITIGATE,
    ),
    keep_firing=HOLD_LONG,
)
INODES_FULL = Alert(
    "KubeletVolumeInodesAlmostFull",
    f"{INODES_USED_RATIO} > {VOLUME_FULL}",
    HOLD_AT_ONCE,
    "critical",
    "A volume is almost out of inodes.",
    f"{CLAIM} uses {{{{ $value | humanizePercentage }}}} of its inodes, more than {VOLUME_FULL:text}.",
    Runbook(
        "Each file and directory needs an inode; how many come with a byte of the volume is settled when the file system is made.",
        "No new file can be made, though there may be free bytes.",
        f"`{INODES_FREE}` beside `{INODES}`. In the pod: `find MOUNTPOINT -xdev -printf '%h\\n' | sort | uniq -c | sort -n | tail` "
        "names the directories with most files. File systems that count inodes without a limit (CephFS) look full at their first "
        "reading only.",
        "Delete small files (sessions, caches, mail queues). Else expand the volume: ext4 gets inodes in proportion, XFS makes them as needed.",
    ),
    keep_firing=HOLD_LONG,
)
STATS_STALE = Alert(
    "KubeletVolumeStatsStale",
    f"time() - max by ({BY_CLAIM}) ({STATS_TIME}) > {VOLUME_STATS_STALE}",
    HOLD_LONG,
    "warning",
    "The statistics of a volume are frozen.",
    f"{CLAIM} was last measured {{{{ $value | humanizeDuration }}}} ago; the kubelet should do so about every {VOLUME_STATS_PERIOD:text}.",
    Runbook(
        f"The statistics of this claim are older than {VOLUME_STATS_STALE:text}: its driver hangs or no longer answers, or the kubelet "
        "measures seldom (volumeStatsAggPeriod).",
        "The other volume alerts are blind for this claim.",
        "- Does `df MOUNTPOINT` in the pod answer?\n"
        "- On the node: `journalctl -u kubelet --since -1h | grep -i -e 'volume stats' -e GetVolumeStats`.\n"
        "- The log of the driver's node plug-in.",
        "Restart the driver's pod on the node; for a network file system look at its server.",
    ),
)

SHOWN_RATIO = f"1 - min by (cluster, namespace, persistentvolumeclaim) ({AVAILABLE.shown()} / {CAPACITY.shown()})"
SHOWN_INODES = f"1 - min by (cluster, namespace, persistentvolumeclaim) ({INODES_FREE.shown()} / {INODES.shown()})"
LEGEND = "{{namespace}}/{{persistentvolumeclaim}}"

TOPIC = Topic(
    name="volumes",
    title="Volumes",
    question="Which volume fills up: capacity, available and used bytes and inodes of each claim on this node.",
    tables=(Table(volumes, (CAPACITY, AVAILABLE, USED, INODES, INODES_FREE, INODES_USED, STATS_TIME), per="volume"),),
    alerts=(FILLING, FULL, INODES_FULL, STATS_STALE),
    records=(USED_RATIO, INODES_USED_RATIO),
    boards={
        "overview": (
            Panel(
                "Fullest volume",
                "The fullest claim and its used share.",
                (Query(f"topk(1, {SHOWN_RATIO})", LEGEND),),
                kind="stat",
                unit="percentunit",
                limits=((VOLUME_FILLING, "orange"), (VOLUME_FULL, "red")),
                width=4,
                height=4,
            ),
            Panel(
                "Fullest volumes",
                f"The ten fullest claims. The articles' line is {VOLUME_FILLING:text}.",
                (Query(f"topk(10, {SHOWN_RATIO})", LEGEND),),
                unit="percentunit",
                limits=((VOLUME_FILLING, "orange"), (VOLUME_FULL, "red")),
                width=12,
            ),
        ),
        "node": (
            Panel(
                "Used share of volumes",
                f"1 - available / capacity of each claim. The articles' line is {VOLUME_FILLING:text}.",
                (Query(SHOWN_RATIO, LEGEND),),
                unit="percentunit",
                limits=((VOLUME_FILLING, "orange"), (VOLUME_FULL, "red")),
            ),
            Panel(
                "Available bytes",
                "Bytes that can still be written to each claim.",
                (Query(f"min by (cluster, namespace, persistentvolumeclaim) ({AVAILABLE.shown()})", LEGEND),),
                unit="bytes",
            ),
            Panel(
                "Used share of inodes",
                "1 - free / all inodes of each claim that has a number of them.",
                (Query(SHOWN_INODES, LEGEND),),
                unit="percentunit",
                limits=((VOLUME_FULL, "red"),),
            ),
        ),
    },
    fold=Fold({}, advance),
)
