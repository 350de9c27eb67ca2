"""scripts/picture.py: its pure parts, and the dashboards of this project against what it knows."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import panels
import paper
import picture
from values import UNITS, Json, Series, humanise, legend, reduced, shown, table, threshold_colour, tick_step, ticks

STEPS: list[Json] = [
    {"color": "green", "value": None},
    {"color": "orange", "value": 0.8},
    {"color": "red", "value": 0.9},
]
DASHBOARDS = sorted((Path(__file__).parent.parent / "dashboards").glob("*.json"))


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_panel_of_a_dashboard_is_known(path: Path) -> None:
    drawn = [panel for panel in json.loads(path.read_text())["panels"] if panel["type"] != "row"]

    assert set() == {panel["type"] for panel in drawn} - panels.DRAWERS.keys()
    assert set() == {panel["fieldConfig"]["defaults"]["unit"] for panel in drawn} - UNITS.keys()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_no_variable_is_left_in_a_query(path: Path) -> None:
    sent = [
        picture.query_text(target["expr"], 300, 15)
        for panel in json.loads(path.read_text())["panels"]
        for target in panel.get("targets", [])
    ]

    assert [] == [query for query in sent if "$" in query]


def test_unknown_panel_type_is_refused_by_title_and_type() -> None:
    panel = {"type": "gauge", "title": "Pods in use", "gridPos": {"x": 0, "y": 0, "w": 4, "h": 4}}
    page = paper.new_page(picture.WIDTH, 300, "dark", 0, 60)

    with pytest.raises(ValueError, match="panel \"Pods in use\": panel type 'gauge' is not known"):
        picture.draw({"title": "Node", "panels": [panel]}, "http://127.0.0.1:0", page)


def test_picture_is_written_without_any_data(tmp_path: Path) -> None:
    row = {"type": "row", "title": "Pods", "gridPos": {"x": 0, "y": 0, "w": 24, "h": 1}}
    stat = {"type": "stat", "title": "Pods in use", "gridPos": {"x": 0, "y": 1, "w": 24, "h": 4}}
    (tmp_path / "node.json").write_text(json.dumps({"title": "Node", "panels": [row, stat]}))
    out = tmp_path / "pictures" / "node.png"

    words = [str(tmp_path / "node.json"), "--prometheus", "http://127.0.0.1:0", "--out", str(out)]

    assert 0 == picture.main(words)
    assert b"\x89PNG" == out.read_bytes()[:4]


def test_no_picture_is_written_if_a_query_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = {"expr": "up", "instant": True}
    stat = {"type": "stat", "title": "Pods", "gridPos": {"x": 0, "y": 0, "w": 24, "h": 4}, "targets": [target]}
    (tmp_path / "node.json").write_text(json.dumps({"title": "Node", "panels": [stat]}))
    out = tmp_path / "node.png"

    words = [str(tmp_path / "node.json"), "--prometheus", "http://127.0.0.1:0", "--out", str(out)]

    assert 1 == picture.main(words)
    assert 'panel "Pods": no answer from http://127.0.0.1:0' in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "s", "0 s"),
        (0.0042, "s", "4.2 ms"),
        (90, "s", "1.5 min"),
        (7200, "s", "2 hours"),
        (0, "bytes", "0 B"),
        (1536, "bytes", "1.5 KiB"),
        (0.753, "percentunit", "75.3%"),
        (0, "percentunit", "0%"),
        (1234, "none", "1234"),
        (0.25, "ops", "0.25 ops/s"),
        (2500, "reqps", "2.5 K req/s"),
        (math.nan, "bytes", "NaN"),
        (math.inf, "s", "∞"),
    ],
)
def test_value_is_written_in_its_unit(value: float, unit: str, text: str) -> None:
    assert text == humanise(value, unit)


def test_decimals_are_kept_where_they_are_asked_for() -> None:
    assert "95.0%" == humanise(0.95, "percentunit", 1)


def test_unknown_unit_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unit 'watt' is not known"):
        humanise(1, "watt")


@pytest.mark.parametrize(("value", "colour"), [(-5, "green"), (0.79, "green"), (0.8, "orange"), (0.95, "red")])
def test_last_threshold_that_is_reached_gives_the_colour(value: float, colour: str) -> None:
    assert colour == threshold_colour(value, STEPS)


def test_mapping_wins_over_unit_and_threshold() -> None:
    mapping = {"type": "value", "options": {"0": {"text": "DOWN", "color": "blue"}}}
    field = {"mappings": [mapping], "thresholds": {"steps": STEPS}, "unit": "percentunit"}

    assert ("DOWN", "blue") == shown(0.0, field)
    assert ("85%", "orange") == shown(0.85, field)


def test_reducer_passes_over_gaps() -> None:
    assert 1 == reduced([2, 1, math.nan], "lastNotNull")
    assert 2 == reduced([2, 1, math.nan], "max")
    assert math.isnan(reduced([math.nan], "max"))


def test_legend_is_filled_with_labels() -> None:
    assert "node-a: " == legend("{{node}}: {{ zone }}", {"node": "node-a"})


def test_table_has_the_labels_in_the_order_and_with_the_names_of_the_panel() -> None:
    series = [
        Series("", {"node": "b", "zone": "1"}, [60.0], [1.0]),
        Series("", {"job": "kubelet", "node": "a"}, [60.0], [1.0]),
    ]
    columns = {"indexByName": {"zone": 0, "node": 1}, "renameByName": {"node": "Node", "zone": "Zone"}}

    assert (["Zone", "Node"], [["1", "b"], ["", "a"]]) == table(columns, series)


def test_areas_stand_on_the_areas_below_and_pass_over_gaps() -> None:
    first, second = Series("a", {}, [0.0, 60.0], [1.0, math.nan]), Series("b", {}, [0.0, 60.0], [2.0, 3.0])

    assert ([1.0, 0], [3.0, 3.0]) == panels.stacked([first, second])[1]


@pytest.mark.parametrize(("span", "points", "step"), [(3600, 800, 60), (86400, 800, 120), (60, 9, 60)])
def test_step_is_a_multiple_of_the_least(span: int, points: int, step: int) -> None:
    assert step == picture.step_for(span, points, 60)


@pytest.mark.parametrize(("step", "text"), [(15, "60s"), (120, "135s")])
def test_rate_interval_holds_four_scrapes(step: int, text: str) -> None:
    assert f"rate(a[{text}])" == picture.query_text("rate(a[$__rate_interval])", 3600, step)


def test_range_is_the_span_and_a_variable_is_everything() -> None:
    assert 'increase(a{job=~".*"}[3600s])' == picture.query_text('increase(a{job=~"$job"}[$__range])', 3600, 15)


def test_group_of_label_replace_is_no_variable() -> None:
    expr = 'label_replace(up, "a", "$1", "b", "(.*)")'

    assert expr == picture.query_text(expr, 60, 15)


@pytest.mark.parametrize("text", ["", "1", "h", "1.5h", "1 hour", "-1h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        picture.duration(text)


@pytest.mark.parametrize(
    ("span", "unit", "step"), [(1, "none", 0.2), (110, "none", 20), (3 * 2**30, "bytes", 2**30 // 2), (3600, "s", 900)]
)
def test_ticks_stand_at_round_values_of_the_unit(span: float, unit: str, step: float) -> None:
    assert step == pytest.approx(tick_step(span, 6 if unit != "s" else 4, unit))


def test_ticks_get_the_decimals_that_tell_them_apart() -> None:
    assert ["1000.0", "1000.5", "1001.0"] == [*ticks(1000, 1001, 2, "none").values()]
