"""Does the exporter itself see its node: which source answers, how fast, with which errors, and what was left out?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kubelet_exporter import __version__
from kubelet_exporter.catalog.facts.times import HOLD_LONG, HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Fold, Metric, Panel, Query, Record, Runbook, Table, Topic
from kubelet_exporter.snapshot import APISERVER_SOURCES, ON_REQUEST, Reading, Reason, Snapshot, Source

RIGHTS: Mapping[Source, str] = {
    Source.HEALTHZ: "nodes/healthz",
    Source.PODS: "nodes/pods",
    Source.METRICS: "nodes/metrics",
    Source.PROBES: "nodes/metrics",
    Source.SUMMARY: "nodes/stats",
    Source.CONFIGZ: "nodes/configz",
    Source.NODE: "nodes",
    Source.LEASE: "leases",
    Source.EVENTS: "events",
    Source.LOGS: "nodes/log",
}
DROPS: Mapping[Source, tuple[str, ...]] = {
    Source.PODS: ("malformed", "duplicate"),
    Source.METRICS: ("malformed", "not_finite"),
    Source.PROBES: ("malformed", "not_finite"),
    Source.SUMMARY: ("malformed", "excluded"),
    Source.NODE: ("malformed", "duplicate"),
}
KUBELET_ONLY = frozenset({Reason.CONTENT_TYPE, Reason.TOO_LARGE, Reason.TRUNCATED})


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of one source since the exporter started."""

    source: Source
    reads: int = 0
    size: int = 0
    errors: Mapping[str, int] | None = None
    dropped: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """One row of a counter by source and reason."""

    source: Source
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Right:
    """A right that a source was refused for."""

    source: Source
    right: str


@dataclass(frozen=True, slots=True)
class Build:
    """The version of this exporter."""

    version: str = __version__


@dataclass(frozen=True, slots=True)
class Trust:
    """How the kubelet's certificate is trusted: verify, pin or insecure."""

    mode: str


@dataclass(frozen=True, slots=True)
class Cut:
    """How many series of a topic the cap leaves out now."""

    topic: str
    series: int


Memory = Mapping[Source, Totals]


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """Count the reading that has just been taken."""
    if snapshot.latest is None:
        return memory
    reading = snapshot.readings[snapshot.latest]
    last = memory[reading.source]
    errors, dropped = dict(last.errors or {}), dict(last.dropped or {})
    if reading.failure:
        errors[reading.failure.reason] = errors.get(reading.failure.reason, 0) + 1
    else:
        for reason, count in reading.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    fresh = replace(last, reads=last.reads + 1, size=last.size + reading.size, errors=errors, dropped=dropped)
    return {**memory, reading.source: fresh}


def readings(snapshot: Snapshot, _: Memory) -> Iterator[Reading]:
    """The latest reading of each source that was tried."""
    yield from snapshot.readings.values()


def used(snapshot: Snapshot) -> list[Source]:
    """The sources that this exporter reads; events and the log only if it was asked to."""
    return [source for source in Source if source not in ON_REQUEST or source in snapshot.readings]


def totals(snapshot: Snapshot, memory: Memory) -> Iterator[Totals]:
    """The counters of each source."""
    yield from (memory[source] for source in used(snapshot))


def errors(snapshot: Snapshot, memory: Memory) -> Iterator[Count]:
    """Failed readings by source and reason, each pair from the start at 0."""
    for source in used(snapshot):
        for reason in Reason:
            if source not in APISERVER_SOURCES or reason not in KUBELET_ONLY:
                yield Count(source, reason, (memory[source].errors or {}).get(reason, 0))


def drops(_: Snapshot, memory: Memory) -> Iterator[Count]:
    """What was left out of good readings by source and reason, each pair from the start at 0."""
    for source, reasons in DROPS.items():
        for reason in reasons:
            yield Count(source, reason, (memory[source].dropped or {}).get(reason, 0))


def missing_rights(snapshot: Snapshot, _: Memory) -> Iterator[Right]:
    """The rights whose lack makes a source fail now."""
    for reading in snapshot.readings.values():
        if reading.failure and reading.failure.reason == Reason.FORBIDDEN:
            yield Right(reading.source, RIGHTS[reading.source])


def builds(_: Snapshot, __: Memory) -> Iterator[Build]:
    """This exporter."""
    yield Build()


def trusts(snapshot: Snapshot, _: Memory) -> Iterator[Trust]:
    """How the kubelet's certificate is trusted, once it was decided."""
    used = {reading.tls for reading in snapshot.readings.values() if reading.tls}
    yield from (Trust(mode) for mode in sorted(used)[:1])


