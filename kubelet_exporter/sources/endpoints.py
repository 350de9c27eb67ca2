"""Which paths of the kubelet are read, and how. Deadlines, limits and decoders in one table."""

import re
from collections.abc import Mapping

from kubelet_exporter import catalog
from kubelet_exporter.snapshot import Source
from kubelet_exporter.sources import decode, metrics, pods, summary
from kubelet_exporter.sources.decode import Decoder
from kubelet_exporter.sources.kubelet import JSON, TEXT, Endpoint

MIB = 2**20

PATHS: Mapping[str, Source] = {
    "/healthz": Source.HEALTHZ,
    "/pods": Source.PODS,
    "/metrics": Source.METRICS,
    "/metrics/probes": Source.PROBES,
    "/stats/summary": Source.SUMMARY,
    "/configz": Source.CONFIGZ,
}
INTERVALS: Mapping[Source, float] = {
    Source.HEALTHZ: 5,
    Source.PODS: 5,
    Source.METRICS: 15,
    Source.PROBES: 30,
    Source.SUMMARY: 15,
    Source.CONFIGZ: 300,
}
LIMITS: Mapping[Source, int] = {
    Source.HEALTHZ: MIB // 16,
    Source.PODS: 64 * MIB,
    Source.METRICS: 32 * MIB,
    Source.PROBES: 32 * MIB,
    Source.SUMMARY: 64 * MIB,
    Source.CONFIGZ: 4 * MIB,
}
TEXTS = frozenset({Source.HEALTHZ, Source.METRICS, Source.PROBES})
PROBES = "prober_probe_total"
# A kubelet that cannot reach the API server answers 401 after ten seconds: that answer tells more than a timeout.
DEADLINE = 12.0


def decoders(excluded: re.Pattern[str] | None = None) -> Mapping[Source, Decoder]:
    """A decoder for each source."""
    return {
        Source.HEALTHZ: decode.healthz,
        Source.PODS: pods.pods(),
        Source.METRICS: metrics.metrics(catalog.WANTED),
        Source.PROBES: metrics.metrics({PROBES}),
        Source.SUMMARY: summary.summary(excluded),
        Source.CONFIGZ: decode.configz,
        Source.NODE: decode.node,
        Source.LEASE: decode.lease,
    }


def endpoints(
    intervals: Mapping[Source, float] = INTERVALS,
    deadline: float = DEADLINE,
    excluded: re.Pattern[str] | None = None,
) -> tuple[Endpoint, ...]:
    """The kubelet's endpoints; intervals and the deadline in seconds."""
    decoder = decoders(excluded)
    return tuple(
        Endpoint(
            source=source,
            path=path,
            interval=intervals[source],
            deadline=deadline,
            limit=LIMITS[source],
            content_types=TEXT if source in TEXTS else JSON,
            decode=decoder[source],
        )
        for path, source in PATHS.items()
    )
