"""An API server that answers by a script, for what the simulated one does not do, and clients of both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from simulated import eventually

from kubelet_exporter.simulator.servers import Simulator
from kubelet_exporter.snapshot import Reading
from kubelet_exporter.sources import apiserver
from kubelet_exporter.sources.apiserver import ApiServer

NODE = "/api/v1/nodes/node-a"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-a"


def connected(simulator: Simulator) -> ApiServer:
    """A client of the simulated API server."""
    url = f"https://127.0.0.1:{simulator.apiserver_port}"
    return apiserver.connect(url, simulator.ca_file, simulator.token_file, "node-a")


def replace_line(line: Any, **changes: Any) -> Any:
    """A recorded line with another time or body."""
    return type(line)(changes.get("t", line.t), line.path, line.status, changes.get("text", line.body), line.took)


def node(version: int, kubelet: str = "v1.36.0") -> dict[str, Any]:
    """A Node with this resource version and this version of the kubelet."""
    return {
        "metadata": {"name": "node-a", "resourceVersion": str(version)},
        "status": {"nodeInfo": {"kubeletVersion": kubelet}},
    }


def modified(version: int, kubelet: str = "v1.36.0") -> dict[str, Any]:
    return {"type": "MODIFIED", "object": node(version, kubelet)}


# As the API server sends it: an object that has no name.
def bookmark(version: int) -> dict[str, Any]:
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    return {"type": "BOOKMARK", "object": {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "status": {}}}


GONE = {
    "type": "ERROR",
    "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 10 (20)"},
}
CUT = "cut"
END = "end"
Part = dict[str, Any] | str | int


@dataclass(slots=True)
class Script:
    """An API server that answers each watch with its parts in turn: events, an end, a cut or a status; the last one stays open."""

    watches: list[Sequence[Part]]
    nodes: list[dict[str, Any] | int] = field(default_factory=lambda: [node(10)])
    queries: list[dict[str, str]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    gets: int = 0

    @property
    def versions(self) -> list[str]:
        """The version from which each watch was asked for."""
        return [query["resourceVersion"] for query in self.queries]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization"))
        if request.query.get("watch"):
            self.queries.append(dict(request.query))
            return await self._watch(request, self.watches.pop(0) if self.watches else ())
        self.gets += 1
        now = self.nodes.pop(0) if len(self.nodes) > 1 else self.nodes[0]
        return web.json_response({}, status=now) if isinstance(now, int) else web.json_response(now)

    async def _watch(self, request: web.Request, parts: Sequence[Part]) -> web.StreamResponse:
        if parts and isinstance(parts[0], int):
            return web.json_response({"kind": "Status"}, status=parts[0])
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for part in parts:
            if part == END:
                return response
            if part == CUT:
                await response.write(b'{"type":"MODIFIED","object":{"meta')
                assert request.transport
                request.transport.abort()
                return response
            await response.write(json.dumps(part).encode() + b"\n")
        await asyncio.Event().wait()
        return response


@asynccontextmanager
async def serving(script: Script, folder: Path) -> AsyncIterator[ApiServer]:
    """A client of an API server that follows a script."""
    (folder / "token").write_text("secret")
    routes = web.Application()
    routes.router.add_get("/{path:.*}", script.answer)
    runner = web.AppRunner(routes, access_log=None, shutdown_timeout=0.1, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield apiserver.connect(url, None, folder / "token", "node-a")
    finally:
        for connection in runner.server.connections if runner.server else ():
            if connection.transport:
                connection.transport.abort()
        await runner.cleanup()


def followed(script: Script, folder: Path, enough: Callable[[list[Reading]], object]) -> list[Reading]:
    """What is read of a Node until it is enough."""

    async def run() -> list[Reading]:
        async with serving(script, folder) as server:
            return await until(server, enough)

    return asyncio.run(run())


async def until(server: ApiServer, enough: Callable[[list[Reading]], object]) -> list[Reading]:
    """What is read of a Node until it is enough; what comes while the server is stopped is left out."""
    readings: list[Reading] = []
    apiserver.follow_node(server, readings.append)
    await eventually(lambda: enough(readings))
    return list(readings)


def kubelets(readings: Sequence[Reading]) -> list[str]:
    return [reading.value.kubelet_version if reading.value else "" for reading in readings]
