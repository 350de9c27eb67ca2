"""Alerts on a hung runtime and on what cannot be reached. Each mutes the alerts that only follow from it."""

from kubelet_exporter.catalog import exporter
from kubelet_exporter.catalog.facts.health import HEALTH_LEASE_PATIENCE, HEALTH_VANISHED_WINDOW
from kubelet_exporter.catalog.facts.node import LEASE_DURATION
from kubelet_exporter.catalog.facts.pleg import PLEG_UNHEALTHY
from kubelet_exporter.catalog.facts.times import HOLD_AT_ONCE, HOLD_BRIEF, HOLD_SHORT
from kubelet_exporter.catalog.health.metrics import FAULT, RUNTIME_HUNG, RUNTIME_HUNG_EVIDENCE, RUNTIME_HUNG_SINCE
from kubelet_exporter.catalog.model import Alert, Runbook
from kubelet_exporter.catalog.removal import NODE_CORDONED, PLANNED_REMOVAL

SOURCES = ("KubeletExporterSourceDown", "KubeletExporterRightMissing")
NODE = ("KubeletNodeNotReady", "KubeletNodeLeaseStale", "KubeletNodeHeartbeatStale")
PODS = ("KubeletPodStartStuck", "KubeletPodTerminationStuck", "KubeletContainersRefusedByRuntime")
PROBES = ("KubeletProbesFailing", "KubeletLivenessRestartsMany")
PLEG = ("KubeletPLEGStale", "KubeletPLEGRelistSlow", "KubeletPLEGRelistsRare", "KubeletPLEGBudgetBurning")


def _during(fault: str) -> str:
    return f"max by (cluster, node) ({FAULT.where(fault=fault)}) == 1"


