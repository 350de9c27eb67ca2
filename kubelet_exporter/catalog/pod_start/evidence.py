"""What the node's own counters say of starts: image pulls that ended, sandboxes and mounts that failed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kubelet_exporter.catalog.blame import Blame
from kubelet_exporter.catalog.tally import Interval
from kubelet_exporter.pod import Pod
from kubelet_exporter.samples import Metrics
from kubelet_exporter.snapshot import BUILD_INFO

PULL = "kubelet_image_pull_duration_seconds"
SANDBOX_ERRORS = "kubelet_run_podsandbox_errors_total"
STORAGE = "storage_operation_duration_seconds"
SANDBOXES = "kubelet_run_podsandbox_duration_seconds"
BORN = "process_start_time_seconds"
WANTED = frozenset({PULL, SANDBOX_ERRORS, SANDBOXES, STORAGE, BORN, BUILD_INFO})

# Volumes whose mount fails because an object that the user names does not exist.
USER_PLUGINS: Mapping[str, str] = {"kubernetes.io/configmap": "configMap", "kubernetes.io/secret": "secret"}
# Volumes that need no storage but the node's. Nearly every pod has a projected one, with its token: it tells nothing.
NO_STORAGE = frozenset(
    {*USER_PLUGINS, *(f"kubernetes.io/{each}" for each in ("projected", "downward-api", "empty-dir", "git-repo"))}
)


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of the kubelet at one reading; pulls are None where the kubelet (before 1.30) does not tell them.

    `born` is when the kubelet started, `sandboxes` are attempts and `sandbox_errors` failures by handler.
    """

    at: float
    born: float | None
    pulls: float | None
    pull_seconds: float
    sandboxes: Mapping[str, float]
    sandbox_errors: Mapping[str, float]
    mount_errors: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Window:
    """What happened between two readings; pulls are None if it is unknown, as after a restart of the kubelet.

    `unknown_handlers` are the failed handlers of the runtime that have never worked.
    """

    begin: float
    end: float
    pulls: float | None
    pull_seconds: float
    failed_handlers: frozenset[str] = frozenset()
    failed_plugins: frozenset[str] = frozenset()
    unknown_handlers: frozenset[str] = frozenset()


def counters(metrics: Metrics, at: float) -> Counters:
    """The counters in one reading of /metrics."""
    counts = metrics.samples.get(f"{PULL}_count")
    sums = metrics.samples.get(f"{PULL}_sum", ())
    return Counters(
        at,
        metrics.value(BORN),
        None if counts is None else sum(sample.value for sample in counts),
        sum(sample.value for sample in sums),
        _by_handler(metrics, f"{SANDBOXES}_count"),
        _by_handler(metrics, SANDBOX_ERRORS),
        _failed_mounts(metrics),
    )


def _by_handler(metrics: Metrics, name: str) -> Mapping[str, float]:
    return {sample.labels.get("runtime_handler", ""): sample.value for sample in metrics.samples.get(name, ())}


def _failed_mounts(metrics: Metrics) -> Mapping[str, float]:
    failed: dict[str, float] = {}
    for sample in metrics.samples.get(f"{STORAGE}_count", ()):
        if sample.labels.get("status") != "success":
            plugin = sample.labels.get("volume_plugin", "")
            failed[plugin] = failed.get(plugin, 0.0) + sample.value
    return failed


def between(last: Counters, now: Counters, *, pulls_known: bool) -> Window:
    """What happened between two readings. A counter that is absent at first is born within the window, at 0.

    The family of pulls is absent until the first pull; `pulls_known` tells whether this kubelet has it at all.
    """
    if last.born != now.born:
        last = Counters(last.at, now.born, None, 0.0, {}, {}, {})
        pulls_known = False
    before = last.pulls if last.pulls is not None else 0.0 if pulls_known else None
    after = now.pulls if now.pulls is not None else before
    pulls = None if before is None or after is None or after < before else after - before
    failed = _grown(last.sandbox_errors, now.sandbox_errors)
    return Window(
        last.at,
        now.at,
        pulls,
        max(0.0, now.pull_seconds - last.pull_seconds) if pulls else 0.0,
        failed,
        _grown(last.mount_errors, now.mount_errors),
        frozenset(each for each in failed if now.sandboxes.get(each, 0.0) <= now.sandbox_errors[each]),
    )


def _grown(last: Mapping[str, float], now: Mapping[str, float]) -> frozenset[str]:
    return frozenset(key for key, value in now.items() if value > last.get(key, 0.0))


def _touching(windows: Iterable[Window], within: Interval) -> Sequence[Window]:
    begin, end = within
    return sorted((each for each in windows if each.end > begin and each.begin < end), key=lambda each: each.begin)


def span(windows: Iterable[Window], within: Interval) -> Interval:
    """The interval, widened to the windows that touch it."""
    touching = _touching(windows, within)
    return min([within[0], *(each.begin for each in touching)]), max([within[1], *(each.end for each in touching)])


def pulled(windows: Iterable[Window], within: Interval) -> tuple[float, float] | None:
    """Number and seconds of the pulls that ended in the windows that touch an interval: an upper bound of what happened in it.

    None if the windows do not cover the interval or one of them does not know.
    """
    begin, end = within
    touching = _touching(windows, within)
    if not touching or touching[0].begin > begin or touching[-1].end < end:
        return None
    if any(each.pulls is None for each in touching):
        return None
    return sum(each.pulls or 0.0 for each in touching), sum(each.pull_seconds for each in touching)


def against(pod: Pod, window: Window) -> Blame | None:
    """Whom the failures of a window blame for a pod that has no sandbox yet."""
    for plugin in window.failed_plugins:
        if USER_PLUGINS.get(plugin) in pod.volumes:
            return "user"
    named = window.failed_handlers - {""} if pod.runtime_class else frozenset()
    if named and named <= window.unknown_handlers:
        return "user"
    if named or "" in window.failed_handlers:
        return "runtime" if pod.host_network else "network"
    return "storage" if window.failed_plugins - NO_STORAGE and not pod.stateless else None
