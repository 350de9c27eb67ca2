"""The kubelet's metrics text: wanted families are cut out of the body, then parsed by prometheus_client one by one."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from prometheus_client.parser import text_string_to_metric_families

from kubelet_exporter.samples import Metrics, Sample
from kubelet_exporter.sources.decode import Decoded, Decoder, Malformed


def metrics(wanted: Iterable[str]) -> Decoder:
    """A decoder of the text format 0.0.4 into Metrics of the wanted families, which are named literally.

    A family with a bad line is left out whole and counted as malformed; samples that are NaN or -Inf as not_finite.
    """
    names = "|".join(sorted(map(re.escape, wanted), key=len, reverse=True))
    line = re.compile(rf"^(?:# (?:HELP|TYPE) )?({names})(?:_bucket|_sum|_count)?(?!\w|:).*\n".encode(), re.MULTILINE)

    def decode(body: bytes) -> Decoded:
        if not body.endswith(b"\n"):
            raise Malformed("the last line has no end")
        if body.lstrip()[:1] in (b"<", b"{", b"["):
            raise Malformed("HTML or JSON, not metrics")
        lines: dict[bytes, list[bytes]] = {}
        for match in line.finditer(body):
            lines.setdefault(match[1], []).append(match[0])
        dropped: Counter[str] = Counter()
        samples: dict[str, list[Sample]] = {}
        for family, text in lines.items():
            for name, sample in _parsed(family.decode(), b"".join(text), dropped):
                samples.setdefault(name, []).append(sample)
        return Decoded(Metrics({name: tuple(found) for name, found in samples.items()}), dropped)

    return decode


def _parsed(family: str, text: bytes, dropped: Counter[str]) -> list[tuple[str, Sample]]:
    try:
        parsed = [
            (_literal(family, sample.name), Sample(sample.labels, float(sample.value)))
            for metric in text_string_to_metric_families(text.decode())
            for sample in metric.samples
        ]
        _check(family, parsed)
    except (ValueError, IndexError, KeyError, OverflowError):
        dropped["malformed"] += 1
        return []
    good = [(name, sample) for name, sample in parsed if not math.isnan(sample.value) and sample.value != -math.inf]
    dropped["not_finite"] += len(parsed) - len(good)
    return good


def _check(family: str, parsed: Sequence[tuple[str, Sample]]) -> None:
    """Raise where the parser is laxer than the format: KeyError, ValueError for a bucket without a bound or a series twice."""
    series = {_series(family, name, sample.labels) for name, sample in parsed}
    if len(series) != len(parsed):
        raise ValueError("a series twice")


def _series(family: str, name: str, labels: Mapping[str, str]) -> object:
    """What tells one series from another; 1 and 1.0 are the bound of one bucket."""
    if name != f"{family}_bucket":
        return name, frozenset(labels.items())
    bound = float(labels["le"])
    if math.isnan(bound):
        raise ValueError("a bucket without a bound")
    return name, bound, frozenset(item for item in labels.items() if item[0] != "le")


def _literal(family: str, name: str) -> str:
    """The name as it stands on the line: the parser adds _total to counters that lack it."""
    return family if name == f"{family}_total" else name
