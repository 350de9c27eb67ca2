"""The status page tells of pod starts what the scrape tells."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf

import pytest
from films import RECORDINGS
from simulated import samples

from kubelet_exporter.config import Settings
from kubelet_exporter.page import page
from kubelet_exporter.serve import folded
from kubelet_exporter.sources import recording
from kubelet_exporter.state import State


def after(seconds: float) -> State:
    """What is known so long after the begin of a film in which no sandbox can be made for a minute."""
    film = recording.load(RECORDINGS / "v1.36-film-sandbox-failures.jsonl.gz")
    part = tuple(line for line in film.lines if line.t < film.begin + seconds)
    return folded(recording.Recording(part, film.node_name), Settings(film.node_name))


def section(state: State, title: str) -> set[tuple[str, ...]]:
    """The rows below a title of the page."""
    text = page(replace(state.snapshot, now=state.clock()), state.ledger, "/metrics")
    body = text.partition(f"<h2>{title}</h2>")[2].partition("</table>")[0]
    return {tuple(re.findall("<td>(.*?)</td>", row)) for row in re.findall("<tr>(.*?)</tr>", body)} - {()}


@pytest.mark.parametrize(
    ("seconds", "rows"),
    [(1, set()), (40, {("good", "", "1")}), (inf, {("good", "", "1"), ("slow", "network", "5")})],
)
def test_starts_are_shown_by_verdict_and_blame_where_there_were_any(seconds: float, rows: set[tuple[str, ...]]) -> None:
    assert rows == section(after(seconds), "Pod starts")


def test_pods_on_their_way_are_shown_by_stage_with_the_oldest() -> None:
    state = after(40)
    [oldest] = [value for name, _, value in samples(state.scrape().plain) if name == "pod_start_oldest_seconds"]

    assert 35 == round(oldest)
    assert {("prepare", "5", "35 s")} == section(state, "Pods on their way")
    assert set() == section(after(inf), "Pods on their way")


def test_what_is_wrong_with_the_whole_node_stands_above_everything() -> None:
    found = {name: warnings(f"v1.36-{name}") for name in ("runtime-hang", "runtime-recovered", "mixed")}

    assert found == {
        "runtime-hang": ["The container runtime hangs since 2026-12-01T15:30:20Z."],
        "runtime-recovered": [],
        "mixed": [],
    }


def test_an_api_server_out_of_reach_is_told_in_words() -> None:
    assert ["The API server cannot be reached from this node."] == warnings("v1.36-film-apiserver-outage", 200)


def warnings(name: str, seconds: float = inf) -> list[str]:
    """The sentences at the top of the page, so many seconds into a recording."""
    film = recording.load(RECORDINGS / f"{name}.jsonl.gz")
    part = tuple(line for line in film.lines if line.t <= film.begin + seconds)
    state = folded(recording.Recording(part, film.node_name), Settings(film.node_name))
    text = page(replace(state.snapshot, now=state.clock()), state.ledger, "/metrics")
    return re.findall("<p class='bad'><strong>(.*?)</strong></p>", text)
