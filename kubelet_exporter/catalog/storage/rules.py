"""Records and alerts of storage operations: mounts that only fail, drivers that fail often, volumes that wait without an error."""

from kubelet_exporter.catalog.facts.storage import (
    STORAGE_CALL,
    STORAGE_ERRORS,
    STORAGE_FAILURES,
    STORAGE_OPERATIONS_FEW,
    STORAGE_RETRY,
)
from kubelet_exporter.catalog.facts.times import HOLD_LONG, HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Record, Runbook
from kubelet_exporter.catalog.storage.metrics import (
    CSI_OPERATIONS,
    DESIRED,
    FAILURE,
    MOUNTED,
    STORAGE_DURATION,
    STORAGE_OPERATIONS,
    STORAGE_VOLUMES,
    SUCCESS,
)

# Without the driver of ConfigMaps or Secrets: a mount of one that does not exist fails on its owner's account. What a projected
# volume lacks is its owner's fault too, but those are mounted anew all the time, since nearly every pod has one for its token.
OWNERS = "configmap|secret"
# What must succeed before a pod has its volume.
MOUNTS = "=~volume_mount|map_volume|verify_controller_attached_volume"
BY = "cluster, node, driver, operation"

FAILED = STORAGE_OPERATIONS.where(status=FAILURE)
ENDED = f"sum by ({BY}) (max by ({BY}, status) (increase({STORAGE_OPERATIONS}[1h])))"

# A node that is scraped twice counts once.
FAILURE_RATIO = Record(
    "cluster_node_driver_operation:kubelet_exporter_storage_operation_failures:ratio_increase1h",
    f"max by ({BY}) (increase({FAILED}[1h])) / {ENDED} and {ENDED} >= {STORAGE_OPERATIONS_FEW}",
)

DIAGNOSE = f"""
- What is wrong: `kubectl get events -A --field-selector reason=FailedMount` (or FailedAttachVolume, FailedMapVolume). On the node
  `journalctl -u kubelet --since -30min | grep -e MountVolume -e MapVolume -e UnmountVolume -e UnmountDevice -e AttachVolume`.
- Which call of the CSI driver: `sum by (operation, status) (increase({CSI_OPERATIONS}{{node="NODE"}}[1h]))`. A call gets {STORAGE_CALL:text};
  `{STORAGE_DURATION}` shows whether they take that long.
- "not found in the list of registered CSI drivers": `kubectl get csinode NODE -o yaml` lacks the driver, and its pod on this node is down.
- One node or all: `sum by (cluster, driver) (increase({FAILED}[1h]))`. All: the back end, its credentials, or a new version of the driver.
- `kubectl get volumeattachments | grep NODE`: attached at all, or still to another node?
"""
MITIGATE = (
    "Driver down or not registered: delete its pod on this node; if it does not register then, restart the kubelet. Back end down: cure that, "
    "the kubelet tries again by itself. Attached elsewhere: make sure that the other node is off or no longer uses the volume, only then delete "
    "the VolumeAttachment. Never format or force a detach to clear an error. Else cordon the node, so that new pods start elsewhere."
)

MOUNTS_FAILING = Alert(
    "KubeletVolumeMountsFailing",
    f"max by ({BY}) (increase({STORAGE_OPERATIONS.where(operation=MOUNTS, driver=f'!~{OWNERS}', status=FAILURE)}[15m])) >= {STORAGE_FAILURES} "
    f"unless max by ({BY}) (increase({STORAGE_OPERATIONS.where(status=SUCCESS)}[15m])) > 0",
    HOLD_SHORT,
    "warning",
    "Mounts of a storage driver fail on a node, and none succeeds.",
    "{{ $labels.operation }} of driver {{ $labels.driver }} on node {{ $labels.node }} of cluster {{ $labels.cluster }} failed "
    "{{ $value | humanize }} times within 15 minutes, and none succeeded.",
    Runbook(
        f"Within 15 minutes the kubelet tried at least {STORAGE_FAILURES} times to mount, map or find attached a volume of this driver, and no "
        f"try succeeded. It tries each volume again after at most {STORAGE_RETRY:text}. ConfigMaps and Secrets are not looked at: one that does "
        "not exist is its owner's fault.",
        "Pods with volumes of this driver do not start on this node. Those that run keep their volumes.",
        DIAGNOSE,
        MITIGATE,
    ),
    inhibits=("KubeletStorageErrors", "KubeletVolumesNotMounted"),
)
ERRORS = Alert(
    "KubeletStorageErrors",
    f'{FAILURE_RATIO}{{operation!="verify_controller_attached_volume",driver!~"{OWNERS}"}} > {STORAGE_ERRORS}',
    HOLD_LONG,
    "warning",
    "Storage operations of a driver often fail on a node.",
    "{{ $value | humanizePercentage }} of {{ $labels.operation }} of driver {{ $labels.driver }} on node {{ $labels.node }} of cluster "
    "{{ $labels.cluster }} failed within the last hour.",
    Runbook(
        f"More than {STORAGE_ERRORS:text} of one kind of operation of this driver failed, of at least {STORAGE_OPERATIONS_FEW}. Not looked at: "
        "verify_controller_attached_volume, which fails while a volume is being attached, and ConfigMaps and Secrets, which their owners forgot.",
        "Mounts: pods start late or not at all. Unmounts: pods do not end, and their volumes cannot move to another node.",
        DIAGNOSE + "- Unmounts: who uses it? On the node `findmnt | grep VOLUME`, `fuser -vm MOUNTPOINT`.\n",
        MITIGATE,
    ),
)
NOT_MOUNTED = Alert(
    "KubeletVolumesNotMounted",
    f"max by (cluster, node, driver) ({STORAGE_VOLUMES.where(state=DESIRED, driver=f'!~{OWNERS}')}) "
    f"- max by (cluster, node, driver) ({STORAGE_VOLUMES.where(state=MOUNTED)}) > 0 "
    f"unless max by (cluster, node, driver) (increase({STORAGE_OPERATIONS.where(operation='=~volume_mount|map_volume', status=SUCCESS)}[15m])) > 0",
    HOLD_LONG,
    "warning",
    "Volumes of a driver wait for their mount, and none is mounted.",
    "{{ $value }} volumes of driver {{ $labels.driver }} on node {{ $labels.node }} of cluster {{ $labels.cluster }} have not been mounted "
    f"for more than {HOLD_LONG:text}, nor any other of it.",
    Runbook(
        "Pods want volumes of this driver that the kubelet has not mounted, and it has mounted no volume of it for 15 minutes. There need be no "
        "error: a mount that hangs ends neither well nor badly and is in no counter.",
        "The pods that wait for them do not start.",
        "- A mount that hangs: on the node `ps axo stat,pid,etime,cmd | grep -e mount -e ^D`. NFS and other network file systems hang while their "
        f"server does not answer.\n{DIAGNOSE.strip()}\n",
        f"Let the server answer again; a hung mount then ends by itself. {MITIGATE}",
    ),
)

RECORDS = (FAILURE_RATIO,)
ALERTS = (MOUNTS_FAILING, ERRORS, NOT_MOUNTED)
