"""Facts about kubelets, runtimes and API servers that do not answer."""

from kubelet_exporter.catalog.model import Fact

HEALTH_SLOW_REFUSAL = Fact(
    "health_slow_refusal",
    4,
    "seconds",
    "Time after which a 401 tells that the kubelet waited in vain for the API server to check the token.",
    "our judgement between two measured values: a wrong token is refused within 0.1 s; with the API server out of reach kubelets "
    "of 1.36 refuse after 5 or 10 s, and at once in between while they remember the failure",
)
HEALTH_REFUSAL_MEMORY = Fact(
    "health_refusal_memory",
    90,
    "seconds",
    "How long a slow 401 explains the quick ones after it.",
    "our judgement: above the longest pause between two slow ones, 50 s, in a recorded outage of kubelet 1.36",
)
HEALTH_LEASE_PATIENCE = Fact(
    "health_lease_patience",
    60,
    "seconds",
    "Time without any renewal of the Lease after which a kubelet that does not answer is held to be down.",
    "our judgement: six of the kubelet's renewals, and half as long again as a Lease is valid",
)
HEALTH_ANSWER_AGE = Fact(
    "health_answer_age",
    30,
    "seconds",
    "Age up to which an answer shows that the kubelet is alive.",
    "our judgement: six readings of /healthz",
)
HEALTH_VANISHED_WINDOW = Fact(
    "health_vanished_window",
    3600,
    "seconds",
    "How long a node whose exporter vanished is told of.",
    "our judgement: long enough to be seen, and over by itself where the node was deleted on purpose",
)
