"""The scenes in tests/rules and how promtool plays them, against the committed rules or against others."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from conftest import need

ROOT = Path(__file__).parent.parent
FILES = sorted(path for path in (ROOT / "tests" / "rules").glob("*.test.yaml") if path.stem != "open.test")
OPEN = ROOT / "tests" / "rules" / "open.test.yaml"
RULES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "alerts").glob("*.rules.yaml"))}
ALERTS = re.compile(r'ALERTS\{alertname="(\w+)",alertstate="firing"')

Document = Mapping[str, Any]


class Case(NamedTuple):
    """What one alert should do at one moment: fire with these labels, or be silent."""

    alert: str
    labels: str
    at: str


def load(path: Path) -> Document:
    """The document in a file of scenes."""
    document: Document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def cases(document: Document) -> list[Case]:
    """All cases of a document; labels are empty where the alert should be silent."""
    checks = [check for scene in document["tests"] for check in scene["promql_expr_test"]]
    found = [(ALERTS.match(check["expr"]), check) for check in checks]
    return [Case(match[1], _labels(check), check["eval_time"]) for match, check in found if match]


def _labels(check: Document) -> str:
    return check["exp_samples"][0]["labels"] if check["exp_samples"] else ""


def about(document: Document, names: Collection[str]) -> Document:
    """The scenes that say something about one of these alerts and records."""
    scenes = [scene for scene in document["tests"] if any(name in _asked(scene) for name in names)]
    return {**document, "tests": scenes}


def _asked(scene: Document) -> str:
    return " ".join(check["expr"] for check in scene["promql_expr_test"])


def played(document: Document, rules: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """What promtool says of the scenes with these rule files; status 0 if all went as they should."""
    places = folder / "alerts", folder / "tests" / "rules"
    for place in places:
        place.mkdir(parents=True)
    for name, text in rules.items():
        (places[0] / name).write_text(text, encoding="utf-8")
    scenes = places[1] / "played.test.yaml"
    scenes.write_text(yaml.safe_dump(document, sort_keys=False, width=1000), encoding="utf-8")
    return promtool("test", "rules", str(scenes))


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What promtool says; it ends by itself."""
    return subprocess.run([need("promtool"), *arguments], check=False, capture_output=True, text=True, timeout=60)
