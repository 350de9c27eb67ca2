"""The panels of a dashboard: frame, stat, bar gauge, table, text, and the choice by type."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from charts import clock, states, timeseries
from paper import Box, Page, axes_in, block, colour, cut, ink_on, mixed, width_of, write
from values import Json, Series, field, reduced, shown, table

ONE_VALUE = {"stat", "table", "bargauge", "gauge"}
TEXT, ROW = 13, 34
Value = tuple[str, str, str, Series]  # name, text, colour name, series


def draw_head(page: Page, title: str, box: Box) -> None:
    """The title of the dashboard on the left, the time range on the right."""
    write(page, (box.x + 2, box.y + box.h / 2), title, 20, weight="bold")
    span = f"{clock(page.start, '%Y-%m-%d %H:%M')} to {clock(page.end, '%H:%M')} UTC"
    write(page, (box.x + box.w - 2, box.y + box.h / 2), span, TEXT, ha="right", color=page.theme["faint"])


def draw_panel(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """Frame, title and body of one panel; a type that is not known becomes a named box."""
    kind = panel["type"]
    if kind == "row":
        draw_row(page, panel, box)
        return
    if not panel.get("transparent"):
        block(page, box, page.theme["panel"], page.theme["frame"], radius=3)
    if panel.get("title"):
        write(page, (box.x + 12, box.y + 17), cut(panel["title"], 15, box.w - 24), 14)
    body = box.inside(10, 34 if panel.get("title") else 10, 10, 8)
    if kind not in DRAWERS:
        note(page, f"{kind}: not drawn in this preview", body)
    elif kind != "text" and not series:
        note(page, field(panel, "").get("noValue") or "No data", body)
    else:
        DRAWERS[kind](page, panel, series, body)


def draw_row(page: Page, panel: Json, box: Box) -> None:
    x, y = box.x + 8, box.y + box.h / 2
    points = (
        [(x - 3, y - 5), (x + 2, y), (x - 3, y + 5)]
        if panel.get("collapsed")
        else [(x - 5, y - 3), (x, y + 2), (x + 5, y - 3)]
    )
    page.canvas.plot(*zip(*points, strict=True), color=page.theme["text"], linewidth=1.3, solid_capstyle="round")
    write(page, (x + 14, y), panel.get("title", ""), 15, weight="bold")
    if panel.get("collapsed"):
        inner = f"({len(panel.get('panels') or [])} panels)"
        write(page, (x + 24 + width_of(panel.get("title", ""), 15, "bold"), y), inner, TEXT, color=page.theme["faint"])


def note(page: Page, text: str, box: Box) -> None:
    write(page, (box.x + box.w / 2, box.y + box.h / 2 - 4), text, TEXT, ha="center", color=page.theme["faint"])


def values_of(page: Page, panel: Json, series: list[Series]) -> list[Value]:
    """What a stat or a bar gauge shows for each series; a label instead of the number if `fields` names one."""
    options = panel.get("options", {}).get("reduceOptions", {})
    calc, wanted = (options.get("calcs") or ["lastNotNull"])[0], (options.get("fields") or "").strip("/^$")
    found = []
    for one in series:
        settings = field(panel, one.name, one.ref)
        value = one.labels[wanted] if wanted in one.labels else reduced(one.values, calc)
        if isinstance(value, float) and math.isnan(value) and settings.get("noValue"):
            text, hue = settings["noValue"], "text"
        else:
            text, hue = shown(value, settings, page.end)
        found.append((settings.get("displayName") or one.name, text, hue, one))
    return found


def tiles(count: int, box: Box) -> list[Box]:
    """`count` boxes of the same size, side by side where there is room for it."""
    columns = min(count, max(1, int(box.w // 72))) if box.w >= box.h else max(1, math.ceil(count * 50 / box.h))
    rows = math.ceil(count / columns)
    wide, tall = box.w / columns, box.h / rows
    return [
        Box(box.x + i % columns * wide, box.y + i // columns * tall, wide, tall).inside(2, 1, 2, 1)
        for i in range(count)
    ]


def stat(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """A big value for each series, with its name and its course where the panel asks for them."""
    values, options = values_of(page, panel, series), panel.get("options", {})
    mode = options.get("textMode", "auto")
    named = mode == "value_and_name" or (mode == "auto" and len(values) > 1)
    boxes = tiles(len(values), box)
    texts = [name if mode == "name" else text for name, text, _, _ in values]
    longest = max(width_of(text, 1, "bold") for text in texts)
    lined = options.get("graphMode", "area") != "none" and any(len(one.times) > 1 for *_, one in values)
    size = min(boxes[0].w * 0.86 / (longest or 1), boxes[0].h * (0.36 if named or lined else 0.52), 58)
    for text, value, here in zip(texts, values, boxes, strict=True):
        above = here.inside(0, 0, 0, here.h * 0.3) if lined else here
        stat_tile(page, options.get("colorMode", "value"), value[2:], here, lined=lined)
        ink = stat_ink(page, options.get("colorMode", "value"), value[2])
        middle = above.y + above.h / 2
        if named:
            line = min(max(size * 0.4, 12), 16)
            label = cut(value[0], line, here.w - 6)
            plain = ink if ink == "#ffffff" else page.theme["text"]
            write(page, (here.x + here.w / 2, middle - size * 0.6), label, line, ha="center", color=plain)
            middle += line * 0.6
        write(page, (here.x + here.w / 2, middle), text, size, ha="center", weight="bold", color=ink)


def stat_ink(page: Page, mode: str, hue: str) -> str:
    if mode.startswith("background"):
        return "#ffffff"
    return colour(page, hue) if mode == "value" else page.theme["text"]


def stat_tile(page: Page, mode: str, value: tuple[str, Series], box: Box, *, lined: bool) -> None:
    """What lies behind the value: the background and the course of the series."""
    hue, one = value
    if mode.startswith("background"):
        block(page, box, mixed(colour(page, hue), "#000000", 0.15), radius=3)
    if lined:
        sparkline(page, one, box, "#ffffff" if mode.startswith("background") else colour(page, hue))


def sparkline(page: Page, one: Series, box: Box, hue: str) -> None:
    """The course of the series behind the lower part of a tile."""
    known = [value for value in one.values if math.isfinite(value)] or [0]
    axes = axes_in(page, Box(box.x, box.y + box.h * 0.66, box.w, box.h * 0.34))
    low, span = min(known), (max(known) - min(known)) or 1
    axes.set(xlim=(page.start, page.end), ylim=(low - span * 0.25, low + span * 1.15))
    axes.fill_between(one.times, low - span, one.values, color=hue, alpha=0.18, linewidth=0)
    axes.plot(one.times, one.values, color=hue, linewidth=1.1)
    axes.set_axis_off()


def bar_gauge(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    """Horizontal bars, also for a gauge or a vertical bar gauge."""
    values, options = values_of(page, panel, series), panel.get("options", {})
    calc = (options.get("reduceOptions", {}).get("calcs") or ["lastNotNull"])[0]
    numbers = [reduced(one.values, calc) for *_, one in values]
    known = [value for value in numbers if math.isfinite(value)]
    tall = min(box.h / len(values), 44)
    top = box.y + (box.h - tall * len(values)) / 2
    names = min(max(width_of(name, TEXT) for name, *_ in values) + 12, box.w * 0.45) if len(values) > 1 else 4
    size = max(min(tall * 0.5, 18), 11)
    room = max(width_of(text, size, "bold") for _, text, _, _ in values) + 12
    for position, (value, (name, text, hue, one)) in enumerate(zip(numbers, values, strict=True)):
        settings, y = field(panel, one.name, one.ref), top + position * tall
        low, high = settings.get("min"), settings.get("max")
        low, high = (min([0, *known]) if low is None else low), (max(known, default=1) if high is None else high)
        share = 0.0 if math.isnan(value) else min(max((value - low) / ((high - low) or 1), 0), 1)
        track = Box(box.x + names, y + tall * 0.14, box.w - names - room, tall * 0.72)
        if len(values) > 1:
            write(page, (box.x + 2, y + tall / 2), cut(name, TEXT, names - 8), TEXT)
        block(page, track, page.theme["track"])
        if share:
            block(page, track._replace(w=track.w * share), colour(page, hue))
        write(page, (box.x + box.w - 2, y + tall / 2), text, size, ha="right", weight="bold", color=colour(page, hue))


def column_widths(columns: list[str], cells: list[list[str]], settings: list[Json], room: float) -> list[float]:
    """The widths that the panel sets; the rest is shared by what the columns hold."""
    fixed = [one["custom"].get("width") for one in settings]
    extra = [100 if one["custom"].get("cellOptions", {}).get("type") == "gauge" else 28 for one in settings]
    wants = [
        max(width_of(text, TEXT) for text in (name, *(row[i] for row in cells))) + extra[i] if fixed[i] is None else 0
        for i, name in enumerate(columns)
    ]
    rest = room - sum(width for width in fixed if width is not None)
    share = rest / (sum(wants) or 1)
    scale = room / sum(width or 0 for width in fixed) if not any(wants) else 1
    return [want * share if width is None else width * scale for width, want in zip(fixed, wants, strict=True)]


def table_panel(page: Page, panel: Json, series: list[Series], box: Box) -> None:
    columns, rows = table(panel, series)
    rows = rows[: int(box.h // ROW) - 1]
    settings = [field(panel, name) | ({"unit": "dateTimeAsIso"} if name == "Time" else {}) for name in columns]
    cells = [
        [shown(row[c], s, page.end) if c in row else ("", "text") for c, s in zip(columns, settings, strict=True)]
        for row in rows
    ]
    names = [one.get("displayName") or name for name, one in zip(columns, settings, strict=True)]
    widths = column_widths(names, [[text for text, _ in row] for row in cells], settings, box.w)
    x = box.x
    for position, (name, wide, one) in enumerate(zip(columns, widths, settings, strict=True)):
        numeric = any(isinstance(row.get(name), float) for row in rows) and name != "Time"
        side = one["custom"].get("align", "auto")
        side = ("right" if numeric else "left") if side in {"auto", None} else side
        head = Box(x, box.y, wide, ROW)
        cell_text(page, head, cut(names[position], TEXT, wide - 14), side, weight="bold", color=page.theme["faint"])
        for line, row in enumerate(rows):
            here = Box(x, box.y + ROW * (line + 1), wide, ROW)
            cell(page, here, cells[line][position], (row.get(name), one, side))
        x += wide
    for line in range(len(rows) + 1):
        y = box.y + ROW * (line + 1)
        page.canvas.plot([box.x, box.x + box.w], [y, y], color=page.theme["grid"], linewidth=0.72, zorder=1)


def cell(page: Page, box: Box, look: tuple[str, str], content: tuple[object, Json, str]) -> None:
    """One cell: plain, with coloured text or background, or with a small bar."""
    (text, hue), (value, settings, side) = look, content
    options = settings["custom"].get("cellOptions", {})
    kind, ink = options.get("type", "auto"), page.theme["text"]
    if kind == "gauge" and isinstance(value, float):
        low, high = settings.get("min", 0) or 0, settings.get("max", 100)
        share = min(max((value - low) / ((high - low) or 1), 0), 1) if math.isfinite(value) else 0
        track = Box(box.x + 8, box.y + 10, max(box.w - 82, 10), box.h - 20)
        block(page, track, page.theme["track"])
        if share:
            block(page, track._replace(w=track.w * share), colour(page, hue))
        ink, side = colour(page, hue), "right"
    elif kind == "color-text":
        ink = colour(page, hue)
    elif kind == "color-background" and text and hue not in {"text", "transparent"}:
        block(page, box.inside(1, 1, 1, 1), colour(page, hue))
        ink = ink_on(colour(page, hue))
    cell_text(page, box, cut(text, TEXT, box.w - 14), side, color=ink)


def cell_text(page: Page, box: Box, text: str, side: str, **style: str) -> None:
    x = {"left": box.x + 8, "right": box.x + box.w - 8, "center": box.x + box.w / 2}[side]
    write(page, (x, box.y + box.h / 2), text, TEXT, ha=side, **style)


def text_panel(page: Page, panel: Json, _: list[Series], box: Box) -> None:
    """Headings, lists, bold, code and links of Markdown; other marks are left as they are."""
    y = box.y + 8
    for raw in panel.get("options", {}).get("content", "").split("\n"):
        line = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", re.sub(r"<[^>]+>", "", raw)).strip()
        marks = re.match(r"(#{1,6}|[-*]|\d+\.) +", line)
        mark, size = (marks[1] if marks else ""), TEXT
        rest = line[marks.end() :] if marks else line
        indent = 0
        if mark.startswith("#"):
            size, rest = max(22 - 2 * len(mark), 14), f"**{rest}**"
        elif mark:
            indent = 18
            write(page, (box.x + 6, y), mark if mark[0].isdigit() else "•", size)
        if y > box.y + box.h:
            return
        y = flow(page, rest, size, (box.x + 2 + indent, y), box) + size * (1.5 if rest else 0.6)


def flow(page: Page, text: str, size: float, at: tuple[float, float], box: Box) -> float:
    """Write words with line breaks; the height of the last line."""
    (left, y), x = at, at[0]
    pieces = re.split(r"(\*\*.+?\*\*|`.+?`)", text)
    for piece in pieces:
        bold, code = piece.startswith("**"), piece.startswith("`")
        weight = "bold" if bold else "normal"
        for word in re.findall(r"\S+\s*|\s+", piece.strip("*`") if bold or code else piece):
            wide = width_of(word.rstrip() + "i", size, weight) - width_of("i", size, weight)
            if x > left and x + wide > box.x + box.w:
                x, y = left, y + size * 1.5
            if y <= box.y + box.h:
                write(page, (x, y), word.rstrip(), size, weight=weight, color=page.theme["faint" if code else "text"])
            x += wide + (size * 0.3 if word[-1].isspace() else 0)
    return y


DRAWERS: dict[str, Callable[[Page, Json, list[Series], Box], None]] = {
    "stat": stat,
    "bargauge": bar_gauge,
    "gauge": bar_gauge,
    "table": table_panel,
    "text": text_panel,
    "timeseries": timeseries,
    "state-timeline": states,
    "status-history": states,
}
