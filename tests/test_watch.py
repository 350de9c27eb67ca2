"""The watch of the Node: what is asked for, what is taken, where it resumes, and what becomes of every way to end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scripted import (
    CUT,
    END,
    GONE,
    NODE,
    Part,
    Script,
    bookmark,
    connected,
    followed,
    kubelets,
    modified,
    node,
    replace_line,
    serving,
    until,
)
from simulated import eventually, simulating, still

from kubelet_exporter.snapshot import Reading, Reason
from kubelet_exporter.sources import apiserver


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apiserver, "RETRY_SECONDS", (0.01,))
    monkeypatch.setattr(apiserver, "WATCH_SECONDS", 30)


def test_the_watch_asks_for_one_node_from_the_version_that_was_read(tmp_path: Path) -> None:
    script = Script([])

    followed(script, tmp_path, lambda _: script.queries)

    assert ["Bearer secret"] * 2 == script.tokens
    assert [
        {
            "fieldSelector": "metadata.name=node-a",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "10",
            "timeoutSeconds": "30",
        }
    ] == script.queries


def test_a_change_is_taken_from_the_watch(tmp_path: Path) -> None:
    script = Script([[modified(11, "v1.36.1"), modified(12, "v1.36.2")]])

    readings = followed(script, tmp_path, lambda found: len(found) == 3)

    assert ["v1.36.0", "v1.36.1", "v1.36.2"] == kubelets(readings)
    assert 1 == script.gets


def test_a_watch_that_ends_is_resumed_from_the_last_event(tmp_path: Path) -> None:
    script = Script([[modified(11, "v1.36.1"), END], [modified(12, "v1.36.2")]])

    readings = followed(script, tmp_path, lambda found: len(found) == 4)

    assert ["10", "11"] == script.versions
    assert ["v1.36.0", "v1.36.1", "v1.36.1", "v1.36.2"] == kubelets(readings)
    assert 1 == script.gets


def test_a_bookmark_moves_the_version_to_resume_from_and_needs_no_get(tmp_path: Path) -> None:
    script = Script([[bookmark(20), END]])

    followed(script, tmp_path, lambda _: len(script.queries) == 2)

    assert ["10", "20"] == script.versions
    assert 1 == script.gets


def test_a_silent_watch_keeps_the_reading_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apiserver, "WATCH_SECONDS", 1)

    async def run() -> list[Reading]:
        async with simulating(tmp_path, still()) as simulator:
            found = await until(connected(simulator), lambda readings: len(readings) >= 3)
            assert 1 == simulator.apiserver_requests[NODE]
            return found

    readings = asyncio.run(run())
    times = [reading.read_at or 0.0 for reading in readings]
    assert all(later > earlier for earlier, later in pairwise(times))
    assert [None] * len(readings) == [reading.failure for reading in readings]


def test_a_change_in_a_film_is_told_by_the_simulated_watch(tmp_path: Path) -> None:
    first = next(line for line in still().lines if line.path == NODE)
    text = (
        (first.body or "")
        .replace('"kubeletVersion":"', '"kubeletVersion":"changed-')
        .replace('"kubeletVersion": "', '"kubeletVersion": "changed-')
    )
    changed = replace_line(first, t=first.t + 1, text=text)
    recording = replace(still(), lines=tuple(sorted([*still().lines, changed], key=lambda line: line.t)))

    async def run() -> list[Reading]:
        async with simulating(tmp_path, recording) as simulator:
            simulator.player.started -= first.t - recording.begin
            return await until(connected(simulator), lambda found: any("changed-" in each for each in kubelets(found)))

    readings = asyncio.run(run())
    assert not [reading.failure for reading in readings if reading.failure]


@pytest.mark.parametrize("first", [[GONE], [410]], ids=["event", "status"])
def test_a_version_that_is_too_old_is_answered_by_a_new_get_and_is_no_error(
    first: Sequence[Part], tmp_path: Path
) -> None:
    script = Script([first], [node(10), node(20, "v1.36.2")])

    readings = followed(script, tmp_path, lambda _: len(script.queries) == 2)

    assert ["10", "20"] == script.versions
    assert ["v1.36.0", "v1.36.2"] == kubelets(readings)
    assert [None, None] == [reading.failure for reading in readings]


def test_a_connection_that_is_cut_in_an_event_is_tried_again_and_half_an_event_is_not_taken(tmp_path: Path) -> None:
    script = Script([[modified(11, "v1.36.1"), CUT], [modified(13, "v1.36.3")]], [node(10), node(12, "v1.36.2")])

    readings = followed(script, tmp_path, lambda found: len(found) == 4)

    assert ["10", "12"] == script.versions
    assert ["v1.36.0", "v1.36.1", "v1.36.2", "v1.36.3"] == kubelets(readings)


@pytest.mark.parametrize(
    "event", [{"type": "MODIFIED", "object": {"metadata": {}}}, {"type": "NEW", "object": {}}, {"kind": "Status"}]
)
def test_an_event_that_cannot_be_understood_is_answered_by_a_new_get(event: dict[str, Any], tmp_path: Path) -> None:
    script = Script([[event]], [node(10), node(20)])

    followed(script, tmp_path, lambda _: len(script.queries) == 2)

    assert ["10", "20"] == script.versions


def test_a_deleted_node_is_an_error_at_once_and_is_found_again_when_it_comes_back(tmp_path: Path) -> None:
    deleted = {"type": "DELETED", "object": node(11)}
    script = Script([[deleted]], [node(10), 404, node(30, "v1.36.3")])

    readings = followed(script, tmp_path, lambda _: len(script.queries) == 2)

    assert [None, Reason.STATUS, None] == [each.failure.reason if each.failure else None for each in readings]
    assert ["10", "30"] == script.versions


def test_a_refused_watch_is_not_asked_for_again_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apiserver, "RETRY_SECONDS", (2.0,))
    script = Script([[403], [403], [403]])

    async def run() -> None:
        async with serving(script, tmp_path) as server:
            apiserver.follow_node(server, lambda _: None)
            await eventually(lambda: script.queries)
            await asyncio.sleep(0.3)

    asyncio.run(run())
    assert 1 == script.gets == len(script.queries)


def test_the_thread_of_the_watch_ends_with_its_loop(tmp_path: Path) -> None:
    def watching() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "node-watch"]

    before = set(watching())
    script = Script([[modified(11)]])

    followed(script, tmp_path, lambda found: len(found) == 2)

    for thread in set(watching()) - before:
        thread.join(10)
    assert set() == set(watching()) - before
