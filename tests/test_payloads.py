"""Bodies of real kubelets from public repositories, of many versions and kinds, where a folder of them is at hand.

KUBELET_EXPORTER_PAYLOADS names it. Without it these tests are skipped, also in CI: the project stands on its own recordings.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bodies import Known, faults
from conftest import need

from kubelet_exporter.page import page
from kubelet_exporter.snapshot import Source
from kubelet_exporter.sources.decode import Malformed
from kubelet_exporter.sources.endpoints import decoders

ROOT = Path(__file__).parent.parent
FOLDER = Path(os.environ.get("KUBELET_EXPORTER_PAYLOADS") or ROOT.parent / "shared" / "data" / "payloads")
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file()) if FOLDER.is_dir() else []

pytestmark = pytest.mark.skipif(not FILES, reason="no folder of payloads; KUBELET_EXPORTER_PAYLOADS names one")

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())


def kubelet_metrics(path: Path) -> bool:
    """Whether a file is the /metrics of a kubelet whose PLEG has its names of today."""
    return path.suffix in (".txt", ".prom") and b"\nkubelet_pleg_relist_duration_seconds_count " in path.read_bytes()


def document(path: Path) -> Any:
    """The JSON of a file, None if it is none."""
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


def named(*keys: str) -> list[Path]:
    """The files that are objects with these keys, and lists of pods if they are lists."""
    found = [(path, document(path)) for path in FILES]
    return [
        path
        for path, content in found
        if isinstance(content, dict) and all(content.get(key) is not None for key in keys) and _of_pods(content)
    ]


def _of_pods(content: dict[str, Any]) -> bool:
    items = [item for item in content.get("items") or () if item]
    return all("containers" in (item.get("spec") or {}) for item in items)


def claims(value: Any) -> Iterator[tuple[str, str]]:
    """Every claim at any depth of a document."""
    if isinstance(value, dict):
        reference = value.get("pvcRef")
        if reference:
            yield reference["namespace"], reference["name"]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from claims(inner)


def test_there_are_files_of_every_kind() -> None:
    assert len(FILES) > 100
    assert len(named("items")) > 20
    assert len(named("node", "pods")) > 20
    assert len(named("kubeletconfig")) >= 3
    assert [] != [path for path in FILES if kubelet_metrics(path)]


@each_file
@pytest.mark.parametrize("source", list(decoders()))
def test_a_file_is_malformed_or_makes_a_sound_scrape(path: Path, source: Source) -> None:
    content = path.read_bytes()
    known = Known()
    try:
        decoders()[source](content)
    except Malformed:
        known.read(source, content)

        assert f'source_errors_total{{reason="malformed",source="{source}"}} 1.0' in known.series()
        return

    text = known.read(source, content).read(source, content).text()

    assert [] == faults(text)
    assert f'kubelet_exporter_source_up{{source="{source}"}} 1.0' in text
    assert "</html>" in page(known.snapshot, known.ledger, "/metrics")


@pytest.mark.parametrize("path", named("items"), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_every_pod_of_a_list_is_counted_or_dropped(path: Path) -> None:
    items = document(path)["items"]
    whole = [item for item in items if item and {"name", "uid"} <= set(item["metadata"])]
    decoded = decoders()[Source.PODS](path.read_bytes())
    counted = Known().read(Source.PODS, path.read_bytes()).series("pods")

    assert {item["metadata"]["uid"] for item in whole} == {pod.uid for pod in decoded.value}
    assert len(items) == len(decoded.value) + sum(decoded.dropped.values())
    assert len(decoded.value) == sum(float(line.split()[-1]) for line in counted)


@pytest.mark.parametrize("path", named("node", "pods"), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_every_claim_of_a_summary_is_a_volume(path: Path) -> None:
    decoded = decoders()[Source.SUMMARY](path.read_bytes())

    assert set(claims(document(path))) == {(volume.namespace, volume.claim) for volume in decoded.value.volumes}
    assert {} == dict(decoded.dropped)


@pytest.mark.parametrize("path", named("kubeletconfig"), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_the_limit_of_pods_is_that_of_the_configuration(path: Path) -> None:
    limit = document(path)["kubeletconfig"]["maxPods"]

    assert [f"pods_limit {limit}.0"] == Known().read(Source.CONFIGZ, path.read_bytes()).series("pods_limit")


@pytest.mark.parametrize(
    "path", [path for path in FILES if kubelet_metrics(path)], ids=lambda path: path.relative_to(FOLDER).as_posix()
)
def test_relists_are_those_of_the_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8").rstrip("\n") + "\n"  # some were stored without their last end of line
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[:1] not in ("", "#"))
    told = Known().read(Source.METRICS, text).series("pleg_relist_duration_seconds_count")

    assert [float(lines["kubelet_pleg_relist_duration_seconds_count"])] == [float(line.split()[1]) for line in told]


def test_promtool_has_nothing_to_say_about_all_that_a_node_may_tell() -> None:
    promtool = need("promtool")
    known = Known()
    for keys, source in (
        (("items",), Source.PODS),
        (("node", "pods"), Source.SUMMARY),
        (("kubeletconfig",), Source.CONFIGZ),
    ):
        for path in named(*keys):
            known.read(source, path.read_bytes())
    for path in (path for path in FILES if kubelet_metrics(path)):
        known.read(Source.METRICS, path.read_bytes())
    done = subprocess.run([promtool, "check", "metrics"], input=known.text().encode(), capture_output=True, check=False)

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
