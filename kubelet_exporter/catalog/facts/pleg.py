"""Facts about the PLEG."""

from kubelet_exporter.catalog.facts.articles import ARTICLES
from kubelet_exporter.catalog.model import Article, Fact

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
PLEG_FRESH = Fact(
    "pleg_fresh",
    10,
    "seconds",
    "Age of the last relist up to which the PLEG is fresh.",
    "our judgement: ten relist periods, and the greatest bound of the kubelet's own histogram of intervals",
)
PLEG_LONGEST_STEP = Fact(
    "pleg_longest_step",
    45,
    "seconds",
    "Longest time between two readings of /metrics that is attributed to a state; more is not observed.",
    "our judgement: three readings",
)
PLEG_NOT_FRESH = Fact(
    "pleg_not_fresh",
    0.0144,
    "ratio",
    "Share of an hour without a fresh PLEG at which a person should look.",
    "our judgement: 14.4 times what an objective of 99.9 % allows, the customary fast burn (52 seconds of an hour)",
)
PLEG_LEAST_OBSERVED = Fact(
    "pleg_least_observed",
    600,
    "seconds",
    "Observed time of an hour below which its share of fresh time is not judged.",
    "our judgement: after less than ten minutes one slow relist would already be too much",
)
PLEG_RELIST_RATE = Fact(
    "pleg_relist_rate",
    0.4,
    "",
    "Relists a second below which a generic PLEG looks too seldom.",
    "our judgement: a relist then takes more than 1.5 s on average; 0.95 is normal",
)
