"""The alert rules, played by promtool: when they fire, when they do not, and whether a wrong rule would be noticed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import pytest
import yaml
from mutants import mutants
from scenes import FILES, OPEN, ROOT, RULES, Document, about, cases, load, played, promtool

from kubelet_exporter import demo
from kubelet_exporter.catalog import TOPICS, pleg
from kubelet_exporter.catalog.facts import FACTS
from kubelet_exporter.config import Settings
from kubelet_exporter.serve import folded

SCENES = {path.name.removesuffix(".test.yaml"): load(path) for path in FILES}
CASES = [case for document in SCENES.values() for case in cases(document)]
CATALOGUE = [alert.id for topic in TOPICS for alert in topic.alerts]
UNBELIEVABLE = ("{{", "<no value>", "<error", "%!", "NaN", "Inf", "  ")


class Place(NamedTuple):
    """Where a rule stands."""

    file: str
    group: int
    rule: int


def places() -> dict[str, Place]:
    """Where each rule stands, by the name of its alert or record."""
    documents = {name: yaml.safe_load(text) for name, text in RULES.items()}
    return {
        rule.get("alert") or rule["record"]: Place(file, group, number)
        for file, document in documents.items()
        for group, rules in enumerate(document["groups"])
        for number, rule in enumerate(rules["rules"])
    }


PLACES = places()
each_rule = pytest.mark.parametrize("rule", PLACES)
each_alert = pytest.mark.parametrize("alert", CATALOGUE)

# Changes that no scene can tell from the rule itself, with the reason.
POSITIVE = (
    "a sum of numbers that are never negative is above 0 just when the greatest is, and 0 just when the greatest is"
)
ONE = "the metric is 1 or absent"
OPEN_SCENE = "a scene in open.test.yaml wants it changed"
EQUIVALENT = {
    ("KubeletExporterSourceDown", "max by (1) becomes sum by"): POSITIVE,
    ("KubeletExporterDataDropped", "sum by (1) becomes max by"): POSITIVE,
    ("KubeletExporterDataDropped", "max by (2) becomes sum by"): POSITIVE,
    ("KubeletNodeNotReady", "max by (1) becomes sum by"): POSITIVE,
    ("KubeletExporterRightMissing", "max by (1) becomes min by"): ONE,
    ("cluster_node:kubelet_exporter_kubelet_answering:max", "configz of source (1) left out"): OPEN_SCENE,
    ("cluster_node:kubelet_exporter_kubelet_answering:max", "configz of source (2) left out"): OPEN_SCENE,
    ("cluster_node:kubelet_exporter_pleg_relists:rate5m", "sum by (1) becomes max by"): OPEN_SCENE,
    ("cluster_node:kubelet_exporter_pleg_relists:rate5m", "sum by (1) becomes min by"): OPEN_SCENE,
}


def topics_of(file: str) -> Iterator[Document]:
    """The documents whose scenes use a rule file."""
    yield from (
        document for document in SCENES.values() if any(each.endswith(f"/{file}") for each in document["rule_files"])
    )


def with_rule(name: str, changed: dict[str, Any]) -> dict[str, str]:
    """The rule files with one rule exchanged."""
    place = PLACES[name]
    document = yaml.safe_load(RULES[place.file])
    document["groups"][place.group]["rules"][place.rule] = changed
    return {**RULES, place.file: yaml.safe_dump(document, sort_keys=False, width=1000)}


def rule_named(name: str) -> dict[str, Any]:
    """The rule of an alert or a record."""
    place = PLACES[name]
    rule: dict[str, Any] = yaml.safe_load(RULES[place.file])["groups"][place.group]["rules"][place.rule]
    return rule


def survives(name: str, number: int, changed: dict[str, Any], folder: Path) -> bool:
    """Whether every scene goes as it should though the rule was changed."""
    rules = with_rule(name, changed)
    names = [each for each in PLACES if each == name or name in rule_named(each)["expr"]]
    documents = [about(document, names) for document in topics_of(PLACES[name].file)]
    return all(
        played(document, rules, folder / f"{number}-{index}").returncode == 0
        for index, document in enumerate(documents)
        if document["tests"]
    )


# The rules as they are


def test_promtool_finds_nothing_to_lint() -> None:
    checked = promtool("check", "rules", "--lint=all", *(str(ROOT / "alerts" / name) for name in RULES))

    assert (0, "") == (checked.returncode, checked.stderr)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_scene_goes_as_it_should(path: Path) -> None:
    tested = promtool("test", "rules", str(path))

    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.mark.parametrize("number", range(len(load(OPEN)["tests"])))
@pytest.mark.xfail(reason="the rules do not do this yet")
def test_every_open_scene_goes_as_it_should(number: int, tmp_path: Path) -> None:
    document = load(OPEN)
    tested = played({**document, "tests": [document["tests"][number]]}, RULES, tmp_path)

    assert tested.returncode == 0, tested.stdout + tested.stderr


@each_alert
def test_an_alert_has_eight_cases_and_is_silent_in_three(alert: str) -> None:
    of_alert = [case for case in CASES if case.alert == alert]

    assert len([case for case in of_alert if case.labels]) >= 1
    assert len([case for case in of_alert if not case.labels]) >= 3
    assert len(of_alert) >= 8


def test_no_case_is_about_an_alert_that_does_not_exist() -> None:
    assert set(CATALOGUE) == {case.alert for case in CASES}


def test_every_selector_of_a_case_finds_a_series_of_its_scene() -> None:
    scenes = [scene for document in SCENES.values() for scene in document["tests"]]
    checks = [(str(scene["input_series"]), check["expr"]) for scene in scenes for check in scene["promql_expr_test"]]
    named = [
        (series, match)
        for series, expr in checks
        for match in re.findall(r'(?:node|persistentvolumeclaim)="([^"]+)"', expr)
    ]

    assert [] == [name for series, name in named if f'="{name}"' not in series]


# Texts


def pairs(labels: str) -> set[tuple[str, str]]:
    """The names and values in a text of labels."""
    return set(re.findall(r'(\w+)="([^"]*)"', labels))


def described(alert: str, folder: Path) -> tuple[str, str]:
    """The labels of an alert in its first firing case, and the description that Prometheus makes of them."""
    topic = PLACES[alert].file.removesuffix(".rules.yaml")
    scene = next(scene for scene in SCENES[topic]["tests"] if scene["name"] == alert)
    case = next(case for case in cases({"tests": [scene]}) if case.alert == alert and case.labels)
    wrong = {"eval_time": case.at, "alertname": alert, "exp_alerts": []}
    document = {**SCENES[topic], "tests": [{**scene, "promql_expr_test": [], "alert_rule_test": [wrong]}]}
    output = played(document, RULES, folder)
    got = re.findall(r"Labels:\{(.*)\}\s+Annotations:\{(.*)\}", output.stdout + output.stderr)
    wanted = pairs(case.labels) - {("alertstate", "firing")}
    return case.labels, next(text for labels, text in got if wanted == pairs(labels))


@each_alert
def test_a_description_names_what_the_alert_is_about(alert: str, tmp_path: Path) -> None:
    labels, annotations = described(alert, tmp_path)
    values = {value for name, value in pairs(labels) if name not in ("alertname", "alertstate", "severity")}

    description = re.search(r'description="((?:[^"\\]|\\.)*)"', annotations)
    assert description
    assert [] == [value for value in values if value not in description[1]]
    assert [] == [mark for mark in UNBELIEVABLE if mark in description[1]]


# Reachability


def test_the_scenes_use_the_buckets_of_a_real_kubelet() -> None:
    film = demo.shipped_recording()
    metrics = folded(film, Settings(node_name=film.node_name)).snapshot.metrics
    histogram = metrics.histogram(pleg.DURATION) if metrics else None
    series = [each["series"] for scene in SCENES["pleg"]["tests"] for each in scene["input_series"]]
    used = {le for text in series if 'node="healthy"' in text for le in re.findall(r'le="([^"]+)"', text)}

    assert histogram
    assert {bound for bound, _ in histogram.buckets} == {float(le) for le in used}
    assert FACTS["pleg_relist_slow"].value < max(bound for bound, _ in histogram.buckets[:-1])


def test_a_share_can_be_above_every_threshold_that_is_a_share() -> None:
    assert [] == [fact.id for fact in FACTS.values() if fact.unit == "ratio" and fact.value >= 1]


# Wrong rules


@each_rule
def test_the_scenes_of_a_rule_go_as_they_should_before_it_is_changed(rule: str, tmp_path: Path) -> None:
    assert survives(rule, 0, rule_named(rule), tmp_path)


def test_every_change_that_is_excused_is_one_that_is_made() -> None:
    made = {(rule, text) for rule in PLACES for text, _ in mutants(rule_named(rule))}

    assert set() == set(EQUIVALENT) - made


@each_rule
def test_a_changed_rule_is_still_promql(rule: str) -> None:
    assert [] == [text for text, changed in mutants(rule_named(rule)) if not promql_parser.parse(changed["expr"])]


@each_rule
def test_a_wrong_rule_is_noticed(rule: str, tmp_path: Path) -> None:
    wrong = [(text, changed) for text, changed in mutants(rule_named(rule)) if (rule, text) not in EQUIVALENT]

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda each: survives(rule, each[0], each[1][1], tmp_path), enumerate(wrong)))

    assert wrong
    assert [] == [text for (text, _), survived in zip(wrong, results, strict=True) if survived]
