"""Writes a recording of a live node, without secrets."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from kubelet_exporter.config import Settings
from kubelet_exporter.serve import api_server, node_kubelet
from kubelet_exporter.snapshot import Reason
from kubelet_exporter.sources import apiserver, kubelet
from kubelet_exporter.sources.endpoints import endpoints
from kubelet_exporter.sources.kubelet import Endpoint, Kubelet, Refused
from kubelet_exporter.sources.recording import LEASE_PATH, NODE_PATH, Line

REMOVED = "removed"
# Not read by the exporter, but cheap, and worth having when a report is looked into.
OTHER_PATHS = ("/metrics/probes", "/metrics/resource", "/metrics/slis")
API_INTERVAL = 5.0
KEPT_ANNOTATIONS = "kubernetes.io/config."
# Of these a container never ran: kubelet and runtime write the message, and the blame of the start rests on it.
NEVER_RAN = frozenset(
    {
        "StartError",
        "ContainerCannotRun",
        "CreateContainerError",
        "CreateContainerConfigError",
        "RunContainerError",
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
    }
)


async def record(settings: Settings, duration: float, stop: asyncio.Event | None = None) -> list[Line]:
    """All answers of a node within `duration` seconds or until the stop, in the order of time."""
    lines: list[Line] = []
    stop = stop or asyncio.Event()
    points = list(endpoints(settings.intervals, settings.kubelet_timeout))
    sample = next(point for point in points if point.path == "/metrics")
    points += [replace(sample, path=path, interval=30.0) for path in OTHER_PATHS]
    async with kubelet.session() as session:
        client = node_kubelet(settings, session)
        readers = [
            _repeat(partial(_kubelet_line, client, point), point.interval, duration, lines, stop) for point in points
        ]
        if api := api_server(settings):
            readers += [
                _repeat(partial(_api_line, api, path), API_INTERVAL, duration, lines, stop)
                for path in (apiserver.NODE_PATH, apiserver.LEASE_PATH)
            ]
        await asyncio.gather(*readers)
    return sorted(lines, key=lambda line: line.t)


async def _repeat(
    read: Callable[[], Awaitable[Line]], interval: float, duration: float, lines: list[Line], stop: asyncio.Event
) -> None:
    end = time.monotonic() + duration
    while not stop.is_set():
        begin = time.monotonic()
        lines.append(await read())
        rest = interval - (time.monotonic() - begin)
        if time.monotonic() + rest > end:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), max(0.0, rest))


async def _kubelet_line(client: Kubelet, point: Endpoint) -> Line:
    at, begin = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(point.deadline):
            body = await client.fetch(point)
    except Refused as refused:
        return Line(at, point.path, refused.status, str(refused), time.monotonic() - begin)
    except kubelet.ERRORS as error:
        failure = kubelet.failed(error, point)
        if failure.reason is Reason.TLS:
            client.trust.doubt()
        return Line(at, point.path, 0, failure.message, time.monotonic() - begin)
    return Line(at, point.path, 200, scrubbed(point.path, body), time.monotonic() - begin)


async def _api_line(api: apiserver.ApiServer, template: str) -> Line:
    at, begin = time.time(), time.monotonic()
    path = template.format(name=api.node_name)
    try:
        body = await asyncio.to_thread(apiserver.get, api, template)
    except apiserver.Refused as refused:
        return Line(at, path, refused.status, str(refused), time.monotonic() - begin)
    except apiserver.ERRORS as error:
        return Line(at, path, 0, str(error), time.monotonic() - begin)
    return Line(at, path, 200, scrubbed(path, body), time.monotonic() - begin)


def scrubbed(path: str, body: bytes) -> str:
    """A body without what may be secret: environment values, commands, annotations, headers, managed fields, last words.

    A body that should be JSON and is not is left out whole.
    """
    if path not in SCRUBBED and not path.startswith((NODE_PATH, LEASE_PATH)):
        return body.decode(errors="replace")
    try:
        document = json.loads(body)
    except ValueError:
        return ""
    return json.dumps(_clean(document))


def _clean(value: Any) -> Any:
    """The value without the content of every field that a user chose and that may hold a secret, at any depth."""
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        kept = {key: content for key, content in value.items() if key not in LEFT_OUT}
        return {key: CLEANERS.get(key, _clean)(content) for key, content in kept.items()}
    return value


def _blank(value: Any) -> Any:
    """The same lists and names without what they hold; a text stays, for it is a label of this name, say."""
    if isinstance(value, list):
        return [REMOVED for _ in value]
    return dict.fromkeys(value, REMOVED) if isinstance(value, dict) else value


def _named_values(value: Any) -> Any:
    """Of environment variables and headers only the names stay, and where a value comes from."""
    if not isinstance(value, list):  # a label of this name, say
        return _clean(value)
    return [
        {name: REMOVED if name == "value" else content for name, content in each.items()}
        if isinstance(each, dict)
        else REMOVED
        for each in value
    ]


def _annotations(value: Any) -> Any:
    if not isinstance(value, dict):
        return _clean(value)
    return {name: content if name.startswith(KEPT_ANNOTATIONS) else REMOVED for name, content in value.items()}


def _ended(value: Any) -> Any:
    """The state of a container that ended, without the message that it may have left; one that never ran left none."""
    if not isinstance(value, dict) or "message" not in value or value.get("reason") in NEVER_RAN:
        return _clean(value)
    return {**_clean(value), "message": REMOVED}


def _removed(value: Any) -> Any:
    return REMOVED if value else value


SCRUBBED = frozenset({"/pods", "/configz"})
LEFT_OUT = frozenset({"managedFields"})
CLEANERS: Mapping[str, Callable[[Any], Any]] = {
    "env": _named_values,
    "httpHeaders": _named_values,
    "annotations": _annotations,
    "terminated": _ended,
    "staticPodURL": _removed,
    **dict.fromkeys(("command", "args", "volumeAttributes", "staticPodURLHeader"), _blank),
}
