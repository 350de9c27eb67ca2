"""Plays a recording in a loop: what each path would answer now, with every time in it moved to now."""

import bisect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kubelet_exporter.sources.recording import LEASE_PATH, NODE_PATH, SHORTEST_LOOP, Line, Recording, moved


@dataclass(slots=True)
class Player:
    """The recording, how many seconds into it playing begins, when it would have begun, and each path's lines by time."""

    recording: Recording
    ahead: float = 0.0
    clock: Callable[[], float] = time.time
    started: float = 0.0
    by_path: dict[str, list[Line]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin now."""
        self.started = self.clock() - self.ahead
        for line in self.recording.lines:
            self.by_path.setdefault(line.path, []).append(line)

    @property
    def node_path(self) -> str:
        """The path of the Node object."""
        return NODE_PATH + self.recording.node_name

    @property
    def lease_path(self) -> str:
        """The path of the node's Lease."""
        return LEASE_PATH + self.recording.node_name

    def answer(self, path: str) -> Line | None:
        """What this path answers now, None if it was never recorded."""
        lines = self.by_path.get(path)
        if not lines:
            return None
        loop = max(self.recording.end - self.recording.begin, SHORTEST_LOOP)
        passes, position = divmod(self.clock() - self.started, loop)
        at = bisect.bisect_right(lines, self.recording.begin + position, key=lambda line: line.t)
        line = lines[max(0, at - 1)]
        delta = math.floor(self.started + passes * loop - self.recording.begin)
        return moved(line, delta)