def no_cuts(_: Snapshot, __: Memory) -> Iterator[Cut]:
    """Nothing: the rows of this table come from the cap itself, see catalog.collect."""
    return iter(())


BUILD_INFO = Metric("build_info", "Version of the exporter.", lambda _: 1, ("version",), kind="info")
SOURCE_UP = Metric(
    "source_up",
    "Whether the last reading of a source succeeded (1) or failed (0).",
    lambda reading: int(reading.failure is None),
    ("source",),
)
SOURCE_LAST_SUCCESS = Metric(
    "source_last_success_timestamp_seconds",
    "Unix time of the last reading of a source that succeeded.",
    lambda reading: reading.read_at,
    ("source",),
    unit="seconds",
)
SOURCE_DURATION = Metric(
    "source_last_duration_seconds",
    "How long the last reading of a source took, whether it succeeded or not.",
    lambda reading: reading.seconds,
    ("source",),
    unit="seconds",
)
SOURCE_READS = Metric(
    "source_reads_total",
    "Readings of a source, failed ones too.",
    lambda row: row.reads,
    ("source",),
    kind="counter",
)
SOURCE_BYTES = Metric(
    "source_bytes_total",
    "Bytes of the bodies that a source answered with, after decompression.",
    lambda row: row.size,
    ("source",),
    kind="counter",
    unit="bytes",
)
SOURCE_ERRORS = Metric(
    "source_errors_total",
    "Failed readings of a source, by reason.",
    lambda row: row.count,
    ("source", "reason"),
    kind="counter",
)
SOURCE_DROPPED = Metric(
    "source_dropped_total",
    "Pods, metric families or volumes that were left out of a good reading of a source, by reason.",
    lambda row: row.count,
    ("source", "reason"),
    kind="counter",
)
SOURCE_MISSING_RIGHT = Metric(
    "source_missing_right",
    "1 while a source is refused (403) for want of this right on a resource or subresource.",
    lambda _: 1,
    ("source", "right"),
)
KUBELET_TLS_INFO = Metric(
    "kubelet_tls_info",
    "How the kubelet's serving certificate is trusted: verify (by a CA), pin (by its fingerprint) or insecure (not at all).",
    lambda _: 1,
    ("mode",),
    kind="info",
)
SERIES_DROPPED = Metric(
    "series_dropped",
    "Series of pods and volumes that the cap of series leaves out now, by topic.",
    lambda row: row.series,
    ("topic",),
)

ANSWERING = Record(
    "cluster_node:kubelet_exporter_kubelet_answering:max",
    f"max by (cluster, node) ({SOURCE_UP.where(source='=~healthz|pods|metrics')} or "
    f"{SOURCE_MISSING_RIGHT.where(source='=~healthz|pods|metrics')})",
)

DIAGNOSE = f"""
- `{SOURCE_ERRORS}` by reason says what happens: `timeout` and `connection` (kubelet or network), `tls` (certificate), `unauthorized`
  (token, or the kubelet cannot reach the API server), `forbidden` (a right is missing), `status`, `content_type`, `too_large`,
  `truncated`, `malformed` (a broken answer).
- The log of the exporter pod on this node has one line for each change, with the address and the exact error.
- The status page `/` of the exporter shows each source with its last error.
"""

