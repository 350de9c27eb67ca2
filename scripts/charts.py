"""Panels over time: time series and state timelines, with their axes and legends."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal, NamedTuple

from matplotlib.axes import Axes
from paper import PALETTE, Box, Page, axes_in, block, colour, cut, ink_on, put, width_of, write
from values import LADDERS, Json, Series, field, humanise, mapped, reduced, shown

SMALL = 12
Step = Literal["pre", "post"] | None
STEPPED: dict[str, Step] = {"stepAfter": "post", "stepBefore": "pre"}
State = tuple[float, float, str, str]  # start, end, text, colour name
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)


class Line(NamedTuple):
    series: Series
    settings: Json
    colour: str
    name: str


def clock(at: float, form: str) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(form)


def time_axis(page: Page, axes: Axes) -> None:
    """About one tick in 70 pixels, at round times of the day."""
    room = max(axes.get_position().width * page.width / 70, 1)
    step = next((one for one in TIME_STEPS if one * room >= page.end - page.start), TIME_STEPS[-1])
    ticks = list(range(math.ceil(page.start / step) * step, int(page.end) + 1, step))
    form = "%m-%d" if step >= 86400 else ("%m-%d %H:%M" if page.end - page.start > 2 * 86400 else "%H:%M")
    if step < 60:
        form = "%H:%M:%S"
    axes.set_xlim(page.start, page.end)
    axes.set_xticks(ticks, [clock(at, form) for at in ticks])


def plain_axes(page: Page, axes: Axes) -> None:
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelsize=SMALL * 0.72, labelcolor=page.theme["faint"], pad=4)
    axes.grid(visible=True, color=page.theme["grid"], linewidth=0.72)
    axes.set_axisbelow(True)


def tick_step(span: float, count: int, unit: str) -> float:
    """The distance of round ticks: powers of two for bytes, seconds of the clock for times, else 1, 2, 2.5, 5."""
    raw = span / max(count, 1)
    factor, rungs = LADDERS.get(unit, (1, [(1, "")]))
    if dict(rungs).get(60) and raw * factor >= 1:
        return next((one for one in TIME_STEPS if one >= raw * factor), raw * factor) / factor
    if (1024, " KiB") in rungs or (1024, " KiB/s") in rungs:
        return float(2 ** math.ceil(math.log2(raw * factor) - 1e-9) / factor)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= raw * (1 - 1e-9))


def limits(settings: Json, values: list[float], *, from_zero: bool) -> tuple[float, float]:
    """Bottom and top of the value axis: min and max of the field, else the data with a tenth of room."""
    known = [value for value in values if math.isfinite(value)] or [0, 1]
    custom, low, high = settings["custom"], min(known), max(known)
    if from_zero:
        low, high = min(low, 0), max(high, 0)
    pad = (high - low) / 10 or abs(high) or 1
    low, high = (0 if low >= 0 and low - pad < 0 else low - pad), (0 if high <= 0 < high + pad else high + pad)
    low, high = min(low, custom.get("axisSoftMin", low)), max(high, custom.get("axisSoftMax", high))
    low = low if settings.get("min") is None else settings["min"]
    high = high if settings.get("max") is None else settings["max"]
    return low, (high if high > low else low + 1)


def value_axis(axes: Axes, span: tuple[float, float], settings: Json, height: float) -> list[str]:
    low, high = span
    unit = settings.get("unit") or "none"
    step = tick_step(high - low, round(height / 38), unit)
    low = low if settings.get("min") is not None else math.floor(low / step + 1e-6) * step
    ticks = [i * step for i in range(math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6) + 1)]
    texts = [humanise(tick, unit, settings.get("decimals")) for tick in ticks]
    for places in range(1, 10):
        if len(set(texts)) < len(texts):
            texts = [humanise(tick, unit, places) for tick in ticks]
    axes.set_ylim(low, high)
    axes.set_yticks(ticks, texts)
    return texts


def lines_of(page: Page, panel: Json, series: list[Series]) -> list[Line]:
    lines = []
    for position, one in enumerate(series):
        settings = field(panel, one.name, one.ref)
        mode = settings.get("color", {})
        hue = PALETTE[position % len(PALETTE)]
        if mode.get("mode") == "fixed":
            hue = mode.get("fixedColor", hue)
        elif mode.get("mode") == "thresholds":
            hue = shown(reduced(one.values, "last"), settings, page.end)[1]
        lines.append(Line(one, settings, colour(page, hue), settings.get("displayName") or one.name))
    return lines


def stacked(lines: list[Line]) -> list[tuple[list[float], list[float]]]:
    """Bottom and top of each line, on the lines below it where stacking is on."""
    below: dict[float, float] = {}
    edges = []
    for line in lines:
        mode = line.settings["custom"].get("stacking", {}).get("mode", "none")
        bottoms = [below.get(at, 0) if mode != "none" else 0 for at in line.series.times]
        tops = [bottom + value for bottom, value in zip(bottoms, line.series.values, strict=True)]
        if mode != "none":
            below |= {at: top for at, top in zip(line.series.times, tops, strict=True) if not math.isnan(top)}
        edges.append((bottoms, tops))
    return edges


def plot(axes: Axes, line: Line, bottoms: list[float], tops: list[float]) -> None:
    custom, times = line.settings["custom"], line.series.times
    if custom.get("drawStyle") == "bars":
        heights = [top - bottom for top, bottom in zip(tops, bottoms, strict=True)]
        wide = (times[1] - times[0]) * (0.8 if len(times) < 100 else 1) if len(times) > 1 else 1
        axes.bar(times, heights, wide, bottoms, color=line.colour, alpha=max(custom.get("fillOpacity", 0), 50) / 100)
        return
    if custom.get("spanNulls"):
        known = [point for point in zip(times, bottoms, tops, strict=True) if not math.isnan(point[2])]
        times, bottoms, tops = ([point[i] for point in known] for i in range(3))
    step: Step = STEPPED.get(custom.get("lineInterpolation", ""))
    drawn = f"steps-{step}" if step else "default"
    if custom.get("drawStyle") == "points":
        axes.plot(times, tops, color=line.colour, linestyle="none", marker=".", markersize=4)
        return
    axes.plot(times, tops, color=line.colour, linewidth=custom.get("lineWidth", 1) * 0.9, drawstyle=drawn)
    framed = [math.nan, *tops, math.nan]
    lone = [i for i in range(len(tops)) if math.isnan(framed[i]) and math.isnan(framed[i + 2])]
    axes.plot(
        [times[i] for i in lone], [tops[i] for i in lone], color=line.colour, linestyle="none", marker=".", markersize=4
    )
    if custom.get("fillOpacity"):
        alpha = custom["fillOpacity"] / 100
        axes.fill_between(times, bottoms, tops, color=line.colour, alpha=alpha, linewidth=0, step=step)


def threshold_lines(page: Page, axes: Axes, settings: Json) -> None:
    """The steps as lines, dashed where the panel says so, or as areas."""
    style = settings["custom"].get("thresholdsStyle", {}).get("mode", "off")
    steps = settings.get("thresholds", {}).get("steps") or []
    low, high = axes.get_ylim()
    for one, after in zip(steps, [*steps[1:], {"value": high}], strict=False):
        bottom = low if one.get("value") is None else one["value"]
        if one["color"] == "transparent":
            continue
        if "area" in style and bottom < high:
            axes.axhspan(
                max(bottom, low), min(after["value"], high), color=colour(page, one["color"]), alpha=0.1, linewidth=0
            )
        if ("line" in style or "dashed" in style) and one.get("value") is not None and low <= bottom <= high:
            dashes = (0, (6, 4)) if "dashed" in style else "solid"
            axes.axhline(bottom, color=colour(page, one["color"]), linewidth=1.1, linestyle=dashes, alpha=0.9)


def timeseries(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    lines = lines_of(page, panel, series)
    settings = field(panel, "")
    options = panel.get("options", {}).get("legend", {})
    body = legend_beside(page, lines, options, box) if options.get("showLegend", True) else box
    edges = stacked(lines)
    filled = any(line.settings["custom"].get("stacking", {}).get("mode", "none") != "none" for line in lines)
    bars = settings["custom"].get("drawStyle") == "bars"
    span = limits(settings, [value for _, tops in edges for value in tops], from_zero=filled or bars)
    axes = axes_in(page, body)
    plain_axes(page, axes)
    texts = value_axis(axes, span, settings, body.h)
    label = settings["custom"].get("axisLabel", "")
    left = max((width_of(text, SMALL) for text in texts), default=0) + 10 + (18 if label else 0)
    plot_box = body.inside(left, 6, 6, 22)
    put(page, axes, plot_box)
    time_axis(page, axes)
    for line, (bottoms, tops) in zip(lines, edges, strict=True):
        plot(axes, line, bottoms, tops)
    threshold_lines(page, axes, settings)
    if label:
        write(
            page,
            (body.x + 8, body.y + body.h / 2),
            label,
            SMALL,
            rotation=90,
            ha="center",
            va="center",
            color=page.theme["faint"],
        )


def legend_beside(page: Page, lines: list[Line], options: Json, box: Box) -> Box:
    """Draw the legend at the right or at the bottom; the box that is left for the plot."""
    calcs, right = options.get("calcs", []), options.get("placement") == "right"
    longest = max((width_of(line.name, SMALL) for line in lines), default=0) + 36
    if right:
        wide = min(box.w * 0.55, longest + 62 * len(calcs))
        here = Box(box.x + box.w - wide + 8, box.y, wide - 8, box.h)
        legend_table(page, lines, calcs, here)
        return box.inside(0, 0, wide, 0)
    if options.get("displayMode") == "table":
        rows = min(len(lines) + 1, int(box.h * 0.42 // 20))
        legend_table(page, lines, calcs, Box(box.x, box.y + box.h - rows * 20, box.w, rows * 20))
        return box.inside(0, 0, 0, rows * 20 + 4)
    named = [(with_calcs(page, line, calcs), line.colour) for line in lines]
    tall = 20 * len(legend_rows(named, box.w)[:3])
    legend_list(page, named, Box(box.x, box.y + box.h - tall, box.w, tall))
    return box.inside(0, 0, 0, tall + 2)


def with_calcs(page: Page, line: Line, calcs: list[str]) -> str:
    texts = [f"{title(calc)}: {shown(reduced(line.series.values, calc), line.settings, page.end)[0]}" for calc in calcs]
    return "  ".join([line.name, *texts])


def title(calc: str) -> str:
    return {"lastNotNull": "Last", "firstNotNull": "First"}.get(calc, calc.capitalize())


def legend_rows(named: list[tuple[str, str]], room: float) -> list[list[tuple[str, str]]]:
    rows: list[list[tuple[str, str]]] = [[]]
    used = 0.0
    for name, hue in named:
        wide = width_of(name, SMALL) + 36
        if rows[-1] and used + wide > room:
            rows.append([])
            used = 0
        rows[-1].append((name, hue))
        used += wide
    return rows


def legend_list(page: Page, named: list[tuple[str, str]], box: Box) -> None:
    """Names with a dash of their colour, in rows; what does not fit is counted."""
    rows = legend_rows(named, box.w)
    fitting = rows[: int(box.h // 20)]
    left_off = sum(len(row) for row in rows[len(fitting) :])
    if left_off:
        fitting[-1:] = [[*fitting[-1][:-1], (f"+ {left_off + 1} more", "none")]]
    for position, row in enumerate(fitting):
        x, y = box.x + 4, box.y + 20 * position + 11
        for name, hue in row:
            if hue != "none":
                block(page, Box(x, y - 2, 14, 4), hue)
            text = cut(name, SMALL, box.w - 34)
            write(page, (x + 20, y), text, SMALL, color=page.theme["faint" if hue == "none" else "text"])
            x += width_of(text, SMALL) + 36


def legend_table(page: Page, lines: list[Line], calcs: list[str], box: Box) -> None:
    """One row for each line with its calculated values; what does not fit is counted."""
    rights = [box.x + box.w - 4 - 62 * i for i in range(len(calcs))][::-1]
    for x, calc in zip(rights, calcs, strict=True):
        write(page, (x, box.y + 10), title(calc), SMALL, ha="right", color=page.theme["faint"])
    top = box.y + (20 if calcs else 0)
    fitting = int((box.y + box.h - top) // 20)
    kept = lines if len(lines) <= fitting else lines[: fitting - 1]
    for position, line in enumerate(kept):
        y = top + 20 * position + 10
        block(page, Box(box.x + 4, y - 2, 14, 4), line.colour)
        write(page, (box.x + 24, y), cut(line.name, SMALL, box.w - 62 * len(calcs) - 26), SMALL)
        for x, calc in zip(rights, calcs, strict=True):
            write(page, (x, y), shown(reduced(line.series.values, calc), line.settings, page.end)[0], SMALL, ha="right")
    if len(kept) < len(lines):
        y = top + 20 * len(kept) + 10
        write(page, (box.x + 24, y), f"+ {len(lines) - len(kept)} more", SMALL, color=page.theme["faint"])


def ranges(settings: Json) -> list[tuple[str, str]]:
    """Text and colour name of each threshold step: `< 70%`, `70%+`."""
    steps, unit = settings.get("thresholds", {}).get("steps") or [], settings.get("unit") or "none"
    texts = ["" if step.get("value") is None else humanise(step["value"], unit) for step in steps]
    named = [f"{low}+" if low else f"< {high}" for low, high in pairwise([*texts, ""])]
    return [(text, step["color"]) for text, step in zip(named, steps, strict=True)]


def state(page: Page, value: float, settings: Json, *, merge: bool) -> tuple[str, str]:
    """Text and colour name of a state; states that merge are named by their threshold step if they have no mapping."""
    text, hue = shown(value, settings, page.end)
    stepped = merge and settings.get("color", {}).get("mode") == "thresholds" and len(ranges(settings)) > 1
    if stepped and not mapped(value, settings.get("mappings") or []):
        return next((one for one in ranges(settings) if one[1] == hue), (text, hue))
    return text, hue


def bands(page: Page, line: Line, *, merge: bool) -> list[State]:
    """Start, end, text and colour name of each state; a gap has none."""
    times, found = line.series.times, list[State]()
    step = times[1] - times[0] if len(times) > 1 else page.end - page.start
    for at, value in zip(times, line.series.values, strict=True):
        if math.isnan(value):
            continue
        now, start, end = state(page, value, line.settings, merge=merge), max(at, page.start), min(at + step, page.end)
        if merge and found and found[-1][1] >= start and found[-1][2:] == now:
            found[-1] = (found[-1][0], end, *now)
        else:
            found.append((start, end, *now))
    return found


def states(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """State timeline and status history: one row of coloured bands for each series."""
    lines, options = lines_of(page, panel, series), panel.get("options", {})
    history = panel["type"] == "status-history"
    rows = [bands(page, line, merge=not history and options.get("mergeValues", True)) for line in lines]
    left = min(max((width_of(line.name, SMALL) for line in lines), default=0), box.w * 0.3) + 12
    named = states_named(page, lines, rows)
    low = 20 if options.get("legend", {}).get("showLegend", True) and named else 0
    body = box.inside(left, 4, 6, 22 + low)
    axes = axes_in(page, body)
    plain_axes(page, axes)
    axes.set_yticks([])
    axes.grid(visible=False)
    time_axis(page, axes)
    tall = body.h / max(len(lines), 1)
    for row, (line, found) in enumerate(zip(lines, rows, strict=True)):
        y = body.y + row * tall
        write(page, (box.x + left - 8, y + tall / 2), cut(line.name, SMALL, left - 10), SMALL, ha="right")
        strip = Box(body.x, y + tall * 0.08, body.w, tall * options.get("rowHeight", 0.9) * 0.94)
        for band in found:
            draw_band(page, strip, band, options, gap=1 if history else 0)
    if low:
        legend_list(page, named, Box(box.x, box.y + box.h - 20, box.w, 20))


def draw_band(page: Page, strip: Box, band: State, options: Json, gap: float) -> None:
    start, end, text, hue = band
    scale = strip.w / (page.end - page.start)
    here = Box(strip.x + (start - page.start) * scale, strip.y, max((end - start) * scale - gap, 1), strip.h)
    fill = colour(page, hue)
    block(page, here, fill, radius=1)
    if options.get("showValue", "auto") != "never" and width_of(text, SMALL) + 10 < here.w and strip.h >= SMALL + 2:
        centred = options.get("alignValue", "left") == "center"
        x = here.x + (here.w / 2 if centred else 6)
        write(page, (x, here.y + here.h / 2), text, SMALL, color=ink_on(fill), ha="center" if centred else "left")


def states_named(page: Page, lines: list[Line], rows: list[list[State]]) -> list[tuple[str, str]]:
    """The legend of the states: mapped texts, or the ranges of the thresholds."""
    if any(line.settings.get("mappings") for line in lines):
        return list({text: (text, colour(page, hue)) for row in rows for _, _, text, hue in row}.values())
    steps = ranges(lines[0].settings)
    return [(text, colour(page, hue)) for text, hue in steps] if len(steps) > 1 else []
