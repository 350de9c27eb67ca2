"""Panels on Grafana's grid of 24 columns: lines without holes, every panel of a line as high as its highest."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kubelet_exporter.catalog.model import Panel

COLUMNS = 24


class Place(NamedTuple):
    """A panel and its cell: column, line, columns wide, lines high."""

    panel: Panel
    x: int
    y: int
    width: int
    height: int


def laid_out(panels: Sequence[Panel], top: int) -> list[Place]:
    """The panels from line `top` on: stats first, evenly in lines of their own, then the others in their order."""
    stats = [panel for panel in panels if panel.kind == "stat"]
    others = [panel for panel in panels if panel.kind != "stat"]
    places: list[Place] = []
    for line in [*_even(stats), *_greedy(others)]:
        height = max(panel.height for panel in line)
        x = 0
        for panel, width in zip(line, _widths(line), strict=True):
            places.append(Place(panel, x, top, width, height))
            x += width
        top += height
    return places


def end(places: Sequence[Place], top: int) -> int:
    """The first line below the places, `top` if there are none."""
    return max((place.y + place.height for place in places), default=top)


def _even(stats: Sequence[Panel]) -> Iterator[Sequence[Panel]]:
    lines = -(-sum(panel.width for panel in stats) // COLUMNS)
    for line in range(lines):
        yield stats[len(stats) * line // lines : len(stats) * (line + 1) // lines]


def _greedy(panels: Sequence[Panel]) -> Iterator[Sequence[Panel]]:
    line: list[Panel] = []
    for panel in panels:
        if sum(each.width for each in line) + panel.width > COLUMNS:
            yield line
            line = []
        line.append(panel)
    if line:
        yield line


def _widths(line: Sequence[Panel]) -> list[int]:
    """The widths, stretched in proportion so that they fill the line exactly."""
    total, taken, widths = sum(panel.width for panel in line), 0, []
    for panel in line:
        left = taken * COLUMNS // total
        taken += panel.width
        widths.append(taken * COLUMNS // total - left)
    return widths
