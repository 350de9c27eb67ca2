"""Facts about volumes."""

from kubelet_exporter.catalog.facts.articles import ARTICLES
from kubelet_exporter.catalog.model import Article, Fact

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
