"""Facts about eviction: the kubelet's own defaults, and when a person should look."""

from kubelet_exporter.catalog.facts.articles import ARTICLES
from kubelet_exporter.catalog.model import Article, Fact

EVICTION_NEAR = Fact(
    "eviction_near",
    1.2,
    "",
    "Multiple of the hard threshold below which what is available is near it.",
    "our judgement: with the default thresholds 12 % of the disk, 18 % of that of images, or 120 MiB of memory: time to act, not yet to run",
)
EVICTION_TRANSITION = Fact(
    "eviction_transition",
    300,
    "seconds",
    "How long the kubelet reports a pressure after it has ended.",
    "pkg/kubelet/apis/config/v1beta1/defaults.go evictionPressureTransitionPeriod",
    Article(
        "Under pressure the kubelet evicts BestEffort pods first, then Burstable ones above their requests, then Guaranteed ones.",
        "The QoS class is not looked at. Memory and disk: pods that use more than they requested come first, then those of lower priority, then those "
        "furthest above their request. Process numbers: lower priority, then more processes (pkg/kubelet/eviction/helpers.go).",
    ),
)
EVICTION_DISK = Fact(
    "eviction_disk",
    0.1,
    "ratio",
    "Share of the node's file system that the kubelet wants free by default.",
    f"pkg/kubelet/eviction/defaults_linux.go; {ARTICLES}",
)
EVICTION_SOON = Fact(
    "eviction_soon",
    3600,
    "seconds",
    "Time to eviction, by the trend of the last hour, at which somebody should look.",
    "our judgement: as long as the trend was watched, so that it need not be believed further than it was seen",
)
