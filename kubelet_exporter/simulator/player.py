"""Plays a recording in a loop: what each path would answer now, with every time in it moved to now."""

import bisect
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubelet_exporter.sources.recording import (
    NODE_PATH,
    SHORTEST_LOOP,
    Line,
    Recording,
    moved,
    newcomers,
    other,
    shifted,
)


@dataclass(slots=True)
class Player:
    """The recording and what is derived of it.

    `ahead` is how many seconds into it playing begins, `started` when it would have begun, `by_path` each path's lines by time,
    `newcomers` the UIDs that come within the recording.
    """

    recording: Recording
    ahead: float = 0.0
    clock: Callable[[], float] = time.time
    started: float = 0.0
    events: Sequence[Mapping[str, Any]] = ()
    by_path: dict[str, list[Line]] = field(default_factory=dict)
    newcomers: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Begin now."""
        self.started = self.clock() - self.ahead
        self.newcomers = newcomers(self.recording)
        for line in self.recording.lines:
            self.by_path.setdefault(line.path, []).append(line)

    @property
    def node_path(self) -> str:
        """The path of the Node object."""
        return NODE_PATH + self.recording.node_name

    def answer(self, path: str) -> Line | None:
        """What this path answers now, None if it was never recorded."""
        lines = self.by_path.get(path)
        if not lines:
            return None
        position, delta, passes = self._position()
        at = bisect.bisect_right(lines, self.recording.begin + position, key=lambda line: line.t)
        return moved(lines[max(0, at - 1)], delta, self.newcomers, passes)

    def events_of(self, uid: str) -> str:
        """The events of a pod as an EventList, all of them from the start of each pass on."""
        _, delta, passes = self._position()
        chosen = [event for event in self.events if self._uid(event, passes) == uid]
        return shifted(json.dumps({"kind": "EventList", "apiVersion": "v1", "items": chosen}), delta)

    def _uid(self, event: Mapping[str, Any], passes: int) -> str:
        """The UID that the pod of an event has now."""
        uid = str(event.get("involvedObject", {}).get("uid", ""))
        return other(uid, passes) if uid in self.newcomers else uid

    def _position(self) -> tuple[float, int, int]:
        """How many seconds into the recording it is, how many its times are moved by, and the pass of the loop."""
        loop = max(self.recording.end - self.recording.begin, SHORTEST_LOOP)
        passes, position = divmod(self.clock() - self.started, loop)
        return position, math.floor(self.started + passes * loop - self.recording.begin), int(passes)
