"""The exporter's own HTTP server: /metrics, the status page, liveness and readiness. Imports aiohttp.web."""

import asyncio
import logging
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from aiohttp import web

from kubelet_exporter import units
from kubelet_exporter.page import page
from kubelet_exporter.snapshot import Source
from kubelet_exporter.state import State

log = logging.getLogger(__name__)


def application(state: State, expected: frozenset[Source], telemetry_path: str = "/metrics") -> web.Application:
    """The server's routes; it is ready once every expected source was tried, whatever came of it."""

    async def metrics(request: web.Request) -> web.Response:
        scrape = state.scrape(request.headers.get("Accept", ""))
        zipped = "gzip" in request.headers.get("Accept-Encoding", "")
        headers = {"Content-Type": scrape.content_type} | ({"Content-Encoding": "gzip"} if zipped else {})
        return web.Response(body=scrape.zipped if zipped else scrape.plain, headers=headers)

    async def status(_: web.Request) -> web.Response:
        text = page(replace(state.snapshot, now=state.clock()), state.ledger, telemetry_path)
        return web.Response(text=text, content_type="text/html")

    async def healthy(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        missing = expected - set(state.snapshot.readings)
        if missing:
            return web.Response(status=503, text=f"not read yet: {', '.join(sorted(missing))}\n")
        return web.Response(text="ok\n")

    routes = web.Application()
    routes.router.add_get(telemetry_path, metrics)
    routes.router.add_get("/", status)
    routes.router.add_get("/-/healthy", healthy)
    routes.router.add_get("/-/ready", ready)
    return routes


@asynccontextmanager
async def serving(
    routes: web.Application, host: str | None, port: int, flag: str = "--web.listen-address"
) -> AsyncIterator[str]:
    """Serve until the context ends; gives the address as a URL. Port 0 lets the kernel choose. Raises OSError, see listen."""
    runner = web.AppRunner(routes, access_log=None, shutdown_timeout=1.0, handle_signals=False)
    try:
        bound = await listen(runner, host, port, flag)
        yield f"http://{units.host_port(host or '127.0.0.1', bound)}"
    finally:
        await runner.cleanup()


async def listen(
    runner: web.AppRunner, host: str | None, port: int, flag: str, tls: ssl.SSLContext | None = None
) -> int:
    """Listen at an address and give the port; raises OSError that names the address and the flag that changes it."""
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=tls).start()
    except OSError as error:
        number = error.errno or 0  # below 0 if a name cannot be resolved
        why = os.strerror(number) if number > 0 else error.strerror or error
        raise OSError(f"cannot listen on {units.host_port(host or '', port)}: {why}; change it with {flag}") from error
    return int(runner.addresses[0][1])


async def until(stop: asyncio.Event, *tasks: asyncio.Task[None]) -> None:
    """Wait for the stop, or for the first of the tasks that fails, whose error is then raised."""
    waiting = asyncio.create_task(stop.wait())
    done, pending = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()
