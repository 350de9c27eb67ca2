"""Facts about pods in use, waiting and terminating ones."""

from kubelet_exporter.catalog.facts.articles import ARTICLES
from kubelet_exporter.catalog.model import Article, Fact

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
