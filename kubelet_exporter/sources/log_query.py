"""Searches the kubelet's log through its own log query and counts the lines. Off by default; no text is kept.

The kubelet runs journalctl for it (pkg/kubelet/kubelet_server_journal.go): it needs the right nodes/log, enableSystemLogHandler,
enableSystemLogQuery and the feature gate NodeLogQuery.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from kubelet_exporter.snapshot import Failure, Reading, Reason, Source
from kubelet_exporter.sources import kubelet
from kubelet_exporter.sources.decode import Decoded
from kubelet_exporter.sources.kubelet import TEXT, Endpoint, Kubelet
from kubelet_exporter.units import rfc3339

INTERVAL = 60.0
DEADLINE = 12.0
LIMIT = 2**20  # bytes of an answer
MOST_LINES = 1000  # of one pattern in one search: a storm is a storm
LONGEST = 600.0  # seconds of the log that are searched at once, after a pause
HINT = (
    "the kubelet answers no log queries: set enableSystemLogQuery and the feature gate NodeLogQuery in its configuration, "
    "or leave --log-patterns"
)

Take = Callable[[Reading], None]


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the log, in Unix time: from `since`, which belongs to it, to before `until`."""

    since: float
    until: float


def endpoint(pattern: str, span: Span) -> Endpoint:
    """The search for one pattern. The kubelet cuts both times to whole seconds; a line of exactly that microsecond counts twice."""
    query = {
        "query": "kubelet",
        "pattern": pattern,
        "sinceTime": rfc3339(span.since),
        "untilTime": rfc3339(span.until),
        "tailLines": MOST_LINES,
    }
    return Endpoint(Source.LOGS, f"/logs/?{urlencode(query)}", INTERVAL, DEADLINE, LIMIT, TEXT, count)


def count(body: bytes) -> Decoded:
    """The number of lines, without journalctl's own remarks such as `-- No entries --`."""
    return Decoded(sum(bool(line.strip()) and not line.startswith(b"-- ") for line in body.splitlines()))


async def search(client: Kubelet, patterns: Sequence[str], span: Span) -> Reading:
    """One reading: the lines of each pattern in a part of the log. It fails as a whole if one search fails."""
    found: dict[str, int] = {}
    size, seconds = 0, 0.0
    reading = Reading(Source.LOGS, time.time(), 0.0)
    for pattern in patterns:
        reading = await kubelet.read(client, endpoint(pattern, span))
        size, seconds = size + reading.size, seconds + reading.seconds
        if reading.failure:
            return replace(reading, failure=_explained(reading.failure), seconds=seconds)
        found[pattern] = reading.value
    return replace(reading, value=found, size=size, seconds=seconds)


def _explained(failure: Failure) -> Failure:
    """A kubelet without log queries answers with a listing of files, or not found."""
    if failure.reason in (Reason.CONTENT_TYPE, Reason.STATUS):
        return Failure(failure.reason, f"{failure.message}; {HINT}")
    return failure


async def follow_log(client: Kubelet, patterns: Sequence[str], take: Take, interval: float = INTERVAL) -> None:
    """Search for ever, each second of the log once; after a failure the next search begins where the last good one ended."""
    since = float(int(time.time()))
    while True:
        await asyncio.sleep(interval)
        until = float(int(time.time()))
        if until <= since:
            continue
        reading = await search(client, patterns, Span(max(since, until - LONGEST), until))
        take(reading)
        if reading.failure is None:
            since = until
