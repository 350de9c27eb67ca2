"""Facts about storage operations."""

from kubelet_exporter.catalog.model import Fact

STORAGE_RETRY = Fact(
    "storage_retry",
    122,
    "seconds",
    "Longest pause before the kubelet tries a failed storage operation of a volume again.",
    "pkg/util/goroutinemap/exponentialbackoff maxDurationBeforeRetry, Kubernetes 1.28 to 1.36",
)
STORAGE_CALL = Fact(
    "storage_call",
    120,
    "seconds",
    "Time after which the kubelet gives up a call to a CSI driver.",
    "pkg/volume/csi/csi_plugin.go csiTimeout, Kubernetes 1.28 to 1.36",
)
STORAGE_FAILURES = Fact(
    "storage_failures",
    3,
    "",
    "Failed mounts of a driver without any that succeeds at which a person should look.",
    "our judgement: what a single volume gives within the window of the alert even if every try ends by time-out",
)
STORAGE_ERRORS = Fact(
    "storage_errors",
    0.5,
    "ratio",
    "Share of a driver's operations that fail at which a person should look.",
    "our judgement: a volume that succeeds after some tries stays below it among few others",
)
STORAGE_OPERATIONS_FEW = Fact(
    "storage_operations_few",
    10,
    "",
    "Operations within an hour below which the share of those that fail is not told.",
    "our judgement: a volume whose tries begin half a second apart and double their pause has failed less often after two minutes",
)
