"""Does the runtime hang, and if the node tells nothing: is it the kubelet, the network, our rights or the API server?"""

from kubelet_exporter.catalog.health.metrics import TABLES
from kubelet_exporter.catalog.health.panels import EVIDENCE, FAULTS, HUNG, STATE
from kubelet_exporter.catalog.health.rules import ALERTS
from kubelet_exporter.catalog.health.signs import Memory, advance
from kubelet_exporter.catalog.model import Fold, Topic

TOPIC = Topic(
    name="health",
    title="Health",
    question="Does the runtime hang, and if the node tells nothing: is it the kubelet, the network, our rights or the API server?",
    tables=TABLES,
    alerts=ALERTS,
    boards={"overview": (HUNG,), "node": (FAULTS,), "runtime": (STATE, EVIDENCE)},
    fold=Fold(Memory(), advance),
)
