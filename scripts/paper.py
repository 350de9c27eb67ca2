"""The page of a picture: themes, colours, text and boxes. All lengths are pixels, y grows downwards."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, get_font_names
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import TextToPath
from values import Json

DPI = 100
FONTS = ("Inter", "Roboto", "Helvetica Neue", "Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")
THEMES = {
    "dark": {
        "page": "#111217",
        "panel": "#181b1f",
        "frame": "#2b2e34",
        "track": "#24272d",
        "grid": "#282b31",
        "text": "#d0d1dd",
        "faint": "#93959f",
        "gray": "#7b7f87",
        "green": "#73bf69",
        "yellow": "#fade2a",
        "red": "#f2495c",
        "blue": "#5794f2",
        "orange": "#ff9830",
        "purple": "#b877d9",
    },
    "light": {
        "page": "#f4f5f5",
        "panel": "#ffffff",
        "frame": "#dcdde0",
        "track": "#eeeff1",
        "grid": "#ebecee",
        "text": "#24292e",
        "faint": "#6a6e75",
        "gray": "#9fa3a9",
        "green": "#479a3c",
        "yellow": "#d9ab00",
        "red": "#e02f44",
        "blue": "#3274d9",
        "orange": "#f2760c",
        "purple": "#a352cc",
    },
}
PALETTE = ("green", "yellow", "blue", "orange", "red", "purple", "light-blue", "dark-green", "dark-yellow", "light-red")
SHADES = {"super-light": 0.6, "light": 0.35, "semi-dark": -0.15, "dark": -0.3}


class Box(NamedTuple):
    x: float
    y: float
    w: float
    h: float

    def inside(self, left: float, top: float, right: float, bottom: float) -> Box:
        return Box(self.x + left, self.y + top, self.w - left - right, self.h - top - bottom)


class Page(NamedTuple):
    """One picture: the figure, two axes over all of it in pixels (boxes below the plots, text above), and the facts."""

    figure: Figure
    canvas: Axes
    ink: Axes
    width: int
    height: int
    theme: dict[str, str]
    start: float
    end: float
    variables: dict[str, str]


def new_page(size: tuple[int, int], theme: str, span: tuple[float, float], variables: dict[str, str]) -> Page:
    mpl.use("agg")
    known = set(get_font_names())
    mpl.rcParams["font.family"] = [next((font for font in FONTS if font in known), "DejaVu Sans")]
    colours, (width, height) = THEMES[theme], size
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor=colours["page"])
    layers = [figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0), zorder=level) for level in (0, 5)]
    for layer in layers:
        layer.set_axis_off()
    return Page(figure, layers[0], layers[1], width, height, colours, *span, variables)


def colour(page: Page, name: str) -> str:
    """The colour of a Grafana name (`green`, `dark-red`, `#rrggbb`, `rgb(…)`) in the theme of the page."""
    shade, _, hue = name.rpartition("-")
    if found := re.match(r"rgba?\((\d+), *(\d+), *(\d+)", name):
        return to_hex((int(found[1]) / 255, int(found[2]) / 255, int(found[3]) / 255))
    if name in page.theme or hue not in page.theme:
        return page.theme.get(name, name if name.startswith("#") else page.theme["text"])
    return mixed(page.theme[hue], "#ffffff" if SHADES.get(shade, 0) > 0 else "#000000", abs(SHADES.get(shade, 0)))


def mixed(one: str, other: str, share: float) -> str:
    red, green, blue = (a + (b - a) * share for a, b in zip(to_rgb(one), to_rgb(other), strict=True))
    return to_hex((red, green, blue))


def ink_on(fill: str) -> str:
    """Black or white, whichever reads better on the colour."""
    red, green, blue = to_rgb(fill)
    return "#14161a" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.52 else "#ffffff"


def width_of(text: str, size: float, weight: str = "normal") -> float:
    font = FontProperties(size=size, weight=weight)
    return float(TextToPath().get_text_width_height_descent(text, font, ismath=False)[0])


def cut(text: str, size: float, room: float) -> str:
    """The text, shortened with an ellipsis if it is wider than `room`."""
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "…", size) > room:
        text = text[:-1]
    return text + "…" if text else ""


def write(page: Page, at: tuple[float, float], text: str, size: float, **style: Any) -> None:
    """Write one line with its middle at the height `at[1]`."""
    look: Json = {"color": page.theme["text"], "ha": "left", "va": "baseline", "parse_math": False} | style
    page.ink.text(at[0], at[1] + 0.36 * size, text, fontsize=size * 72 / DPI, **look)


def block(page: Page, box: Box, fill: str, edge: str = "none", radius: float = 2) -> None:
    shape = f"round,pad=0,rounding_size={max(min(radius, box.w / 2, box.h / 2), 0.01)}"
    patch = FancyBboxPatch((box.x, box.y), box.w, box.h, boxstyle=shape, facecolor=fill, edgecolor=edge, linewidth=0.72)
    page.canvas.add_patch(patch)


def axes_in(page: Page, box: Box) -> Axes:
    axes = page.figure.add_axes((0, 0, 1, 1), facecolor="none", zorder=2)
    put(page, axes, box)
    return axes


def put(page: Page, axes: Axes, box: Box) -> None:
    """Move the axes to the box."""
    left, bottom = box.x / page.width, 1 - (box.y + box.h) / page.height
    axes.set_position((left, bottom, max(box.w, 1) / page.width, max(box.h, 1) / page.height))
