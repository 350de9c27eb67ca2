"""Records and alerts of pod starts: burn of the error budget, outliers among nodes, starts that are stuck, other people's failures."""

from kubelet_exporter.catalog.facts.pod_start import (
    BAD_FEW,
    BURN_BAD,
    BURN_DAY,
    BURN_DAYS,
    BURN_FAST,
    BURN_SLOW,
    BURN_STARTS,
    OUTLIER_CHANCE,
    OUTLIER_PRIOR,
    OUTLIER_SHARE,
    START_CLOCK,
    START_GOOD,
    START_GOOD_STATEFUL,
    START_OBJECTIVE,
)
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_LONG, HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Fact, Record, Runbook
from kubelet_exporter.catalog.pod_start.metrics import OLDEST, POD_START_STAGE, POD_STARTS, PODS_STARTING, SKIPPED

NOT_OURS = "!~user|registry"
ELIGIBLE = POD_STARTS.where(verdict="=~good|slow|failed", blame=NOT_OURS)
BAD = POD_STARTS.where(verdict="=~slow|failed", blame=NOT_OURS)
STARTS = "kubelet_exporter_pod_starts"


def _of_nodes(kind: str, selector: str, window: str) -> Record:
    """Starts of a kind on each node within a window; a target that is scraped twice counts once."""
    counted = f"max by (cluster, node, verdict, blame) (increase({selector}[{window}]))"
    return Record(f"cluster_node:{STARTS}_{kind}:increase{window}", f"sum by (cluster, node) ({counted})")


def _of_clusters(kind: str, window: str) -> Record:
    """Starts of a kind in each cluster: of its nodes, or for long windows hour by hour."""
    name = f"cluster:{STARTS}_{kind}:increase{window}"
    if window in SHORT:
        return Record(name, f"sum by (cluster) (cluster_node:{STARTS}_{kind}:increase{window})")
    return Record(name, f"sum_over_time(cluster:{STARTS}_{kind}:increase1h[{window}:1h])")


SHORT = ("5m", "30m", "1h")
LONG = ("2h", "6h", "1d", "3d")
OF_NODES = {
    (kind, window): _of_nodes(kind, selector, window)
    for kind, selector in (("bad", BAD), ("eligible", ELIGIBLE))
    for window in SHORT
}
OF_CLUSTERS = {(kind, window): _of_clusters(kind, window) for kind in ("bad", "eligible") for window in SHORT + LONG}
NODE_BAD, NODE_ELIGIBLE = OF_NODES["bad", "1h"], OF_NODES["eligible", "1h"]
CLUSTER_BAD, CLUSTER_ELIGIBLE = OF_CLUSTERS["bad", "1h"], OF_CLUSTERS["eligible", "1h"]
EXPECTED_BAD = Record(
    f"cluster_node:{STARTS}_expected_bad:increase1h",
    f"{NODE_ELIGIBLE} * on (cluster, node) "
    f"((-{NODE_BAD} + on (cluster) group_left () {CLUSTER_BAD} + 1) "
    f"/ (-{NODE_ELIGIBLE} + on (cluster) group_left () {CLUSTER_ELIGIBLE} + {OUTLIER_PRIOR}))",
)
RECORDS = (*OF_NODES.values(), *OF_CLUSTERS.values(), EXPECTED_BAD)


def _burning(window: str, burn: Fact) -> str:
    """Whether the error budget burned at this rate in a window; without starts the share is no number, and not above any."""
    return f"{OF_CLUSTERS['bad', window]} / {OF_CLUSTERS['eligible', window]} > {burn} * (1 - {START_OBJECTIVE})"


def _burn(long: str, short: str, burn: Fact, bad: Fact, starts: Fact | None = None) -> str:
    guards = f"and {OF_CLUSTERS['bad', long]} >= {bad}"
    if starts:
        guards += f" and {OF_CLUSTERS['eligible', long]} >= {starts}"
    return f"{_burning(long, burn)} and {_burning(short, burn)} {guards}"


