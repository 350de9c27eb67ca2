"""Plays a recording in a loop: what each path would answer now, with every time in it moved to now."""

import bisect
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubelet_exporter.sources.recording import LEASE_PATH, NODE_PATH, SHORTEST_LOOP, Line, Recording, moved, shifted


@dataclass(slots=True)
class Player:
    """The recording, how many seconds into it playing begins, when it would have begun, events, and each path's lines by time."""

    recording: Recording
    ahead: float = 0.0
    clock: Callable[[], float] = time.time
    started: float = 0.0
    events: Sequence[Mapping[str, Any]] = ()
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
        position, delta = self._position()
        at = bisect.bisect_right(lines, self.recording.begin + position, key=lambda line: line.t)
        return moved(lines[max(0, at - 1)], delta)

    def events_of(self, uid: str) -> str:
        """The events of a pod as an EventList, all of them from the start of each pass on."""
        _, delta = self._position()
        chosen = [event for event in self.events if event.get("involvedObject", {}).get("uid") == uid]
        return shifted(json.dumps({"kind": "EventList", "apiVersion": "v1", "items": chosen}), delta)

    def _position(self) -> tuple[float, int]:
        """How many seconds into the recording it is, and how many its times are moved by."""
        loop = max(self.recording.end - self.recording.begin, SHORTEST_LOOP)
        passes, position = divmod(self.clock() - self.started, loop)
        return position, math.floor(self.started + passes * loop - self.recording.begin)
