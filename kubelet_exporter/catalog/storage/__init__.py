"""Do volumes get mounted: how often do storage operations and calls to CSI drivers run, fail and last, and by which driver?"""

from kubelet_exporter.catalog.model import Fold, Topic
from kubelet_exporter.catalog.storage.metrics import TABLES, WANTED, advance
from kubelet_exporter.catalog.storage.panels import PANELS
from kubelet_exporter.catalog.storage.rules import ALERTS, RECORDS

TOPIC = Topic(
    name="storage",
    title="Storage",
    question="Do volumes get mounted: how often do storage operations and calls to CSI drivers run, fail and last, and by which driver?",
    tables=TABLES,
    alerts=ALERTS,
    records=RECORDS,
    boards={"runtime": PANELS},
    wanted=WANTED,
    fold=Fold((), advance),
)
