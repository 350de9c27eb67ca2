"""What is kept of pod starts over a restart of the exporter."""

import asyncio
import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from kubelet_exporter import checkpoint, demo
from kubelet_exporter.catalog import first_ledger
from kubelet_exporter.config import Settings
from kubelet_exporter.serve import exporting, folded
from kubelet_exporter.simulator import servers
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.snapshot import Failure, Reading, Reason, Snapshot, Source
from kubelet_exporter.sources import recording
from kubelet_exporter.state import State

FILM = Path(__file__).parent / "recordings" / "v1.36-film-starts.jsonl.gz"


def at_the_end() -> State:
    film = recording.load(FILM)
    return folded(film, Settings(film.node_name))


def test_verdicts_and_starts_in_progress_are_kept(tmp_path: Path) -> None:
    checkpoint.save(at_the_end(), tmp_path)

    memory = checkpoint.ledger(tmp_path, "node-a")["pod_start"]
    assert (11, 5) == (len(memory.counted), len(memory.pending))
    assert at_the_end().snapshot.now == memory.checkpoint


def test_its_time_is_that_of_the_last_listing_and_not_of_what_was_tried_since() -> None:
    """A pod that starts between the two is one that nobody has counted."""
    state = at_the_end()
    listed = state.snapshot.now
    failed = Reading(Source.PODS, listed + 60, 3.0, failure=Failure(Reason.TIMEOUT, "no answer within 3 s"))
    state.snapshot = state.snapshot.take(failed, listed + 63)

    kept = checkpoint.content(state)

    assert kept
    assert listed == kept["time"]


def test_nothing_is_written_before_pods_were_listed(tmp_path: Path) -> None:
    checkpoint.save(State(Snapshot("node-a", 0.0)), tmp_path)

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "7",
        '{"version": 1}',
        '{"version": 2, "node": "node-a", "time": 1, "counted": [], "pending": []}',
        '{"version": 1, "node": "node-b", "time": 1, "counted": [], "pending": []}',
        '{"version": 1, "node": "node-a", "time": "soon", "counted": [], "pending": []}',
    ],
)
def test_a_file_that_is_not_of_this_node_and_version_is_not_used(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / checkpoint.NAME).write_text(content)

    with caplog.at_level(logging.WARNING):
        assert first_ledger() == checkpoint.ledger(tmp_path, "node-a")
    assert 1 == len(caplog.records)


def test_no_file_and_no_folder_are_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert first_ledger() == checkpoint.ledger(tmp_path, "node-a") == checkpoint.ledger(None, "node-a")
    assert [] == caplog.records


def test_a_folder_that_cannot_be_written_is_a_warning_and_no_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint.save(at_the_end(), tmp_path / "missing")

    assert ["cannot keep the checkpoint"] == [record.message.partition(":")[0] for record in caplog.records]


def test_a_running_exporter_keeps_its_checkpoint_when_it_ends(tmp_path: Path) -> None:
    async def run() -> None:
        async with servers.running(Player(recording.load(FILM), ahead=60.0), tmp_path) as simulator:
            settings = replace(demo.settings(simulator), checkpoint_dir=tmp_path)
            async with exporting(settings) as exporter, asyncio.timeout(20):
                while exporter.state.ledger["pod_start"].first is None:
                    await asyncio.sleep(0.05)

    asyncio.run(run())

    kept = json.loads((tmp_path / checkpoint.NAME).read_text())
    assert ("node-a", 1, [], []) == (kept["node"], kept["version"], kept["counted"], kept["pending"])


def test_a_restarted_exporter_counts_no_start_twice_and_loses_none(tmp_path: Path) -> None:
    film = recording.load(FILM)
    half = film.begin + 8
    before = folded(replace(film, lines=tuple(line for line in film.lines if line.t <= half)), Settings("node-a"))
    checkpoint.save(before, tmp_path)
    rest = replace(film, lines=tuple(line for line in film.lines if line.t > half))
    after = folded(rest, Settings("node-a", checkpoint_dir=tmp_path))

    whole = at_the_end().ledger["pod_start"].outcomes
    parts = [state.ledger["pod_start"].outcomes for state in (before, after)]
    assert whole == {pair: parts[0][pair] + parts[1][pair] for pair in whole}


def test_pods_that_ended_while_no_exporter_ran_are_forgotten(tmp_path: Path) -> None:
    kept = {"version": 1, "node": "node-a", "time": 1.0, "counted": ["gone-1", "gone-2"], "pending": ["gone-3"]}
    (tmp_path / checkpoint.NAME).write_text(json.dumps(kept))

    memory = folded(recording.load(FILM), Settings("node-a", checkpoint_dir=tmp_path)).ledger["pod_start"]

    assert 11 == len(memory.counted)
    assert memory.counted <= memory.tracks.keys()
