"""All topics, and what is common to them. Pure: standard library only, no I/O."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_exporter.catalog import (
    api_client,
    cold_start,
    conditions,
    eviction,
    exporter,
    health,
    image_pulls,
    kubelet_process,
    kubelet_work,
    log_patterns,
    node,
    pleg,
    pod_specs,
    pod_start,
    pods,
    probes,
    removal,
    restarts,
    runtime_operations,
    storage,
    system_containers,
    termination,
    volumes,
    waiting,
)
from kubelet_exporter.catalog.model import Table, Topic
from kubelet_exporter.samples import Histogram
from kubelet_exporter.snapshot import Snapshot

TOPICS: tuple[Topic, ...] = (
    exporter.TOPIC,
    health.TOPIC,
    node.TOPIC,
    conditions.TOPIC,
    removal.TOPIC,
    pods.TOPIC,
    pod_start.TOPIC,
    waiting.TOPIC,
    image_pulls.TOPIC,
    termination.TOPIC,
    restarts.TOPIC,
    probes.TOPIC,
    pod_specs.TOPIC,
    pleg.TOPIC,
    runtime_operations.TOPIC,
    cold_start.TOPIC,
    system_containers.TOPIC,
    kubelet_work.TOPIC,
    kubelet_process.TOPIC,
    api_client.TOPIC,
    log_patterns.TOPIC,
    eviction.TOPIC,
    volumes.TOPIC,
    storage.TOPIC,
)
WANTED: frozenset[str] = frozenset().union(*(topic.wanted for topic in TOPICS))

Ledger = Mapping[str, Any]
Filled = Sequence[tuple[Table, Sequence[Any]]]


def first_ledger() -> Ledger:
    """What every topic remembers before the first reading."""
    return {topic.name: topic.fold.initial for topic in TOPICS if topic.fold}


def advance(ledger: Ledger, snapshot: Snapshot) -> Ledger:
    """What every topic remembers after the reading that `snapshot.latest` names."""
    return {topic.name: topic.fold.advance(ledger[topic.name], snapshot) for topic in TOPICS if topic.fold}


def collect(snapshot: Snapshot, ledger: Ledger, limit: int) -> Filled:
    """The rows of every table, at most `limit` series in all.

    Rows of the node are always kept. Rows of pods and volumes are kept in the order of the topics and of their tables until the
    limit is reached; the rest is left out and counted in the rows of SERIES_DROPPED.
    """
    tables = [
        (topic, table, list(table.rows(snapshot, ledger.get(topic.name)))) for topic in TOPICS for table in topic.tables
    ]
    cuts: dict[str, int] = {topic.name: 0 for topic in TOPICS if any(table.per != "node" for table in topic.tables)}
    free = limit - len(cuts) - sum(_series(table, rows) for _, table, rows in tables if table.per == "node")
    filled: list[tuple[Table, Sequence[Any]]] = []
    for topic, table, rows in tables:
        kept: Sequence[Any] = rows
        if table.per != "node":
            kept = _fitting(table, rows, free)
            free -= _series(table, kept)
            cuts[topic.name] += _series(table, rows[len(kept) :])
        filled.append((table, kept))
    return [
        (table, [exporter.Cut(*cut) for cut in cuts.items()])
        if exporter.SERIES_DROPPED in table.metrics
        else (table, rows)
        for table, rows in filled
    ]


def _fitting(table: Table, rows: Sequence[Any], free: int) -> Sequence[Any]:
    for count, row in enumerate(rows):
        free -= _series(table, [row])
        if free < 0:
            return rows[:count]
    return rows


def _series(table: Table, rows: Sequence[Any]) -> int:
    return sum(_samples(metric.value(row)) for row in rows for metric in table.metrics)


def _samples(value: object) -> int:
    if isinstance(value, Histogram):
        return len(value.buckets) + 2
    return int(value is not None)
