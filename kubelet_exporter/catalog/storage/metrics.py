"""Rows and metrics of storage operations, from what the kubelet counts by volume plug-in and by CSI driver."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import inf

from kubelet_exporter.catalog.model import Metric, Table
from kubelet_exporter.samples import Histogram, Metrics
from kubelet_exporter.snapshot import Snapshot, Source

STORAGE = "storage_operation_duration_seconds"
CSI = "csi_operations_seconds"
VOLUMES = "volume_manager_total_volumes"

OTHER = "other"
SUCCESS, FAILURE = "success", "failure"
DESIRED, MOUNTED = "desired", "mounted"
STATES = {"desired_state_of_world": DESIRED, "actual_state_of_world": MOUNTED}
MOST_DRIVERS = 15  # more than any node has; else a bound

# Of every driver from 0 on. The rest, from pkg/volume/util/operationexecutor, once the kubelet has counted one.
ALWAYS = ("verify_controller_attached_volume", "volume_mount", "volume_unmount")
OPERATIONS = frozenset(
    {
        *ALWAYS,
        *("volume_attach", "volume_detach", "unmount_device", "map_volume", "unmap_volume", "unmap_device"),
        *("expand_volume", "volume_fs_resize"),
    }
)
# The calls to the node plug-in of a CSI driver.
CALLS = frozenset(
    {
        *("NodeStageVolume", "NodeUnstageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeExpandVolume"),
        *("NodeGetVolumeStats", "NodeGetInfo", "NodeGetCapabilities"),
    }
)
# Subset of the kubelet's bounds, 13 up to 600; 120 is where calls to a CSI driver time out.
BOUNDS = (0.1, 1.0, 5.0, 15.0, 50.0, 120.0)

Known = tuple[str, ...]
Counts = Mapping[tuple[str, str, str], float]


@dataclass(frozen=True, slots=True)
class Operations:
    """How many operations of one kind ended in one way, since the kubelet started."""

    driver: str
    operation: str
    status: str
    count: float


@dataclass(frozen=True, slots=True)
class Durations:
    """How long operations of one kind took, whatever their driver."""

    operation: str
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class Volumes:
    """How many volumes of a driver the pods want, or have mounted; one that two pods use counts twice."""

    driver: str
    state: str
    count: float


def named(plugin: str) -> str:
    """The name of a volume plug-in's driver: `kubernetes.io/csi:a.b` is a.b, `kubernetes.io/nfs` is nfs."""
    return plugin.removeprefix("kubernetes.io/").removeprefix("csi:") or OTHER


def advance(known: Known, snapshot: Snapshot) -> Known:
    """The drivers that have a name of their own: in the order in which they turned up, so that none ever loses it.

    Those that turn up at once stand in the order of their use.
    """
    if snapshot.latest != Source.METRICS or snapshot.metrics is None or not snapshot.fresh(Source.METRICS):
        return known
    uses = _uses(snapshot.metrics)
    new = sorted(uses.keys() - {*known, OTHER}, key=lambda driver: (-uses[driver], driver))
    return (*known, *new)[:MOST_DRIVERS]


def _uses(metrics: Metrics) -> Mapping[str, float]:
    """All drivers, and how many operations each had."""
    uses: Counter[str] = Counter()
    for name, label in (
        (f"{STORAGE}_count", "volume_plugin"),
        (VOLUMES, "plugin_name"),
        (f"{CSI}_count", "driver_name"),
    ):
        for (plugin,), count in metrics.totals(name, label).items():
            uses[named(plugin)] += int(count) if name != VOLUMES and count < inf else 0
    return uses


def storage_operations(snapshot: Snapshot, known: Known) -> Iterator[Operations]:
    """Every operation of every driver, succeeded and failed, both from 0 on.

    A driver is known by its first volume, before the first mount ends: so the first failure is seen as an increase.
    """
    if snapshot.metrics is not None:
        found = snapshot.metrics.totals(f"{STORAGE}_count", "volume_plugin", "operation_name", "status")
        counts = _counts(found, known, OPERATIONS, SUCCESS)
        yield from _rows(counts, {(driver, operation) for driver in known for operation in ALWAYS})


def csi_operations(snapshot: Snapshot, known: Known) -> Iterator[Operations]:
    """Every call to every CSI driver, succeeded and failed, both from 0 on."""
    if snapshot.metrics is not None:
        found = snapshot.metrics.totals(f"{CSI}_count", "driver_name", "method_name", "grpc_status_code")
        yield from _rows(_counts(found, known, CALLS, "OK"), ())