HUNG = Alert(
    "KubeletRuntimeHung",
    f"max by (cluster, node) ({RUNTIME_HUNG}) == 1",
    HOLD_BRIEF,
    "critical",
    "The container runtime of a node hangs.",
    "The container runtime of node {{ $labels.node }} of cluster {{ $labels.cluster }} hangs: its kubelet answers, but not where it must "
    f"ask the runtime. {PLEG_UNHEALTHY:text} after the last relist the node turns NotReady.",
    Runbook(
        "`/metrics` and `/stats/summary` of the kubelet, which ask the runtime, time out; `/healthz` or `/pods`, which do not, answer. "
        "So the kubelet is alive, and containerd, CRI-O or what they wait for (a disk, a shim, a mount) hangs.",
        "Running containers go on. None can be started, stopped, restarted or looked into; exec probes fail. Minutes from now the node is "
        "NotReady, and when the tolerance of its pods has passed they are started elsewhere.",
        f"- `{RUNTIME_HUNG_SINCE}` says since when, `{RUNTIME_HUNG_EVIDENCE}` how it is known.\n"
        "- On the node: `crictl --timeout 5s version`, then `crictl --timeout 5s pods`. No answer: it hangs.\n"
        "- Why: processes in state D (`ps axo stat,pid,wchan:30,cmd | grep ^D`), `dmesg -T | tail -50`, a full disk (`df -h`, `df -i`), "
        "`journalctl -u containerd --since -15min` (or crio), memory of the runtime.",
        "1. For the bug report, if there is a minute: `kill -USR1 $(pidof containerd)` writes what it waits for to its log (crio: to /tmp).\n"
        "2. `systemctl restart containerd` (or crio). Running containers survive that.\n"
        "3. Watch `crictl pods` and this alert: it ends within a minute.\n"
        "4. If it does not: `kubectl cordon NODE`, then reboot. Processes in state D end in no other way.",
    ),
    inhibits=(*SOURCES, *PLEG, *PODS, *PROBES, "KubeletNodeNotReady"),
)
DOWN = Alert(
    "KubeletProcessDown",
    _during("kubelet_down"),
    HOLD_AT_ONCE,
    "critical",
    "A kubelet is down.",
    "The kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} refuses connections or is silent everywhere, and does not "
    "renew its Lease.",
    Runbook(
        "No endpoint of the kubelet answers the exporter on the same node: the connection is refused, or nothing comes, and for "
        f"{HEALTH_LEASE_PATIENCE:text} its Lease was not renewed. The process is down, hangs, or crashes again and again.",
        f"Running containers go on, but nobody restarts, probes or stops them. After {LEASE_DURATION:text} without a Lease the node is NotReady.",
        "- On the node: `systemctl status kubelet`, `journalctl -u kubelet --since -15min | tail -50`: the last lines say why it ended.\n"
        "- It runs but does not answer: `ss -ltnp | grep 10250`, load, memory, processes in state D.",
        "`systemctl restart kubelet`. If it ends again, the log names the flag, file or certificate at fault; compare with a healthy node of the same pool.",
    ),
    inhibits=(*SOURCES, *PLEG, *NODE, *PODS),
)
NETWORK = Alert(
    "KubeletConnectionLost",
    _during("network"),
    HOLD_AT_ONCE,
    "warning",
    "A kubelet lives but cannot be reached by the exporter on its node.",
    "The exporter on node {{ $labels.node }} of cluster {{ $labels.cluster }} reaches neither endpoint of the kubelet, though the kubelet "
    "renews its Lease or nothing else can be reached either.",
    Runbook(
        "All readings of the kubelet time out, or are refused while its Lease is still renewed. Packets between the exporter pod and the "
        "node's address are lost: network plug-in, firewall, a network policy; if the API server is silent too, the node's network.",
        "This node is not watched. If the pod network is at fault, its pods suffer too.",
        "- The status page of the exporter, if it can be reached: which address does it call?\n"
        "- From the exporter pod's node: `curl -k https://ADDRESS:10250/healthz` (401 is an answer). From the pod network: the same.\n"
        "- `kubectl get networkpolicy -A`, the log of the network plug-in's pod on this node.",
        "Restart the network plug-in's pod on this node; allow the exporter to reach port 10250 of its node.",
    ),
    inhibits=(*SOURCES, *PLEG),
)
RIGHTS = Alert(
    "KubeletExporterRightsLost",
    _during("rights_lost"),
    HOLD_SHORT,
    "warning",
    "A kubelet refuses the exporter altogether.",
    "The kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} answers the exporter with 401 or 403 on the paths that every version grants.",
    Runbook(
        "401: the exporter's token is not valid. 403: its account has lost the ClusterRole. The refusals come at once, so the API server "
        "that checks them is there.",
        "This node is not watched. Nothing is wrong with the node itself.",
        "- The log of the exporter pod has the kubelet's words, with the right that is missing.\n"
        "- `kubectl get clusterrolebinding kubelet-exporter -o yaml`: does it name the exporter's service account and namespace?\n"
        "- `kubectl auth can-i get nodes --subresource=metrics --as system:serviceaccount:kubelet-exporter:kubelet-exporter`.\n"
        "- 401 on one node only: does its kubelet use webhook authentication (`authentication.webhook.enabled` of its configuration)?",
        "Apply the manifests of `deploy/` again. 401 everywhere: delete the exporter's pods, so that they get new tokens.",
    ),
    inhibits=(*SOURCES, *PLEG),
)
APISERVER = Alert(
    "KubeletAPIServerUnreachable",
    _during("apiserver_unreachable"),
    HOLD_AT_ONCE,
    "critical",
    "The API server is out of reach from a node.",
    "The API server cannot be reached from node {{ $labels.node }} of cluster {{ $labels.cluster }}.",
    Runbook(
        "The exporter cannot read the node's Lease, or the kubelet refuses it after seconds of waiting (401): it asks the API server about "
        "the token, and when what it remembers has run out, two minutes later, it refuses everybody.",
        "Running pods go on. No pod is started, moved or deleted here; logs, exec and all metrics of the kubelet fail with 401. Where "
        f"only some nodes are cut off they are NotReady after {LEASE_DURATION:text}, and their pods are started elsewhere minutes later.",
        "- How many nodes say so? All: the control plane or its load balancer. Few: their network.\n"
        "- On the node: `curl -k https://APISERVER/livez` with the address from `/etc/kubernetes/kubelet.conf`.\n"
        "- `kubectl get --raw /readyz?verbose` from elsewhere.",
        "Restore the control plane or the path to it. Do not restart kubelets or runtimes: they are well, and a kubelet without the API "
        "server does not get its pods back.",
    ),
    inhibits=(*SOURCES, *NODE, *PLEG),
)
VANISHED = Alert(
    "KubeletExporterVanished",
    f"max by (cluster, node) (max_over_time({exporter.BUILD_INFO}[{HEALTH_VANISHED_WINDOW}s])) "
    f"unless on (cluster, node) max by (cluster, node) ({exporter.BUILD_INFO}) "
    f"unless on (cluster, node) max by (cluster, node) (max_over_time({NODE_CORDONED}[{HEALTH_VANISHED_WINDOW}s])) == 1 "
    f"unless on (cluster, node) max by (cluster, node) (max_over_time({PLANNED_REMOVAL}[{HEALTH_VANISHED_WINDOW}s])) == 1",
    HOLD_SHORT,
    "warning",
    "The exporter of a node is no longer scraped.",
    "Node {{ $labels.node }} of cluster {{ $labels.cluster }} was watched within the last "
    f"{HEALTH_VANISHED_WINDOW:text}, and is not any more; it was neither cordoned nor marked for removal.",
    Runbook(
        "No exporter tells of this node any more: the node was deleted or is off, the exporter pod is gone or crashes, or Prometheus "
        f"no longer scrapes it. Nodes that were cordoned or marked for removal before are left out. {HEALTH_VANISHED_WINDOW:text} after the last scrape this alert ends by itself.",
        "No alert about this node can fire.",
        "- `kubectl get node NODE`: gone on purpose (scaled down, replaced)? Then nothing is wrong.\n"
        "- `kubectl get pods -n kubelet-exporter -o wide --field-selector spec.nodeName=NODE`, its log, `kubectl describe` of it.\n"
        "- The page of targets of Prometheus: is it there, with which error?",
        "Bring the node or the pod back. A node that went without cordon or drain has failed: its pods were killed.",
    ),
)
ALERTS = (HUNG, DOWN, NETWORK, RIGHTS, APISERVER, VANISHED)
