"""How long do image pulls take on this node, by the size of the image?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kubelet_exporter.catalog.model import Metric, Panel, Query, Table, Topic
from kubelet_exporter.catalog.pod_start.evidence import PULL
from kubelet_exporter.samples import Histogram, Metrics
from kubelet_exporter.snapshot import Snapshot

# Subset of the kubelet's bounds (pkg/kubelet/metrics/metrics.go imagePullDurationBuckets).
BOUNDS = frozenset({1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, math.inf})


@dataclass(frozen=True, slots=True)
class Pulls:
    """The distribution of the times of pulls of images of one size."""

    size: str
    histogram: Histogram


def pulls(snapshot: Snapshot, _: None) -> Iterator[Pulls]:
    """One row a size that was pulled."""
    metrics = snapshot.metrics
    if metrics is None:
        return
    sizes = {sample.labels.get("image_size_in_bytes", "") for sample in metrics.samples.get(f"{PULL}_count", ())}
    for size in sorted(sizes - {""}):
        histogram = _histogram(metrics, size)
        if histogram is not None:
            yield Pulls(size, histogram)


def _histogram(metrics: Metrics, size: str) -> Histogram | None:
    """The histogram of one size, thinned to BOUNDS."""
    whole = metrics.histogram(PULL, image_size_in_bytes=size)
    if whole is None:
        return None
    return Histogram(tuple(bucket for bucket in whole.buckets if bucket[0] in BOUNDS), whole.sum)


IMAGE_PULL_BY_SIZE = Metric(
    "image_pull_by_size_seconds",
    "Time of image pulls that succeeded, with the wait in the kubelet's queue, by image size, from the kubelet's histogram.",
    lambda row: row.histogram,
    ("size",),
    kind="histogram",
    unit="seconds",
)

TOPIC = Topic(
    name="image_pulls",
    title="Image pulls",
    question="How long do image pulls take on this node, by the size of the image?",
    tables=(Table(pulls, (IMAGE_PULL_BY_SIZE,)),),
    boards={
        "pod-start": (
            Panel(
                "Image pulls by size",
                "Mean time of pulls with their wait in the queue, by image size.",
                (
                    Query(
                        f"sum by (size) (rate({IMAGE_PULL_BY_SIZE.shown('_sum')}[$__rate_interval])) "
                        f"/ sum by (size) (rate({IMAGE_PULL_BY_SIZE.shown('_count')}[$__rate_interval]))",
                        "{{size}}",
                    ),
                ),
                unit="s",
                width=12,
            ),
        ),
    },
    wanted=frozenset({PULL}),
)
