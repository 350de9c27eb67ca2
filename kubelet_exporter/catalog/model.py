"""The nouns of the catalogue: facts, metrics, tables, alerts, records, panels, topics. Values only, no behaviour of a topic."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kubelet_exporter.samples import Histogram
from kubelet_exporter.snapshot import Snapshot

PREFIX = "kubelet_exporter_"

Kind = Literal["gauge", "counter", "histogram", "info"]
Stability = Literal["ALPHA", "STABLE"]
Severity = Literal["critical", "warning", "info"]
Board = Literal["overview", "node", "pod-start", "runtime", "eviction"]
Unit = Literal["seconds", "bytes", "ratio", "pods", "percent", ""]
Number = float | int | None
Value = Number | Histogram

MARKER = re.compile(r"⟦(\w+)(:text)?⟧")


@dataclass(frozen=True, slots=True)
class Article:
    """What one of the two source articles says about a fact, if it differs from the truth, and since when."""

    says: str
    truth: str
    since: str = "all versions"


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its unit, meaning and source: the only place where it is written.

    In an f-string it leaves a marker, which `resolve` replaces by the number (`{FACT}`) or by words (`{FACT:text}`). So a
    changed or overridden fact changes rule, text, panel and runbook alike.
    """

    id: str
    value: float
    unit: Unit
    meaning: str
    source: str
    article: Article | None = None

    def __format__(self, spec: str) -> str:
        """Return the marker of this fact."""
        return f"⟦{self.id}:{spec}⟧" if spec else f"⟦{self.id}⟧"

    @property
    def number(self) -> str:
        """The value as PromQL writes it."""
        return f"{self.value:.12g}"

    @property
    def promql_duration(self) -> str:
        """The value, in seconds, as a Prometheus duration."""
        for size, unit in ((3600, "h"), (60, "m")):
            if self.value >= size and self.value % size == 0:
                return f"{self.value / size:.0f}{unit}"
        return f"{self.value:.0f}s"

    @property
    def text(self) -> str:
        """The value as a person says it."""
        match self.unit:
            case "ratio":
                return f"{self.value * 100:g} %"
            case "percent":
                return f"{self.value:g} %"
            case "seconds":
                return _seconds_in_words(self.value)
            case "bytes":
                return _bytes_in_words(self.value)
            case _:
                return f"{self.value:g} {self.unit}".strip()


def _seconds_in_words(seconds: float) -> str:
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {word}{'s' if seconds != size else ''}"
    return f"{seconds:g} second{'s' if seconds != 1 else ''}"


def _bytes_in_words(count: float) -> str:
    for size, word in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= size:
            return f"{count / size:g} {word}"
    return f"{count:g} bytes"


def resolve(text: str, facts: Mapping[str, Fact]) -> str:
    """The text with each fact's marker replaced; raises KeyError for a fact that does not exist."""

    def put(match: re.Match[str]) -> str:
        fact = facts[match[1]]
        return fact.text if match[2] else fact.number

    return MARKER.sub(put, text)


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of a table: labels are attributes of the row, `value` gives its number or None if it is unknown."""

    name: str
    help: str
    value: Callable[[Any], Value]
    labels: tuple[str, ...] = ()
    kind: Kind = "gauge"
    unit: Unit = ""
    stability: Stability = "ALPHA"

    def __str__(self) -> str:
        """Return the full name, as it stands in PromQL."""
        return PREFIX + self.name

    def where(self, suffix: str = "", **labels: str) -> str:
        """A PromQL selector of this metric; a value that starts with =~, != or !~ brings its own operator."""
        return f"{self}{suffix}{{{','.join(_matcher(label, value) for label, value in labels.items())}}}"

    def shown(self, suffix: str = "", **labels: str) -> str:
        """A PromQL selector for panels: of the nodes that the dashboard's variables select."""
        chosen = {"job": "=~$job", "cluster": "=~$cluster", "node": "=~$node", **labels}
        return f"{self}{suffix}{{{','.join(_matcher(label, value) for label, value in chosen.items())}}}"


def _matcher(label: str, value: str) -> str:
    for operator in ("=~", "!=", "!~"):
        if value.startswith(operator):
            return f'{label}{operator}"{value[2:]}"'
    return f'{label}="{value}"'


@dataclass(frozen=True, slots=True)
class Table:
    """Rows, computed purely from a snapshot and its topic's memory, and the metrics that are columns of them.

    `per` names what a row stands for if there is one for each pod or volume: such rows may be cut by the cap of series.
    """

    rows: Callable[[Snapshot, Any], Iterable[Any]]
    metrics: tuple[Metric, ...]
    per: Literal["node", "pod", "volume"] = "node"


@dataclass(frozen=True, slots=True)
class Runbook:
    """What to read at three in the morning, as Markdown; facts and metrics are interpolated."""

    meaning: str
    impact: str
    diagnosis: str
    mitigation: str


@dataclass(frozen=True, slots=True)
class Alert:
    """An alerting rule; `hold` is its `for`, `keep_firing` its `keep_firing_for`.

    While it fires, Alertmanager mutes the alerts of `inhibits`, by id, on the same cluster and node.
    """

    id: str
    expr: str
    hold: Fact
    severity: Severity
    summary: str
    description: str
    runbook: Runbook
    keep_firing: Fact | None = None
    inhibits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A recording rule, named level:metric:operations."""

    name: str
    expr: str

    def __str__(self) -> str:
        """Return the name, as it stands in PromQL."""
        return self.name

    def shown(self, **labels: str) -> str:
        """A PromQL selector for panels: of the nodes that the dashboard's variables select."""
        chosen = {"cluster": "=~$cluster", "node": "=~$node", **labels}
        return f"{self}{{{','.join(_matcher(label, value) for label, value in chosen.items())}}}"


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel with its legend."""

    expr: str
    legend: str = "{{node}}"


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel; `limits` are facts that are drawn as lines or change the colour, `mappings` name values.

    `value` is the title of the column of values in a table, which has none without it.
    """

    title: str
    description: str
    queries: tuple[Query, ...]
    kind: Literal["timeseries", "stat", "table", "state-timeline"] = "timeseries"
    unit: str = "short"
    limits: tuple[tuple[Fact, str], ...] = ()
    mappings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    width: int = 8
    height: int = 8
    stacked: bool = False
    value: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """A topic's memory: its first state, and the pure step to the next one."""

    initial: Any
    advance: Callable[[Any, Snapshot], Any]


@dataclass(frozen=True, slots=True)
class Topic:
    """One concern: the question it answers, what it reads of the kubelet's metrics text, and everything it makes.

    Its panels stand on the dashboards that `boards` names.
    """

    name: str
    title: str
    question: str
    tables: tuple[Table, ...]
    alerts: tuple[Alert, ...] = ()
    records: tuple[Record, ...] = ()
    boards: Mapping[Board, Sequence[Panel]] = field(default_factory=dict)
    wanted: frozenset[str] = frozenset()
    fold: Fold | None = None

    @property
    def metrics(self) -> Sequence[Metric]:
        """All metrics of this topic."""
        return [metric for table in self.tables for metric in table.metrics]

    @property
    def panels(self) -> Sequence[Panel]:
        """All panels of this topic, on whatever dashboard."""
        return [panel for panels in self.boards.values() for panel in panels]
