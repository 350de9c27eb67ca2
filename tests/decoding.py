"""What the decoder of /pods makes of one pod or container."""

from __future__ import annotations

from typing import Any

from bodies import pod, pods

from kubelet_exporter.pod import Container, Pod
from kubelet_exporter.sources.pods import pods as pods_decoder

# Times that are none.
ZERO = ("1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", None, "", "yesterday")


def decoded(item: Any) -> Pod:
    """One pod, of which nothing may be dropped."""
    result = pods_decoder()(pods(item))
    assert {} == dict(result.dropped)
    (found,) = result.value
    assert isinstance(found, Pod)
    return found


def with_spec(**spec: Any) -> Pod:
    """A pod with this spec."""
    return decoded({**pod(), "spec": spec})


def with_status(**status: Any) -> Pod:
    """A pod with this status."""
    return decoded({**pod(), "status": status})


def with_container(role: str = "app", **status: Any) -> Container:
    """The container of a pod that has this status."""
    kind = "containers" if role == "app" else "initContainers"
    spec = {"name": "c", **({"restartPolicy": "Always"} if role == "sidecar" else {})}
    statuses = [{"name": "c", "restartCount": 0, **status}]
    key = "containerStatuses" if role == "app" else "initContainerStatuses"
    return decoded({**pod(), "spec": {kind: [spec]}, "status": {key: statuses}}).containers[0]
