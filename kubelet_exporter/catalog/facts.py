"""Every number that rules, panels and runbooks use, once, with its source. Standard library only.

Three kinds: built into the kubelet (source: its code or defaults), the articles' (source: article), our judgement (source: why).
What is configured on a node is no fact: it is read from the node and exported as a metric.
"""

from collections.abc import Mapping

from kubelet_exporter.catalog.model import Article, Fact

ARTICLE_1 = "article 1, Kubernetes kubelet core mechanisms and pod creation flow"
ARTICLE_2 = "article 2, The core role of the kubelet"
ARTICLES = f"{ARTICLE_1}; {ARTICLE_2}"

PLEG_RELIST_PERIOD = Fact(
    "pleg_relist_period",
    1,
    "seconds",
    "Pause between two relists of the generic PLEG, counted from the end of the first.",
    "pkg/kubelet/kubelet.go genericPlegRelistPeriod, Kubernetes 1.28 to 1.36",
    Article(
        "The syncLoop compares desired and actual state every 20 s.",
        "The PLEG relists every second; 20 s is fileCheckFrequency and httpCheckFrequency, how often static pods are read.",
    ),
)
PLEG_UNHEALTHY = Fact(
    "pleg_unhealthy",
    180,
    "seconds",
    "Age of the last relist at which the kubelet stops syncing pods and reports NotReady.",
    "pkg/kubelet/kubelet.go genericPlegRelistThreshold, Kubernetes 1.28 to 1.36; not configurable",
)
PLEG_STALE = Fact(
    "pleg_stale",
    120,
    "seconds",
    "Age of the last relist at which a person should look.",
    "our judgement: 60 seconds before the kubelet reports NotReady, and far above a live PLEG, whose age is the interval of readings and a second or two",
)
PLEG_RELIST_SLOW = Fact(
    "pleg_relist_slow",
    5,
    "seconds",
    "Relist time that the articles call too long.",
    ARTICLES,
    Article(
        "Alert when kubelet_pleg_relist_duration_seconds > 5s.",
        "That metric is a histogram and has no value of its own: take a quantile of its buckets. It is silent while a relist hangs, "
        "so the age of the last relist is needed beside it.",
    ),
)
PLEG_QUANTILE = Fact(
    "pleg_quantile",
    0.99,
    "ratio",
    "Quantile of relist times that is watched.",
    "our judgement: customary, and 3 of 300 relists",
)
PODS_BUSY = Fact(
    "pods_busy",
    100,
    "pods",
    "Running pods on a node above which the articles expect trouble.",
    ARTICLES,
    Article(
        "Alert when kubelet_running_pods > 100, since maxPods is 110.",
        "maxPods is a setting (110 by default, 737 on some clouds): compare pods in use with the node's own limit.",
    ),
)
PODS_NEAR_LIMIT = Fact(
    "pods_near_limit",
    0.95,
    "ratio",
    "Share of the node's pod limit in use at which new pods will soon be refused.",
    "our judgement: leaves room for five pods of 110, about one rolling update",
)
PODS_FARGATE_LIMIT = Fact(
    "pods_fargate_limit",
    1,
    "pods",
    "Pod limit of a virtual node that is made for one pod: no limit to compare with.",
    "AWS Fargate nodes; kubernetes-mixin excludes the same value",
)
VOLUME_FILLING = Fact(
    "volume_filling",
    0.8,
    "ratio",
    "Used share of a volume at which the articles alert.",
    ARTICLES,
    Article(
        "Alert when kubelet_volume_stats_used_bytes > 80%.",
        "That metric is in bytes. The used share is 1 - available / capacity, which honours blocks reserved for root; "
        "drivers that report zeros are left out.",
    ),
)
VOLUME_FULL = Fact(
    "volume_full",
    0.97,
    "ratio",
    "Used share of a volume's bytes or inodes at which writes are about to fail.",
    "our judgement: the 3 % that other alert packs page at, so that both agree",
)
VOLUME_STATS_PERIOD = Fact(
    "volume_stats_period",
    60,
    "seconds",
    "How often the kubelet measures volumes by default (volumeStatsAggPeriod).",
    "pkg/kubelet/apis/config/v1beta1/defaults.go, Kubernetes 1.28 to 1.36",
)
VOLUME_STATS_STALE = Fact(
    "volume_stats_stale",
    600,
    "seconds",
    "Age of a volume's statistics at which they must not be trusted.",
    "our judgement: ten default periods, so that a slow driver does not alert",
)
LEASE_DURATION = Fact(
    "lease_duration",
    40,
    "seconds",
    "How long a node's Lease is valid; the kubelet renews it every quarter of that.",
    "pkg/kubelet/apis/config/v1beta1/defaults.go nodeLeaseDurationSeconds",
)
LEASE_STALE = Fact(
    "lease_stale",
    120,
    "seconds",
    "Age of the last Lease renewal at which a person should look.",
    "our judgement: three lease durations",
)
HEARTBEAT_PERIOD = Fact(
    "heartbeat_period",
    300,
    "seconds",
    "How old a condition's heartbeat may be on a healthy node whose status does not change.",
    "pkg/kubelet/apis/config/v1beta1/defaults.go nodeStatusReportFrequency",
)
HEARTBEAT_STALE = Fact(
    "heartbeat_stale",
    600,
    "seconds",
    "Age of the Ready condition's heartbeat at which a person should look.",
    "our judgement: twice the kubelet's report period",
)
HOLD_AT_ONCE = Fact(
    "hold_at_once", 60, "seconds", "Hold of alerts whose condition already contains a waiting time.", "our judgement"
)
HOLD_SHORT = Fact(
    "hold_short",
    300,
    "seconds",
    "Hold of alerts on states that heal by themselves within minutes.",
    "our judgement: a kubelet restart or a reboot of the exporter takes less",
)
HOLD_LONG = Fact(
    "hold_long",
    900,
    "seconds",
    "Hold of alerts that can wait for working hours.",
    "our judgement: the customary quarter of an hour",
)
HOLD_HOUR = Fact(
    "hold_hour", 3600, "seconds", "Hold of alerts on slow growth.", "our judgement: outlasts a backup or a bulk load"
)

FACTS: Mapping[str, Fact] = {fact.id: fact for fact in list(globals().values()) if isinstance(fact, Fact)}
