"""Facts about containers that are restarted, killed and probed."""

from kubelet_exporter.catalog.facts.articles import ARTICLES
from kubelet_exporter.catalog.model import Article, Fact

OOM_KILLS = Fact(
    "oom_kills",
    3,
    "",
    "Containers killed for memory within an hour on one node at which a person should look.",
    "our judgement: one kill is its owner's matter",
)
CRASH_LOOPS = Fact(
    "crash_loops",
    5,
    "",
    "Containers in a crash loop at once on one node that point at the node.",
    "our judgement: above a broken deployment with three replicas on one node",
)
PROBE_WINDOW = Fact(
    "probe_window",
    300,
    "seconds",
    "Time after which probes are counted anew to see what fails now; one to two such times are looked at.",
    "our judgement: thirty probes at the default period",
)
PROBE_FAILED = Fact(
    "probe_failed",
    0.5,
    "ratio",
    "Share of failed probes at which a container fails them.",
    "our judgement: a threshold of three failures in a row is then met within minutes",
)
PROBES_FAILING_SHARE = Fact(
    "probes_failing_share",
    0.5,
    "ratio",
    "Share of the probed containers that fail at which the node is to blame.",
    "our judgement: half of all applications do not break at once by themselves",
)
PROBES_FAILING_FEWEST = Fact(
    "probes_failing_fewest",
    5,
    "",
    "Containers that fail their probes below which the node is not blamed.",
    "our judgement: more than one deployment",
)
LIVENESS_RESTARTS = Fact(
    "liveness_restarts",
    5,
    "",
    "Restarts by liveness probes within an hour on one node at which a person should look.",
    "our judgement: more than one container that hangs now and then",
)
EXEC_TIMEOUT_SHORT = Fact(
    "exec_timeout_short",
    1,
    "seconds",
    "Timeout of an exec probe that is too short.",
    ARTICLES,
    Article(
        "Exec probes with short timeouts fail under load.",
        "True: the default of one second includes starting a process in the container, through the runtime.",
    ),
)
