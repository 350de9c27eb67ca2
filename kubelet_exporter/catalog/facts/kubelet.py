"""Facts about the kubelet's own process, its work, and its calls to the API server."""

from kubelet_exporter.catalog.model import Fact

KUBELET_RESTARTS = Fact(
    "kubelet_restarts",
    3,
    "",
    "Restarts of the kubelet within half an hour at which it is in a crash loop.",
    "our judgement: an upgrade and a change of configuration make two",
)
KUBELET_FILES = Fact(
    "kubelet_files",
    0.8,
    "ratio",
    "Share of its file descriptors in use at which the kubelet will soon fail to open any.",
    "our judgement: a leak leaves hours from here",
)
POD_WORKER_SLOW = Fact(
    "pod_worker_slow",
    5,
    "seconds",
    "Time from seeing a pod to working on it that is too long.",
    "our judgement: the wait is milliseconds on a healthy kubelet; five seconds are a sixth of a good pod start",
)
POD_WORKER_QUANTILE = Fact(
    "pod_worker_quantile",
    0.9,
    "ratio",
    "Quantile of these times that is watched.",
    "our judgement: few pods start on a node",
)
POD_WORKER_FEWEST = Fact(
    "pod_worker_fewest",
    5,
    "",
    "Pods within half an hour below which their times say nothing.",
    "our judgement: one late pod of five is not yet a slow kubelet",
)
ORPHAN_ERRORS_HOLD = Fact(
    "orphan_errors_hold",
    1800,
    "seconds",
    "How long volumes of deleted pods may resist the kubelet's cleaning.",
    "our judgement: it tries every two seconds, and a hanging unmount ends within minutes",
)
API_ERROR_SHARE = Fact(
    "api_error_share",
    0.1,
    "ratio",
    "Share of failed requests to the API server at which a person should look.",
    "our judgement: a rolling restart of the control plane makes less in a quarter of an hour",
)
API_FEWEST = Fact(
    "api_fewest",
    20,
    "",
    "Requests to the API server within a quarter of an hour below which their share of failures is not judged.",
    "our judgement: an idle kubelet sends 90 for its Lease alone",
)
API_REFUSED = Fact(
    "api_refused",
    10,
    "",
    "Requests refused with 401 within a quarter of an hour at which the kubelet's credentials are bad.",
    "our judgement: a renewal of the certificate costs one or two",
)
API_WAIT_EDGE = Fact(
    "api_wait_edge",
    0.5,
    "seconds",
    "Wait of a request for the kubelet's own rate limit that is too long.",
    "a bound of the kubelet's histogram; our judgement",
)
API_WAIT_SHARE = Fact(
    "api_wait_share",
    0.1,
    "ratio",
    "Share of requests with such a wait at which the kubelet is held up by its own limit.",
    "our judgement: bursts of pods use up the burst for moments",
)
