"""The dashboards as Grafana reads them: its own models, its grid, its units, PromQL that parses."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafanalib import formatunits
from queries import selectors

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.catalog.model import Panel, Query
from kubelet_exporter.generate import dashboards
from kubelet_exporter.generate.layout import end, laid_out
from kubelet_exporter.generate.overrides import Overrides

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # version 2 is not what files of Grafana 10 and 11 hold
    from grafana_foundation_sdk.models.dashboard import Dashboard

Json = dict[str, Any]

DASHBOARDS = {path: json.loads(text) for path, text in dashboards.files(Overrides()).items()}
UNITS = {value for name, value in vars(formatunits).items() if name.isupper()}
SERIES = {
    f"{metric}{suffix}"
    for topic in TOPICS
    for metric in topic.metrics
    for suffix in (("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",))
}


def panels(dashboard: Json) -> list[Json]:
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def is_table(panel: Any) -> bool:
    return bool(panel["type"] == "table")


PANELS = [
    pytest.param(panel, id=f"{dashboard['title']}: {panel['title']}")
    for dashboard in DASHBOARDS.values()
    for panel in panels(dashboard)
]
each_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS.keys())
each_panel = pytest.mark.parametrize("panel", PANELS)


def lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """The paths of what a round trip dropped or changed; what it added are defaults."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from lost(value, after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from lost(old, new, f"{path}[{index}]")
    elif before != after:
        yield path


def cells(panel: Json) -> Iterator[tuple[int, int]]:
    grid = panel["gridPos"]
    for y in range(grid["y"], grid["y"] + grid["h"]):
        yield from ((x, y) for x in range(grid["x"], grid["x"] + grid["w"]))


@each_dashboard
def test_grafanas_models_know_every_key(dashboard: Json) -> None:
    plugins.register_default_plugins()

    after = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))

    assert [] == list(lost(dashboard, after))


def test_a_key_that_grafana_does_not_know_would_be_found() -> None:
    plugins.register_default_plugins()
    planted = {"panels": [{"type": "stat", "options": {"graphMode": "none", "sparkline": True}}], "rows": []}

    after = json.loads(JSONEncoder().encode(Dashboard.from_json(planted)))

    assert [".panels[0].options.sparkline", ".rows"] == list(lost(planted, after))


@each_dashboard
def test_a_dashboard_can_be_provisioned_as_it_lies(dashboard: Json) -> None:
    links = [link["tags"] for link in dashboard["links"]]

    assert (False, 1, "1m", "browser") == tuple(
        dashboard[key] for key in ("editable", "graphTooltip", "refresh", "timezone")
    )
    assert dashboard["schemaVersion"] >= 39
    assert dashboard["uid"].startswith("kubelet-exporter-")
    assert [dashboard["tags"]] == links


@each_dashboard
def test_job_cluster_and_node_can_be_chosen_and_may_be_missing(dashboard: Json) -> None:
    source, *variables = dashboard["templating"]["list"]

    assert ("datasource", "datasource", "Data source") == (source["type"], source["name"], source["label"])
    assert ["job", "cluster", "node"] == [variable["name"] for variable in variables]
    assert {(".*", True, True, 2)} == {
        tuple(variable[key] for key in ("allValue", "multi", "includeAll", "refresh")) for variable in variables
    }


@each_dashboard
def test_ids_are_unique(dashboard: Json) -> None:
    ids = Counter(panel["id"] for panel in dashboard["panels"])

    assert len(dashboard["panels"]) == len(ids)


@each_dashboard
def test_the_grid_has_neither_holes_nor_overlaps(dashboard: Json) -> None:
    taken = Counter(cell for panel in dashboard["panels"] for cell in cells(panel))
    lines = max(y for _, y in taken) + 1

    assert dict.fromkeys([(x, y) for y in range(lines) for x in range(24)], 1) == dict(taken)


@each_dashboard
def test_titles_in_a_dashboard_differ(dashboard: Json) -> None:
    titles = Counter(panel["title"] for panel in panels(dashboard))

    assert [] == [title for title, count in titles.items() if count > 1]


@each_panel
def test_every_panel_has_title_description_queries_and_a_known_unit(panel: Json) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["targets"]
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS


@each_panel
def test_every_query_selects_known_series_by_the_variables(panel: Json) -> None:
    selected = [found for target in panel["targets"] for found in selectors(target["expr"])]

    assert selected
    assert [] == [name for name, labels in selected if name not in SERIES or not {"job", "cluster", "node"} <= labels]


@each_panel
def test_every_query_uses_the_chosen_data_source_and_no_fixed_range(panel: Json) -> None:
    sources = {panel["datasource"]["uid"], *(target["datasource"]["uid"] for target in panel["targets"])}
    ranges = {found for target in panel["targets"] for found in re.findall(r"\[(.*?)\]", target["expr"])}

    assert {"${datasource}"} == sources
    assert ranges <= ({"$__rate_interval", "$__range"} if panel["type"] == "stat" else {"$__rate_interval"})


@pytest.mark.parametrize("panel", [panel for panel in PANELS if is_table(panel.values[0])])
def test_a_table_names_its_columns_and_hides_the_time_and_a_value_without_a_name(panel: Json) -> None:
    (columns,) = panel["transformations"]
    names = columns["options"]["renameByName"]

    assert names
    assert all(re.fullmatch("[A-Z][A-Za-z ]*", name) for name in names.values())
    assert {"Time": True, "Value": "Value" not in names} == columns["options"]["excludeByName"]


def test_limits_are_dashed_lines_in_time_series_and_colours_in_stats() -> None:
    node = {panel["title"]: panel for panel in panels(DASHBOARDS["dashboards/node.json"])}
    overview = {panel["title"]: panel for panel in panels(DASHBOARDS["dashboards/overview.json"])}

    line, stat = (
        dashboard["fieldConfig"]["defaults"] for dashboard in (node["Relist time"], overview["Oldest relist"])
    )

    assert {"mode": "dashed"} == line["custom"]["thresholdsStyle"]
    assert [("green", None), ("red", 5)] == [(step["color"], step["value"]) for step in line["thresholds"]["steps"]]
    assert "thresholds" == stat["color"]["mode"]
    assert [("green", None), ("red", 60)] == [(step["color"], step["value"]) for step in stat["thresholds"]["steps"]]


# Layout


def panel_of(width: int, kind: Any = "timeseries", height: int = 8) -> Panel:
    return Panel("title", "description", (Query("up"),), kind=kind, width=width, height=height)


def test_a_short_line_is_stretched_and_as_high_as_its_highest_panel() -> None:
    places = laid_out([panel_of(8), panel_of(8, height=10)], top=3)

    assert [(0, 3, 12, 10), (12, 3, 12, 10)] == [place[1:] for place in places]
    assert end(places, 3) == 13


def test_seven_stats_take_two_lines_of_nearly_as_many() -> None:
    places = laid_out([panel_of(12), *[panel_of(4, "stat", 4)] * 7], top=0)

    assert [0, 0, 0, 4, 4, 4, 4, 8] == [place.y for place in places]


def test_no_panels_take_no_lines() -> None:
    assert end(laid_out([], top=5), 5) == 5
