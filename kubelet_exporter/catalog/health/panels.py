"""How a hung runtime and the other faults are shown."""

from kubelet_exporter.catalog.health.metrics import FAULT, RUNTIME_HUNG, RUNTIME_HUNG_EVIDENCE
from kubelet_exporter.catalog.model import Panel, Query

YES_NO = {"0": ("no", "green"), "1": ("yes", "red")}

HUNG = Panel(
    "Runtimes that hang",
    "Nodes whose kubelet answers, but not where it must ask the container runtime.",
    (Query(f"sum(max by (cluster, node) ({RUNTIME_HUNG.shown()}))", "hang"),),
    kind="stat",
    unit="none",
    mappings={"0": ("0", "green")},
    width=4,
    height=4,
)
STATE = Panel(
    "Runtime hangs",
    "Whether the container runtime of each node hangs. A gap: the kubelet did not answer at all.",
    (Query(f"max by (cluster, node) ({RUNTIME_HUNG.shown()})"),),
    kind="state-timeline",
    unit="none",
    mappings=YES_NO,
    width=12,
)
EVIDENCE = Panel(
    "Evidence of a hang",
    "How it is known. The first three make a hang; an old relist and the word of the node follow later.",
    (Query(f"max by (cluster, node, evidence) ({RUNTIME_HUNG_EVIDENCE.shown()})", "{{node}} {{evidence}}"),),
    kind="state-timeline",
    unit="none",
    mappings={"0": ("no", "blue"), "1": ("yes", "purple")},
    width=12,
)
FAULTS = Panel(
    "Faults",
    "What stands between exporter, kubelet and API server.",
    (Query(f"max by (cluster, node, fault) ({FAULT.shown()})", "{{node}} {{fault}}"),),
    kind="state-timeline",
    unit="none",
    mappings=YES_NO,
    width=12,
)
