"""Grafana dashboards: the only module that imports grafanalib.

grafanalib 0.7.1 writes the JSON of Grafana 5; the subclasses here drop what is stale and add what Grafana 10 and later want.
"""

import json
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attr
import grafanalib.core as G  # noqa: N812 (the name that grafanalib's own documents use)
from grafanalib._gen import DashboardEncoder

from kubelet_exporter.catalog import exporter
from kubelet_exporter.catalog.model import Board, Fact, Panel, resolve
from kubelet_exporter.generate.layout import COLUMNS, Place, end, laid_out
from kubelet_exporter.generate.overrides import Overrides, facts_with
from kubelet_exporter.generate.texts import MARK, TITLES, Facts, in_reading_order

Json = dict[str, Any]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
TAGS = ["kubelet", "kubelet-exporter"]
UIDS = {name: f"kubelet-exporter-{name}" for name in TITLES}
SUBTITLES: Mapping[Board, str] = {
    "overview": "Are the kubelets of these clusters well, and which node needs a look?",
    "node": "What is wrong with this kubelet? One row for each concern.",
    "runtime": "Are the kubelet and its runtime alive and keeping up, and what do they wait for?",
    "pod-start": "Do pods start in time; if not, where is the time lost, and whose fault is it?",
    "eviction": "Which node evicts next, when and whom, and what fills up?",
}
NODE_URL = f"/d/{UIDS['node']}?${{datasource:queryparam}}&${{job:queryparam}}&${{cluster:queryparam}}&${{__url_time_range}}&var-node="
STALE_IN_TARGET = {"intervalFactor", "step", "metric", "target", "query", "hide", "interval"}
STALE_IN_PANEL = {
    *("cacheTimeout", "editable", "error", "height", "hideTimeOverride", "minSpan", "span", "transparent"),
    *("fieldConfig", "maxDataPoints"),
}
STALE_IN_DASHBOARD = {"__inputs", "gnetId", "hideControls", "rows", "sharedCrosshair", "style", "timepicker"}
LINES: Json = {
    "drawStyle": "line",
    "lineInterpolation": "linear",
    "lineWidth": 1,
    "fillOpacity": 5,
    "showPoints": "auto",
    "spanNulls": False,
    "stacking": {"mode": "none", "group": "A"},
    "axisSoftMin": 0,
}
TIMELINE: Json = {"fillOpacity": 70, "lineWidth": 0, "spanNulls": False}
CELLS: Json = {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False}
LEGEND: Json = {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []}
LEGEND_TABLE: Json = LEGEND | {
    "displayMode": "table",
    "calcs": ["lastNotNull", "max"],
    "sortBy": "Last *",
    "sortDesc": True,
}
OPTIONS: Mapping[str, Json] = {
    "timeseries": {"legend": LEGEND_TABLE, "tooltip": {"mode": "multi", "sort": "desc"}},
    "stat": {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "center",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": "value",
    },
    "table": {"cellHeight": "sm", "showHeader": True},
    "state-timeline": {
        "alignValue": "left",
        "legend": LEGEND,
        "mergeValues": True,
        "perPage": 20,
        "rowHeight": 0.9,
        "showValue": "never",
        "tooltip": {"mode": "single", "sort": "none"},
    },
}
CUSTOM: Mapping[str, Json] = {"timeseries": LINES, "stat": {}, "table": CELLS, "state-timeline": TIMELINE}


def _kept(data: Json, stale: set[str]) -> Json:
    return {key: value for key, value in data.items() if key not in stale and value not in (None, [], "")}


@attr.s
class _Target(G.Target):
    def to_json_data(self) -> Json:
        data = _kept(super().to_json_data(), STALE_IN_TARGET)  # type: ignore[no-untyped-call]
        return data | {"datasource": DATASOURCE, "editorMode": "code", "range": not self.instant}


@attr.s
class _Panel(G.Panel):
    """A panel as Grafana 10 and later store it; `shape` has its type, fieldConfig and options."""

    shape: Json = attr.ib(factory=dict)

    def to_json_data(self) -> Json:
        data = self.panel_json({})  # type: ignore[no-untyped-call]
        return _kept(data, STALE_IN_PANEL) | self.shape


