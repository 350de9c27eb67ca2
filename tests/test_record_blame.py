"""What a recording leaves out changes nothing about whom a failed start is blamed on."""

from __future__ import annotations

import json

import pytest
from films import RECORDINGS, Fold

from kubelet_exporter.record import scrubbed
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.endpoints import PATHS, decoders
from kubelet_exporter.sources.recording import Line, Recording, load


def judged_starts(source: Recording) -> dict[str, tuple[object, ...]]:
    """Verdict, blame, blocks and evidence of each pod of a film, by UID."""
    fold = Fold().take(recording.readings(source, PATHS, decoders())).later()
    return {
        uid: (
            *((found.verdict, found.blame) if (found := fold.found.get(uid)) else ("", "")),
            track.blocked,
            track.blocks,
            track.blocker,
            track.evidence,
        )
        for uid, track in fold.memory.tracks.items()
    }


@pytest.mark.parametrize("reason", ["StartError", "ContainerCannotRun"])
def test_the_words_of_the_runtime_about_a_container_that_never_ran_stay(reason: str) -> None:
    state = {"terminated": {"exitCode": 128, "reason": reason, "message": "exec: no such file"}}

    assert state == json.loads(scrubbed("/pods", json.dumps(state).encode()))


def test_a_recording_blames_the_same_for_each_start_as_the_node_itself() -> None:
    whole = load(RECORDINGS / "v1.36-film-starts.jsonl.gz")
    lines = [
        Line(line.t, line.path, 200, scrubbed(line.path, (line.body or "").encode()), line.took)
        if line.status == 200
        else line
        for line in whole.lines
    ]

    assert judged_starts(whole) == judged_starts(Recording(tuple(lines), whole.node_name))
    assert ("failed", "user") in {(verdict, blame) for verdict, blame, *_ in judged_starts(whole).values()}
