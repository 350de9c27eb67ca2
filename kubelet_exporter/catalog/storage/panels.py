"""Panels of storage operations."""

from kubelet_exporter.catalog.facts.storage import STORAGE_CALL
from kubelet_exporter.catalog.model import Metric, Panel, Query
from kubelet_exporter.catalog.storage.metrics import (
    CSI_DURATION,
    CSI_OPERATIONS,
    DESIRED,
    FAILURE,
    MOUNTED,
    STORAGE_DURATION,
    STORAGE_OPERATIONS,
    STORAGE_VOLUMES,
)

INTERVAL = "[$__rate_interval]"
LEGEND = "{{driver}} {{operation}}"


def _operations(metric: Metric, **labels: str) -> str:
    """Operations a second, however often a node is scraped; those of which there are none are left out."""
    counted = f"max by (cluster, node, driver, operation, status) (rate({metric.shown(**labels)}{INTERVAL}))"
    return f"sum by (driver, operation) ({counted}) > 0"


def _slowest(metric: Metric) -> str:
    """The slowest tenth, absent while there is nothing to measure."""
    return f"histogram_quantile(0.9, sum by (operation, le) (rate({metric.shown('_bucket')}{INTERVAL}))) > 0"


PANELS = (
    Panel(
        "Storage operations",
        "Operations a second by driver. Volumes of projected tokens, ConfigMaps and Secrets are mounted anew every minute or two for each pod.",
        (Query(_operations(STORAGE_OPERATIONS), LEGEND),),
        unit="ops",
    ),
    Panel(
        "Storage operations that fail",
        "Failures a second by driver. verify_controller_attached_volume fails while a volume is being attached, volume_mount of configmap "
        "and secret while an object is missing that its owner forgot; the rest should be nothing.",
        (Query(_operations(STORAGE_OPERATIONS, status=FAILURE), LEGEND),),
        unit="ops",
    ),
    Panel(
        "Time of storage operations, slowest tenth",
        f"By operation, those that failed too. Mounts of the kubelet's own volumes take less than a second, of disks some seconds; at "
        f"{STORAGE_CALL:text} calls to a CSI driver time out.",
        (Query(_slowest(STORAGE_DURATION), "{{operation}}"),),
        unit="s",
        limits=((STORAGE_CALL, "red"),),
    ),
    Panel(
        "Calls to CSI drivers that fail",
        "Failures a second by driver and call. Normal is nothing, or NodeGetVolumeStats while a volume goes.",
        (Query(_operations(CSI_OPERATIONS, status=FAILURE), LEGEND),),
        unit="ops",
    ),
    Panel(
        "Time of calls to CSI drivers, slowest tenth",
        f"By call, those that failed too. Normal is less than a second, for NodeStageVolume some seconds; at {STORAGE_CALL:text} they time out.",
        (Query(_slowest(CSI_DURATION), "{{operation}}"),),
        unit="s",
        limits=((STORAGE_CALL, "red"),),
    ),
    Panel(
        "Volumes not mounted",
        "Volumes that pods want and the kubelet has not mounted, on the ten nodes and drivers with most. Normal is a few, for seconds.",
        (
            Query(
                f"topk(10, max by (cluster, node, driver) ({STORAGE_VOLUMES.shown(state=DESIRED)}) "
                f"- max by (cluster, node, driver) ({STORAGE_VOLUMES.shown(state=MOUNTED)}) > 0)",
                "{{node}} {{driver}}",
            ),
        ),
        unit="none",
    ),
)