@attr.s
class _Dashboard(G.Dashboard):
    def to_json_data(self) -> Json:
        data = super().to_json_data()  # type: ignore[no-untyped-call]
        return {key: value for key, value in data.items() if key not in STALE_IN_DASHBOARD} | {"timepicker": {}}


def files(overrides: Overrides) -> Mapping[str, str]:
    """Relative path and content of every dashboard."""
    facts = facts_with(overrides)
    built: Mapping[Board, list[_Panel]] = {
        "overview": _overview(facts),
        **{board: _rows(facts, board) for board in TITLES if board != "overview"},
    }
    return {f"dashboards/{name}.json": _text(name, panels) for name, panels in built.items()}


def _text(name: Board, panels: Sequence[_Panel]) -> str:
    dashboard = _Dashboard(
        title=TITLES[name],
        uid=UIDS[name],
        description=f"{SUBTITLES[name]} {MARK}",
        editable=False,
        graphTooltip=1,
        links=[G.DashboardLink(title="Kubelet", tags=TAGS, includeVars=True, icon="dashboard")],
        panels=list(panels),
        refresh="1m",
        schemaVersion=39,
        tags=TAGS,
        templating=G.Templating(list=list(_variables())),
        time=G.Time("now-1h", "now"),
        timezone="browser",
    )
    numbered = dashboard.auto_panel_ids()  # type: ignore[no-untyped-call]
    return json.dumps(numbered, cls=DashboardEncoder, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


def _overview(facts: Facts) -> list[_Panel]:
    panels = [panel for topic in in_reading_order() for panel in topic.boards.get("overview", ())]
    return [_drawn(place, facts, linked=True) for place in laid_out(panels, 0)]


def _rows(facts: Facts, board: Board) -> list[_Panel]:
    """A row for each topic that has panels here."""
    drawn: list[_Panel] = []
    top = 0
    for topic in in_reading_order():
        if panels := topic.boards.get(board):
            drawn.append(_row(topic.title, top))
            places = laid_out(panels, top + 1)
            drawn += [_drawn(place, facts, linked=False) for place in places]
            top = end(places, top + 1)
    return drawn


def _row(title: str, top: int) -> _Panel:
    grid = G.GridPos(h=1, w=COLUMNS, x=0, y=top)
    return _Panel(title=title, gridPos=grid, shape={"type": "row", "collapsed": False, "panels": []})


def _drawn(place: Place, facts: Facts, *, linked: bool) -> _Panel:
    panel = place.panel
    config = {"defaults": _defaults(panel, facts, linked=linked), "overrides": _overrides(panel, linked=linked)}
    return _Panel(
        title=resolve(panel.title, facts),
        description=resolve(panel.description, facts),
        dataSource=DATASOURCE,
        gridPos=G.GridPos(h=place.height, w=place.width, x=place.x, y=place.y),
        interval="1m" if panel.kind in {"timeseries", "state-timeline"} else None,
        targets=_targets(panel, facts),
        transformations=[_columns(panel)] if panel.kind == "table" else [],
        shape={"type": panel.kind, "fieldConfig": config, "options": _options(panel, place.width)},
    )


def _targets(panel: Panel, facts: Facts) -> list[_Target]:
    return [
        _Target(
            expr=resolve(query.expr, facts),
            legendFormat=resolve(query.legend, facts),
            refId=letter,
            format="table" if panel.kind == "table" else "time_series",
            instant=panel.kind in {"stat", "table"},  # a range would show a value that is long gone
        )
        for letter, query in zip(string.ascii_uppercase, panel.queries, strict=False)
    ]


def _options(panel: Panel, width: int) -> Json:
    options = OPTIONS[panel.kind]
    if panel.kind == "stat" and any("{{" in query.legend for query in panel.queries):
        return options | {"textMode": "value_and_name", "wideLayout": False}
    if panel.kind == "timeseries" and width >= COLUMNS / 2:
        return options | {"legend": LEGEND_TABLE | {"placement": "right"}}
    return options


def _defaults(panel: Panel, facts: Facts, *, linked: bool) -> Json:
    limits = [(facts[fact.id], colour) for fact, colour in panel.limits]
    custom = CUSTOM[panel.kind]
    if panel.stacked:
        custom = custom | {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 40}
    if panel.kind == "timeseries" and limits:
        custom = custom | {"thresholdsStyle": {"mode": "dashed"}, "axisSoftMax": max(fact.value for fact, _ in limits)}
    by_node = linked and panel.kind != "table" and any("{{node}}" in query.legend for query in panel.queries)
    links = {"links": [{"title": "Open this node", "url": f"{NODE_URL}${{__field.labels.node}}"}]} if by_node else {}
    return links | {
        "color": {"mode": "palette-classic" if panel.kind == "timeseries" else "thresholds"},
        "custom": custom,
        "mappings": _mappings(panel),
        "thresholds": {"mode": "absolute", "steps": [{"color": _normal(panel), "value": None}, *_steps(limits)]},
        "unit": panel.unit,
    }


def _normal(panel: Panel) -> str:
    """The colour below all limits. A stat with a mapping names its good value, so that any other value is bad."""
    if panel.kind == "stat" and panel.mappings:
        return "red"
    return "green" if panel.limits else "text"


def _steps(limits: Sequence[tuple[Fact, str]]) -> Iterator[Json]:
    yield from (
        {"color": colour, "value": fact.value} for fact, colour in sorted(limits, key=lambda limit: limit[0].value)
    )


def _mappings(panel: Panel) -> list[Json]:
    options = {
        value: {"text": text, "color": colour, "index": index}
        for index, (value, (text, colour)) in enumerate(panel.mappings.items())
    }
    return [{"type": "value", "options": options}] if options else []


def _labels(panel: Panel) -> list[str]:
    """The labels that a table groups by: its columns."""
    grouped = re.search(r"\bby \(([^)]*)\)", panel.queries[0].expr)
    return [label.strip() for label in grouped[1].split(",")] if grouped else []


def _words(label: str) -> str:
    return label.replace("_", " ").capitalize().replace("Os ", "OS ")


def _columns(panel: Panel) -> Json:
    labels = _labels(panel)
    names = {label: _words(label) for label in labels} | ({"Value": panel.value} if panel.value else {})
    return {
        "id": "organize",
        "options": {
            "excludeByName": {"Time": True, "Value": not panel.value},
            "indexByName": {label: index for index, label in enumerate(names)},
            "renameByName": names,
        },
    }


def _overrides(panel: Panel, *, linked: bool) -> list[Json]:
    if not linked or panel.kind != "table" or "node" not in _labels(panel):
        return []
    link = {"title": "Open this node", "url": f"{NODE_URL}${{__value.raw}}"}
    return [{"matcher": {"id": "byName", "options": "Node"}, "properties": [{"id": "links", "value": [link]}]}]


def _variables() -> Iterator[Json]:
    yield {
        "type": "datasource",
        "name": "datasource",
        "label": "Data source",
        "query": "prometheus",
        "regex": "",
        "refresh": 1,
        "hide": 0,
        "multi": False,
        "includeAll": False,
        "options": [],
        "current": {},
    }
    selector: list[str] = []
    for name in ("job", "cluster", "node"):
        of = exporter.BUILD_INFO if not selector else f"{exporter.BUILD_INFO}{{{','.join(selector)}}}"
        yield _variable(name, f"label_values({of}, {name})")
        selector.append(f'{name}=~"${name}"')


def _variable(name: str, query: str) -> Json:
    return {
        "type": "query",
        "name": name,
        "label": name.capitalize(),
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"qryType": 1, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"},
        "refresh": 2,
        "sort": 1,
        "regex": "",
        "hide": 0,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "options": [],
        "current": {"text": ["All"], "value": ["$__all"]},
    }
