"""Facts about the Node object and its Lease."""

from kubelet_exporter.catalog.model import Fact

LEASE_DURATION = Fact(
    "lease_duration",
    40,
    "seconds",
    "How long a node's Lease is valid; the kubelet renews it every quarter of that.",
    "pkg/kubelet/apis/config/v1beta1/defaults.go nodeLeaseDurationSeconds",
)
LEASE_STALE = Fact(
    "lease_stale",
    120,
    "seconds",
    "Age of the last Lease renewal at which a person should look.",
    "our judgement: three lease durations",
)
HEARTBEAT_PERIOD = Fact(
    "heartbeat_period",
    300,
    "seconds",
    "How old a condition's heartbeat may be on a healthy node whose status does not change.",
    "pkg/kubelet/apis/config/v1beta1/defaults.go nodeStatusReportFrequency",
)
HEARTBEAT_STALE = Fact(
    "heartbeat_stale",
    600,
    "seconds",
    "Age of the Ready condition's heartbeat at which a person should look.",
    "our judgement: twice the kubelet's report period",
)
CONDITION_FLAPPING = Fact(
    "condition_flapping",
    4,
    "",
    "Changes of a condition within an hour at which it flaps.",
    "our judgement: two outages, however short",
)
CORDONED_TOO_LONG = Fact(
    "cordoned_too_long",
    86400,
    "seconds",
    "How long a node may be cordoned before somebody should ask why.",
    "our judgement: maintenance that was forgotten",
)
REMOVAL_STUCK = Fact(
    "removal_stuck",
    3600,
    "seconds",
    "How long a node may stay that was marked for removal.",
    "our judgement: draining takes minutes, unless a disruption budget or a finalizer holds it up",
)
