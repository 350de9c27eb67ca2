"""Small bodies as a kubelet and an API server answer, and what the exporter makes of them. All names are invented."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from kubelet_exporter.catalog.model import PREFIX
from kubelet_exporter.snapshot import Failure, Reading, Reason, Snapshot, Source
from kubelet_exporter.sources.decode import Decoder, Malformed
from kubelet_exporter.sources.endpoints import decoders
from kubelet_exporter.state import State
from kubelet_exporter.units import rfc3339

NOW = 1_800_000_000.0
SEEN = "kubelet_pleg_last_seen_seconds"
RELISTS = "kubelet_pleg_relist_duration_seconds"
WRONG: dict[str, Any] = {"null": None, "number": 7, "text": "text", "list": [], "object": {}, "true": True}


def body(document: Any) -> bytes:
    """A document as JSON."""
    return json.dumps(document).encode()


def pod(name: str = "web-0", uid: str = "uid-a", phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    """A pod as /pods lists it."""
    return {"metadata": {"namespace": "shop", "name": name, "uid": uid, **metadata}, "status": {"phase": phase}}


def pods(*items: Any) -> bytes:
    """An answer of /pods."""
    return body({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": list(items)})


def volume(claim: str = "data", namespace: str = "shop", **numbers: Any) -> dict[str, Any]:
    """A volume of /stats/summary that belongs to a claim."""
    return {"name": "mount", "pvcRef": {"name": claim, "namespace": namespace}, "time": rfc3339(NOW), **numbers}


PODS = pods(pod("a", "1"), pod("b", "2", "Pending"), pod("c", "3", "Failed"), pod("d", "4", "Failed"))
FULL: dict[str, Any] = {
    "capacityBytes": 100,
    "availableBytes": 25,
    "usedBytes": 70,
    "inodes": 50,
    "inodesFree": 40,
    "inodesUsed": 10,
}


def summary(*volumes: Any, pods: Any = None) -> bytes:
    """An answer of /stats/summary: one pod with these volumes, or these pods."""
    listed = [{"podRef": {"name": "web-0"}, "volume": list(volumes)}] if pods is None else pods
    return body({"node": {"nodeName": "node-a"}, "pods": listed})


def condition(kind: str = "Ready", status: str = "True", **times: Any) -> dict[str, Any]:
    """A condition of a Node."""
    return {"type": kind, "status": status, "reason": "Because", "message": "as it is", **times}


def node(*conditions: Any, **status: Any) -> bytes:
    """A Node object."""
    return body({"metadata": {"name": "node-a"}, "status": {"conditions": list(conditions), **status}})


def configz(**settings: Any) -> bytes:
    """An answer of /configz."""
    return body({"kubeletconfig": settings})


def histogram(name: str = RELISTS, buckets: Mapping[str, float] | None = None, total: float = 0.5) -> str:
    """A histogram of the kubelet's metrics text; bounds and cumulative counts."""
    buckets = {"0.1": 3, "1": 4, "+Inf": 4} if buckets is None else buckets
    lines = [f'{name}_bucket{{le="{bound}"}} {count}' for bound, count in buckets.items()]
    count = list(buckets.values())[-1]
    return "\n".join(
        [f"# HELP {name} Text.", f"# TYPE {name} histogram", *lines, f"{name}_sum {total}", f"{name}_count {count}", ""]
    )


class Known(State):
    """A State on a clock that stands still until it is set."""

    def __init__(self, **settings: Any) -> None:
        """Begin at NOW with nothing read, and without the label that every series has."""
        super().__init__(Snapshot("node-a", 0.0), clock=lambda: NOW, **{"node_label": False, **settings})
        self.decoders: Mapping[Source, Decoder] = decoders()

    def at(self, now: float) -> Known:
        """Set the clock."""
        self.clock = lambda: now
        self.scrapes.clear()
        return self

    def read(self, source: Source, content: bytes | str) -> Known:
        """Take an answer, read now; a body that is refused becomes a failed reading."""
        now, raw = self.clock(), content.encode() if isinstance(content, str) else content
        try:
            decoded = self.decoders[source](raw)
        except Malformed as error:
            return self.fail(source, Reason.MALFORMED, str(error))
        self.take(Reading(source, now, 0.25, len(raw), value=decoded.value, read_at=now, dropped=decoded.dropped))
        return self

    def fail(self, source: Source, reason: Reason = Reason.TIMEOUT, message: str = "no answer") -> Known:
        """Take a failed reading."""
        self.take(Reading(source, self.clock(), 12.0, failure=Failure(reason, message)))
        return self

    def text(self) -> str:
        """The whole scrape."""
        return self.scrape().plain.decode()

    def series(self, *names: str) -> list[str]:
        """The lines of these metrics, without the prefix that all have; of all metrics if none is named."""
        lines = [line.removeprefix(PREFIX) for line in self.text().splitlines() if not line.startswith("#")]
        return [line for line in lines if not names or re.split(r"[ {]", line)[0] in names]

    def values(self, begin: str) -> dict[str, float]:
        """The values of the metrics that begin so, by name; the last where a metric has several series."""
        lines = [line.rsplit(" ", 1) for line in self.series() if line.startswith(begin)]
        return {name.partition("{")[0]: float(value) for name, value in lines}


def everything() -> Known:
    """A node that tells all that there is, with its label."""
    known = Known(node_label=True).read(Source.PODS, pods(pod())).read(Source.CONFIGZ, configz(maxPods=110))
    known.read(Source.NODE, node(condition(lastHeartbeatTime=rfc3339(NOW)), condition("MemoryPressure")))
    known.read(Source.SUMMARY, summary(volume(**FULL))).read(Source.METRICS, f"{SEEN} 5\n{histogram()}")
    return known.read(Source.LEASE, body({"spec": {"renewTime": rfc3339(NOW)}}))


def faults(text: str) -> list[str]:
    """What no scrape may contain: NaN, a negative number, a series twice, a line that is none."""
    try:
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    except ValueError as error:
        return [f"no line: {error}"]
    seen = Counter((sample.name, *sorted(sample.labels.items())) for sample in samples)
    return [
        *(f"NaN: {sample.name} {sample.labels}" for sample in samples if math.isnan(sample.value)),
        *(f"negative: {sample.name} {sample.labels} {sample.value}" for sample in samples if sample.value < 0),
        *(f"twice: {series}" for series, count in seen.items() if count > 1),
    ]
