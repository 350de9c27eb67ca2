"""Values as a dashboard shows them: units, thresholds, mappings, overrides, names, table rows. No drawing, no network."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

Json = dict[str, Any]
Ladder = Sequence[tuple[float, str]]


class Series(NamedTuple):
    """One answer of a query: `values` stand at `times` (Unix seconds); a gap is NaN."""

    name: str
    labels: dict[str, str]
    times: list[float]
    values: list[float]
    ref: str


def ladder(base: float, prefixes: Sequence[str], suffix: str) -> Ladder:
    return [(base**i, prefix + suffix) for i, prefix in enumerate(prefixes)]


SECONDS: Ladder = [
    *((1e-9, " ns"), (1e-6, " µs"), (1e-3, " ms"), (1, " s"), (60, " min"), (3600, " hours")),
    *((86400, " days"), (604800, " weeks"), (31557600, " years")),
]
BINARY, DECIMAL, COUNT = (
    (" ", " Ki", " Mi", " Gi", " Ti", " Pi"),
    (" ", " k", " M", " G", " T", " P"),
    ("", " K", " Mil", " Bil"),
)
PER_SECOND = {
    "ops": "ops/s",
    "reqps": "req/s",
    "rps": "rd/s",
    "wps": "wr/s",
    "iops": "io/s",
    "cps": "c/s",
    "eps": "evt/s",
}
PER_MINUTE = {"opm": "ops/min", "rpm": "rd/min", "wpm": "wr/min", "cpm": "c/min", "reqpm": "req/min"}
# unit: (factor to the base of the ladder, ladder)
LADDERS: dict[str, tuple[float, Ladder]] = {
    **{
        u: (f, SECONDS)
        for u, f in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400))
    },
    **{u: (1024.0**i, ladder(1024, BINARY, "B")) for i, u in enumerate(("bytes", "kbytes", "mbytes", "gbytes"))},
    **{
        u: (1000.0**i, ladder(1000, DECIMAL, "B"))
        for i, u in enumerate(("decbytes", "deckbytes", "decmbytes", "decgbytes"))
    },
    "binBps": (1, ladder(1024, BINARY, "B/s")),
    "Bps": (1, ladder(1000, DECIMAL, "B/s")),
    "bps": (1, ladder(1000, DECIMAL, "b/s")),
    "short": (1, ladder(1000, COUNT, "")),
    **{u: (1, ladder(1000, COUNT, " " + name)) for u, name in (PER_SECOND | PER_MINUTE).items()},
    **{
        u: (1, ladder(1000, DECIMAL, name))
        for u, name in (("hertz", "Hz"), ("watt", "W"), ("joule", "J"), ("volt", "V"))
    },
}
FACTORS = {
    "percent": (1, "%"),
    "percentunit": (100, "%"),
    "celsius": (1, " °C"),
    "none": (1, ""),
    "": (1, ""),
    "string": (1, ""),
}
WORDS = {"bool": ("False", "True"), "bool_yes_no": ("No", "Yes"), "bool_on_off": ("Off", "On")}

REDUCERS: dict[str, Callable[[list[float]], float]] = {
    "max": max,
    "min": min,
    "sum": sum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "count": len,
    "first": lambda known: known[0],
    "firstNotNull": lambda known: known[0],
    "range": lambda known: max(known) - min(known),
    "diff": lambda known: known[-1] - known[0],
}


def number(value: float, decimals: int | None = None) -> str:
    """`decimals` places, or three significant digits without trailing zeros."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    if decimals is not None:
        return f"{value:.{decimals}f}"
    places = 2 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{min(max(places, 0), 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def on_ladder(value: float, rungs: Ladder, decimals: int | None) -> str:
    fitting = [rung for rung in rungs if rung[0] <= abs(value) * (1 + 1e-9)]
    size, suffix = fitting[-1] if fitting and value else (rungs[0] if value else (1, dict(rungs)[1]))
    return (number(value / size, decimals) + suffix).rstrip()


def from_now(seconds: float) -> str:
    """The largest fitting span in words: -7200 is `2 hours ago`."""
    spans = ((31557600, "year"), (2629800, "month"), (86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
    size, word = next((span for span in spans if span[0] <= abs(seconds)), spans[-1])
    count = int(abs(seconds) // size)
    text = f"{count} {word}{'' if count == 1 else 's'}"
    return f"{text} ago" if seconds <= 0 else f"in {text}"


def moment(value: float, unit: str, now: float) -> str:
    """A point in time given in milliseconds; all times are UTC."""
    if unit == "dateTimeFromNow":
        return from_now(value / 1000 - now)
    return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def humanise(value: float, unit: str = "none", decimals: int | None = None, now: float = 0) -> str:
    """`value` in words for the Grafana unit id `unit`; an unknown unit is written behind the number."""
    if not math.isfinite(value):
        return number(value)
    if unit in WORDS or unit.startswith("dateTime"):
        return WORDS[unit][bool(value)] if unit in WORDS else moment(value, unit, now)
    if unit in FACTORS:
        factor, suffix = FACTORS[unit]
        return number(value * factor, decimals) + suffix
    if unit in LADDERS:
        scale, rungs = LADDERS[unit]
        return on_ladder(value * scale, rungs, decimals)
    if unit.startswith("prefix:"):
        return unit[7:] + number(value, decimals)
    return f"{number(value, decimals)} {unit.removeprefix('suffix:')}"


def threshold_colour(value: float, thresholds: Json, low: float = 0, high: float = 100) -> str:
    """Name of the colour of the last step that `value` reaches; steps in percent are taken of low to high."""
    colour = "green"
    for step in thresholds.get("steps") or []:
        bound = step.get("value")
        if bound is not None and thresholds.get("mode") == "percentage":
            bound = low + bound / 100 * (high - low)
        if bound is None or value >= bound:
            colour = step["color"]
    return colour


def in_range(value: float | str, options: Json) -> bool:
    if isinstance(value, str) or math.isnan(value):
        return False
    low, high = options.get("from"), options.get("to")
    return (low is None or value >= low) and (high is None or value <= high)


def is_special(value: float | str, match: str) -> bool:
    if isinstance(value, str):
        return match == "empty" and not value
    return match in {"null", "nan", "null+nan"} and math.isnan(value)


def key_of(value: float | str) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def mapped(value: float | str, mappings: Sequence[Json]) -> Json:
    """The `text` and `color` of the first mapping that fits; empty if none does."""
    for mapping in mappings:
        options, kind = mapping.get("options", {}), mapping.get("type")
        if kind == "value" and key_of(value) in options:
            return dict(options[key_of(value)])
        fits = (
            (kind == "range" and in_range(value, options))
            or (kind == "special" and is_special(value, options.get("match", "")))
            or (kind == "regex" and bool(re.search(options.get("pattern", "").strip("/"), str(value))))
        )
        if fits:
            return dict(options.get("result", {}))
    return {}


def matches(matcher: Json, name: str, ref: str) -> bool:
    wanted = matcher.get("options", "")
    if matcher.get("id") == "byRegexp":
        return bool(re.search(str(wanted).strip("/"), name))
    return {"byName": name, "byFrameRefID": ref}.get(str(matcher.get("id"))) == str(wanted)


def field(panel: Json, name: str, ref: str = "") -> Json:
    """fieldConfig.defaults of the panel with the overrides for the field `name` of query `ref` on top."""
    config = panel.get("fieldConfig", {})
    settings: Json = dict(config.get("defaults", {}))
    settings["custom"] = dict(settings.get("custom", {}))
    for override in config.get("overrides", []):
        if matches(override.get("matcher", {}), name, ref):
            for one in override.get("properties", []):
                key = one["id"].removeprefix("custom.")
                (settings if key == one["id"] else settings["custom"])[key] = one.get("value")
    return settings


def shown(value: float | str, settings: Json, now: float) -> tuple[str, str]:
    """Text and colour name of a value under the settings of its field."""
    found = mapped(value, settings.get("mappings") or [])
    if isinstance(value, str):
        return found.get("text", value), found.get("color", "text")
    low, high = settings.get("min", 0), settings.get("max", 100)
    mode = settings.get("color", {})
    plain = mode.get("fixedColor", "text") if mode.get("mode") == "fixed" else None
    colour = plain or threshold_colour(value, settings.get("thresholds", {}), low, high)
    text = humanise(value, settings.get("unit") or "none", settings.get("decimals"), now)
    return found.get("text") or text, found.get("color") or colour


def reduced(values: Sequence[float], calc: str) -> float:
    """One number of a series, as Grafana's reducers do; NaN if there is none."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan
    return float(REDUCERS[calc](known)) if calc in REDUCERS else known[-1]


def legend(form: str, labels: dict[str, str]) -> str:
    """The name of a series: `{{label}}` filled in, else its labels as Prometheus writes them."""
    if form and form != "__auto":
        return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: labels.get(found[1], ""), form)
    pairs = ", ".join(f'{key}="{value}"' for key, value in labels.items() if key != "__name__")
    return labels.get("__name__", "") + ("{" + pairs + "}" if pairs else "") or "Value"


def joined(series: Sequence[Series], by: str | None) -> list[Json]:
    """Rows of one or more queries, joined on the label `by` or else on the labels that all of them have."""
    refs = list(dict.fromkeys(one.ref for one in series))
    common = set.intersection(*({*one.labels} for one in series)) - {"__name__"} if series else set()
    rows: dict[tuple[str, ...], Json] = {}
    for position, one in enumerate(series):
        key = tuple(one.labels.get(label, "") for label in ([by] if by else sorted(common)))
        row = rows.setdefault((*key, "" if len(refs) > 1 else str(position)), {"Time": one.times[-1] * 1000})
        row.update({label: text for label, text in sorted(one.labels.items()) if label not in row})
        row[f"Value #{one.ref}" if len(refs) > 1 else "Value"] = reduced(one.values, "lastNotNull")
    return list(rows.values())


def organised(columns: list[str], options: Json) -> dict[str, str]:
    """The kept columns in their order, each with its new name."""
    order, hidden = options.get("indexByName", {}), options.get("excludeByName", {})
    kept = sorted((c for c in columns if not hidden.get(c)), key=lambda c: order.get(c, len(columns)))
    return {column: options.get("renameByName", {}).get(column) or column for column in kept}


def table(panel: Json, series: Sequence[Series]) -> tuple[list[str], list[Json]]:
    """Column names and rows after merge, joinByField, filterFieldsByName, organize and sortBy."""
    steps = [(one.get("id"), one.get("options", {})) for one in panel.get("transformations", [])]
    rows = joined(series, next((options.get("byField") for kind, options in steps if kind == "joinByField"), None))
    columns = list(dict.fromkeys(column for row in rows for column in row))
    columns.sort(key=lambda column: (column != "Time", column.startswith("Value")))
    sorting = [(one.get("displayName"), one.get("desc")) for one in panel.get("options", {}).get("sortBy", [])]
    for kind, options in steps:
        if kind == "filterFieldsByName" and "names" in options.get("include", {}):
            columns = [column for column in columns if column in options["include"]["names"]]
        elif kind == "organize":
            names = organised(columns, options)
            columns, rows = (
                [*names.values()],
                [{new: row[old] for old, new in names.items() if old in row} for row in rows],
            )
        elif kind == "sortBy":
            sorting = sorting or [(one.get("field"), one.get("desc")) for one in options.get("sort", [])]
    for name, descending in reversed(sorting):
        absent = [row for row in rows if name not in row]
        rows = sorted((row for row in rows if name in row), key=lambda r: r[name], reverse=bool(descending)) + absent
    return columns, rows
