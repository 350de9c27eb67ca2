"""Facts about pod starts."""

from kubelet_exporter.catalog.model import Fact

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
