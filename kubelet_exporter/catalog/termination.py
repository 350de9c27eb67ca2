"""Do pods end in time when they are deleted?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kubelet_exporter.catalog.facts.pods import TERMINATION_STUCK
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE
from kubelet_exporter.catalog.model import Alert, Fold, Metric, Panel, Query, Runbook, Table, Topic
from kubelet_exporter.catalog.tally import START_BOUNDS, Tally, empty, observed
from kubelet_exporter.pod import Pod
from kubelet_exporter.snapshot import Snapshot, Source


@dataclass(frozen=True, slots=True)
class Memory:
    """When the deletion of each pod that is being deleted was asked for, and how long the deletions took that are over.

    `gone` is how many seconds those took whose pod the last listing lacked for the first time.
    """

    asked: Mapping[str, float] = field(default_factory=dict)
    gone: Mapping[str, float] = field(default_factory=dict)
    taken: Tally = field(default_factory=lambda: empty(START_BOUNDS))


@dataclass(frozen=True, slots=True)
class Overdue:
    """A pod that should be gone, and for how many seconds."""

    namespace: str
    pod: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Terminating:
    """How many pods are being deleted."""

    count: int


def asked(pod: Pod) -> float | None:
    """When the deletion was asked for: deletionTimestamp lies the grace period after that."""
    return None if pod.deletion is None else pod.deletion - (pod.grace or 0.0)


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """Remember when deletions were asked for, and observe those whose pod is lacking twice in a row.

    The first answer counts: the kubelet shortens the grace period to 0 when it is done and a finalizer still holds the pod.
    One listing alone may lack pods that are still there: a kubelet that has just started knows none of the API server's.
    """
    if snapshot.latest is not Source.PODS or not snapshot.fresh(Source.PODS) or snapshot.pods is None:
        return memory
    now = snapshot.read_at(Source.PODS)
    listed = {pod.uid: asked(pod) for pod in snapshot.pods}
    lacking = {uid: since for uid, since in memory.asked.items() if uid not in listed}
    taken = memory.taken
    for uid in lacking:
        if uid in memory.gone:
            taken = observed(taken, memory.gone[uid])
    gone = {uid: max(0.0, now - since) for uid, since in lacking.items() if uid not in memory.gone}
    begun = {uid: since for uid, since in listed.items() if since is not None}
    kept = {uid: since for uid, since in memory.asked.items() if uid in listed or uid in gone}
    return Memory(begun | kept, gone, taken)


def terminations(_: Snapshot, memory: Memory) -> Iterator[Memory]:
    """The memory itself, whose tally is a column."""
    yield memory


def terminating(snapshot: Snapshot, _: Memory) -> Iterator[Terminating]:
    """The pods that are being deleted."""
    if snapshot.pods is not None:
        yield Terminating(sum(pod.deletion is not None for pod in snapshot.pods))


def overdue(snapshot: Snapshot, _: Memory) -> Iterator[Overdue]:
    """Pods past their deletionTimestamp, which already includes the grace period; one row a name, the longest."""
    late: dict[tuple[str, str], float] = {}
    for pod in snapshot.pods or ():
        if pod.deletion is not None and snapshot.now > pod.deletion:
            key = (pod.namespace, pod.name)
            late[key] = max(late.get(key, 0.0), snapshot.now - pod.deletion)
    yield from (Overdue(*key, seconds) for key, seconds in sorted(late.items(), key=lambda each: (-each[1], each[0])))


TERMINATION = Metric(
    "pod_termination_seconds",
    "Time from asking for a pod's deletion to its being gone from the kubelet, grace period included.",
    lambda memory: memory.taken.histogram,
    kind="histogram",
    unit="seconds",
)
TERMINATING = Metric("pods_terminating", "Pods that are being deleted.", lambda row: row.count)
OVERDUE = Metric(
    "pod_termination_overdue_seconds",
    "Time since a pod should be gone, from its deletionTimestamp, which includes the grace period; only of pods past it.",
    lambda row: row.seconds,
    ("namespace", "pod"),
    unit="seconds",
)


def _quantile(share: str) -> str:
    """A quantile of the times, absent while nothing ends."""
    return f"histogram_quantile({share}, sum by (le) (rate({TERMINATION.shown('_bucket')}[$__rate_interval]))) > 0"


STUCK = Alert(
    "KubeletPodTerminationStuck",
    f"max by (cluster, node, namespace, pod) ({OVERDUE}) > {TERMINATION_STUCK}",
    HOLD_AT_ONCE,
    "warning",
    "A pod should have been gone for minutes.",
    "Pod {{ $labels.namespace }}/{{ $labels.pod }} on node {{ $labels.node }} of cluster {{ $labels.cluster }} is overdue by "
    "{{ $value | humanizeDuration }} after its grace period.",
    Runbook(
        f"The pod was deleted, its grace period is over, and it is still listed {TERMINATION_STUCK:text} later: a finalizer holds it, a "
        "process cannot be killed (state D), or a volume cannot be unmounted.",
        "A StatefulSet waits with its replacement; a drain of the node waits too.",
        "- `kubectl get pod -n NAMESPACE POD -o jsonpath='{.metadata.finalizers}'`: somebody's controller must remove them.\n"
        "- `kubectl describe pod -n NAMESPACE POD`: do its containers still run? Then on the node `crictl ps` and `ps axo stat,pid,cmd | grep ^D`.\n"
        "- On the node `journalctl -u kubelet --since -1h | grep -i -e unmount -e KillPod -e POD`: volumes that are busy.",
        "Finalizer: start or repair its controller. Unkillable process: cure its storage, else reboot the node. "
        "`kubectl delete --force` only removes the object: the process may go on and write to a volume that another pod uses.",
    ),
)

TOPIC = Topic(
    name="termination",
    title="Termination",
    question="Do pods end in time when they are deleted?",
    tables=(
        Table(terminations, (TERMINATION,)),
        Table(terminating, (TERMINATING,)),
        Table(overdue, (OVERDUE,), per="pod"),
    ),
    alerts=(STUCK,),
    boards={
        "pod-start": (
            Panel(
                "Time to terminate",
                "Median and slowest tenth of the time from asking for a deletion to the pod's being gone, grace period included.",
                (Query(_quantile("0.5"), "median"), Query(_quantile("0.9"), "slowest tenth")),
                unit="s",
                width=12,
            ),
            Panel(
                "Pods being deleted",
                "Pods that are being deleted, in their grace period or past it.",
                (Query(f"sum(max by (cluster, node) ({TERMINATING.shown()}))", "being deleted"),),
                unit="none",
                width=12,
            ),
            Panel(
                "Longest overdue",
                f"Time since pods should be gone; the ten longest. {TERMINATION_STUCK:text} are too long.",
                (
                    Query(
                        f"topk(10, max by (cluster, node, namespace, pod) ({OVERDUE.shown()}))",
                        "{{namespace}}/{{pod}} on {{node}}",
                    ),
                ),
                unit="s",
                limits=((TERMINATION_STUCK, "red"),),
                width=24,
            ),
        ),
    },
    fold=Fold(Memory(), advance),
)
