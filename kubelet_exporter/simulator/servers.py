"""The simulated kubelet and API server over HTTPS on loopback. Imports aiohttp.web beside kubelet_exporter.server."""

import asyncio
import gzip
import json
import re
import secrets
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from kubelet_exporter import units
from kubelet_exporter.server import listen
from kubelet_exporter.simulator import certificates, faults
from kubelet_exporter.simulator.faults import Fault
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.sources.recording import Line

LOGS = "/logs/"
RIGHTS = {
    "/pods": "pods",
    "/configz": "configz",
    "/healthz": "healthz",
    "/stats/summary": "stats",
    "/metrics": "metrics",
    LOGS: "log",
}
WATCH_POLL_SECONDS = 0.5
DUPLICATE = (
    "An error has occurred while serving metrics:\n\n"
    'collected metric "kubelet_container_log_filesystem_used_bytes" was collected before with the same name and label values\n'
)


@dataclass(slots=True)
class Simulator:
    """A running simulated node: where it is, what it accepts, and what it does wrong now."""

    player: Player
    folder: Path
    faults: dict[str, Fault] = field(default_factory=dict)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    kubelet_port: int = 0
    apiserver_port: int = 0
    kubelet_tls: ssl.SSLContext = field(default_factory=lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    requests: dict[str, int] = field(default_factory=dict)
    apiserver_requests: dict[str, int] = field(default_factory=dict)
    log: list[tuple[float, str]] = field(default_factory=list)

    @property
    def token_file(self) -> Path:
        """Where a client finds the token."""
        return self.folder / "token"

    @property
    def ca_file(self) -> Path:
        """Where a client finds the CA of the API server."""
        return self.folder / "ca.crt"

    def change_token(self, *, tell: bool = True) -> None:
        """Accept a new token only; without `tell` the clients' file keeps the old one."""
        self.token = secrets.token_urlsafe(24)
        if tell:
            self.token_file.write_text(self.token)

    def serve_certificate(self, pem: bytes) -> None:
        """Serve this key and certificate on new connections to the kubelet."""
        _load(self.kubelet_tls, self.folder / "kubelet.pem", pem)

    def fault(self, path: str) -> Fault | None:
        """What this path does wrong now."""
        return faults.chosen(self.faults, path)


@asynccontextmanager
async def running(
    player: Player, folder: Path, host: str = "127.0.0.1", ports: tuple[int, int] = (0, 0)
) -> AsyncIterator[Simulator]:
    """A simulated node on loopback; port 0 lets the kernel choose. Keys, token and CA are written to the folder."""
    simulator = Simulator(player, folder)
    simulator.token_file.write_text(simulator.token)
    signer = certificates.authority("simulated-cluster-ca")
    simulator.ca_file.write_bytes(signer.pem)
    simulator.serve_certificate(certificates.self_made(player.recording.node_name))
    apiserver_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load(apiserver_tls, folder / "apiserver.pem", certificates.serving(signer, ("localhost", host), chain=False))
    kubelet = web.AppRunner(_kubelet(simulator), access_log=None, shutdown_timeout=0.1, handle_signals=False)
    apiserver = web.AppRunner(_apiserver(simulator), access_log=None, shutdown_timeout=0.1, handle_signals=False)
    try:
        simulator.kubelet_port = await listen(kubelet, host, ports[0], "--kubelet-port", simulator.kubelet_tls)
        simulator.apiserver_port = await listen(apiserver, host, ports[1], "--apiserver-port", apiserver_tls)
        yield simulator
    finally:
        await _stop(kubelet)
        await _stop(apiserver)


async def _stop(runner: web.AppRunner) -> None:
    """Stop at once: a client that keeps its connections is not waited for."""
    for connection in runner.server.connections if runner.server else ():
        if connection.transport:
            connection.transport.abort()
    await runner.cleanup()


def _load(context: ssl.SSLContext, file: Path, pem: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(pem)
    context.load_cert_chain(file)


def _kubelet(simulator: Simulator) -> web.Application:
    async def answer(request: web.Request) -> web.StreamResponse:
        simulator.requests[request.path] = simulator.requests.get(request.path, 0) + 1
        if request.headers.get("Authorization") != f"Bearer {simulator.token}":
            return web.Response(status=401, text="Unauthorized")
        line = _log(request, simulator.log) if request.path == LOGS else simulator.player.answer(request.path)
        return await _answer(request, line, simulator.fault(request.path))

    async def change_faults(request: web.Request) -> web.Response:
        try:
            chosen = dict(faults.parse(line) for line in (await request.text()).split())
        except ValueError as error:
            return web.Response(status=400, text=f"{error}\n")
        simulator.faults = chosen
        return web.json_response({path: fault.kind for path, fault in chosen.items()})

    async def renew_certificate(_: web.Request) -> web.Response:
        simulator.serve_certificate(certificates.self_made(simulator.player.recording.node_name))
        return web.Response(text="serving a new certificate on new connections\n")

    async def renew_token(_: web.Request) -> web.Response:
        simulator.change_token()
        return web.Response(text=f"a new token is in {simulator.token_file}\n")

    application = web.Application()
    application.router.add_put("/-/faults", change_faults)
    application.router.add_post("/-/certificate", renew_certificate)
    application.router.add_post("/-/token", renew_token)
    application.router.add_get("/{path:.*}", answer)
    return application


def _log(request: web.Request, log: Sequence[tuple[float, str]]) -> Line:
    """The lines of the kubelet's log that a log query selects, as journalctl prints them."""
    since, until = (units.timestamp(request.query.get(name)) or 0.0 for name in ("sinceTime", "untilTime"))
    found = [line for at, line in log if since <= at <= until and re.search(request.query["pattern"], line)]
    return Line(0.0, LOGS, 200, "\n".join([*found, ""]) if found else "-- No entries --\n")


async def _answer(request: web.Request, line: Line | None, fault: Fault | None) -> web.StreamResponse:
    if line is None:
        return web.Response(status=404, text="404 page not found\n")
    if line.status == 0 or (fault and fault.kind == "hang"):
        await asyncio.Event().wait()
    if line.status != 200:
        await asyncio.sleep(line.took)
        return web.Response(status=line.status, text=line.body)
    body = (line.body or "").encode()
    return await _faulty(request, body, fault) if fault else _response(body)


def _content_type(body: bytes) -> str:
    if body.startswith(b"{"):
        return "application/json"
    return "text/plain; version=0.0.4; charset=utf-8" if body.startswith(b"#") else "text/plain; charset=utf-8"


def _response(body: bytes, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=body, headers={"Content-Type": _content_type(body), **(headers or {})})


async def _faulty(request: web.Request, body: bytes, fault: Fault) -> web.StreamResponse:
    if fault.kind == "delay":
        await asyncio.sleep(fault.number)
    if fault.kind in ("cut", "reset"):
        return await _broken(request, body, fault)
    return _refusal(request.path, fault) or _spoilt(body, fault)


def _refusal(path: str, fault: Fault) -> web.Response | None:
    match fault.kind:
        case "status":
            return web.Response(status=int(fault.number), text="simulated failure\n")
        case "unauthorized":
            return web.Response(status=401, text="Unauthorized")
        case "forbidden":
            return web.Response(status=403, text=_forbidden(path))
        case "duplicate_container" if path == "/metrics":
            return web.Response(status=500, text=DUPLICATE)
    return None


def _spoilt(body: bytes, fault: Fault) -> web.Response:
    match fault.kind:
        case "content_type":
            return _response(body, {"Content-Type": fault.value})
        case "gzip_cut":
            headers = {"Content-Type": _content_type(body), "Content-Encoding": "gzip"}
            return _response(gzip.compress(body)[: -min(20, len(body))], headers)
    return _response(faults.spoilt(fault.kind, body))


async def _broken(request: web.Request, body: bytes, fault: Fault) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": _content_type(body), "Content-Length": str(len(body))})
    if fault.kind == "cut":
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
    if request.transport:
        request.transport.abort()
    return response


def _forbidden(path: str) -> str:
    right = RIGHTS.get(path, "proxy")
    return f"Forbidden (user=system:serviceaccount:simulated:exporter, verb=get, resource=nodes, subresource(s)=[{right} proxy])\n"


def _apiserver(simulator: Simulator) -> web.Application:
    async def get(request: web.Request) -> web.StreamResponse:
        simulator.apiserver_requests[request.path] = simulator.apiserver_requests.get(request.path, 0) + 1
        if request.headers.get("Authorization") != f"Bearer {simulator.token}":
            return web.json_response({"kind": "Status", "code": 401, "message": "Unauthorized"}, status=401)
        fault = simulator.fault(request.path)
        if request.path == "/api/v1/nodes" and request.query.get("watch"):
            return await (_answer(request, _nothing(request), fault) if fault else _watch(request, simulator))
        if request.path.endswith("/events"):
            return await _answer(request, _events(request, simulator), fault)
        return await _answer(request, simulator.player.answer(request.path), fault)

    application = web.Application()
    application.router.add_get("/{path:.*}", get)
    return application


def _nothing(request: web.Request) -> Line:
    return Line(0.0, request.path, 200, "{}")


def _events(request: web.Request, simulator: Simulator) -> Line:
    """The events of the one pod that the request selects."""
    uid = request.query.get("fieldSelector", "").removeprefix("involvedObject.uid=")
    return Line(simulator.player.clock(), request.path, 200, simulator.player.events_of(uid))


async def _watch(request: web.Request, simulator: Simulator) -> web.StreamResponse:
    """Tell each change of the Node as an event, as long as the client asked for; nothing while there is no answer."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    end = asyncio.get_running_loop().time() + float(request.query.get("timeoutSeconds", "60"))
    last = simulator.player.answer(simulator.player.node_path)
    while asyncio.get_running_loop().time() < end:
        await asyncio.sleep(WATCH_POLL_SECONDS)
        if simulator.fault(request.path):
            continue
        line = simulator.player.answer(simulator.player.node_path)
        if line and line.status == 200 and line != last:
            event = {"type": "MODIFIED", "object": json.loads(line.body or "{}")}
            await response.write(json.dumps(event).encode() + b"\n")
            last = line
    await response.write_eof()
    return response
