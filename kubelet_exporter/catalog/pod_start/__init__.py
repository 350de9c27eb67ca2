"""Do pods start in time on this node; if not, at which stage is the time lost, and whose fault is it?"""

from kubelet_exporter.catalog.model import Fold, Topic
from kubelet_exporter.catalog.pod_start.evidence import WANTED
from kubelet_exporter.catalog.pod_start.memory import Memory, advance
from kubelet_exporter.catalog.pod_start.metrics import TABLES
from kubelet_exporter.catalog.pod_start.panels import OVERVIEW, PANELS
from kubelet_exporter.catalog.pod_start.rules import ALERTS, RECORDS

TOPIC = Topic(
    name="pod_start",
    title="Pod start",
    question="Do pods start in time on this node; if not, at which stage is the time lost, and whose fault is it?",
    tables=TABLES,
    alerts=ALERTS,
    records=RECORDS,
    boards={
        "overview": OVERVIEW,
        "pod-start": PANELS,
    },
    wanted=WANTED,
    fold=Fold(Memory(), advance),
)
