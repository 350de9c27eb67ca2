"""Panels of pod starts."""

from kubelet_exporter.catalog.facts import START_CLOCK, START_GOOD, START_OBJECTIVE
from kubelet_exporter.catalog.model import Panel, Query
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
GOOD = f"sum(increase({POD_STARTS.shown(verdict='good')}[$__range]))"
JUDGED = f"sum(increase({POD_STARTS.shown(verdict='=~good|slow|failed', blame=NOT_OURS)}[$__range]))"
GOOD_NOW = f"sum(rate({POD_STARTS.shown(verdict='good')}{INTERVAL}))"
JUDGED_NOW = f"sum(rate({POD_STARTS.shown(verdict='=~good|slow|failed', blame=NOT_OURS)}{INTERVAL}))"

OVERVIEW = (
    Panel(
        "Good pod starts",
        f"Share of the starts in the shown time that were good, without those of users' and registries' making. "
        f"The objective is {START_OBJECTIVE:text}.",
        (Query(f"{GOOD} / ({JUDGED} > 0)", "good"),),
        kind="stat",
        unit="percentunit",
        width=4,
        height=4,
    ),
)
PANELS = (
    Panel(
        "Good starts",
        f"Share of the starts in the shown time that were good; the objective is {START_OBJECTIVE:text}.",
        (Query(f"{GOOD} / ({JUDGED} > 0)", "good"),),
        kind="stat",
        unit="percentunit",
        width=4,
        height=4,
    ),
    Panel(
        "Starts",
        "Starts in the shown time that were judged, whosever fault they were.",
        (Query(f"sum(increase({POD_STARTS.shown(verdict='=~good|slow|failed')}[$__range]))", "starts"),),
        kind="stat",
        unit="none",
        width=4,
        height=4,
    ),
    Panel(
        "Pods on their way",
        "Pods that have not started yet.",
        (Query(f"sum(max by (cluster, node, stage) ({PODS_STARTING.shown()}))", "starting"),),
        kind="stat",
        unit="none",
        width=4,
        height=4,
    ),
    Panel(
        "Where the time goes",
        "Time that starting pods spend at each stage, a second of running: a pod that spends 10 s in a pull every 100 s gives 0.1.",
        (Query(f"sum by (stage) (rate({POD_START_STAGE.shown('_sum')}{INTERVAL}))", "{{stage}}"),),
        unit="s",
        width=12,
        stacked=True,
    ),
    Panel(
        "Good ratio against the objective",
        "Share of the starts that were good, without those of users' and registries' making.",
        (Query(f"{GOOD_NOW} / ({JUDGED_NOW} > 0)", "good"),),
        unit="percentunit",
        limits=((START_OBJECTIVE, "green"),),
        width=12,
    ),
    Panel(
        "Blame",
        "Starts a second that were slow or failed, by whose fault it was.",
        (
            Query(
                f"sum by (verdict, blame) (rate({POD_STARTS.shown(verdict='=~slow|failed')}{INTERVAL}))",
                "{{verdict}}: {{blame}}",
            ),
        ),
        unit="cps",
        width=12,
        stacked=True,
    ),
    Panel(
        "Slowest stage by node",
        "Mean time of the stage that takes longest on each node.",
        (
            Query(
                f"topk by (cluster, node) (1, sum by (cluster, node, stage) (rate({POD_START_STAGE.shown('_sum')}{INTERVAL})) "
                f"/ (sum by (cluster, node, stage) (rate({POD_START_STAGE.shown('_count')}{INTERVAL})) > 0))",
                "{{node}} {{stage}}",
            ),
        ),
        unit="s",
        width=12,
    ),
    Panel(
        "Start time",
        f"Slowest tenth of the node's own time, by class of pod. Up to {START_GOOD:text} are good for pods without volumes to mount.",
        (
            Query(
                "histogram_quantile(0.9, sum by (class, le) "
                f"(rate({POD_START_SECONDS.shown('_bucket', clock='platform')}{INTERVAL})))",
                "{{class}}",
            ),
        ),
        unit="s",
        limits=((START_GOOD, "orange"),),
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
        f"Age of the oldest start at each stage. From {START_CLOCK:text} of the node's own time on a start has failed.",
        (Query(f"max by (stage) ({OLDEST.shown()})", "{{stage}}"),),
        unit="s",
        limits=((START_CLOCK, "red"),),
        width=12,
    ),
    Panel(
        "Pull time",
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
        "Status reaction",
        "How late the kubelet reports a started pod as ready, slowest tenth of pods without probes.",
        (
            Query(
                f"histogram_quantile(0.9, sum by (cluster, node, le) (rate({STATUS_REACTION.shown('_bucket')}{INTERVAL})))"
            ),
        ),
        unit="s",
        width=12,
    ),
    Panel(
        "Left out",
        "Pods that were left out of verdicts or times, by reason.",
        (Query(f"sum by (reason) (increase({SKIPPED.shown()}{INTERVAL}))", "{{reason}}"),),
        unit="none",
        width=12,
        stacked=True,
    ),
)
