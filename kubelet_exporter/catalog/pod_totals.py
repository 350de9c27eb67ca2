"""What a pod requests and may use as a whole.

Source: k8s.io/component-helpers/resource/helpers.go PodRequests, PodLimits.
"""

from collections.abc import Iterable
from typing import Literal

from kubelet_exporter.pod import Container, Pod, Resources


def request(pod: Pod) -> Resources:
    """What a pod requests of each resource: of the pod as a whole, else the most that its containers request at one time."""
    return _total(pod, "requests")


def limit(pod: Pod) -> Resources:
    """What a pod may use of each resource, where any of its containers is limited."""
    return _total(pod, "limits")


def _total(pod: Pod, kind: Literal["requests", "limits"]) -> Resources:
    whole: Resources = getattr(pod, kind)
    totals = []
    for name in ("cpu", "memory", "storage"):
        given = getattr(whole, name)
        total = _most_at_once(pod.containers, kind, name) if given is None else given
        overhead = getattr(pod.overhead, name)
        totals.append(total + overhead if total is not None and overhead is not None else total)
    return Resources(*totals)


def _most_at_once(containers: Iterable[Container], kind: str, name: str) -> float | None:
    """Sidecars and containers run together, an init container beside the sidecars before it."""
    together: float | None = None
    apps: float | None = None
    peak: float | None = None
    for container in containers:
        amount = getattr(getattr(container, kind), name)
        if amount is None:
            continue
        if container.role == "app":
            apps = (apps or 0.0) + amount
        elif container.role == "sidecar":
            together = (together or 0.0) + amount
            peak = max(peak or 0.0, together)
        else:
            peak = max(peak or 0.0, (together or 0.0) + amount)
    running = None if apps is None and together is None else (apps or 0.0) + (together or 0.0)
    return max((each for each in (running, peak) if each is not None), default=None)
