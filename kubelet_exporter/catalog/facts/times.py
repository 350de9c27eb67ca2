"""Waiting times that alerts share, and the resolution of times."""

from kubelet_exporter.catalog.model import Fact

HOLD_AT_ONCE = Fact(
    "hold_at_once", 60, "seconds", "Hold of alerts whose condition already contains a waiting time.", "our judgement"
)
HOLD_BRIEF = Fact(
    "hold_brief",
    15,
    "seconds",
    "Hold of alerts that must come before all that follows from them.",
    "our judgement: one evaluation at the customary interval, since the exporter has waited for an answer before",
)
HOLD_SHORT = Fact(
    "hold_short",
    300,
    "seconds",
    "Hold of alerts on states that heal by themselves within minutes.",
    "our judgement: a kubelet restart or a reboot of the exporter takes less",
)
HOLD_LONG = Fact(
    "hold_long",
    900,
    "seconds",
    "Hold of alerts that can wait for working hours.",
    "our judgement: the customary quarter of an hour",
)
HOLD_HOUR = Fact(
    "hold_hour", 3600, "seconds", "Hold of alerts on slow growth.", "our judgement: outlasts a backup or a bulk load"
)
TIME_RESOLUTION = Fact(
    "time_resolution",
    1,
    "seconds",
    "Resolution of Kubernetes' times, which are cut to whole seconds; the exporter takes the middle.",
    "metav1.Time in JSON",
)
