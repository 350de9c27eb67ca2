"""Draw a Grafana dashboard file as a PNG picture from a real Prometheus. A preview, not Grafana.

    python scripts/picture.py dashboards/overview.json --prometheus http://127.0.0.1:9090 --out docs/overview.png

All times are UTC. The exit status is 1 if a query fails, and with --strict also if one returns no series.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import panels
import paper
from values import Json, Series, legend

SCRAPE_INTERVAL = 15
STEPS = (15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
MARGIN, ROW, GAP, HEAD = 16, 30, 8, 60  # pixels; a grid row of Grafana is 30 high with gaps of 8
COLUMNS = 24
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::\w+)?\}|([A-Za-z_]\w*))")
ONE_VALUE_TYPES = {"custom", "constant", "interval", "textbox"}
EVERYTHING = ".*"


def duration(text: str) -> int:
    """Seconds of `90s`, `15m`, `6h`, `7d` or `1w`; ValueError for anything else."""
    found = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if not found:
        raise ValueError(f"not a duration: {text!r}")
    return int(found[1]) * SECONDS[found[2]]


def step_for(span: float, points: int, least: int = SCRAPE_INTERVAL) -> int:
    """Seconds between two points: the span by the number of points, rounded as Grafana does, at least `least`."""
    raw = span / max(points, 1)
    nice = next((low for low, high in pairwise(STEPS) if raw <= (low + high) / 2), STEPS[-1])
    return max(nice, least)


def rate_interval(step: int) -> int:
    """$__rate_interval in seconds, as Grafana defines it."""
    return max(step + SCRAPE_INTERVAL, 4 * SCRAPE_INTERVAL)


def filled(text: str, variables: dict[str, str]) -> str:
    """The text with `$name` and `${name:format}` filled in; an unknown name becomes `.*`, and `$1` stays."""
    return VARIABLE.sub(lambda found: variables.get(found[1] or found[2], EVERYTHING), text)


def query_text(expr: str, variables: dict[str, str], span: int, step: int) -> str:
    """The query as it is sent. A matcher `="$name"` of a variable that stands for everything becomes `=~".*"`."""
    times = {"interval": step, "rate_interval": rate_interval(step), "range": span}
    built_in = {f"__{name}": f"{seconds}s" for name, seconds in times.items()}
    built_in |= {"__range_s": str(span), "__range_ms": str(span * 1000), "__interval_ms": str(step * 1000)}
    known = variables | built_in
    loose = re.sub(
        r'(?<![!=~])=(?=\s*"' + VARIABLE.pattern + '")',
        lambda found: "=~" if known.get(found[1] or found[2], EVERYTHING) == EVERYTHING else "=",
        expr,
    )
    return filled(loose, known)


def variables_of(dashboard: Json, given: Sequence[str]) -> dict[str, str]:
    """Values by name: what the command line gives, else a fixed choice of the dashboard, else `.*`."""
    values = {}
    for one in dashboard.get("templating", {}).get("list", []):
        current = one.get("current", {}).get("value")
        fixed = one.get("type") in ONE_VALUE_TYPES and isinstance(current, str) and current != "$__all"
        values[one["name"]] = current if fixed else EVERYTHING
    return values | dict(pair.split("=", 1) for pair in given)


def ask(server: str, path: str, **parameters: str | float) -> list[Json]:
    """The result list of a Prometheus query; ValueError with Prometheus' words if it fails."""
    body = urllib.parse.urlencode(parameters).encode()
    try:
        with urllib.request.urlopen(f"{server.rstrip('/')}/api/v1/{path}", body, timeout=60) as answer:
            data = json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        try:
            raise ValueError(json.loads(text)["error"]) from None
        except (json.JSONDecodeError, KeyError):
            raise ValueError(str(error)) from None
    except urllib.error.URLError as error:
        raise ValueError(f"no answer from {server}: {error.reason}") from None
    if data["resultType"] in {"scalar", "string"}:
        return [{"metric": {}, "value": data["result"], "values": [data["result"]]}]
    return list(data["result"])


def on_grid(points: Sequence[Sequence[Any]], grid: Sequence[float]) -> list[float]:
    known = {round(float(at)): float(value) for at, value in points}
    return [known.get(round(at), math.nan) for at in grid]


def series_of(target: Json, panel: Json, page: paper.Page, server: str, points: int) -> list[Series]:
    """The series of one target: instant for the panels that show one value if the target asks for it, else a range."""
    span = int(page.end - page.start)
    try:
        least = duration(target.get("interval") or panel.get("interval") or "")
    except ValueError:
        least = SCRAPE_INTERVAL
    step = step_for(span, panel.get("maxDataPoints") or points, least)
    query = query_text(target["expr"], page.variables, span, step)
    if target.get("instant") and panel["type"] in panels.ONE_VALUE:
        grid = [page.end]
        found = [
            (one["metric"], [one["value"]])
            for one in ask(server, "query", query=query, time=page.end)
            if "value" in one
        ]
        answers = [(labels, [float(value[0][1])]) for labels, value in found]
    else:
        first, last = page.start // step * step, page.end // step * step
        grid = [first + i * step for i in range(int((last - first) / step) + 1)]
        ranges = ask(server, "query_range", query=query, start=first, end=last, step=step)
        answers = [(one["metric"], on_grid(one["values"], grid)) for one in ranges if "values" in one]
    form, ref = target.get("legendFormat", ""), target.get("refId", "A")
    return [
        Series(filled(legend(form, labels), page.variables), labels, grid, values, ref) for labels, values in answers
    ]


