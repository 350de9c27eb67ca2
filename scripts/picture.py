"""Draw a dashboard file of this project as a PNG picture from a real Prometheus. A preview, not Grafana.

    python scripts/picture.py dashboards/overview.json --prometheus http://127.0.0.1:9090 --out docs/overview.png

It knows what dashboards/*.json use and refuses other panel types. All variables stand for everything, all times are UTC.
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import panels
import paper
from values import Json, Series, legend

SCRAPE_INTERVAL = 15
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
WIDTH, MARGIN, HEAD = 1600, 16, 60  # pixels
ROW, GAP, COLUMNS = 30, 8, 24  # a grid row of Grafana is 30 pixels high with gaps of 8
EVERYTHING = ".*"


def duration(text: str) -> int:
    """Seconds of `90s`, `15m`, `6h` or `7d`; ValueError for anything else."""
    found = re.fullmatch(r"(\d+)([smhd])", text)
    if not found:
        raise ValueError(f"not a duration: {text!r}")
    return int(found[1]) * SECONDS[found[2]]


def step_for(span: float, points: int, least: int) -> int:
    """Seconds between two points: the span by the number of points, a whole multiple of `least`."""
    return max(math.ceil(span / points / least), 1) * least


def query_text(expr: str, span: int, step: int) -> str:
    """The query as it is sent: the intervals as Grafana defines them; all other variables stand for everything."""
    known = {"__range": f"{span}s", "__rate_interval": f"{max(step + SCRAPE_INTERVAL, 4 * SCRAPE_INTERVAL)}s"}
    return re.sub(r"\$([A-Za-z_]\w*)", lambda found: known.get(found[1], EVERYTHING), expr)


def ask(server: str, path: str, **parameters: str | float) -> list[Json]:
    """The result list of a Prometheus query; ValueError with Prometheus' words if it fails."""
    body = urllib.parse.urlencode(parameters).encode()
    try:
        with urllib.request.urlopen(f"{server.rstrip('/')}/api/v1/{path}", body, timeout=60) as answer:
            return list(json.load(answer)["data"]["result"])
    except urllib.error.HTTPError as error:
        raise ValueError(error.read().decode(errors="replace")) from None
    except urllib.error.URLError as error:
        raise ValueError(f"no answer from {server}: {error.reason}") from None


def on_grid(points: Sequence[Sequence[Any]], grid: Sequence[float]) -> list[float]:
    known = {round(float(at)): float(value) for at, value in points}
    return [known.get(round(at), math.nan) for at in grid]


def series_of(target: Json, panel: Json, page: paper.Page, server: str) -> list[Series]:
    """The series of one target: one value at the end if the target is instant, else the whole range."""
    span, step = int(page.end - page.start), SCRAPE_INTERVAL
    if target["instant"]:
        grid = [page.end]
        answers = ask(server, "query", query=query_text(target["expr"], span, step), time=page.end)
        found = [(one["metric"], [float(one["value"][1])]) for one in answers]
    else:
        step = step_for(span, round(box_of(panel).w), duration(panel["interval"]))
        grid = [float(at) for at in range(int(page.start // step * step), int(page.end) + 1, step)]
        query = query_text(target["expr"], span, step)
        answers = ask(server, "query_range", query=query, start=grid[0], end=grid[-1], step=step)
        found = [(one["metric"], on_grid(one["values"], grid)) for one in answers]
    return [Series(legend(target.get("legendFormat", ""), labels), labels, grid, values) for labels, values in found]


def box_of(panel: Json) -> paper.Box:
    column, where = (WIDTH - 2 * MARGIN + GAP) / COLUMNS, panel["gridPos"]
    top, height = HEAD + where["y"] * (ROW + GAP), where["h"] * (ROW + GAP) - GAP
    return paper.Box(MARGIN + where["x"] * column, top, where["w"] * column - GAP, height)


def draw(dashboard: Json, server: str, page: paper.Page) -> None:
    """Draw all panels; ValueError with the title of the panel if its query fails or it is of an unknown kind."""
    panels.draw_head(page, dashboard["title"], paper.Box(MARGIN, 0, WIDTH - 2 * MARGIN, HEAD))
    for panel in dashboard["panels"]:
        try:
            series = [one for target in panel.get("targets", []) for one in series_of(target, panel, page, server)]
            panels.draw_panel(page, panel, series, box_of(panel))
        except ValueError as error:
            raise ValueError(f'panel "{panel["title"]}": {error}') from error


def height_of(dashboard: Json) -> int:
    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    return int(HEAD + rows * (ROW + GAP) - GAP + MARGIN)


def main(words: Sequence[str] | None = None) -> int:
    """Exit status 1, and no picture, if a query fails or a panel is of an unknown kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dashboard", type=Path)
    parser.add_argument("--prometheus", required=True, metavar="URL")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE.png")
    parser.add_argument("--theme", choices=tuple(paper.THEMES), default="dark")
    parser.add_argument("--range", type=duration, default="1h", help="such as 30m or 6h (default: %(default)s)")
    parser.add_argument("--end", type=float, default=time.time(), metavar="UNIX", help="end of the range, default now")
    options = parser.parse_args(words)
    dashboard = json.loads(options.dashboard.read_text(encoding="utf-8"))
    page = paper.new_page(WIDTH, height_of(dashboard), options.theme, options.end - options.range, options.end)
    try:
        draw(dashboard, options.prometheus, page)
    except ValueError as error:
        print(f"{options.dashboard}: {error}", file=sys.stderr)
        return 1
    options.out.parent.mkdir(parents=True, exist_ok=True)
    page.figure.savefig(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
