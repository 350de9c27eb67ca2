"""The alert rules, played by promtool: when they fire, when they do not, and whether a wrong rule would be noticed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import pytest
from mutants import mutants
from scenes import FILES, ROOT, RULES, WORD, Document, about, cases, load, played, promtool

from kubelet_exporter import demo
from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.catalog.facts import FACTS
from kubelet_exporter.catalog.pleg import metrics as pleg
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
    return {
        rule.get("alert") or rule["record"]: Place(file, group, number)
        for file, document in RULES.items()
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
GROWTH = "a counter never falls"
SHARE = "no share of whole starts is exactly this product of two decimals"
LOGARITHM = "no logarithms of whole numbers are exactly the same"
AT_EXPECTED = "the score is 0 just when as many are bad as are expected, and it must be above a logarithm that is not"
SUCCEEDED = "where the greater increase is that of the successes, the other part silences the alert"
WANTED = "where fewer are wanted than mounted, the greater number less the mounted is 0"
FAILED = "users, registries and the control plane are to blame for failed starts only"
SECONDS = "no increase of measured seconds is exactly this number"
BUDGET = (
    ("KubeletPodStartBurnFast", (1, 2)),
    ("KubeletPodStartBurnSlow", (1, 2)),
    ("KubeletPodStartBudgetBurning", (1, 2, 4, 5)),
)
FAILING = ("KubeletImagePullsFailing", "KubeletPodStartsFailingForUsers", "KubeletPodAdmissionRejected")
COLD = ("KubeletColdStartSlower", "KubeletColdStartOutlier")
EQUIVALENT = {
    ("KubeletExporterSourceDown", "max by (1) becomes sum by"): POSITIVE,
    ("KubeletExporterDataDropped", "sum by (1) becomes max by"): POSITIVE,
    ("KubeletExporterDataDropped", "max by (2) becomes sum by"): POSITIVE,
    ("KubeletNodeNotReady", "max by (1) becomes sum by"): POSITIVE,
    ("KubeletExporterRightMissing", "max by (1) becomes min by"): ONE,
    ("KubeletExporterSourceDown", "max by (2) becomes min by"): ONE,
    **{
        ("KubeletExporterVanished", f"max by ({number}) becomes {other} by"): ONE
        for number in (1, 2)
        for other in ("min", "sum")
    },
    ("cluster_node:kubelet_exporter_pleg_not_fresh:ratio1h", "> (1) becomes >="): SECONDS,
    **{("KubeletPLEGBudgetBurning", f"> ({number}) becomes >="): SECONDS for number in (1, 2)},
    **{("KubeletPLEGRelistsRare", f"max by (1) becomes {other} by"): ONE for other in ("min", "sum")},
    ("cluster_node_operation:kubelet_exporter_runtime_operation_duration_seconds:mean1h", "> (1) becomes !="): GROWTH,
    ("cluster_node:kubelet_exporter_cold_start_seconds:mean1h", "> (1) becomes >="): SECONDS,
    ("cluster_node_runtime_version:kubelet_exporter_cold_start_seconds:mean1h", "max by (1) becomes min by"): ONE,
    ("cluster_node_operation:kubelet_exporter_runtime_operation_errors:ratio30m", "> (1) becomes !="): GROWTH,
    ("cluster_node:kubelet_exporter_api_request_errors:ratio15m", "> (1) becomes >="): SECONDS,
    ("cluster_node:kubelet_exporter_api_rate_limiter_long_waits:ratio15m", "> (1) becomes >="): SECONDS,
    ("KubeletAPIRequestsThrottled", "> (1) becomes >="): SECONDS,
    ("KubeletPodWorkersSlow", "> (1) becomes >="): SECONDS,
    ("KubeletOrphanVolumesRemain", "> (1) becomes !="): POSITIVE,
    ("KubeletOrphanVolumesRemain", "max by (1) becomes sum by"): POSITIVE,
    **{(alert, f"> ({number}) becomes >="): SECONDS for alert in COLD for number in (1, 2)},
    ("KubeletPLEGEventsDiscarded", "> (1) becomes !="): GROWTH,
    ("KubeletPLEGEventsDiscarded", "max by (1) becomes sum by"): POSITIVE,
    ("KubeletPodsEvicted", "> (1) becomes !="): GROWTH,
    ("KubeletPodsEvicted", "max by (1) becomes sum by"): POSITIVE,
    ("KubeletPLEGStale", "> (4) becomes !="): GROWTH,
    ("KubeletPLEGStale", "max by (3) becomes sum by"): POSITIVE,
    ("KubeletVolumeMountsFailing", "> (2) becomes !="): GROWTH,
    ("KubeletVolumeMountsFailing", "max by (2) becomes sum by"): POSITIVE,
    ("KubeletVolumeMountsFailing", 'status="failure" (3) left out'): SUCCEEDED,
    ("KubeletVolumesNotMounted", "> (2) becomes !="): GROWTH,
    ("KubeletVolumesNotMounted", "max by (3) becomes sum by"): POSITIVE,
    ("KubeletVolumesNotMounted", 'state="desired", (1) left out'): WANTED,
    ("KubeletPodStartNodeOutlier", "> (1) becomes >="): LOGARITHM,
    ("KubeletPodStartNodeOutlier", "> (3) becomes >="): AT_EXPECTED,
    **{(alert, f"> ({number}) becomes >="): SHARE for alert, numbers in BUDGET for number in numbers},
    **{(alert, 'verdict="failed", (1) left out'): FAILED for alert in FAILING},
}


def topics_of(file: str) -> Iterator[Document]:
    """The documents whose scenes use a rule file."""
    yield from (
        document for document in SCENES.values() if any(each.endswith(f"/{file}") for each in document["rule_files"])
    )


def rule_named(name: str) -> dict[str, Any]:
    """The rule of an alert or a record."""
    place = PLACES[name]
    rule: dict[str, Any] = RULES[place.file]["groups"][place.group]["rules"][place.rule]
    return rule


def behind(names: Iterable[str]) -> set[str]:
    """The names, and those of all records that their expressions use."""
    found = set(names)
    while more := {word for name in found for word in WORD.findall(rule_named(name)["expr"])} & set(PLACES) - found:
        found |= more
    return found


def with_rule(name: str, changed: dict[str, Any], kept: set[str]) -> dict[str, Document]:
    """The rule files with the rules that are kept, and one of them exchanged."""

    def of_group(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
        named = [(rule.get("alert") or rule["record"], rule) for rule in rules]
        return [changed if each == name else rule for each, rule in named if each in kept]

    return {
        file: {"groups": [{**group, "rules": of_group(group["rules"])} for group in document["groups"]]}
        for file, document in RULES.items()
    }


def survives(name: str, number: int, changed: dict[str, Any], folder: Path) -> bool:
    """Whether every scene goes as it should though the rule was changed."""
    names = {each for each in PLACES if each == name or name in WORD.findall(rule_named(each)["expr"])}
    rules = with_rule(name, changed, behind(names))
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
        for match in re.findall(r'(?:cluster|node|persistentvolumeclaim|pod)="([^"]+)"', expr)
    ]

    assert [] == [name for series, name in named if f'="{name}"' not in series]


# Texts


def pairs(labels: str) -> set[tuple[str, str]]:
    """The names and values in a text of labels."""
    return set(re.findall(r'(\w+)="([^"]*)"', labels))


def described(alert: str, folder: Path) -> tuple[str, str]:
    """The labels of an alert in its first firing case, and the description that Prometheus makes of them."""
    document, scene = next(
        (document, scene) for document in SCENES.values() for scene in document["tests"] if scene["name"] == alert
    )
    case = next(case for case in cases({"tests": [scene]}) if case.alert == alert and case.labels)
    wrong = {"eval_time": case.at, "alertname": alert, "exp_alerts": []}
    wrong_document = {**document, "tests": [{**scene, "promql_expr_test": [], "alert_rule_test": [wrong]}]}
    output = played(wrong_document, RULES, folder)
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
