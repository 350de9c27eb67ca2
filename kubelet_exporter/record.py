"""Writes a recording of a live node, without secrets."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kubelet_exporter.config import Settings
from kubelet_exporter.serve import api_server, node_kubelet
from kubelet_exporter.sources import apiserver, kubelet
from kubelet_exporter.sources.endpoints import endpoints
from kubelet_exporter.sources.kubelet import Endpoint, Kubelet, Refused
from kubelet_exporter.sources.recording import LEASE_PATH, NODE_PATH, Line

REMOVED = "removed"
# Not read by the exporter, but cheap, and worth having when a report is looked into.
OTHER_PATHS = ("/metrics/probes", "/metrics/resource", "/metrics/slis")
API_INTERVAL = 5.0
KEPT_ANNOTATIONS = "kubernetes.io/config."


async def record(settings: Settings, duration: float) -> list[Line]:
    """All answers of a node within `duration` seconds, in the order of time."""
    lines: list[Line] = []
    points = list(endpoints(settings.intervals, settings.kubelet_timeout))
    sample = next(point for point in points if point.path == "/metrics")
    points += [replace(sample, path=path, interval=30.0) for path in OTHER_PATHS]
    async with kubelet.session() as session:
        client = node_kubelet(settings, session)
        readers = [_repeat(partial(_kubelet_line, client, point), point.interval, duration, lines) for point in points]
        if api := api_server(settings):
            readers += [
                _repeat(partial(_api_line, api, path), API_INTERVAL, duration, lines)
                for path in (apiserver.NODE_PATH, apiserver.LEASE_PATH)
            ]
        await asyncio.gather(*readers)
    return sorted(lines, key=lambda line: line.t)


async def _repeat(read: Callable[[], Awaitable[Line]], interval: float, duration: float, lines: list[Line]) -> None:
    end = time.monotonic() + duration
    while True:
        begin = time.monotonic()
        lines.append(await read())
        rest = interval - (time.monotonic() - begin)
        if time.monotonic() + rest > end:
            return
        await asyncio.sleep(max(0.0, rest))


async def _kubelet_line(client: Kubelet, point: Endpoint) -> Line:
    at, begin = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(point.deadline):
            body = await client.fetch(point)
    except Refused as refused:
        return Line(at, point.path, refused.status, str(refused), time.monotonic() - begin)
    except kubelet.ERRORS as error:
        return Line(at, point.path, 0, kubelet.failed(error, point).message, time.monotonic() - begin)
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
    """A body without what may be secret: environment values, commands, annotations, headers, managed fields.

    A body that should be JSON and is not is left out whole.
    """
    scrub = SCRUBS.get(path) or (_scrub_object if path.startswith((NODE_PATH, LEASE_PATH)) else None)
    if scrub is None:
        return body.decode(errors="replace")
    try:
        document = json.loads(body)
    except ValueError:
        return ""
    scrub(document)
    return json.dumps(document)


def _scrub_object(document: Any) -> None:
    if isinstance(document, dict) and isinstance(metadata := document.get("metadata"), dict):
        metadata.pop("managedFields", None)
        annotations = metadata.get("annotations") or {}
        metadata["annotations"] = {
            name: value if name.startswith(KEPT_ANNOTATIONS) else REMOVED for name, value in annotations.items()
        }


def _scrub_pods(document: Any) -> None:
    for pod in document.get("items") or ():
        _scrub_object(pod)
        _scrub_values(pod)


def _scrub_values(value: Any) -> None:
    """Remove the values of every field whose content a user chose and may hold a secret, at any depth."""
    if isinstance(value, list):
        for each in value:
            _scrub_values(each)
    elif isinstance(value, dict):
        for key, content in value.items():
            if key in ("env", "httpHeaders") and isinstance(content, list):
                value[key] = [each | {"value": REMOVED} if "value" in each else each for each in content]
            elif key in ("command", "args") and isinstance(content, list):
                value[key] = [REMOVED for _ in content]
            else:
                _scrub_values(content)


def _scrub_config(document: Any) -> None:
    config = document.get("kubeletconfig") or {}
    if config.get("staticPodURLHeader"):
        config["staticPodURLHeader"] = {name: [REMOVED] for name in config["staticPodURLHeader"]}


SCRUBS: Mapping[str, Callable[[Any], None]] = {"/pods": _scrub_pods, "/configz": _scrub_config}
