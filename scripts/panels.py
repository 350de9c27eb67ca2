"""The panels of a dashboard: row, stat, table, time series and state timeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from matplotlib.axes import Axes
from paper import PALETTE, Box, Page, axes_in, block, colour, cut, width_of, write
from values import CLOCK, Json, Series, humanise, reduced, shown, table, ticks

TEXT, SMALL = 13, 12
ROW, LEGEND_ROW, CALC = 34, 20, 62  # heights of rows, width of a value in a legend
CALCS = {"lastNotNull": "Last", "max": "Max"}
Band = tuple[float, float, str, str]  # start, end, text, colour


def clock(at: float, form: str) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(form)


def draw_head(page: Page, title: str, box: Box) -> None:
    """The title of the dashboard on the left, the time range on the right."""
    write(page, (box.x + 2, box.y + box.h / 2), title, 20, weight="bold")
    span = f"{clock(page.start, '%Y-%m-%d %H:%M')} to {clock(page.end, '%H:%M')} UTC"
    write(page, (box.x + box.w - 2, box.y + box.h / 2), span, TEXT, ha="right", color=page.theme["faint"])


def draw_panel(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """Frame, title and body of one panel; ValueError for a type that no dashboard of this project has."""
    kind, title = panel["type"], panel["title"]
    if kind == "row":
        draw_row(page, title, box)
        return
    if kind not in DRAWERS:
        raise ValueError(f"panel type {kind!r} is not known to this preview, only row, {', '.join(DRAWERS)}")
    block(page, box, page.theme["panel"], page.theme["frame"], radius=3)
    write(page, (box.x + 12, box.y + 17), cut(title, 15, box.w - 24), 14)
    body = box.inside(10, 34, 10, 8)
    if series:
        DRAWERS[kind](page, panel, series, body)
    else:
        middle = (body.x + body.w / 2, body.y + body.h / 2 - 4)
        write(page, middle, "No data", TEXT, ha="center", color=page.theme["faint"])


def draw_row(page: Page, title: str, box: Box) -> None:
    x, y = box.x + 8, box.y + box.h / 2
    arrow = (x - 5, x, x + 5), (y - 3, y + 2, y - 3)
    page.canvas.plot(*arrow, color=page.theme["text"], linewidth=1.3, solid_capstyle="round")
    write(page, (x + 14, y), title, 15, weight="bold")


def stat(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """The big value of the first series, with its name where the panel asks for it."""
    named = panel["options"]["textMode"] == "value_and_name"
    text, hue = shown(reduced(series[0].values, "lastNotNull"), panel["fieldConfig"]["defaults"])
    wide, tall = box.w - 4, box.h - 2
    size = min(wide * 0.86 / width_of(text, 1, "bold"), tall * (0.36 if named else 0.52), 58)
    x, y = box.x + box.w / 2, box.y + box.h / 2
    if named:
        line = min(max(size * 0.4, 12), 16)
        write(page, (x, y - size * 0.6), cut(series[0].name, line, wide - 6), line, ha="center")
        y += line * 0.6
    write(page, (x, y), text, size, ha="center", weight="bold", color=colour(page, hue))


def table_panel(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """Rows of labels; the width is shared by what the columns hold."""
    names, rows = table(panel["transformations"][0]["options"], series)
    rows = rows[: int(box.h // ROW) - 1]
    wants = [max(width_of(text, TEXT) for text in column) + 28 for column in zip(names, *rows, strict=True)]
    x = box.x
    for position, want in enumerate(wants):
        wide = want * box.w / sum(wants)
        head = cut(names[position], TEXT, wide - 14)
        write(page, (x + 8, box.y + ROW / 2), head, TEXT, weight="bold", color=page.theme["faint"])
        for line, row in enumerate(rows, start=1):
            write(page, (x + 8, box.y + ROW * (line + 0.5)), cut(row[position], TEXT, wide - 14), TEXT)
        x += wide
    for line in range(len(rows) + 1):
        y = box.y + ROW * (line + 1)
        page.canvas.plot([box.x, box.x + box.w], [y, y], color=page.theme["grid"], linewidth=0.72, zorder=1)


def time_axes(page: Page, box: Box) -> Axes:
    """Axes with about one tick in 70 pixels, at round times of the day."""
    axes = axes_in(page, box)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelsize=SMALL * 0.72, labelcolor=page.theme["faint"], pad=4)
    axes.grid(visible=True, color=page.theme["grid"], linewidth=0.72)
    axes.set_axisbelow(True)
    room = max(box.w / 70, 1)
    step = next((one for one in CLOCK if one * room >= page.end - page.start), CLOCK[-1])
    times = list(range(math.ceil(page.start / step) * step, int(page.end) + 1, step))
    form = "%H:%M:%S" if step < 60 else ("%H:%M" if step < 86400 else "%m-%d")
    axes.set_xlim(page.start, page.end)
    axes.set_xticks(times, [clock(at, form) for at in times])
    return axes


def stacked(series: Sequence[Series]) -> list[tuple[list[float], list[float]]]:
    """Bottom and top of each area, on the areas below it."""
    below: dict[float, float] = {}
    edges = []
    for one in series:
        bottoms = [below.get(at, 0) for at in one.times]
        tops = [bottom + value for bottom, value in zip(bottoms, one.values, strict=True)]
        below |= {at: top for at, top in zip(one.times, tops, strict=True) if not math.isnan(top)}
        edges.append((bottoms, tops))
    return edges


def limits(custom: Json, values: Sequence[float], *, from_zero: bool) -> tuple[float, float]:
    """Bottom and top of the value axis: the data with a tenth of room, and the soft limits."""
    known = [value for value in values if math.isfinite(value)] or [0, 1]
    low, high = min(known), max(known)
    low = min(low, 0) if from_zero else low
    pad = (high - low) / 10 or abs(high) or 1
    low = low - pad if low < 0 else 0
    high = 0 if high <= 0 < high + pad else high + pad
    low, high = min(low, custom["axisSoftMin"]), max(high, custom.get("axisSoftMax", high))
    return low, (high if high > low else low + 1)


def plot(axes: Axes, one: Series, edges: tuple[list[float], list[float]], hue: str, custom: Json) -> None:
    """A line over its area; a point between two gaps is a dot."""
    bottoms, tops = edges
    axes.plot(one.times, tops, color=hue, linewidth=custom["lineWidth"] * 0.9)
    framed = [math.nan, *tops, math.nan]
    lone = [i for i in range(len(tops)) if math.isnan(framed[i]) and math.isnan(framed[i + 2])]
    dots = [one.times[i] for i in lone], [tops[i] for i in lone]
    axes.plot(*dots, color=hue, linestyle="none", marker=".", markersize=4)
    axes.fill_between(one.times, bottoms, tops, color=hue, alpha=custom["fillOpacity"] / 100, linewidth=0)


def timeseries(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """Lines or stacked areas with thresholds as dashed lines, and the legend."""
    field = panel["fieldConfig"]["defaults"]
    custom, unit = field["custom"], field["unit"]
    hues = [colour(page, PALETTE[i % len(PALETTE)]) for i in range(len(series))]
    body = legend_beside(page, panel, list(zip(series, hues, strict=True)), box)
    stacks = custom["stacking"]["mode"] == "normal"
    edges = stacked(series) if stacks else [([0.0] * len(one.times), one.values) for one in series]
    low, high = limits(custom, [top for _, tops in edges for top in tops], from_zero=stacks)
    marks = ticks(low, high, round(body.h / 38), unit)
    axes = time_axes(page, body.inside(max(width_of(text, SMALL) for text in marks.values()) + 10, 6, 6, 22))
    axes.set_ylim(min(marks), high)
    axes.set_yticks([*marks], [*marks.values()])
    for one, edge, hue in zip(series, edges, hues, strict=True):
        plot(axes, one, edge, hue, custom)
    for step in field["thresholds"]["steps"]:
        if "thresholdsStyle" in custom and step["value"] is not None and min(marks) <= step["value"] <= high:
            dashes = (0, (6, 4))
            axes.axhline(step["value"], color=colour(page, step["color"]), linewidth=1.1, linestyle=dashes, alpha=0.9)


def legend_beside(page: Page, panel: Json, lines: list[tuple[Series, str]], box: Box) -> Box:
    """Draw the legend at the right or at the bottom; the box that is left for the plot."""
    options, unit = panel["options"]["legend"], panel["fieldConfig"]["defaults"]["unit"]
    if options["placement"] == "right":
        longest = max(width_of(one.name, SMALL) for one, _ in lines) + 36
        wide = min(box.w * 0.55, longest + CALC * len(options["calcs"]))
        legend_table(page, lines, options["calcs"], unit, Box(box.x + box.w - wide + 8, box.y, wide - 8, box.h))
        return box.inside(0, 0, wide, 0)
    tall = min(len(lines) + 1, int(box.h * 0.42 // LEGEND_ROW)) * LEGEND_ROW
    legend_table(page, lines, options["calcs"], unit, Box(box.x, box.y + box.h - tall, box.w, tall))
    return box.inside(0, 0, 0, tall + 4)


def legend_table(page: Page, lines: list[tuple[Series, str]], calcs: list[str], unit: str, box: Box) -> None:
    """One row for each line with its calculated values; what does not fit is counted."""
    rights = [box.x + box.w - 4 - CALC * i for i in range(len(calcs))][::-1]
    for x, calc in zip(rights, calcs, strict=True):
        write(page, (x, box.y + 10), CALCS[calc], SMALL, ha="right", color=page.theme["faint"])
    fitting = int(box.h // LEGEND_ROW) - 1
    kept = lines if len(lines) <= fitting else lines[: fitting - 1]
    y = box.y + LEGEND_ROW + 10
    for one, hue in kept:
        block(page, Box(box.x + 4, y - 2, 14, 4), hue)
        write(page, (box.x + 24, y), cut(one.name, SMALL, box.w - CALC * len(calcs) - 26), SMALL)
        for x, calc in zip(rights, calcs, strict=True):
            write(page, (x, y), humanise(reduced(one.values, calc), unit), SMALL, ha="right")
        y += LEGEND_ROW
    if len(kept) < len(lines):
        write(page, (box.x + 24, y), f"+ {len(lines) - len(kept)} more", SMALL, color=page.theme["faint"])


def bands(page: Page, one: Series, field: Json) -> list[Band]:
    """Start, end, text and colour of each state; a gap has none."""
    found: list[Band] = []
    step = one.times[1] - one.times[0] if len(one.times) > 1 else page.end - page.start
    for at, value in zip(one.times, one.values, strict=True):
        if math.isnan(value):
            continue
        text, hue = shown(value, field)
        start, end, now = max(at, page.start), min(at + step, page.end), (text, colour(page, hue))
        if found and found[-1][1] >= start and found[-1][2:] == now:
            start = found.pop()[0]
        found.append((start, end, *now))
    return found


def states(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """One row of coloured bands for each series, and the states that occur as a legend."""
    rows = [bands(page, one, panel["fieldConfig"]["defaults"]) for one in series]
    left = min(max(width_of(one.name, SMALL) for one in series), box.w * 0.3) + 12
    body = box.inside(left, 4, 6, 22 + LEGEND_ROW)
    axes = time_axes(page, body)
    axes.set_yticks([])
    axes.grid(visible=False)
    tall, scale = body.h / len(series), body.w / (page.end - page.start)
    for row, (one, found) in enumerate(zip(series, rows, strict=True)):
        y = body.y + row * tall
        write(page, (body.x - 8, y + tall / 2), cut(one.name, SMALL, left - 10), SMALL, ha="right")
        strip = Box(body.x, y + tall * 0.08, body.w, tall * panel["options"]["rowHeight"] * 0.94)
        for start, end, _, hue in found:
            wide = max((end - start) * scale, 1)
            block(page, strip._replace(x=body.x + (start - page.start) * scale, w=wide), hue, radius=1)
    x, y = box.x + 4, box.y + box.h - 9
    for text, hue in {text: hue for found in rows for _, _, text, hue in found}.items():
        block(page, Box(x, y - 2, 14, 4), hue)
        write(page, (x + 20, y), text, SMALL)
        x += width_of(text, SMALL) + 36


DRAWERS: dict[str, Callable[[Page, Json, list[Series], Box], None]] = {
    "stat": stat,
    "table": table_panel,
    "timeseries": timeseries,
    "state-timeline": states,
}
