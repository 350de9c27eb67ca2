"""Recordings of a node: one JSON object a line with `t` (Unix time), `took` (s), `path`, `status` (0: no answer) and `body`."""

import asyncio
import gzip
import itertools
import json
import math
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, cast

import msgspec

from kubelet_exporter.snapshot import Failure, Reading, Reason, Source
from kubelet_exporter.sources.decode import Decoder, Malformed

NODE_PATH = "/api/v1/nodes/"
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"

# A recording of one moment is played anew this often, so that its times stay close to now.
SHORTEST_LOOP = 15.0

EPOCH_YEAR = 1970  # times of this year and before mean unknown
PODS_PATH = "/pods"
UID = re.compile(r'("uid":\s*")([0-9a-f]{8}-[0-9a-f-]{27})(?=")', re.ASCII)
JSON_TIME = re.compile(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)"', re.ASCII)
METRIC_TIME = re.compile(
    r"^(\w+_(?:start_time|end_time|last_seen)_seconds(?:\{.*\})?) ([0-9.e+]+)", re.ASCII | re.MULTILINE
)


class Line(msgspec.Struct, frozen=True):
    """One answer of a node, or its lack."""

    t: float
    path: str
    status: int
    body: str | None = ""
    took: float = 0.0


@dataclass(frozen=True, slots=True)
class Recording:
    """Answers of one node in the order of time."""

    lines: tuple[Line, ...]
    node_name: str

    @property
    def begin(self) -> float:
        """Unix time of the first answer."""
        return self.lines[0].t

    @property
    def end(self) -> float:
        """Unix time of the last answer."""
        return self.lines[-1].t


class Unreadable(ValueError):
    """The file is no recording; the message says where it goes wrong."""


def load(path: Path) -> Recording:
    """Read a recording, gzipped or not; raises Unreadable or OSError."""
    try:
        with _open(path) as file:
            lines = [_line(text, f"{path}, line {number}") for number, text in enumerate(file, start=1) if text.strip()]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable(f"{path} is cut off or no gzip file: {error}") from error
    if not lines:
        raise Unreadable(f"{path} is empty")
    lines.sort(key=lambda line: line.t)
    return Recording(tuple(lines), _node_name(lines))


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path, "rb")) if zipped else path.open("rb")


def _line(text: bytes, place: str) -> Line:
    try:
        return msgspec.json.decode(text, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"{place}: {error}; expected a JSON object with t, path, status and body") from error


def _node_name(lines: Iterable[Line]) -> str:
    return next((line.path.removeprefix(NODE_PATH) for line in lines if line.path.startswith(NODE_PATH)), "node")


def write(lines: Iterable[Line], path: Path) -> int:
    """Write a recording, gzipped if the name ends in .gz; returns the number of lines."""
    opener = gzip.open if path.suffix == ".gz" else open
    count = 0
    with opener(path, "wt", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(msgspec.to_builtins(line)) + "\n")
            count += 1
    return count


def source_of(path: str, paths: Mapping[str, Source]) -> Source | None:
    """Which source a recorded path belongs to, None if the exporter does not read it."""
    if path.startswith(NODE_PATH):
        return Source.NODE
    if path.startswith(LEASE_PATH):
        return Source.LEASE
    return paths.get(path)


def readings(
    recording: Recording, paths: Mapping[str, Source], decoders: Mapping[Source, Decoder]
) -> Iterator[Reading]:
    """What the exporter would have read, on the recorded clock."""
    for line in recording.lines:
        source = source_of(line.path, paths)
        if source is not None:
            yield _reading(line, source, decoders[source])


async def play(
    recording: Recording,
    paths: Mapping[str, Source],
    decoders: Mapping[Source, Decoder],
    take: Callable[[Reading], None],
) -> None:
    """Take the recorded readings for ever, in a loop and in their rhythm, with every time in them moved to now."""
    uids = newcomers(recording)
    for passes in itertools.count():
        delta = math.floor(time.time() - recording.begin)
        for line in recording.lines:
            source = source_of(line.path, paths)
            if source is None:
                continue
            await asyncio.sleep(max(0.0, line.t + delta - time.time()))
            take(_reading(moved(line, delta, uids, passes), source, decoders[source]))
        await asyncio.sleep(max(0.0, recording.begin + delta + SHORTEST_LOOP - time.time()))


def moved(line: Line, seconds: int, uids: Collection[str] = (), passes: int = 0) -> Line:
    """The line in a later pass of a loop: all its times are moved, and the pods with these UIDs are others."""
    body = renamed(shifted(line.body or "", seconds), uids, passes)
    return Line(line.t + seconds, line.path, line.status, body, line.took)


def newcomers(recording: Recording) -> frozenset[str]:
    """The UIDs that come within a recording: in each pass of a loop they must be those of other pods, or nothing starts."""
    found = [_uids(line.body or "") for line in recording.lines if line.path == PODS_PATH and line.status == 200]
    return frozenset().union(*found) - found[0] if found else frozenset()


def renamed(body: str, uids: Collection[str], passes: int) -> str:
    """A body in which these UIDs are others in each pass of a loop."""
    if not uids or not passes:
        return body
    return UID.sub(lambda match: match[1] + other(match[2], passes) if match[2] in uids else match[0], body)


def other(uid: str, passes: int) -> str:
    """The UID in a later pass: its first eight digits count on."""
    return f"{(int(uid[:8], 16) + passes) % 2**32:08x}{uid[8:]}"


def _uids(body: str) -> frozenset[str]:
    return frozenset(match[2] for match in UID.finditer(body))


def _reading(line: Line, source: Source, decode: Decoder) -> Reading:
    body = (line.body or "").encode()
    reading = Reading(source, line.t, line.took, len(body))
    if line.status != 200:
        return replace(reading, size=0, failure=_failure(line))
    try:
        decoded = decode(body)
    except Malformed as error:
        return replace(reading, failure=Failure(Reason.MALFORMED, str(error)))
    return replace(reading, value=decoded.value, read_at=line.t, dropped=decoded.dropped)


def _failure(line: Line) -> Failure:
    if line.status == 0:
        return Failure(Reason.TIMEOUT, f"no answer within {line.took:g} s")
    return Failure(Reason.of_status(line.status), f"status {line.status} from {line.path}")


def shifted(body: str, seconds: int) -> str:
    """A body with every time in it moved by this many whole seconds; zero times stay unknown."""
    if body.startswith(("{", "[")):
        return JSON_TIME.sub(lambda match: _move_json(match, seconds), body)
    return METRIC_TIME.sub(lambda match: _move_metric(match, seconds), body)


def _move_json(match: re.Match[str], seconds: int) -> str:
    try:
        moment = datetime.fromisoformat(match[1])
        moved = moment + timedelta(seconds=seconds)
    except (ValueError, OverflowError):  # no date, or one at the end of all time
        return match[0]
    if moment.year <= EPOCH_YEAR:
        return match[0]
    return f'"{moved.isoformat()}{match[2] or ""}{match[3]}"'


def _move_metric(match: re.Match[str], seconds: int) -> str:
    value = float(match[2])
    return f"{match[1]} {value + seconds!r}" if value > 0 else match[0]
