"""Facts about the container runtime: what it may take and how often it may fail."""

from kubelet_exporter.catalog.facts.articles import ARTICLES
from kubelet_exporter.catalog.model import Article, Fact

UNTRACED = (
    "No measurement behind these numbers could be found. Others differ by an order of magnitude with host, image and network plug-in: "
    "0.09 s (containerd) and 0.15 s (Docker) for a container alone, about 2 s for a whole pod. So they are lines to look at, and alerts compare a node with "
    "its own past and with its peers."
)
COLD_START_CONTAINERD = Fact(
    "cold_start_containerd",
    1.2,
    "seconds",
    "Cold start that the articles expect of containerd.",
    ARTICLES,
    Article("containerd: 1.2 s", UNTRACED),
)
COLD_START_CRIO = Fact(
    "cold_start_crio",
    1.5,
    "seconds",
    "Cold start that the articles expect of CRI-O.",
    ARTICLES,
    Article("CRI-O: 1.5 s", UNTRACED),
)
COLD_START_DOCKER = Fact(
    "cold_start_docker",
    2.1,
    "seconds",
    "Cold start that the articles expect of Docker.",
    ARTICLES,
    Article("Docker: 2.1 s", UNTRACED + " Kubelets speak to Docker through cri-dockerd only, since 1.24.", "1.24"),
)
MEMORY_TRUTH = (
    "No measurement behind these numbers could be found; others give 42 and 77 MB for containerd and Docker. They grow with the number "
    "of containers, so they are lines to look at, not limits."
)
RUNTIME_MEMORY_CONTAINERD = Fact(
    "runtime_memory_containerd",
    35 * 2**20,
    "bytes",
    "Memory that the articles expect of containerd.",
    ARTICLES,
    Article("containerd: 35 MB", MEMORY_TRUTH),
)
RUNTIME_MEMORY_CRIO = Fact(
    "runtime_memory_crio",
    28 * 2**20,
    "bytes",
    "Memory that the articles expect of CRI-O.",
    ARTICLES,
    Article("CRI-O: 28 MB", MEMORY_TRUTH),
)
RUNTIME_MEMORY_DOCKER = Fact(
    "runtime_memory_docker",
    50 * 2**20,
    "bytes",
    "Memory that the articles expect of Docker.",
    ARTICLES,
    Article("Docker: 50 MB", MEMORY_TRUTH),
)
SANDBOX_EDGE = Fact(
    "sandbox_edge",
    1.220703125,
    "seconds",
    "Time within which making a pod sandbox is good.",
    "the edge of the kubelet's histogram (pkg/kubelet/metrics/metrics.go, 0.005 s times powers of 2.5) nearest to the articles' 1.2 s",
)
CONTAINER_EDGE = Fact(
    "container_edge",
    0.48828125,
    "seconds",
    "Time within which creating or starting a container is good.",
    "our judgement: the edge of the kubelet's histogram two steps below a second, with which the three add up to 2.2 s",
)
COLD_START_FEWEST = Fact(
    "cold_start_fewest",
    5,
    "",
    "Sandboxes of an hour below which their mean says nothing.",
    "our judgement: one outlier in five doubles no mean by itself",
)
COLD_START_FACTOR = Fact(
    "cold_start_factor",
    2,
    "",
    "How many times slower than in the past, or than its peers, a node must be.",
    "our judgement: well above the daily swing",
)
COLD_START_FLOOR = Fact(
    "cold_start_floor",
    1,
    "seconds",
    "Mean cold start that is good enough whatever the past was.",
    "our judgement: below the articles' best runtime",
)
COLD_START_PEERS = Fact(
    "cold_start_peers",
    5,
    "",
    "Nodes of one runtime version from which on a node is compared with them.",
    "our judgement: with fewer a median is one node's",
)
RUNTIME_ERROR_SHARE = Fact(
    "runtime_error_share",
    0.1,
    "ratio",
    "Share of failed operations of one kind at which a person should look.",
    "our judgement: races of deletion make single failures normal",
)
RUNTIME_ERRORS_FEWEST = Fact(
    "runtime_errors_fewest",
    10,
    "",
    "Failed operations within half an hour below which nobody is told.",
    "our judgement: one pod that is retried with a growing pause makes fewer",
)
COLD_START_HOLD = Fact(
    "cold_start_hold",
    7200,
    "seconds",
    "How long cold starts must be slow.",
    "our judgement: one burst of pods stays in the mean of an hour for an hour",
)
MEDIAN = Fact(
    "median", 0.5, "ratio", "Quantile that stands for what is usual.", "our judgement: outliers do not move it"
)
