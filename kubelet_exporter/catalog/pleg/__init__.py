"""Does the kubelet still see its containers: when did the PLEG last relist, how often, and how long does it take?"""

from kubelet_exporter.catalog.model import Fold, Topic
from kubelet_exporter.catalog.pleg import panels
from kubelet_exporter.catalog.pleg.freshness import Memory, advance
from kubelet_exporter.catalog.pleg.metrics import TABLES, WANTED
from kubelet_exporter.catalog.pleg.rules import ALERTS, RECORDS

TOPIC = Topic(
    name="pleg",
    title="PLEG",
    question="Does the kubelet still see its containers: when did the PLEG last relist, how often, and how long does it take?",
    tables=TABLES,
    alerts=ALERTS,
    records=RECORDS,
    boards={
        "overview": (panels.OLDEST,),
        "node": (panels.SINCE, panels.DURATION, panels.FREQUENCY),
        "runtime": (panels.SINCE, panels.NOT_FRESH, panels.DURATION, panels.FREQUENCY, panels.OF_PODS, panels.LOST),
    },
    wanted=WANTED,
    fold=Fold(Memory(), advance),
)
