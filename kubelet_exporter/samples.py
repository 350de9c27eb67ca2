"""Samples and histograms of the kubelet's metrics text. Standard library only."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of the kubelet's metrics text."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Cumulative buckets (upper bound, count) in rising order with +Inf last, and the sum of what was observed."""

    buckets: tuple[tuple[float, float], ...]
    sum: float

    @property
    def count(self) -> float:
        """How many observations there were."""
        return self.buckets[-1][1]

    @property
    def possible(self) -> bool:
        """Whether this can be: it has +Inf, and nothing in it is negative, infinite or falling."""
        counts = [count for _, count in self.buckets]
        whole = bool(self.buckets) and self.buckets[-1][0] == inf and counts == sorted(counts)
        return whole and all(0 <= value < inf for value in (*counts, self.sum))


@dataclass(frozen=True, slots=True)
class Metrics:
    """Wanted samples of the kubelet's metrics text, by the literal name on the line."""

    samples: Mapping[str, tuple[Sample, ...]]

    def value(self, name: str) -> float | None:
        """The value of a metric without labels; None if it cannot be: negative or infinite."""
        return self.totals(name).get(())

    def histogram(self, name: str, **labels: str) -> Histogram | None:
        """A histogram with just these labels; None if any part of it is missing or cannot be: negative, infinite or falling."""
        sums = [s.value for s in self.samples.get(f"{name}_sum", ()) if s.labels == labels]
        found = [s for s in self.samples.get(f"{name}_bucket", ()) if s.labels.items() >= labels.items()]
        pairs = sorted((float(s.labels["le"]), s.value) for s in found if len(s.labels) == len(labels) + 1)
        histogram = Histogram(tuple(pairs), sums[0]) if sums else None
        return histogram if histogram and histogram.possible else None

    def totals(self, name: str, *by: str) -> Mapping[tuple[str, ...], float]:
        """The samples of a metric summed by the values of these labels; "" stands for a label that is missing.

        A sum with a part that cannot be, negative or infinite, is left out.
        """
        return {key: total for key, total in self._sums(name, *by).items() if 0 <= total < inf}

    def _sums(self, name: str, *by: str) -> Mapping[tuple[str, ...], float]:
        sums: dict[tuple[str, ...], float] = {}
        for sample in self.samples.get(name, ()):
            key = tuple(sample.labels.get(label, "") for label in by)
            sums[key] = sums.get(key, 0.0) + (sample.value if sample.value >= 0 else inf)
        return sums

    def histograms(self, name: str, bounds: Collection[float], *by: str) -> Mapping[tuple[str, ...], Histogram]:
        """Histograms summed by the values of these labels, with those of the bounds that the kubelet has, and +Inf.

        A sum that cannot be (falling, negative, infinite, without its sum or its +Inf) is left out.
        """
        totals = self._sums(f"{name}_sum", *by)
        counts: dict[tuple[str, ...], dict[float, float]] = {key: {} for key in totals}
        for (bound, *key), count in self._sums(f"{name}_bucket", "le", *by).items():
            if tuple(key) in counts and (float(bound) in bounds or float(bound) == inf):
                counts[tuple(key)][float(bound)] = count
        found = {key: Histogram(tuple(sorted(counts[key].items())), total) for key, total in totals.items()}
        return {key: histogram for key, histogram in found.items() if histogram.possible}