def placed(dashboard: Json, *, expand: bool) -> Iterator[tuple[Json, int]]:
    """Panels with their grid row; panels of a collapsed row only if `expand`, and what follows moves down."""
    moved = 0
    for panel in sorted(dashboard.get("panels", []), key=lambda one: (one["gridPos"]["y"], one["gridPos"]["x"])):
        here = panel["gridPos"]["y"] + moved
        inner = panel.get("panels") or []
        opened = bool(panel.get("collapsed") and expand and inner)
        yield (panel | {"collapsed": panel.get("collapsed") and not opened}), here
        if opened:
            top = min(one["gridPos"]["y"] for one in inner)
            yield from ((one, here + 1 + one["gridPos"]["y"] - top) for one in inner)
            moved += max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in inner) - top


def box_of(panel: Json, row: int, width: int) -> paper.Box:
    column = (width - 2 * MARGIN + GAP) / COLUMNS
    where = panel["gridPos"]
    top = HEAD + row * (ROW + GAP)
    return paper.Box(MARGIN + where["x"] * column, top, where["w"] * column - GAP, where["h"] * (ROW + GAP) - GAP)


def answers_of(panel: Json, page: paper.Page, server: str, faults: list[str], *, strict: bool) -> list[Series]:
    """All series of a panel; what goes wrong is added to `faults` with the panel and the query."""
    series = []
    points = round(box_of(panel, 0, page.width).w)
    for target in panel.get("targets", []):
        if target.get("hide") or not target.get("expr"):
            continue
        try:
            found = series_of(target, panel, page, server, points)
        except ValueError as error:
            found, fault = [], str(error)
        else:
            fault = "" if found or not strict else "no series"
        if fault:
            faults.append(
                f'panel "{panel.get("title", "")}", query {target.get("refId", "A")}: {fault}\n    {target["expr"]}'
            )
        series += found
    return series


def draw(dashboard: Json, options: argparse.Namespace) -> list[str]:
    """Draw the dashboard into the file `options.out`; without a picture the faults if there are any."""
    layout = list(placed(dashboard, expand=options.expand_rows))
    rows = max((row + panel["gridPos"]["h"] for panel, row in layout), default=0)
    height = HEAD + rows * (ROW + GAP) - GAP + MARGIN
    variables = variables_of(dashboard, options.var)
    span = (options.end - duration(options.range), options.end)
    page = paper.new_page((options.width, height), options.theme, span, variables)
    faults: list[str] = []
    shown = {name: "All" if value == EVERYTHING else value for name, value in variables.items()}
    panels.draw_head(page, dashboard.get("title", ""), paper.Box(MARGIN, 0, options.width - 2 * MARGIN, HEAD))
    for panel, row in layout:
        series = answers_of(panel, page, options.prometheus, faults, strict=options.strict)
        texts = panel.get("options", {}) | {"content": filled(panel.get("options", {}).get("content", ""), shown)}
        titled = panel | {"title": filled(panel.get("title", ""), shown), "options": texts}
        panels.draw_panel(page, titled, series, box_of(panel, row, options.width))
    if not faults:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        page.figure.savefig(options.out)
    return faults


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Draw a Grafana dashboard file as a PNG picture from a real Prometheus."
    )
    parser.add_argument("dashboard", type=Path, help="dashboard file, the v1 JSON model")
    parser.add_argument("--prometheus", required=True, metavar="URL")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE.png")
    parser.add_argument("--theme", choices=("dark", "light"), default="dark")
    parser.add_argument("--range", default="1h", help="time range, such as 30m or 6h (default: %(default)s)")
    parser.add_argument(
        "--end", type=float, default=time.time(), metavar="UNIX", help="end of the range (default: now)"
    )
    parser.add_argument("--var", action="append", default=[], metavar="NAME=VALUE", help="a variable; others are .*")
    parser.add_argument("--width", type=int, default=1600, help="pixels (default: %(default)s)")
    parser.add_argument("--expand-rows", action="store_true", help="show the panels of collapsed rows")
    parser.add_argument("--strict", action="store_true", help="a query that returns no series is a fault")
    options = parser.parse_args(words)
    if any("=" not in pair for pair in options.var):
        parser.error("--var takes NAME=VALUE")
    try:
        duration(options.range)
    except ValueError as error:
        parser.error(f"--range: {error}")
    return options


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    dashboard = json.loads(options.dashboard.read_text(encoding="utf-8"))
    faults = draw(dashboard, options)
    for fault in faults:
        print(f"{options.dashboard}: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
