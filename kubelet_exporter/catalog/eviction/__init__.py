"""How far is this node from evicting, on which signal, when, and which pods go first; whom has it evicted?"""

from kubelet_exporter.catalog.eviction import panels
from kubelet_exporter.catalog.eviction.metrics import TABLES, WANTED, Memory, advance
from kubelet_exporter.catalog.eviction.rules import EVICTED, NEAR, SOON
from kubelet_exporter.catalog.model import Fold, Topic

TOPIC = Topic(
    name="eviction",
    title="Eviction",
    question="How far is this node from evicting, on which signal, when, and which pods go first; whom has it evicted?",
    tables=TABLES,
    alerts=(NEAR, SOON, EVICTED),
    boards={
        "node": (panels.DISTANCE, panels.EVICTIONS),
        "eviction": (
            panels.DISTANCE,
            panels.TIME,
            panels.NEXT,
            panels.EXCESS,
            panels.EVICTIONS,
            panels.VICTIMS,
            *panels.HEADROOM,
            panels.UNGUARDED_SIGNALS,
        ),
    },
    wanted=WANTED,
    fold=Fold(Memory(), advance),
)
