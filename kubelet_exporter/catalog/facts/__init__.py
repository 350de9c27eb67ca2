"""Every number that rules, panels and runbooks use, once, with its source; one module a concern. Standard library only.

Three kinds: built into the kubelet (source: its code or defaults), the articles' (source: article), our judgement (source: why).
What is configured on a node is no fact: it is read from the node and exported as a metric.
"""

from collections.abc import Mapping

from kubelet_exporter.catalog.facts import (
    containers,
    eviction,
    health,
    kubelet,
    node,
    pleg,
    pod_start,
    pods,
    runtime,
    storage,
    times,
    volumes,
)
from kubelet_exporter.catalog.model import Fact

MODULES = (pleg, health, runtime, kubelet, pods, containers, eviction, volumes, storage, node, pod_start, times)
FACTS: Mapping[str, Fact] = {
    fact.id: fact for module in MODULES for fact in vars(module).values() if isinstance(fact, Fact)
}
