"""The scrape at the end of each recording, line by line.

A change that is meant is written by `python -m pytest tests/test_golden.py --renew-golden`; its difference belongs to the commit.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from bodies import NOW, SEEN, faults
from conftest import need

import kubelet_exporter
from kubelet_exporter import serve
from kubelet_exporter.config import Settings
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.recording import Line, Recording

GOLDEN = Path(__file__).parent / "golden"
RECORDINGS = {
    path.name.removesuffix(".jsonl.gz"): path
    for folder in (Path(__file__).parent, Path(kubelet_exporter.__file__).parent)
    for path in sorted((folder / "recordings").glob("*.jsonl.gz"))
}

each_recording = pytest.mark.parametrize("name", RECORDINGS)


@pytest.fixture(scope="module")
def renew(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are written instead of compared."""
    return bool(request.config.getoption("--renew-golden"))


def scraped(path: Path) -> str:
    """The scrape at the end of a recording; the exporter's version stands as VERSION."""
    film = recording.load(path)
    text = serve.folded(film, Settings(node_name=film.node_name)).scrape().plain.decode()
    return re.sub(r'(_build_info\{.*version=")[^"]*', r"\1VERSION", text)


@each_recording
def test_a_recording_ends_in_its_golden_scrape(name: str, renew: bool) -> None:  # noqa: FBT001
    golden = GOLDEN / f"{name}.prom"
    text = scraped(RECORDINGS[name])
    if renew:
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8", newline="\n")

    assert golden.read_text(encoding="utf-8") == text


@each_recording
def test_a_golden_scrape_has_no_fault(name: str) -> None:
    assert [] == faults((GOLDEN / f"{name}.prom").read_text(encoding="utf-8"))


@each_recording
def test_promtool_has_nothing_to_say_about_a_golden_scrape(name: str) -> None:
    promtool = need("promtool")
    content = (GOLDEN / f"{name}.prom").read_bytes()
    done = subprocess.run([promtool, "check", "metrics"], input=content, capture_output=True, check=False)

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_every_golden_scrape_has_its_recording(renew: bool) -> None:  # noqa: FBT001
    left_over = [path for path in GOLDEN.glob("*.prom") if path.stem not in RECORDINGS]
    if renew:
        for path in left_over:
            path.unlink()

    assert RECORDINGS
    assert set(RECORDINGS) == {path.stem for path in GOLDEN.glob("*.prom")}


def test_what_was_read_early_in_a_long_recording_is_remembered() -> None:
    lines = (Line(NOW, "/metrics", 200, f"{SEEN} 1799999999\n"), Line(NOW + 600, "/healthz", 200, "ok"))
    text = serve.folded(Recording(lines, "node-a"), Settings(node_name="node-a")).scrape().plain.decode()

    assert 'kubelet_exporter_pleg_last_relist_timestamp_seconds{node="node-a"} 1.799999999e+09\n' in text
