"""A simulated node, read once by the exporter's own sources, and what the scrape then says."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kubelet_exporter import demo
from kubelet_exporter.config import Settings
from kubelet_exporter.serve import node_kubelet
from kubelet_exporter.simulator import servers
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.simulator.servers import Simulator
from kubelet_exporter.snapshot import Failure, Reading, Snapshot, Source
from kubelet_exporter.sources import kubelet
from kubelet_exporter.sources.endpoints import PATHS, endpoints
from kubelet_exporter.sources.kubelet import Endpoint, Kubelet
from kubelet_exporter.sources.recording import Line, Recording
from kubelet_exporter.state import State

AHEAD = 90.0  # near the end of the shipped recording, where pods and volumes are there
BOUND = 20.0  # nothing here takes so long


@functools.cache
def film() -> Recording:
    """The recording that comes with the package."""
    return demo.shipped_recording()


@functools.cache
def still() -> Recording:
    """The last good answer of each path: a node on which nothing changes."""
    last = {line.path: line for line in film().lines if line.status == 200}
    return Recording(tuple(sorted(last.values(), key=lambda line: line.t)), film().node_name)


def body(path: str) -> str:
    """A real body of a path."""
    return next(line.body or "" for line in still().lines if line.path == path)


def with_body(path: str, text: str) -> Recording:
    """The still recording with another body at one path."""
    lines = tuple(Line(line.t, line.path, line.status, text) if line.path == path else line for line in still().lines)
    return Recording(lines, still().node_name)


def samples(scrape: bytes) -> list[tuple[str, Mapping[str, str], float]]:
    """Every sample of a scrape: name without prefix, labels and value."""
    return [
        (sample.name.removeprefix("kubelet_exporter_"), sample.labels, sample.value)
        for family in text_string_to_metric_families(scrape.decode())
        for sample in family.samples
    ]


@dataclass(slots=True)
class Reader:
    """The exporter's sources pointed at a kubelet, and the state that they fill; `later` moves the state's clock."""

    client: Kubelet
    points: dict[Source, Endpoint]
    state: State
    later: float = 0.0

    async def read(self, *sources: Source) -> dict[Source, Reading]:
        """Read these endpoints, or all, at the same time and take what comes of it."""
        points = [self.points[source] for source in sources or self.points]
        async with asyncio.timeout(BOUND):
            readings = await asyncio.gather(*(kubelet.read(self.client, point) for point in points))
        for reading in readings:
            self.state.take(reading)
        return {reading.source: reading for reading in readings}

    async def failure(self, source: Source) -> Failure:
        """Read one endpoint that must fail."""
        failure = (await self.read(source))[source].failure
        assert failure is not None
        return failure

    def change(self, source: Source, **changes: Any) -> None:
        """Change how an endpoint is read."""
        self.points[source] = replace(self.points[source], **changes)

    def values(self, name: str, **labels: str) -> list[float]:
        """The values of the samples of this name that have these labels."""
        return [
            value
            for found, have, value in samples(self.state.scrape().plain)
            if found == name and labels.items() <= have.items()
        ]

    def errors(self) -> dict[tuple[str, str], float]:
        """Counted errors by source and reason, without those that are 0."""
        found = [each for each in samples(self.state.scrape().plain) if each[0] == "source_errors_total"]
        return {(labels["source"], labels["reason"]): value for _, labels, value in found if value}

    def up(self) -> set[str]:
        """The sources whose last reading succeeded."""
        found = [each for each in samples(self.state.scrape().plain) if each[0] == "source_up"]
        return {labels["source"] for _, labels, value in found if value}


@asynccontextmanager
async def reader(settings: Settings) -> AsyncIterator[Reader]:
    """Sources with these settings."""
    async with kubelet.session() as session:
        client = node_kubelet(settings, session)
        points = {point.source: point for point in endpoints(deadline=settings.kubelet_timeout)}
        found = Reader(client, points, State(Snapshot(settings.node_name, 0.0)))
        found.state.clock = lambda: time.time() + found.later
        yield found


@asynccontextmanager
async def simulating(
    folder: Path, recording: Recording | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Simulator]:
    """A simulated node on a port of the kernel's choice, by default near the end of the shipped recording."""
    player = Player(recording) if recording else Player(film(), AHEAD)
    async with servers.running(player, folder, host) as simulator:
        yield simulator


@asynccontextmanager
async def reading(
    folder: Path, recording: Recording | None = None, **changes: Any
) -> AsyncIterator[tuple[Simulator, Reader]]:
    """A simulated node and sources that read it."""
    async with (
        simulating(folder, recording or still()) as simulator,
        reader(replace(demo.settings(simulator), **changes)) as found,
    ):
        yield simulator, found


async def eventually(happened: Callable[[], object]) -> None:
    """Wait until something has happened; fails if it does not within the bound."""
    for _ in range(int(BOUND / 0.02)):
        if happened():
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"not within {BOUND:g} s")


ALL = frozenset(PATHS.values())
