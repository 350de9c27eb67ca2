"""Recordings as tests look at them: their plain JSON, beside what the exporter makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from bodies import Known

from kubelet_exporter.sources import recording
from kubelet_exporter.sources.endpoints import PATHS
from kubelet_exporter.sources.recording import Recording

FOLDER = Path(__file__).parent / "recordings"


@cache
def film(name: str) -> Recording:
    """A recording by name."""
    return recording.load(FOLDER / f"{name}.jsonl.gz")


def answers(name: str, path: str) -> Iterator[tuple[float, str]]:
    """The good answers of one path: seconds since the recording began, and the body."""
    for line in film(name).lines:
        if line.path == path and line.status == 200:
            yield line.t - film(name).begin, line.body or ""


def listings(name: str) -> Iterator[tuple[float, list[Any]]]:
    """The pods of each good answer of /pods."""
    for at, body in answers(name, "/pods"):
        yield at, json.loads(body)["items"]


def listed_last(name: str) -> list[Any]:
    """The pods of the last good answer of /pods."""
    return [items for _, items in listings(name)][-1]


def played(name: str, until: float = inf) -> Known:
    """What is known so many seconds after a recording began, or at its end."""
    known, begin = Known(), film(name).begin
    for reading in recording.readings(film(name), PATHS, known.decoders):
        if reading.attempted_at - begin <= until:
            known.at(reading.attempted_at).take(reading)
    return known.at(min(begin + until, film(name).end))
