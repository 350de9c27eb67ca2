"""The scenes in tests/rules and how promtool plays them, against the committed rules or against others."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from conftest import need

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "tests" / "rules").glob("*.test.yaml"))
ALERTS = re.compile(r'ALERTS\{alertname="(\w+)",alertstate="firing"')

WORD = re.compile(r"[\w:]+")

Document = Mapping[str, Any]


class Case(NamedTuple):
    """What one alert should do at one moment: fire with these labels, or be silent."""

    alert: str
    labels: str
    at: str


def load(path: Path) -> Document:
    """The document in a file of scenes or rules."""
    document: Document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


RULES = {path.name: load(path) for path in sorted((ROOT / "alerts").glob("*.rules.yaml"))}


def cases(document: Document) -> list[Case]:
    """All cases of a document; labels are empty where the alert should be silent."""
    checks = [check for scene in document["tests"] for check in scene["promql_expr_test"]]
    found = [(ALERTS.match(check["expr"]), check) for check in checks]
    return [Case(match[1], _labels(check), check["eval_time"]) for match, check in found if match]


def _labels(check: Document) -> str:
    return check["exp_samples"][0]["labels"] if check["exp_samples"] else ""


def about(document: Document, names: Collection[str]) -> Document:
    """The scenes that say something about one of these alerts and records, without what they say about others."""
    scenes = [{**scene, "promql_expr_test": _checks(scene, names)} for scene in document["tests"]]
    return {**document, "tests": [scene for scene in scenes if scene["promql_expr_test"]]}


def _checks(scene: Document, names: Collection[str]) -> list[Document]:
    return [check for check in scene["promql_expr_test"] if not set(names).isdisjoint(WORD.findall(check["expr"]))]


def played(document: Document, rules: Mapping[str, Document], folder: Path) -> subprocess.CompletedProcess[str]:
    """What promtool says of the scenes with these rule files; status 0 if all went as they should."""
    places = folder / "alerts", folder / "tests" / "rules"
    for place in places:
        place.mkdir(parents=True)
    for name, groups in rules.items():
        (places[0] / name).write_text(json.dumps(groups), encoding="utf-8")  # JSON is YAML, and sooner written
    scenes = places[1] / "played.test.yaml"
    scenes.write_text(json.dumps(document), encoding="utf-8")
    return promtool("test", "rules", str(scenes))


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What promtool says; it ends by itself."""
    return subprocess.run([need("promtool"), *arguments], check=False, capture_output=True, text=True, timeout=60)
