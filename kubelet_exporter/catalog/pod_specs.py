"""Which containers have probes that will hurt them: one endpoint for two purposes, no time to start, no time to answer?"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kubelet_exporter.catalog.facts.containers import EXEC_TIMEOUT_SHORT
from kubelet_exporter.catalog.model import Metric, Panel, Query, Table, Topic
from kubelet_exporter.catalog.pods import distinct
from kubelet_exporter.pod import Container
from kubelet_exporter.snapshot import Snapshot

# Namespaces with the most findings; the rest share one value.
MOST_NAMESPACES = 20
REST = "_other"


def same_endpoint(container: Container) -> bool:
    """Liveness and readiness ask the same: an overloaded container is then restarted instead of left alone."""
    live, ready = container.liveness, container.readiness
    return bool(live and ready and live.action and (live.action, live.target) == (ready.action, ready.target))


def liveness_unguarded(container: Container) -> bool:
    """Liveness is asked from the first second on: a slow start ends in a restart."""
    return bool(container.liveness and not container.liveness.delay and not container.startup)


def exec_timeout_short(container: Container) -> bool:
    """A probe that starts a process has no more than the default second for it."""
    probes = (container.liveness, container.readiness, container.startup)
    return any(probe.action == "exec" and probe.timeout <= EXEC_TIMEOUT_SHORT.value for probe in probes if probe)


CHECKS: Mapping[str, Callable[[Container], bool]] = {
    "same_endpoint": same_endpoint,
    "liveness_unguarded": liveness_unguarded,
    "exec_timeout_short": exec_timeout_short,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """How many containers of a namespace have something that a check looks for."""

    check: str
    namespace: str
    containers: int


def findings(snapshot: Snapshot, _: None) -> Iterator[Finding]:
    """The containers of pods that are not over, by check and namespace; a namespace without any has no row."""
    pods = [pod for pod in distinct(snapshot.pods or ()) if not pod.over]
    for check, holds in CHECKS.items():
        found = Counter(pod.namespace for pod in pods for container in pod.containers if holds(container))
        shown = sorted(found, key=lambda namespace: (-found[namespace], namespace))[:MOST_NAMESPACES]
        yield from (Finding(check, namespace, found[namespace]) for namespace in shown)
        if rest := sum(found.values()) - sum(found[namespace] for namespace in shown):
            yield Finding(check, REST, rest)


FINDINGS = Metric(
    "pod_spec_findings",
    "Containers whose probes will hurt them, by check and namespace: same_endpoint (liveness and readiness), liveness_unguarded (neither initial "
    f"delay nor startup probe), exec_timeout_short; namespaces beyond the {MOST_NAMESPACES} with most share the value {REST}.",
    lambda row: row.containers,
    ("check", "namespace"),
)

TOPIC = Topic(
    name="pod_specs",
    title="Probes that hurt",
    question="Which containers have probes that will hurt them: one endpoint for two purposes, no time to start, no time to answer?",
    tables=(Table(findings, (FINDINGS,)),),
    boards={
        "node": (
            Panel(
                "Probes that hurt",
                "Containers by namespace whose liveness and readiness probes ask the same, whose liveness is asked without initial delay or "
                f"startup probe, or whose exec probe has at most {EXEC_TIMEOUT_SHORT:text} to answer.",
                (
                    Query(
                        f"sum by (namespace, check) (max by (cluster, node, namespace, check) ({FINDINGS.shown()}))",
                        "{{namespace}} {{check}}",
                    ),
                ),
                width=12,
            ),
        ),
    },
)
