"""The pure parts of scripts/picture.py: no server and no picture."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import picture
from charts import tick_step
from values import Series, field, humanise, legend, mapped, reduced, shown, table, threshold_colour

STEPS = [{"color": "green", "value": None}, {"color": "orange", "value": 0.8}, {"color": "red", "value": 0.9}]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "s", "0 s"),
        (0.0042, "s", "4.2 ms"),
        (90, "s", "1.5 min"),
        (7200, "s", "2 hours"),
        (250, "ms", "250 ms"),
        (0, "bytes", "0 B"),
        (1536, "bytes", "1.5 KiB"),
        (12e9, "decbytes", "12 GB"),
        (2_500_000, "Bps", "2.5 MB/s"),
        (0.753, "percentunit", "75.3%"),
        (42, "percent", "42%"),
        (1234, "short", "1.23 K"),
        (1234, "none", "1234"),
        (0.25, "ops", "0.25 ops/s"),
        (1, "bool_yes_no", "Yes"),
        (3, "suffix:pods", "3 pods"),
        (math.nan, "bytes", "NaN"),
        (math.inf, "s", "∞"),
    ],
)
def test_value_is_written_in_its_unit(value: float, unit: str, text: str) -> None:
    assert text == humanise(value, unit)


def test_decimals_of_the_field_are_kept() -> None:
    assert "95.0%" == humanise(0.95, "percentunit", 1)


def test_points_in_time_are_milliseconds_in_utc() -> None:
    assert "2026-12-01 00:00:00" == humanise(1_796_083_200_000, "dateTimeAsIso")


def test_time_from_now_is_counted_from_the_end_of_the_picture() -> None:
    assert "2 hours ago" == humanise(1_000_000, "dateTimeFromNow", now=8200)


@pytest.mark.parametrize(("value", "colour"), [(-5, "green"), (0.79, "green"), (0.8, "orange"), (0.95, "red")])
def test_last_threshold_that_is_reached_gives_the_colour(value: float, colour: str) -> None:
    assert colour == threshold_colour(value, {"mode": "absolute", "steps": STEPS})


def test_percentage_threshold_is_taken_of_the_range_of_the_field() -> None:
    steps = [{"color": "green", "value": None}, {"color": "red", "value": 50}]

    assert "red" == threshold_colour(60, {"mode": "percentage", "steps": steps}, 0, 110)
    assert "green" == threshold_colour(54, {"mode": "percentage", "steps": steps}, 0, 110)


def test_mapping_wins_over_unit_and_threshold() -> None:
    mappings = [{"type": "value", "options": {"0": {"text": "DOWN", "color": "blue"}}}]

    assert ("DOWN", "blue") == shown(0.0, {"mappings": mappings, "thresholds": {"steps": STEPS}}, 0)


def test_open_range_mapping_has_no_upper_end() -> None:
    mappings = [{"type": "range", "options": {"from": 10, "to": None, "result": {"text": "many"}}}]

    assert {"text": "many"} == mapped(1e9, mappings)
    assert {} == mapped(9.0, mappings)


def test_override_by_name_changes_only_its_field() -> None:
    override = {"matcher": {"id": "byName", "options": "p99"}, "properties": [{"id": "custom.lineWidth", "value": 2}]}
    panel = {"fieldConfig": {"defaults": {"unit": "s", "custom": {"lineWidth": 1}}, "overrides": [override]}}

    assert {"unit": "s", "custom": {"lineWidth": 2}} == field(panel, "p99")
    assert {"unit": "s", "custom": {"lineWidth": 1}} == field(panel, "p50")


def test_reducer_passes_over_gaps() -> None:
    assert 2 == reduced([1, 2, math.nan], "lastNotNull")
    assert 1.5 == reduced([1, 2, math.nan], "mean")
    assert math.isnan(reduced([math.nan], "max"))


def test_legend_is_filled_with_labels() -> None:
    assert "node-a: " == legend("{{node}}: {{ zone }}", {"node": "node-a"})
    assert 'up{job="kubelet"}' == legend("", {"__name__": "up", "job": "kubelet"})


def test_queries_of_a_table_are_joined_on_their_labels() -> None:
    series = [
        Series("", {"node": node}, [60.0], [value], ref)
        for node, value, ref in [("a", 1.0, "A"), ("b", 2.0, "A"), ("b", 20.0, "B"), ("a", 10.0, "B")]
    ]
    names = {"Value #A": "Used", "Value #B": "Size"}
    organize = {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": names}}
    panel = {"transformations": [organize], "options": {"sortBy": [{"displayName": "Used", "desc": True}]}}

    columns, rows = table(panel, series)

    assert ["node", "Used", "Size"] == columns
    assert [{"node": "b", "Used": 2.0, "Size": 20.0}, {"node": "a", "Used": 1.0, "Size": 10.0}] == rows


@pytest.mark.parametrize(
    ("span", "points", "least", "step"),
    [(3600, 800, 15, 15), (21600, 500, 15, 30), (86400, 800, 15, 120), (60, 9, 600, 600)],
)
def test_step_is_round_and_not_below_the_least(span: int, points: int, least: int, step: int) -> None:
    assert step == picture.step_for(span, points, least)


def test_rate_interval_holds_four_scrapes() -> None:
    assert 60 == picture.rate_interval(15)
    assert 135 == picture.rate_interval(120)


def test_built_in_intervals_are_filled_in() -> None:
    expr = "rate(a[$__rate_interval]) + increase(b[${__range}]) + max_over_time(c[$__interval])"

    assert "rate(a[60s]) + increase(b[3600s]) + max_over_time(c[15s])" == picture.query_text(expr, {}, 3600, 15)


def test_variable_is_filled_in_as_given() -> None:
    assert 'up{node=~"a|b"}' == picture.query_text('up{node=~"${node:regex}"}', {"node": "a|b"}, 60, 15)


def test_equality_with_everything_becomes_a_match() -> None:
    expr = 'up{cluster="$cluster", job!="$job", node="a"}'

    assert 'up{cluster=~".*", job!="x", node="a"}' == picture.query_text(expr, {"job": "x"}, 60, 15)


def test_group_of_label_replace_is_no_variable() -> None:
    expr = 'label_replace(up, "a", "$1", "b", "(.*)")'

    assert expr == picture.query_text(expr, {}, 60, 15)


def test_command_line_wins_over_the_choice_of_the_dashboard() -> None:
    listed = [
        {"name": "limit", "type": "custom", "current": {"value": "10"}},
        {"name": "top", "type": "custom", "current": {"value": "5"}},
        {"name": "node", "type": "query", "current": {"value": ["$__all"]}},
    ]

    assert {"limit": "20", "top": "5", "node": ".*"} == picture.variables_of(
        {"templating": {"list": listed}}, ["limit=20"]
    )


@pytest.mark.parametrize("text", ["", "1", "h", "1.5h", "1 hour", "-1h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        picture.duration(text)


def test_opened_row_moves_what_follows_down() -> None:
    def panel(name: str, y: int, **more: object) -> dict[str, object]:
        return {"title": name, "type": "stat", "gridPos": {"x": 0, "y": y, "w": 4, "h": 5}, **more}

    row = panel("row", 0, collapsed=True, panels=[panel("inner", 1)])
    dashboard = {"panels": [row, panel("after", 1)]}

    assert [("row", 0), ("inner", 1), ("after", 6)] == [
        (one["title"], y) for one, y in picture.placed(dashboard, expand=True)
    ]
    assert [("row", 0), ("after", 1)] == [(one["title"], y) for one, y in picture.placed(dashboard, expand=False)]


@pytest.mark.parametrize(
    ("span", "unit", "step"), [(1, "none", 0.2), (110, "none", 20), (3 * 2**30, "bytes", 2**30 // 2), (3600, "s", 900)]
)
def test_ticks_stand_at_round_values_of_the_unit(span: float, unit: str, step: float) -> None:
    assert step == pytest.approx(tick_step(span, 6 if unit != "s" else 4, unit))
