"""How often does the kubelet's own log say what is searched for? Off by default."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubelet_exporter.catalog.model import Fold, Metric, Panel, Query, Table, Topic
from kubelet_exporter.snapshot import Snapshot, Source

Memory = Mapping[str, int]  # lines by pattern


@dataclass(frozen=True, slots=True)
class Matches:
    """Lines that matched a pattern."""

    pattern: str
    lines: int


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after a good search: it has found the lines since the search before."""
    if snapshot.latest != Source.LOGS or not snapshot.fresh(Source.LOGS):
        return memory
    found: Memory = snapshot.known(Source.LOGS, dict) or {}
    return {pattern: memory.get(pattern, 0) + lines for pattern, lines in found.items()}


def matches(_: Snapshot, memory: Memory) -> Iterator[Matches]:
    """The lines by pattern, from 0 on once the log was searched."""
    yield from (Matches(pattern, lines) for pattern, lines in memory.items())


MATCHES = Metric(
    "kubelet_log_matches_total",
    "Lines of the kubelet's log that match a pattern of --log-patterns; the lines themselves never leave the node.",
    lambda row: row.lines,
    ("pattern",),
    kind="counter",
)

TOPIC = Topic(
    name="log_patterns",
    title="Log of the kubelet",
    question="How often does the kubelet's own log say what is searched for? Off by default.",
    tables=(Table(matches, (MATCHES,)),),
    boards={
        "runtime": (
            Panel(
                "Matches in the kubelet's log",
                "Lines a minute that match the patterns of --log-patterns. Empty unless the exporter was asked to search the log.",
                (
                    Query(
                        f"60 * sum by (cluster, node, pattern) (rate({MATCHES.shown()}[$__rate_interval]))",
                        "{{node}} {{pattern}}",
                    ),
                ),
                width=12,
            ),
        ),
    },
    fold=Fold({}, advance),
)