def _call(method: str) -> str:
    """The last part of /csi.v1.Node/NodeStageVolume; storage operations have but one."""
    return method.rpartition("/")[2]


def _counts(found: Mapping[tuple[str, ...], float], known: Known, kinds: Collection[str], good: str) -> Counts:
    """Counts by driver, operation and success, with those that have no name of their own called other."""
    counts: dict[tuple[str, str, str], float] = {}
    for (plugin, whole, status), count in found.items():
        driver, kind = named(plugin), _call(whole)
        key = (
            driver if driver in known else OTHER,
            kind if kind in kinds else OTHER,
            SUCCESS if status == good else FAILURE,
        )
        counts[key] = counts.get(key, 0.0) + count
    return counts


def _rows(counts: Counts, always: Collection[tuple[str, str]]) -> Iterator[Operations]:
    for driver, operation in sorted({*always, *((driver, operation) for driver, operation, _ in counts)}):
        for status in (SUCCESS, FAILURE):
            yield Operations(driver, operation, status, counts.get((driver, operation, status), 0.0))


def storage_durations(snapshot: Snapshot, _: Known) -> Iterator[Durations]:
    """One row an operation that the kubelet has done."""
    if snapshot.metrics is not None:
        for (operation,), histogram in sorted(snapshot.metrics.histograms(STORAGE, BOUNDS, "operation_name").items()):
            if operation in OPERATIONS:
                yield Durations(operation, histogram)


def csi_durations(snapshot: Snapshot, _: Known) -> Iterator[Durations]:
    """One row a kind of call that the kubelet has made."""
    if snapshot.metrics is not None:
        for (method,), histogram in sorted(snapshot.metrics.histograms(CSI, BOUNDS, "method_name").items()):
            if _call(method) in CALLS:
                yield Durations(_call(method), histogram)


def volumes(snapshot: Snapshot, known: Known) -> Iterator[Volumes]:
    """Wanted and mounted volumes of every driver, 0 where the kubelet leaves out a driver of which it has none."""
    found = snapshot.metrics.totals(VOLUMES, "plugin_name", "state") if snapshot.metrics is not None else {}
    counts = {(driver, state): 0.0 for driver in known for state in STATES.values()} if found else {}
    for (plugin, state), count in found.items():
        if state in STATES:
            key = named(plugin) if named(plugin) in known else OTHER, STATES[state]
            counts[key] = counts.get(key, 0.0) + count
    yield from (Volumes(driver, state, count) for (driver, state), count in sorted(counts.items()))


def _possible(row: Operations | Volumes) -> float | None:
    """The count of a row, if it can be one."""
    return row.count if 0 <= row.count < inf else None


STORAGE_OPERATIONS = Metric(
    "storage_operations_total",
    "Storage operations of the kubelet that ended, by driver, operation and whether they succeeded (success) or not (failure).",
    _possible,
    ("driver", "operation", "status"),
    kind="counter",
)
CSI_OPERATIONS = Metric(
    "csi_operations_total",
    "Calls of the kubelet to CSI drivers that ended, by driver, call and whether they succeeded (success) or not (failure).",
    _possible,
    ("driver", "operation", "status"),
    kind="counter",
)
STORAGE_DURATION = Metric(
    "storage_operation_duration_seconds",
    "How long storage operations took, those that failed too, from the kubelet's histogram; one that hangs is not in it until it ends.",
    lambda row: row.histogram,
    ("operation",),
    kind="histogram",
    unit="seconds",
)
CSI_DURATION = Metric(
    "csi_operation_duration_seconds",
    "How long calls to CSI drivers took, those that failed too, from the kubelet's histogram.",
    lambda row: row.histogram,
    ("operation",),
    kind="histogram",
    unit="seconds",
)
STORAGE_VOLUMES = Metric(
    "storage_volumes",
    "Volumes of pods by driver: how many should be mounted (desired) and how many are (mounted).",
    _possible,
    ("driver", "state"),
)

TABLES = (
    Table(storage_operations, (STORAGE_OPERATIONS,)),
    Table(storage_durations, (STORAGE_DURATION,)),
    Table(csi_operations, (CSI_OPERATIONS,)),
    Table(csi_durations, (CSI_DURATION,)),
    Table(volumes, (STORAGE_VOLUMES,)),
)
WANTED = frozenset({STORAGE, CSI, VOLUMES})
