"""Asks for the events of single pods whose pull times decide whether their start was slow. Off by default.

A DaemonSet must not watch events: they cannot be selected by node, so every node would receive those of the whole cluster.
"""

import asyncio
import re
import time
from collections.abc import Callable, Sequence

import msgspec

from kubelet_exporter import units
from kubelet_exporter.catalog.facts.times import TIME_RESOLUTION
from kubelet_exporter.catalog.pod_start.judge import Pull
from kubelet_exporter.pod import Pod
from kubelet_exporter.snapshot import Reading, Source
from kubelet_exporter.sources.apiserver import ApiServer, reading
from kubelet_exporter.sources.decode import Decoded, Decoder, moment, one, parsed

Take = Callable[[Reading], None]

INTERVAL = 5.0  # seconds between two requests, whatever happens on the node
AGAIN = 20.0  # seconds after which a pod's events are asked for again, for they may come late
LIMIT = 200
PATH = "/api/v1/namespaces/{namespace}/events"

# pkg/kubelet/images/image_manager.go; before 1.27 without "including waiting".
PULLED = re.compile(r'Successfully pulled image ".*" in ([^\s(]+s)(?: \(([^\s)]+) including waiting\))?')


class Event(msgspec.Struct, rename="camel"):
    """What is used of an event."""

    reason: str = ""
    message: str = ""
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None


class EventList(msgspec.Struct, rename="camel"):
    """A list of events that are decoded one by one."""

    items: list[msgspec.Raw] | None


def events(pod: Pod) -> Decoder:
    """A decoder of a pod's events into {uid: pulls}; it is empty as long as not every container has had its image ready.

    Each container has one event Pulled, whether its image was pulled or was there already. Events may be lost or come late: only
    with all of them it is known which pulls there were.
    """

    def decode(body: bytes) -> Decoded:
        found = [one(bytes(raw), Event) for raw in parsed(body, EventList).items or ()]
        ready = [event for event in found if event and event.reason == "Pulled"]
        pulls = [_pull(event) for event in ready if PULLED.match(event.message)]
        if len(ready) < len(pod.containers) or None in pulls:
            return Decoded({})
        return Decoded({pod.uid: tuple(pulls)})

    return decode


def _pull(event: Event) -> Pull | None:
    match = PULLED.match(event.message)
    end = moment(event.event_time) or _middle(moment(event.first_timestamp or event.last_timestamp))
    if match is None or end is None:
        return None
    try:
        seconds, whole = units.duration(match[1]), units.duration(match[2] or match[1])
    except ValueError:
        return None
    return Pull(end, seconds, max(0.0, whole - seconds))


def _middle(time: float | None) -> float | None:
    return None if time is None else time + TIME_RESOLUTION.value / 2


def get_events(server: ApiServer, pod: Pod) -> Reading:
    """One reading of the events of one pod."""
    query = [("fieldSelector", f"involvedObject.uid={pod.uid}"), ("limit", str(LIMIT))]
    return reading(Source.EVENTS, server, PATH.format(namespace=pod.namespace), events(pod), query)


async def follow_events(server: ApiServer, wanted: Callable[[], Sequence[Pod]], take: Take) -> None:
    """Ask for the events of the wanted pods for ever, one pod at a time."""
    asked: dict[str, float] = {}
    while True:
        await asyncio.sleep(INTERVAL)
        pods, now = wanted(), time.monotonic()
        asked = {pod.uid: asked[pod.uid] for pod in pods if pod.uid in asked}
        due = next((pod for pod in pods if now - asked.get(pod.uid, -AGAIN) >= AGAIN), None)
        if due:
            asked[due.uid] = now
            take(await asyncio.to_thread(get_events, server, due))
