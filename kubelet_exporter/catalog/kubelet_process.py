"""Does the kubelet's process live well: since when does it run, how often was it restarted, what does it use?"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kubelet_exporter.catalog.facts.kubelet import KUBELET_FILES, KUBELET_RESTARTS
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_LONG
from kubelet_exporter.catalog.model import Alert, Fold, Metric, Panel, Query, Runbook, Table, Topic
from kubelet_exporter.samples import Metrics
from kubelet_exporter.snapshot import Snapshot, Source

START = "process_start_time_seconds"
GOROUTINES = "go_goroutines"
MEMORY = "process_resident_memory_bytes"
CPU = "process_cpu_seconds_total"
OPEN_FILES = "process_open_fds"
MOST_FILES = "process_max_fds"

# The kernel's clock ticks and a stepped clock move the start of one and the same process by less.
SAME_PROCESS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Memory:
    """When the kubelet that was last seen was started, and how many others were seen after the first."""

    start: float | None = None
    restarts: int = 0


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after a good reading of /metrics."""
    if snapshot.latest != Source.METRICS or not snapshot.fresh(Source.METRICS) or snapshot.metrics is None:
        return memory
    start = snapshot.metrics.value(START)
    if start is None or start <= 0:
        return memory
    restarted = memory.start is not None and start - memory.start > SAME_PROCESS_SECONDS
    return replace(memory, start=start, restarts=memory.restarts + restarted)


def process(snapshot: Snapshot, _: Memory) -> Iterator[Metrics]:
    """What the kubelet tells of its process."""
    if snapshot.metrics is not None:
        yield snapshot.metrics


def restarts(_: Snapshot, memory: Memory) -> Iterator[Memory]:
    """The restarts that were seen, once a start is known."""
    if memory.start is not None:
        yield memory


KUBELET_START = Metric(
    "kubelet_start_timestamp_seconds",
    "Unix time at which the kubelet's process was started.",
    lambda row: row.start,
    unit="seconds",
)
RESTARTS = Metric(
    "kubelet_restarts_total",
    "Restarts of the kubelet that this exporter has seen by its start time.",
    lambda row: row.restarts,
    kind="counter",
)
KUBELET_GOROUTINES = Metric("kubelet_goroutines", "Goroutines of the kubelet.", lambda row: row.value(GOROUTINES))
KUBELET_MEMORY = Metric(
    "kubelet_resident_memory_bytes",
    "Resident memory of the kubelet.",
    lambda row: row.value(MEMORY),
    unit="bytes",
)
KUBELET_CPU = Metric(
    "kubelet_cpu_seconds_total",
    "CPU time that the kubelet used.",
    lambda row: row.value(CPU),
    kind="counter",
    unit="seconds",
)
KUBELET_OPEN_FILES = Metric(
    "kubelet_open_fds", "File descriptors that the kubelet has open.", lambda row: row.value(OPEN_FILES)
)
KUBELET_MOST_FILES = Metric(
    "kubelet_max_fds", "File descriptors that the kubelet may have open.", lambda row: row.value(MOST_FILES)
)

RESTARTING = Alert(
    "KubeletRestartingRepeatedly",
    f"max by (cluster, node) (changes({KUBELET_START}[30m])) >= {KUBELET_RESTARTS}",
    HOLD_AT_ONCE,
    "warning",
    "A kubelet is restarted again and again.",
    "The kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} was restarted {{ $value }} times within half an hour.",
    Runbook(
        "The start time of the kubelet's process changes: it crashes, is killed, or something (configuration management, a watchdog) restarts it.",
        "After each start the kubelet looks at all pods anew, and probes and statistics begin again. If it ends before it has "
        "renewed its Lease, the node turns NotReady.",
        "- On the node: `systemctl status kubelet`, `journalctl -u kubelet --since -1h | grep -i -e panic -e fatal -e 'Started' -e 'Main process exited' | tail -30`.\n"
        "- `journalctl -k --since -1h | grep -i -e oom -e killed`: was it killed for memory?\n"
        "- Exit code 1 right after a start: a flag or a field of its configuration; the last line before the exit names it.",
        "Undo the last change of its configuration or version. Killed for memory: raise `systemReserved` or move pods away.",
    ),
)
FILES = Alert(
    "KubeletFileDescriptorsLow",
    f"max by (cluster, node) ({KUBELET_OPEN_FILES} / {KUBELET_MOST_FILES}) > {KUBELET_FILES}",
    HOLD_LONG,
    "warning",
    "A kubelet runs out of file descriptors.",
    "The kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} has used {{ $value | humanizePercentage }} of its file descriptors.",
    Runbook(
        f"More than {KUBELET_FILES:text} of the kubelet's file descriptors are in use. It leaks them, or its limit is too low for this node.",
        "When none is left it can neither start pods nor answer.",
        "- On the node: `ls -l /proc/$(pidof kubelet)/fd | awk '{print $NF}' | sed 's/[0-9]*//g' | sort | uniq -c | sort -rn | head`: of what kind are they?\n"
        "- `journalctl -u kubelet --since -1h | grep -i 'too many open files'`.",
        "Restart the kubelet to gain time: running containers survive that. Report the leak with the list; raise `maxOpenFiles` or the limit of its unit if the node is merely large.",
    ),
)

TOPIC = Topic(
    name="kubelet_process",
    title="Kubelet process",
    question="Does the kubelet's process live well: since when does it run, how often was it restarted, what does it use?",
    tables=(
        Table(restarts, (KUBELET_START, RESTARTS)),
        Table(process, (KUBELET_GOROUTINES, KUBELET_MEMORY, KUBELET_CPU, KUBELET_OPEN_FILES, KUBELET_MOST_FILES)),
    ),
    alerts=(RESTARTING, FILES),
    boards={
        "runtime": (
            Panel(
                "Time since the kubelet started",
                "It falls to zero at each restart.",
                (Query(f"time() - max by (cluster, node) ({KUBELET_START.shown()})"),),
                unit="s",
            ),
            Panel(
                "Memory of the kubelet",
                "Resident memory. It grows with the number of pods; steady growth on a steady node is a leak.",
                (Query(f"max by (cluster, node) ({KUBELET_MEMORY.shown()})"),),
                unit="bytes",
            ),
            Panel(
                "Goroutines of the kubelet",
                "Some hundreds are normal. Thousands that grow wait for something: a runtime, a volume, the API server.",
                (Query(f"max by (cluster, node) ({KUBELET_GOROUTINES.shown()})"),),
            ),
            Panel(
                "CPU of the kubelet",
                "Cores that the kubelet uses.",
                (Query(f"max by (cluster, node) (rate({KUBELET_CPU.shown()}[$__rate_interval]))"),),
            ),
        ),
    },
    wanted=frozenset({START, GOROUTINES, MEMORY, CPU, OPEN_FILES, MOST_FILES}),
    fold=Fold(Memory(), advance),
)
