"""The page of a picture: themes, colours, text and boxes. All lengths are pixels, y grows downwards."""

from __future__ import annotations

from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, get_font_names
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import TextToPath

DPI = 100
FONTS = ("Inter", "Roboto", "Helvetica Neue", "Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")
THEMES = {
    "dark": {
        "page": "#111217",
        "panel": "#181b1f",
        "frame": "#2b2e34",
        "grid": "#282b31",
        "text": "#d0d1dd",
        "faint": "#93959f",
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
        "grid": "#ebecee",
        "text": "#24292e",
        "faint": "#6a6e75",
        "green": "#479a3c",
        "yellow": "#d9ab00",
        "red": "#e02f44",
        "blue": "#3274d9",
        "orange": "#f2760c",
        "purple": "#a352cc",
    },
}
PALETTE = ("green", "yellow", "blue", "orange", "red", "purple", "light-blue", "dark-green", "dark-yellow", "light-red")
SHADES = {"light": ("#ffffff", 0.35), "dark": ("#000000", 0.3)}


class Box(NamedTuple):
    x: float
    y: float
    w: float
    h: float

    def inside(self, left: float, top: float, right: float, bottom: float) -> Box:
        return Box(self.x + left, self.y + top, self.w - left - right, self.h - top - bottom)


class Page(NamedTuple):
    """One picture: the figure, two axes over all of it in pixels (boxes below the plots, text above), and the times."""

    figure: Figure
    canvas: Axes
    ink: Axes
    width: int
    height: int
    theme: dict[str, str]
    start: float
    end: float


def new_page(width: int, height: int, theme: str, start: float, end: float) -> Page:
    mpl.use("agg")
    known = set(get_font_names())
    mpl.rcParams["font.family"] = [next((font for font in FONTS if font in known), "DejaVu Sans")]
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor=THEMES[theme]["page"])
    layers = [figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0), zorder=level) for level in (0, 5)]
    for layer in layers:
        layer.set_axis_off()
    return Page(figure, layers[0], layers[1], width, height, THEMES[theme], start, end)


def colour(page: Page, name: str) -> str:
    """The colour of a Grafana name (`green`, `dark-green`) in the theme of the page."""
    shade, _, hue = name.rpartition("-")
    if not shade:
        return page.theme[hue]
    towards, share = SHADES[shade]
    red, green, blue = (a + (b - a) * share for a, b in zip(to_rgb(page.theme[hue]), to_rgb(towards), strict=True))
    return to_hex((red, green, blue))


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
    look: dict[str, Any] = {"color": page.theme["text"], "ha": "left", "va": "baseline", "parse_math": False} | style
    page.ink.text(at[0], at[1] + 0.36 * size, text, fontsize=size * 72 / DPI, **look)


def block(page: Page, box: Box, fill: str, edge: str = "none", radius: float = 2) -> None:
    shape = f"round,pad=0,rounding_size={max(min(radius, box.w / 2, box.h / 2), 0.01)}"
    patch = FancyBboxPatch((box.x, box.y), box.w, box.h, boxstyle=shape, facecolor=fill, edgecolor=edge, linewidth=0.72)
    page.canvas.add_patch(patch)


def axes_in(page: Page, box: Box) -> Axes:
    """Axes that fill the box, between the blocks and the text."""
    place = (box.x, page.height - box.y - box.h, max(box.w, 1), max(box.h, 1))
    left, bottom, wide, tall = (length / (page.width, page.height)[i % 2] for i, length in enumerate(place))
    return page.figure.add_axes((left, bottom, wide, tall), facecolor="none", zorder=2)
