"""Does the API server answer this kubelet: how many of its requests fail, how long do they take, and do they wait for its own limit?"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kubelet_exporter.catalog.facts.kubelet import (
    API_ERROR_SHARE,
    API_FEWEST,
    API_REFUSED,
    API_WAIT_EDGE,
    API_WAIT_SHARE,
)
from kubelet_exporter.catalog.facts.times import HOLD_SHORT
from kubelet_exporter.catalog.model import Alert, Metric, Panel, Query, Record, Runbook, Table, Topic
from kubelet_exporter.samples import Histogram, Metrics
from kubelet_exporter.snapshot import Snapshot

REQUESTS = "rest_client_requests_total"
DURATION = "rest_client_request_duration_seconds"
WAIT = "rest_client_rate_limiter_duration_seconds"

# Subsets of the bounds of client-go.
DURATION_BOUNDS = (0.1, 0.5, 1, 4, 15)
WAIT_BOUNDS = (0.1, 0.5, 4, 15)
# They tell what is wrong by themselves: credentials, rights, the server's limit.
APART = ("401", "403", "429")
CLASSES = ("2xx", "3xx", "4xx", "5xx", "error")


@dataclass(frozen=True, slots=True)
class Count:
    """Requests that ended with codes of one class."""

    code: str
    requests: float


def requests(snapshot: Snapshot, _: None) -> Iterator[Count]:
    """The requests of each class, from 0 on once the kubelet tells of any."""
    counted = snapshot.metrics.totals(REQUESTS, "code") if snapshot.metrics else {}
    if counted:
        sums: dict[str, float] = {}
        for (code,), value in counted.items():
            sums[class_of(code)] = sums.get(class_of(code), 0.0) + value
        yield from (Count(code, sums.get(code, 0.0)) for code in (*CLASSES, *APART))


def class_of(code: str) -> str:
    """The class of a code: itself if it stands apart, its hundred, or error if there was no answer."""
    if code in APART:
        return code
    hundred = "2xx" if code.startswith("1") else f"{code[:1]}xx"  # 101 is how a stream begins
    return hundred if code.isdigit() and hundred in CLASSES else "error"


def client(snapshot: Snapshot, _: None) -> Iterator[Metrics]:
    """What the kubelet tells of its client."""
    if snapshot.metrics is not None:
        yield snapshot.metrics


def _histogram(name: str, bounds: tuple[float, ...]) -> Callable[[Metrics], Histogram | None]:
    """All verbs and hosts together."""

    def summed(metrics: Metrics) -> Histogram | None:
        found: Mapping[tuple[str, ...], Histogram] = metrics.histograms(name, bounds)
        return found.get(())

    return summed


API_REQUESTS = Metric(
    "api_requests_total",
    "Requests of the kubelet to the API server by code: 2xx, 3xx, 4xx, 5xx, 401, 403 and 429 (not among the 4xx), or error without an answer.",
    lambda row: row.requests,
    ("code",),
    kind="counter",
)
API_DURATION = Metric(
    "api_request_duration_seconds",
    "How long requests of the kubelet to the API server took.",
    _histogram(DURATION, DURATION_BOUNDS),
    kind="histogram",
    unit="seconds",
)
API_WAIT = Metric(
    "api_rate_limiter_duration_seconds",
    "How long requests of the kubelet waited for its own rate limit (kubeAPIQPS, kubeAPIBurst).",
    _histogram(WAIT, WAIT_BOUNDS),
    kind="histogram",
    unit="seconds",
)

ERROR_RATIO = Record(
    "cluster_node:kubelet_exporter_api_request_errors:ratio15m",
    f"sum by (cluster, node) (increase({API_REQUESTS.where(code='=~5xx|error')}[15m])) "
    f"/ (sum by (cluster, node) (increase({API_REQUESTS}[15m])) > {API_FEWEST})",
)
WAIT_RATIO = Record(
    "cluster_node:kubelet_exporter_api_rate_limiter_long_waits:ratio15m",
    f"1 - sum by (cluster, node) (increase({API_WAIT.where('_bucket', le=f'{API_WAIT_EDGE}')}[15m])) "
    f"/ (sum by (cluster, node) (increase({API_WAIT}_count[15m])) > {API_FEWEST})",
)

DIAGNOSE = f"""
- `{API_REQUESTS}` by code: `error` is no answer at all, `5xx` an answer of the API server or a load balancer before it.
- How many nodes say so? All: the control plane. Few: their network.
- On the node: `journalctl -u kubelet --since -15min | grep -i -e 'dial tcp' -e 'timeout' -e Unauthorized | tail`.
"""

FAILING = Alert(
    "KubeletAPIRequestsFailing",
    f"{ERROR_RATIO} > {API_ERROR_SHARE}",
    HOLD_SHORT,
    "warning",
    "Requests of a kubelet to the API server fail.",
    "{{ $value | humanizePercentage }} of the requests of the kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} to the API server failed within 15 minutes.",
    Runbook(
        f"More than {API_ERROR_SHARE:text} of the kubelet's requests ended without an answer or with a 5xx.",
        "Statuses of pods arrive late, and new pods are seen late. Without a renewed Lease the node turns NotReady.",
        DIAGNOSE,
        "Restore the control plane, its load balancer or the path to it. A restart of the kubelet does not help, unless its log shows one broken connection for "
        "minutes.",
    ),
)
REFUSED = Alert(
    "KubeletAPIRequestsUnauthorized",
    f"max by (cluster, node) (increase({API_REQUESTS.where(code='401')}[15m])) > {API_REFUSED}",
    HOLD_SHORT,
    "critical",
    "The API server does not accept the credentials of a kubelet.",
    "The API server refused {{ $value | humanize }} requests of the kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} with 401 within 15 minutes.",
    Runbook(
        "The kubelet's client certificate has expired, was not renewed, or the CA of the cluster was changed.",
        "The kubelet can report nothing: the node turns NotReady and its pods are started elsewhere.",
        "- On the node: `openssl x509 -noout -dates -issuer -in /var/lib/kubelet/pki/kubelet-client-current.pem`.\n"
        "- `kubectl get csr`: does a request of this node wait for approval?\n"
        "- Is the node's clock right? `timedatectl`.",
        "Approve the waiting request. Expired already: put a bootstrap kubeconfig in place (kubeadm: `kubeadm init phase kubeconfig kubelet` on a control plane node, for this "
        "node's name), remove kubelet-client-current.pem, restart the kubelet.",
    ),
)
WAITING = Alert(
    "KubeletAPIRequestsThrottled",
    f"{WAIT_RATIO} > {API_WAIT_SHARE}",
    HOLD_SHORT,
    "warning",
    "A kubelet is held up by its own rate limit.",
    "{{ $value | humanizePercentage }} of the requests of the kubelet of node {{ $labels.node }} of cluster {{ $labels.cluster }} waited for more than "
    f"{API_WAIT_EDGE:text} for its own rate limit.",
    Runbook(
        "The kubelet sends no more requests a second than `kubeAPIQPS` (50, or 5 before 1.27) after a burst of `kubeAPIBurst` (100, or 10). More wait.",
        "Statuses of pods arrive late, tokens and secrets of new pods are fetched late.",
        "- `kubectl get --raw /api/v1/nodes/NODE/proxy/configz | grep -o '\"kubeAPI[A-Za-z]*\":[0-9]*'`.\n"
        "- Many pods at once, or pods with many secrets and config maps? `kubectl get pods -A --field-selector spec.nodeName=NODE | wc -l`.",
        "Raise `kubeAPIQPS` and `kubeAPIBurst` (the articles' `kubeletAPIQPS` does not exist), and see that the API server bears it.",
    ),
)


def _rate(metric: Metric, suffix: str = "", by: str = "cluster, node", **labels: str) -> str:
    return f"sum by ({by}) (rate({metric.shown(suffix, **labels)}[$__rate_interval]))"


TOPIC = Topic(
    name="api_client",
    title="API server as the kubelet sees it",
    question="Does the API server answer this kubelet: how many of its requests fail, how long do they take, and do they wait for its own limit?",
    tables=(Table(requests, (API_REQUESTS,)), Table(client, (API_DURATION, API_WAIT))),
    alerts=(FAILING, REFUSED, WAITING),
    records=(ERROR_RATIO, WAIT_RATIO),
    boards={
        "runtime": (
            Panel(
                "Requests to the API server",
                "Requests of the kubelet a second, by code. 404 and 409 (among the 4xx) are normal, errors and 5xx are not.",
                (Query(_rate(API_REQUESTS, by="code"), "{{code}}"),),
                unit="reqps",
            ),
            Panel(
                "Time of requests to the API server",
                "Mean time of the kubelet's requests.",
                (Query(f"{_rate(API_DURATION, '_sum')} / {_rate(API_DURATION, '_count')}"),),
                unit="s",
            ),
            Panel(
                "Long waits for the kubelet's own limit",
                f"Share of requests that waited for more than {API_WAIT_EDGE:text} for kubeAPIQPS. Normal is 0.",
                (Query(f"1 - {_rate(API_WAIT, '_bucket', le=f'{API_WAIT_EDGE}')} / {_rate(API_WAIT, '_count')}"),),
                unit="percentunit",
            ),
        ),
    },
    wanted=frozenset({REQUESTS, DURATION, WAIT}),
)
