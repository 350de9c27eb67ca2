"""Which reasons keep containers of this node waiting?"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.facts.pods import WAITING_MANY
from kubelet_exporter.catalog.facts.times import HOLD_LONG
from kubelet_exporter.catalog.model import Alert, Metric, Panel, Query, Runbook, Table, Topic
from kubelet_exporter.catalog.pods import distinct
from kubelet_exporter.snapshot import Snapshot

REASONS = (
    "ContainerCreating",
    "PodInitializing",
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PostStartHookError",
)
RUNTIME = "CreateContainerError|RunContainerError|ImageInspectError"


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many containers wait for one reason."""

    reason: str
    count: int


def waiting(snapshot: Snapshot, _: None) -> Iterator[Waiting]:
    """One row a reason, also for those that no container waits for; rare and unknown reasons are "other"."""
    if snapshot.pods is None:
        return
    alive = [pod for pod in distinct(snapshot.pods) if not pod.over]
    reasons = [each.waiting for pod in alive for each in pod.containers if each.waiting]
    counts = Counter(reason if reason in REASONS else "other" for reason in reasons)
    yield from (Waiting(reason, counts[reason]) for reason in (*REASONS, "other"))


CONTAINERS_WAITING = Metric(
    "containers_waiting",
    "Containers that wait, by the reason of their waiting state.",
    lambda row: row.count,
    ("reason",),
)

RUNTIME_WAITS = Alert(
    "KubeletContainersRefusedByRuntime",
    f"sum by (cluster, node) (max by (cluster, node, reason) ({CONTAINERS_WAITING.where(reason=f'=~{RUNTIME}')})) >= {WAITING_MANY}",
    HOLD_LONG,
    "warning",
    "The runtime of a node refuses several containers.",
    "On node {{ $labels.node }} of cluster {{ $labels.cluster }} {{ $value }} containers wait because the runtime cannot create or run "
    f"them, for more than {HOLD_LONG:text}.",
    Runbook(
        f"At least {WAITING_MANY:text} containers wait with {RUNTIME.replace('|', ', ')}. One such container is usually its user's mistake (a "
        "command that does not exist); several at once point at the runtime, its disk or its cgroups.",
        "These containers do not start here. Others may follow.",
        f"- `{CONTAINERS_WAITING}` by reason.\n"
        "- `kubectl describe pod` of one of them: the message of its waiting state names the error.\n"
        "- On the node: `journalctl -u containerd --since -30min | grep -i error`, `df -h`, `df -i`.",
        "If all messages name the same missing command or file, tell the owner. Else restart the runtime; free its disk; drain the node "
        "if it does not recover.",
    ),
)

TOPIC = Topic(
    name="waiting",
    title="Waiting containers",
    question="Which reasons keep containers of this node waiting?",
    tables=(Table(waiting, (CONTAINERS_WAITING,)),),
    alerts=(RUNTIME_WAITS,),
    boards={
        "pod-start": (
            Panel(
                "Containers waiting",
                "Containers that wait, by reason. ContainerCreating and PodInitializing are ordinary, if they pass.",
                (
                    Query(
                        f"sum by (reason) (max by (cluster, node, reason) ({CONTAINERS_WAITING.shown()}))", "{{reason}}"
                    ),
                ),
                unit="none",
                width=12,
            ),
        ),
    },
)
