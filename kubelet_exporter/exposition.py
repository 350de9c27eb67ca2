"""Renders the rows of the catalogue as a scrape. Owns prometheus_client's metric families and encoders."""

import gzip
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import exposition
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from kubelet_exporter import catalog
from kubelet_exporter.catalog.model import Metric as Column
from kubelet_exporter.catalog.model import Table
from kubelet_exporter.samples import Histogram


@dataclass(frozen=True, slots=True)
class Scrape:
    """An answer to a scrape: its content type and its bytes, plain and zipped."""

    content_type: str
    plain: bytes
    zipped: bytes


@dataclass(eq=False)
class _Filled(Collector):
    families: Sequence[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


def render(filled: catalog.Filled, node: str | None, accept: str) -> Scrape:
    """The scrape in the format that the Accept header asks for; `node` is added to every series unless it is None."""
    families = [family for table, rows in filled for family in _families(table, rows, node)]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Filled(families))
    encode, content_type = exposition.choose_encoder(accept)
    plain: bytes = encode(registry)
    return Scrape(content_type, plain, gzip.compress(plain, compresslevel=1, mtime=0))


def _families(table: Table, rows: Sequence[Any], node: str | None) -> Iterator[Metric]:
    for column in table.metrics:
        names = ([] if node is None else ["node"]) + list(column.labels)
        family = FAMILIES[column.kind](str(column).removesuffix("_info"), column.help, labels=names)
        for row in rows:
            values = [str(getattr(row, KEYWORDS.get(label, label))) for label in column.labels]
            _add(family, column, [*([] if node is None else [node]), *values], column.value(row))
        yield family


# Labels that no attribute of a row can be named after.
KEYWORDS = {"class": "class_"}
FAMILIES: dict[str, type[Any]] = {
    "gauge": GaugeMetricFamily,
    "counter": CounterMetricFamily,
    "histogram": HistogramMetricFamily,
    "info": InfoMetricFamily,
}


def _add(family: Any, column: Column, labels: Sequence[str], value: float | Histogram | None) -> None:
    if isinstance(value, Histogram):
        buckets = [(_bound(bound), count) for bound, count in value.buckets]
        family.add_metric(labels, buckets=buckets, sum_value=value.sum)
    elif column.kind == "info":
        family.add_metric(labels, {})
    elif value is not None:
        family.add_metric(labels, value)


def _bound(bound: float) -> str:
    return "+Inf" if math.isinf(bound) else repr(float(bound))