MEANING = (
    f"A start is good if the kubelet and runtime take at most {START_GOOD:text} from seeing the pod to starting its last container "
    f"({START_GOOD_STATEFUL:text} with volumes that must be mounted), image pulls, init containers and waits of the user's or the "
    f"registry's making not counted. {START_OBJECTIVE:text} of the starts should be good. Starts that users or registries are to blame "
    "for are not in this figure."
)
IMPACT = "Rollouts, autoscaling and recovery of failed nodes take longer than people rely on, or do not happen."
DIAGNOSE = f"""
- Whose fault: `sum by (cluster, verdict, blame) (increase({POD_STARTS}[1h]))`. `network`: CNI. `storage`: volumes. `runtime`: containers are
  created or started late. `node`: the kubelet prepares pods late. `unknown`: look at the pods.
- Where the time goes: dashboard *Kubelet / Pod start*, or `{POD_START_STAGE}` by stage.
- Which nodes: `topk(10, {NODE_BAD})`. Many: what changed (CNI, runtime, kernel, registry mirror)? One: KubeletPodStartNodeOutlier.
- Pods that are stuck now: `{PODS_STARTING}` and `{OLDEST}` by stage; `kubectl get pods -A --field-selector spec.nodeName=NODE`.
"""
MITIGATE = (
    "By blame. `network`: restart or roll back the CNI's pods, look for exhausted addresses. `storage`: the CSI driver's node pods and "
    "its back end. `runtime`: disk and CPU of the node, restart containerd. `node`: too many pods starting at once; kubelet's own CPU. "
    "Cordon nodes that do harm."
)
RUNBOOK = Runbook(MEANING, IMPACT, DIAGNOSE, MITIGATE)

FAST = Alert(
    "KubeletPodStartBurnFast",
    _burn("1h", "5m", BURN_FAST, BURN_BAD, BURN_STARTS),
    HOLD_AT_ONCE,
    "critical",
    "Many pods of a cluster do not start in time.",
    "{{ $value | humanizePercentage }} of the pod starts in cluster {{ $labels.cluster }} were slow or failed on the platform's account "
    "within the last hour.",
    RUNBOOK,
)
SLOW = Alert(
    "KubeletPodStartBurnSlow",
    _burn("6h", "30m", BURN_SLOW, BURN_BAD, BURN_STARTS),
    HOLD_SHORT,
    "critical",
    "For hours many pods of a cluster have not started in time.",
    "{{ $value | humanizePercentage }} of the pod starts in cluster {{ $labels.cluster }} were slow or failed on the platform's account "
    "within the last six hours.",
    RUNBOOK,
)
BUDGET = Alert(
    "KubeletPodStartBudgetBurning",
    f"({_burn('1d', '2h', BURN_DAY, BAD_FEW)}) or ({_burn('3d', '6h', BURN_DAYS, BAD_FEW)})",
    HOLD_LONG,
    "warning",
    "More pods than the objective allows do not start in time.",
    "{{ $value | humanizePercentage }} of the pod starts in cluster {{ $labels.cluster }} were slow or failed on the platform's account, "
    "over a day or more.",
    RUNBOOK,
)
OUTLIER = Alert(
    "KubeletPodStartNodeOutlier",
    f"({NODE_BAD} * ln({NODE_BAD} / {EXPECTED_BAD}) - {NODE_BAD} + {EXPECTED_BAD}) "
    f"> on (cluster) group_left () ln(count by (cluster) ({NODE_ELIGIBLE}) / {OUTLIER_CHANCE}) "
    f"and {NODE_BAD} >= {BAD_FEW} and {NODE_BAD} > {EXPECTED_BAD} and {NODE_BAD} / {NODE_ELIGIBLE} > {OUTLIER_SHARE}",
    HOLD_SHORT,
    "warning",
    "Pods start worse on one node than on the others of its cluster.",
    "Node {{ $labels.node }} of cluster {{ $labels.cluster }} has more slow or failed starts within the last hour than chance explains.",
    Runbook(
        "The number of bad starts on this node, given its starts and the share of bad ones on all other nodes, would come about by "
        f"chance on any node with less than {OUTLIER_CHANCE:text}. " + MEANING,
        "Pods that the scheduler places here start late or not at all.",
        DIAGNOSE,
        "Cordon the node and drain it. Compare kernel, runtime, CNI and disk with a node that is well before it comes back.",
    ),
)
STUCK = Alert(
    "KubeletPodStartStuck",
    f"max by (cluster, node) ({OLDEST.where(stage='prepare')}) > {START_CLOCK}",
    HOLD_AT_ONCE,
    "warning",
    "A pod does not get its sandbox or volumes.",
    "A pod on node {{ $labels.node }} of cluster {{ $labels.cluster }} has waited {{ $value | humanizeDuration }} for its volumes, "
    "sandbox and network, and nothing says that its owner is to blame.",
    Runbook(
        f"The kubelet saw a pod more than {START_CLOCK:text} ago and has not made its sandbox. Pods that lack a ConfigMap, Secret or "
        "RuntimeClass count as blocked, not here.",
        "This pod does not start; others on the node may follow.",
        "- `kubectl get pods -A --field-selector spec.nodeName=NODE,status.phase=Pending`, then `kubectl describe pod`: FailedMount, "
        "FailedAttachVolume, FailedCreatePodSandBox name the cause.\n"
        f"- `{PODS_STARTING}` by stage: one pod or many?\n"
        "- On the node: `journalctl -u kubelet --since -15min | grep -i -e sandbox -e MountVolume`.",
        "Volumes: detach from the old node, restart the CSI driver's pod. Sandbox: restart the CNI's pod on the node, then the runtime. "
        "To try another node, cordon this one, then delete the pod.",
    ),
)


