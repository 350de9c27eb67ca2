"""How much memory do the node's own parts take: kubelet, runtime, the rest of the system, and all pods together?"""

from collections.abc import Iterator

from kubelet_exporter.catalog.facts.runtime import (
    RUNTIME_MEMORY_CONTAINERD,
    RUNTIME_MEMORY_CRIO,
    RUNTIME_MEMORY_DOCKER,
)
from kubelet_exporter.catalog.model import Metric, Panel, Query, Table, Topic
from kubelet_exporter.snapshot import Snapshot, SystemContainer

# The kubelet's own names (pkg/kubelet/apis/stats/v1alpha1); a provider that invents others cannot grow the scrape.
NAMES = ("kubelet", "runtime", "misc", "pods")


def containers(snapshot: Snapshot, _: None) -> Iterator[SystemContainer]:
    """The system containers that the kubelet measures."""
    found = {each.container: each for each in (snapshot.summary.system if snapshot.summary else ())}
    yield from (found[name] for name in NAMES if name in found)


WORKING_SET = Metric(
    "system_container_working_set_bytes",
    "Working set of a system container: kubelet, runtime, misc or pods (all of them together); absent where the kubelet does not "
    "measure it, as runtime without a cgroup of its own.",
    lambda row: row.working_set,
    ("container",),
    unit="bytes",
)

TOPIC = Topic(
    name="system_containers",
    title="System containers",
    question="How much memory do the node's own parts take: kubelet, runtime, the rest of the system, and all pods together?",
    tables=(Table(containers, (WORKING_SET,)),),
    boards={
        "runtime": (
            Panel(
                "Memory of kubelet and runtime",
                f"Working set where the kubelet measures it. The articles expect {RUNTIME_MEMORY_CONTAINERD:text} of containerd, "
                f"{RUNTIME_MEMORY_CRIO:text} of CRI-O and {RUNTIME_MEMORY_DOCKER:text} of Docker; a hundred pods take several times that.",
                (
                    Query(
                        f"max by (cluster, node, container) ({WORKING_SET.shown(container='=~kubelet|runtime')})",
                        "{{node}} {{container}}",
                    ),
                ),
                unit="bytes",
            ),
        ),
    },
)
