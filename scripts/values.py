"""Values as a dashboard shows them: units, thresholds, mappings, names, ticks. No drawing, no network."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]
Ladder = Sequence[tuple[float, str]]  # size, suffix
CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
COUNTS = ((1, ""), (1e3, " K"), (1e6, " Mil"), (1e9, " Bil"))
UNITS: dict[str, Ladder] = {
    "none": ((1, ""),),
    "percentunit": ((0.01, "%"),),
    "s": (
        *((1e-9, " ns"), (1e-6, " µs"), (1e-3, " ms"), (1, " s"), (60, " min"), (3600, " hours")),
        *((86400, " days"), (604800, " weeks"), (31557600, " years")),
    ),
    "bytes": [(1024**i, f" {prefix}B") for i, prefix in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi"))],
    "short": COUNTS,
    "ops": [(size, f"{suffix} ops/s") for size, suffix in COUNTS],
    "reqps": [(size, f"{suffix} req/s") for size, suffix in COUNTS],
}


class Series(NamedTuple):
    """One answer of a query: `values` stand at `times` (Unix seconds); a gap is NaN."""

    name: str
    labels: dict[str, str]
    times: list[float]
    values: list[float]


def number(value: float, decimals: int | None = None) -> str:
    """`decimals` places, or three significant digits without trailing zeros."""
    if decimals is not None:
        return f"{value:.{decimals}f}"
    places = 2 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{min(max(places, 0), 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def humanise(value: float, unit: str, decimals: int | None = None) -> str:
    """`value` in words for a Grafana unit; ValueError for a unit that no dashboard of this project has."""
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is not known to this preview, only {', '.join(UNITS)}")
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    fitting = [rung for rung in UNITS[unit] if rung[0] <= (abs(value) or 1) * (1 + 1e-9)]
    size, suffix = fitting[-1] if fitting else UNITS[unit][0]
    return number(value / size, decimals) + suffix


def tick_step(span: float, count: int, unit: str) -> float:
    """The distance of round ticks: powers of two for bytes, steps of the clock for times, else 1, 2, 2.5, 5."""
    raw = span / max(count, 1)
    if unit == "s" and raw >= 1:
        return next((one for one in CLOCK if one >= raw), raw)
    if unit == "bytes":
        return float(2 ** math.ceil(math.log2(raw) - 1e-9))
    power = 10.0 ** math.floor(math.log10(raw))
    return next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= raw * (1 - 1e-9))


def ticks(low: float, high: float, count: int, unit: str) -> dict[float, str]:
    """About `count` round ticks from at most `low` up to `high`, each with a text of its own."""
    step = tick_step(high - low, count, unit)
    places = [i * step for i in range(math.floor(low / step + 1e-6), math.floor(high / step + 1e-6) + 1)]
    texts = [humanise(place, unit) for place in places]
    for decimals in range(1, 10):
        if len(set(texts)) < len(texts):
            texts = [humanise(place, unit, decimals) for place in places]
    return dict(zip(places, texts, strict=True))


def threshold_colour(value: float, steps: Sequence[Json]) -> str:
    """Name of the colour of the last step that `value` reaches; the first step has no bound."""
    colours = [str(step["color"]) for step in steps if step["value"] is None or value >= step["value"]]
    return colours[-1]


def shown(value: float, field: Json) -> tuple[str, str]:
    """Text and colour name of a value under the defaults of a panel; a mapping wins."""
    for mapping in field["mappings"]:
        if found := mapping["options"].get(f"{value:g}"):
            return found["text"], found["color"]
    return humanise(value, field["unit"]), threshold_colour(value, field["thresholds"]["steps"])


def reduced(values: Sequence[float], calc: str) -> float:
    """The last or the largest known value; NaN if there is none."""
    known = [value for value in values if not math.isnan(value)] or [math.nan]
    return {"lastNotNull": known[-1], "max": max(known)}[calc]


def legend(form: str, labels: dict[str, str]) -> str:
    """The name of a series: the text with `{{label}}` filled in."""
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: labels.get(found[1], ""), form)


def table(columns: Json, series: Sequence[Series]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of labels, one row for each series, after the transformation `organize`."""
    order, names = columns["indexByName"], columns["renameByName"]
    labels = sorted({label for one in series for label in one.labels if label in order}, key=order.__getitem__)
    return [names[label] for label in labels], [[one.labels.get(label, "") for label in labels] for one in series]