def _failures(blame: str) -> str:
    counted = f"max by (cluster, node) (increase({POD_STARTS.where(verdict='failed', blame=blame)}[1h]))"
    return f"sum by (cluster) ({counted}) >= {BAD_FEW}"


REGISTRY = Alert(
    "KubeletImagePullsFailing",
    _failures("registry"),
    HOLD_SHORT,
    "warning",
    "Pods do not start because images cannot be pulled.",
    "{{ $value | humanize }} pod starts in cluster {{ $labels.cluster }} failed within the last hour because a registry did not serve "
    "their images.",
    Runbook(
        f"At least {BAD_FEW:text} pods waited for an image for longer than the limit, and the errors are those of a registry or the way "
        "to it: time-outs, refused connections, TLS, rate limits, server errors.",
        "New pods do not start where the image is not cached. The nodes themselves are well.",
        f"`sum by (cluster, node) (increase({POD_STARTS.where(verdict='failed', blame='registry')}[1h]))`: all nodes or some? `kubectl describe "
        "pod`: which registry and which error? From a node: `crictl pull IMAGE`.",
        "429: authenticate or use a mirror. TLS or DNS: cure it on the nodes. A registry that is down: point to a mirror; do not restart "
        "pods that still run.",
    ),
)
USER = Alert(
    "KubeletPodStartsFailingForUsers",
    _failures("user"),
    HOLD_LONG,
    "info",
    "Pods do not start because of their own specification.",
    "{{ $value | humanize }} pod starts in cluster {{ $labels.cluster }} failed within the last hour through missing ConfigMaps, wrong "
    "image names, missing rights to an image, commands that do not exist or init containers that fail.",
    Runbook(
        "These starts failed by what their owners wrote. They are in no objective of the platform.",
        "Somebody's rollout does not succeed.",
        "`kubectl get pods -A | grep -e ConfigError -e ErrImage -e ImagePullBackOff -e InvalidImageName -e RunContainerError -e CrashLoopBackOff -e Init:`. "
        "A pod that mounts a missing ConfigMap or Secret shows ContainerCreating: `kubectl describe pod` names it.",
        "Tell the owners.",
    ),
)
REJECTED = Alert(
    "KubeletPodAdmissionRejected",
    _failures("control_plane"),
    HOLD_SHORT,
    "warning",
    "Kubelets reject pods that the scheduler placed.",
    "{{ $value | humanize }} pods in cluster {{ $labels.cluster }} were rejected by their kubelet within the last hour "
    "(OutOfcpu, OutOfpods, NodeAffinity and the like).",
    Runbook(
        "The scheduler and the kubelet disagree on what is free or allowed on a node: a stale cache, static pods that the scheduler "
        "does not see, several schedulers, or labels that changed.",
        "The rejected pods stay Failed; their controllers make new ones, which may be rejected again.",
        f"`sum by (cluster, node) (increase({POD_STARTS.where(verdict='failed', blame='control_plane')}[1h]))`; "
        "`kubectl get pods -A --field-selector status.phase=Failed` shows the reasons.",
        "Delete the rejected pods. One scheduler a node; requests on static pods; stable labels.",
    ),
)
UNKNOWN = Alert(
    "KubeletPodStartPullsUnknown",
    f"max by (cluster, node) (increase({SKIPPED.where(reason='pull_unknown')}[1d])) >= {BURN_STARTS}",
    HOLD_LONG,
    "info",
    "Many starts are left out because their pull times are not known.",
    "On node {{ $labels.node }} of cluster {{ $labels.cluster }} {{ $value | humanize }} starts within a day could not be judged: whether "
    "they were slow or pulled images is not known.",
    Runbook(
        "The exporter bounds pull times by the kubelet's own histogram. When several pods pull at once it cannot tell whose time that "
        "was, and leaves out those that would else be slow.",
        "The objective rests on fewer starts than there were.",
        f"`{SKIPPED}` by reason.",
        "Run the exporter with `--events` and the right to list events (`deploy/kustomize/components/events`): it then asks for the events of "
        "just these pods.",
    ),
)
ALERTS = (FAST, SLOW, BUDGET, OUTLIER, STUCK, REGISTRY, USER, REJECTED, UNKNOWN)
