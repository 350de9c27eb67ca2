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
    60,
    "seconds",
    "Age of the last relist at which a person should look.",
    "our judgement: with the hold of the alert a minute before the kubelet's limit, and three times the age of a live PLEG, which is "
    "the interval of readings and a second or two",
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
START_GOOD = Fact(
    "start_good",
    5,
    "seconds",
    "Time from seen to started, without pulls, init containers and waits of the user's making, within which a start is good.",
    "the pod startup latency SLO of sig-scalability: 99 % of stateless pods within 5 s",
)
START_GOOD_STATEFUL = Fact(
    "start_good_stateful",
    30,
    "seconds",
    "The same for pods with volumes that must be attached or mounted.",
    "our judgement: attaching a disk takes 10 to 20 s on the large clouds",
)
START_OBJECTIVE = Fact(
    "start_objective",
    0.99,
    "ratio",
    "Share of starts that must be good.",
    "the percentile of sig-scalability's SLO, over 28 days",
)
START_CLOCK = Fact(
    "start_clock",
    300,
    "seconds",
    "Node time after which a pod that has not started counts as failed; it stops while user or registry hold the pod up.",
    "our judgement: as long as Helm waits for a release by default",
)
START_BLOCK = Fact(
    "start_block",
    600,
    "seconds",
    "How long user or registry may hold up a start before it counts as failed on their account.",
    "our judgement: the progress deadline of a Deployment",
)
BURN_FAST = Fact(
    "burn_fast",
    14.4,
    "",
    "Burn rate of the error budget over 1 h that spends 2 % of it.",
    "SRE workbook, alerting on SLOs, for 28 to 30 days",
)
BURN_SLOW = Fact(
    "burn_slow",
    6,
    "",
    "Burn rate of the error budget over 6 h that spends 5 % of it.",
    "SRE workbook, alerting on SLOs",
)
BURN_DAY = Fact(
    "burn_day",
    3,
    "",
    "Burn rate of the error budget over a day that spends 10 % of it.",
    "SRE workbook, alerting on SLOs",
)
BURN_DAYS = Fact(
    "burn_days",
    1,
    "",
    "Burn rate of the error budget over three days that spends 10 % of it.",
    "SRE workbook, alerting on SLOs",
)
BURN_BAD = Fact(
    "burn_bad",
    5,
    "",
    "Bad starts below which nobody is paged, whatever their share.",
    "computed: at 99 % a service exactly at its objective pages with a chance of 1 in 1,000 at 20 starts",
)
BURN_STARTS = Fact("burn_starts", 20, "", "Starts below which nobody is paged.", "as burn_bad")
BAD_FEW = Fact(
    "bad_few",
    3,
    "",
    "Bad or failed starts below which there is no alert in working hours.",
    "computed: one or two are within the chance of a service at its objective",
)
OUTLIER_CHANCE = Fact(
    "outlier_chance",
    0.05,
    "ratio",
    "Chance that any of the nodes is called an outlier by noise alone.",
    "Chernoff bound: P(X >= k) <= exp(-S) for k bad starts where mu are expected, S = k ln(k / mu) - k + mu",
)
OUTLIER_PRIOR = Fact(
    "outlier_prior",
    50,
    "",
    "Starts that are added to those of the other nodes, with one bad one, so that few starts prove little.",
    "our judgement, simulated on 1,000 nodes",
)
OUTLIER_SHARE = Fact(
    "outlier_share",
    0.2,
    "ratio",
    "Share of bad starts below which a node is no outlier, however sure it is that it differs.",
    "our judgement: nodes of different pools differ",
)
START_SETTLE = Fact(
    "start_settle",
    60,
    "seconds",
    "How long after a start its pull time may become known.",
    "our judgement: four readings of /metrics",
)
START_BOOTSTRAP = Fact(
    "start_bootstrap",
    600,
    "seconds",
    "Pods scheduled so soon after a new node first turned Ready are left out.",
    "our judgement: image caches and CNI of a new node are cold",
)
WAITING_MANY = Fact(
    "waiting_many",
    3,
    "",
    "Containers refused by the runtime at once that point at the node rather than at their owners.",
    "our judgement: above the odd broken deployment with two replicas",
)
TERMINATION_STUCK = Fact(
    "termination_stuck",
    600,
    "seconds",
    "Time after its grace period at which a pod that is still there needs a person.",
    "our judgement: unmounting a volume with retries takes a few minutes",
)
TIME_RESOLUTION = Fact(
    "time_resolution",
    1,
    "seconds",
    "Resolution of Kubernetes' times, which are cut to whole seconds; the exporter takes the middle.",
    "metav1.Time in JSON",
)

FACTS: Mapping[str, Fact] = {fact.id: fact for fact in list(globals().values()) if isinstance(fact, Fact)}
