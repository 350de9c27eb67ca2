"""Panels of pod starts."""

from kubelet_exporter.catalog.facts.pod_start import START_CLOCK, START_GOOD, START_GOOD_STATEFUL, START_OBJECTIVE
from kubelet_exporter.catalog.model import Metric, Panel, Query
from kubelet_exporter.catalog.pod_start.metrics import (
    IMAGE_PULL,
    OLDEST,
    POD_START_SECONDS,
    POD_START_STAGE,
    POD_STARTS,
    PODS_STARTING,
    SKIPPED,
    STATUS_REACTION,
)
from kubelet_exporter.catalog.pod_start.rules import NOT_OURS

INTERVAL = "[$__rate_interval]"
RANGE = "[$__range]"


def _starts(window: str, **labels: str) -> str:
    """Starts within a window, however often a node is scraped."""
    counted = f"max by (cluster, node, verdict, blame) (increase({POD_STARTS.shown(**labels)}{window}))"
    return f"sum({counted})"


def _good(window: str) -> str:
    return f"{_starts(window, verdict='good')} / ({_starts(window, verdict='=~good|slow|failed', blame=NOT_OURS)} > 0)"


def _quantile(histogram: Metric, by: str, **labels: str) -> str:
    """The slowest tenth, absent while there is nothing to measure."""
    buckets = histogram.shown("_bucket", **labels)
    return f"histogram_quantile(0.9, sum by ({by}, le) (rate({buckets}{INTERVAL}))) > 0"


def _stat(title: str, description: str, expr: str, unit: str = "none") -> Panel:
    return Panel(title, description, (Query(expr, title.lower()),), kind="stat", unit=unit, width=4, height=4)


OVERVIEW = (
    _stat(
        "Good pod starts",
        "Share of the starts in the shown time that were good, without those of users' and registries' making. "
        f"The objective is {START_OBJECTIVE:text}.",
        _good(RANGE),
        "percentunit",
    ),
)
# Init containers and readiness are the pod's own time.
KUBELETS = "=~handoff|prepare|pull|pull_wait|containers"
STAGE_MEAN = (
    f"sum by (cluster, node, stage) (rate({POD_START_STAGE.shown('_sum', stage=KUBELETS)}{INTERVAL})) "
    f"/ (sum by (cluster, node, stage) (rate({POD_START_STAGE.shown('_count', stage=KUBELETS)}{INTERVAL})) > 0)"
)
PANELS = (
    _stat(
        "Good starts",
        "Share of the starts in the shown time that were good, without those of users' and registries' making. "
        f"The objective is {START_OBJECTIVE:text}.",
        _good(RANGE),
        "percentunit",
    ),
    _stat(
        "Starts",
        "Starts in the shown time that were judged, whosever fault they were.",
        f"round({_starts(RANGE, verdict='=~good|slow|failed')})",
    ),
    _stat(
        "Slow or failed",
        "Starts in the shown time that count against the objective.",
        f"round({_starts(RANGE, verdict='=~slow|failed', blame=NOT_OURS)})",
    ),
    _stat(
        "Failed for others",
        "Starts in the shown time that failed through users or registries.",
        f"round({_starts(RANGE, verdict='failed', blame='=~user|registry')})",
    ),
    _stat(
        "On their way",
        "Pods that have not started yet and that nobody holds up.",
        f"sum(max by (cluster, node, stage) ({PODS_STARTING.shown(stage='!=blocked')}))",
    ),
    _stat(
        "Blocked",
        "Pods that have not started yet and that their user or a registry holds up.",
        f"sum(max by (cluster, node, stage) ({PODS_STARTING.shown(stage='blocked')}))",
    ),
    Panel(
        "Where the time goes",
        "Mean time of a start at each stage. Where a time cannot be known, such as that of a pull, the stage counts as 0 here.",
        (
            Query(
                f"sum by (stage) (rate({POD_START_STAGE.shown('_sum')}{INTERVAL})) "
                f"/ on () group_left () (sum(rate({POD_START_STAGE.shown('_count', stage='prepare')}{INTERVAL})) > 0)",
                "{{stage}}",
            ),
        ),
        unit="s",
        width=12,
        stacked=True,
    ),
    Panel(
        "Good ratio against the objective",
        "Share of the starts that were good, without those of users' and registries' making. There is none while nothing starts.",
        (Query(_good(INTERVAL), "good"),),
        unit="percentunit",
        limits=((START_OBJECTIVE, "green"),),
        width=12,
    ),
    Panel(
        "Slow or failed starts by blame",
        "Starts that were slow or failed within the interval of the graph, by whose fault it was.",
        (
            Query(
                f"sum by (blame) (max by (cluster, node, verdict, blame) "
                f"(increase({POD_STARTS.shown(verdict='=~slow|failed')}{INTERVAL})))",
                "{{blame}}",
            ),
        ),
        unit="none",
        width=12,
        stacked=True,
    ),
    Panel(
        "Slowest stage by node",
        "Mean time of the stage that takes longest on each node, without the pods' own init containers and readiness; the ten "
        "longest at each time.",
        (Query(f"topk(10, topk by (cluster, node) (1, {STAGE_MEAN}))", "{{node}} {{stage}}"),),
        unit="s",
        width=12,
    ),
    Panel(
        "Time to start, slowest tenth",
        f"The node's own time by class of pod. Up to {START_GOOD:text} are good for pods without volumes to mount, up to "
        f"{START_GOOD_STATEFUL:text} for the others.",
        (Query(_quantile(POD_START_SECONDS, "class", clock="platform"), "{{class}}"),),
        unit="s",
        limits=((START_GOOD, "orange"), (START_GOOD_STATEFUL, "red")),
        width=12,
    ),
    Panel(
        "Starts in progress",
        "Pods on their way, by stage; blocked are those that user or registry hold up.",
        (Query(f"sum by (stage) (max by (cluster, node, stage) ({PODS_STARTING.shown()}))", "{{stage}}"),),
        unit="none",
        width=12,
        stacked=True,
    ),
    Panel(
        "Oldest start in progress",
        f"Age of the oldest start at each stage that nobody holds up. From {START_CLOCK:text} of the node's own time on it has failed.",
        (Query(f"max by (stage) ({OLDEST.shown(stage='!=blocked')})", "{{stage}}"),),
        unit="s",
        limits=((START_CLOCK, "red"),),
        width=12,
    ),
    Panel(
        "Pull time of starting pods",
        "Mean time that starting pods spent on pulls, of those for which it is known.",
        (
            Query(
                f"sum by (cluster, node) (rate({IMAGE_PULL.shown('_sum')}{INTERVAL})) "
                f"/ (sum by (cluster, node) (rate({IMAGE_PULL.shown('_count')}{INTERVAL})) > 0)",
            ),
        ),
        unit="s",
        width=12,
    ),
    Panel(
        "Status reaction, slowest tenth",
        "How late the kubelet reports a started pod as ready, of pods without probes.",
        (Query(_quantile(STATUS_REACTION, "cluster, node")),),
        unit="s",
        width=12,
    ),
    Panel(
        "Left out of the figures",
        "Pods that were left out of verdicts or times within the interval of the graph, by reason.",
        (
            Query(
                f"sum by (reason) (max by (cluster, node, reason) (increase({SKIPPED.shown()}{INTERVAL})))",
                "{{reason}}",
            ),
        ),
        unit="none",
        width=12,
        stacked=True,
    ),
)