SOURCE_DOWN = Alert(
    "KubeletExporterSourceDown",
    f"max by (cluster, node, source) ({SOURCE_UP}) == 0 "
    f"unless on (cluster, node, source) max by (cluster, node, source) ({SOURCE_MISSING_RIGHT}) == 1",
    HOLD_SHORT,
    "warning",
    "The exporter cannot read one of its sources.",
    "The exporter on node {{ $labels.node }} of cluster {{ $labels.cluster }} has not been able to read {{ $labels.source }} "
    f"for more than {HOLD_SHORT:text}.",
    Runbook(
        "Readings of one endpoint of the kubelet (healthz, pods, metrics, summary, configz) or of the API server (node, lease) fail. "
        "All sources of a kubelet at once: kubelet down, network, certificate or token. Only `metrics` and `summary`, by timeout: "
        "the container runtime hangs.",
        "What this source tells is held for a few minutes and then absent. Alerts that rest on it are silent.",
        DIAGNOSE,
        "Follow the reason. `forbidden`: see KubeletExporterRightMissing. `tls`: give the CA of the kubelet's serving certificate, or "
        "choose another `--kubelet-tls-mode`; a certificate that changed must be pinned anew: remove the file of `--kubelet-pin-file`, if there is "
        "one, and restart the exporter pod.",
    ),
)
RIGHT_MISSING = Alert(
    "KubeletExporterRightMissing",
    f"max by (cluster, node, source, right) ({SOURCE_MISSING_RIGHT}) == 1",
    HOLD_LONG,
    "info",
    "The exporter lacks a right.",
    "The exporter on node {{ $labels.node }} of cluster {{ $labels.cluster }} cannot read {{ $labels.source }}: "
    "its account may not get {{ $labels.right }}.",
    Runbook(
        "The kubelet or the API server answered 403.",
        "What this source tells is absent; everything else is served.",
        "- `nodes/metrics` and the like: `kubectl auth can-i get nodes --subresource=metrics --as "
        "system:serviceaccount:kubelet-exporter:kubelet-exporter`. (`get nodes/metrics` would ask for a node named metrics.)\n"
        "- With the same `--as`, `nodes`: `can-i watch nodes`; `leases`: `can-i get leases -n kube-node-lease`; `events`: `can-i list "
        "events -A`.\n"
        "- Kubelets before 1.33 do not know the subresources nodes/pods, nodes/configz and nodes/healthz and ask for nodes/proxy instead.",
        "Apply the ClusterRole of `deploy/`. Do not grant nodes/proxy: it allows to execute commands in every pod of the node. "
        "On a kubelet before 1.33 silence this alert and live without the source.",
    ),
)
LEFT_OUT = Alert(
    "KubeletExporterDataDropped",
    f"sum by (cluster, node, source, reason) (increase({SOURCE_DROPPED.where(reason='!=excluded')}[15m])) > 0 "
    f"or max by (cluster, node, topic) ({SERIES_DROPPED}) > 0",
    HOLD_LONG,
    "info",
    "The exporter leaves out data.",
    "The exporter on node {{ $labels.node }} of cluster {{ $labels.cluster }} leaves out data "
    "({{ $labels.source }}{{ $labels.topic }} {{ $labels.reason }}).",
    Runbook(
        "A pod, a metric family or a volume in a good answer could not be understood, or the cap of series is reached.",
        "Panels and alerts lack these objects.",
        f"- `{SOURCE_DROPPED}` by source and reason: `malformed` (not understood), `duplicate` (listed twice), `not_finite` (no number).\n"
        f"- `{SERIES_DROPPED}` by topic: the cap of series.",
        "Cap reached: raise `--series-limit` if your Prometheus can bear it. Else save the answer with `kubelet-exporter record` and "
        "report it as a bug.",
    ),
)

TOPIC = Topic(
    name="exporter",
    title="Exporter",
    question="Does the exporter itself see its node: which source answers, how fast, with which errors, and what was left out?",
    tables=(
        Table(builds, (BUILD_INFO,)),
        Table(readings, (SOURCE_UP, SOURCE_LAST_SUCCESS, SOURCE_DURATION)),
        Table(totals, (SOURCE_READS, SOURCE_BYTES)),
        Table(errors, (SOURCE_ERRORS,)),
        Table(drops, (SOURCE_DROPPED,)),
        Table(missing_rights, (SOURCE_MISSING_RIGHT,)),
        Table(trusts, (KUBELET_TLS_INFO,)),
        Table(no_cuts, (SERIES_DROPPED,)),
    ),
    alerts=(SOURCE_DOWN, RIGHT_MISSING, LEFT_OUT),
    records=(ANSWERING,),
    boards={
        "overview": (
            Panel(
                "Sources down",
                "Sources (endpoints of kubelets, objects of the API server) whose last reading failed.",
                (Query(f"sum(max by (cluster, node, source) ({SOURCE_UP.shown()}) == bool 0)", "down"),),
                kind="stat",
                unit="none",
                mappings={"0": ("0", "green")},
                width=4,
                height=4,
            ),
        ),
        "node": (
            Panel(
                "Sources",
                "Whether the last reading of each source succeeded on every chosen node.",
                (Query(f"min by (source) ({SOURCE_UP.shown()})", "{{source}}"),),
                kind="state-timeline",
                unit="none",
                mappings={"0": ("down", "red"), "1": ("up", "green")},
                width=12,
            ),
            Panel(
                "Failed readings",
                "Failed readings a second, by source. The counter also has the reason.",
                (Query(f"sum by (source) (rate({SOURCE_ERRORS.shown()}[$__rate_interval]))", "{{source}}"),),
                unit="reqps",
                width=6,
            ),
            Panel(
                "Duration of readings",
                "How long the last reading of each source took, on the slowest chosen node.",
                (Query(f"max by (source) ({SOURCE_DURATION.shown()})", "{{source}}"),),
                unit="s",
                width=6,
            ),
        ),
    },
    fold=Fold({source: Totals(source) for source in Source}, advance),
)
