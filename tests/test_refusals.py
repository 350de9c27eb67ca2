"""Bodies, tokens and connections that cannot be used: each is refused whole, by its reason, and the token goes nowhere else."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from simulated import ALL, body, reader, reading, simulating, still, with_body

from kubelet_exporter import demo
from kubelet_exporter.config import Settings
from kubelet_exporter.simulator import certificates
from kubelet_exporter.simulator.faults import Fault
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.snapshot import Reason, Source
from kubelet_exporter.sources.endpoints import PATHS

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(folder: Path, answer: Answer) -> AsyncIterator[Settings]:
    """Settings of an exporter whose kubelet answers everything so; for what the simulator does not do."""
    (folder / "token").write_text("first")
    routes = web.Application()
    routes.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(routes, access_log=None, shutdown_timeout=0.1, handle_signals=False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (folder / "kubelet.pem").write_bytes(certificates.self_made("node-a"))
    context.load_cert_chain(folder / "kubelet.pem")
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port = runner.addresses[0][1]
        yield Settings("node-a", kubelet_port=port, kubelet_ca_file=folder / "none", token_file=folder / "token")
    finally:
        await runner.cleanup()


# Bodies


@pytest.mark.parametrize("text", ["", "{", '{"items": 3}', '["pods"]', "null", "\x00\xff"])
def test_a_body_that_is_no_list_of_pods_is_malformed_and_the_last_one_stays(text: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            await found.read()
            before = found.values("pods")
            simulator.player = Player(with_body("/pods", text))
            simulator.faults = {"/pods": Fault("content_type", "application/json")}
            await found.read()

            assert {("pods", "malformed"): 1.0} == found.errors()
            assert before == found.values("pods")

    asyncio.run(run())


def test_a_body_above_its_limit_is_refused_whole(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (_, found):
            found.change(Source.PODS, limit=len(body("/pods")) - 1)
            await found.read()

            assert {("pods", "too_large"): 1.0} == found.errors()
            assert [] == found.values("pods")

            found.change(Source.PODS, limit=len(body("/pods")))
            await found.read()

            assert ALL == found.up()

    asyncio.run(run())


def test_a_small_body_that_unzips_above_the_limit_is_refused_and_is_not_unzipped_first(tmp_path: Path) -> None:
    zipped = gzip.compress(b"0" * 50_000_000)

    async def bomb(_: web.Request) -> web.Response:
        return web.Response(body=zipped, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    async def run() -> int:
        async with answering(tmp_path, bomb) as settings, reader(settings) as found:
            found.change(Source.PODS, limit=1_000_000)
            tracemalloc.start()
            try:
                assert Reason.TOO_LARGE == (await found.failure(Source.PODS)).reason
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    assert 10_000_000 > asyncio.run(run())


def test_a_gzip_body_is_read_though_it_was_not_asked_for(tmp_path: Path) -> None:
    async def zipped(_: web.Request) -> web.Response:
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return web.Response(body=gzip.compress(body("/pods").encode()), headers=headers)

    async def run() -> None:
        async with answering(tmp_path, zipped) as settings, reader(settings) as found:
            readings = await found.read(Source.PODS)

            assert len(body("/pods").encode()) == readings[Source.PODS].size
            assert 1 < sum(found.values("pods"))

    asyncio.run(run())


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Content-Encoding": "gzip"}, Reason.MALFORMED),
        ({"Content-Encoding": "br"}, Reason.CONTENT_TYPE),
        ({"Content-Encoding": "zstd"}, Reason.CONTENT_TYPE),
    ],
)
def test_a_body_that_is_not_encoded_as_it_says_is_refused(
    headers: dict[str, str], reason: Reason, tmp_path: Path
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=b'{"items": []}', headers={"Content-Type": "application/json", **headers})

    async def run() -> None:
        async with answering(tmp_path, answer) as settings, reader(settings) as found:
            assert reason == (await found.failure(Source.PODS)).reason

    asyncio.run(run())


def test_a_redirect_is_not_followed_since_it_would_carry_the_token_away(tmp_path: Path) -> None:
    paths: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async def run() -> None:
        async with answering(tmp_path, answer) as settings, reader(settings) as found:
            assert Reason.STATUS == (await found.failure(Source.PODS)).reason
            assert ["/pods"] == paths

    asyncio.run(run())


# The token


def test_a_token_that_is_renewed_while_a_request_is_under_way_is_read_again_at_once(tmp_path: Path) -> None:
    tokens: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        tokens.append(request.headers["Authorization"])
        (tmp_path / "token").write_text("second")
        if tokens[-1] != "Bearer second":
            return web.Response(status=401, text="Unauthorized")
        return web.json_response({"items": []})

    async def run() -> None:
        async with answering(tmp_path, answer) as settings, reader(settings) as found:
            await found.read(Source.PODS)

            assert ["Bearer first", "Bearer second"] == tokens
            assert {} == found.errors()
            assert {"pods"} == found.up()

    asyncio.run(run())


def test_a_renewed_token_is_used_by_the_next_reading(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            await found.read()
            simulator.change_token()
            await found.read()

            assert {} == found.errors()
            assert dict.fromkeys(PATHS, 2) == simulator.requests

    asyncio.run(run())


def test_a_token_that_is_not_renewed_is_unauthorized_and_is_not_sent_twice(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            await found.read()
            simulator.change_token(tell=False)
            await found.read()

            assert {(source, Reason.UNAUTHORIZED): 1.0 for source in ALL} == found.errors()
            assert dict.fromkeys(PATHS, 2) == simulator.requests

            simulator.token_file.write_text(simulator.token)
            await found.read()

            assert ALL == found.up()

    asyncio.run(run())


@pytest.mark.parametrize("content", [None, b"two\nlines", b"\xff\xfe", b"caf\xc3\xa9"])
def test_a_token_file_without_a_token_is_unauthorized_and_nothing_is_sent(
    content: bytes | None, tmp_path: Path
) -> None:
    async def run() -> None:
        async with reading(tmp_path) as (simulator, found):
            simulator.token_file.unlink()
            if content is not None:
                simulator.token_file.write_bytes(content)
            failure = await found.failure(Source.PODS)

            assert Reason.UNAUTHORIZED == failure.reason
            assert "--token-file" in failure.message
            assert {} == simulator.requests

    asyncio.run(run())


# The connection


def test_a_kubelet_that_is_gone_is_a_connection_error_of_every_source(tmp_path: Path) -> None:
    async def run() -> None:
        async with simulating(tmp_path, still()) as simulator:
            settings = demo.settings(simulator)
        async with reader(settings) as found:
            await found.read()

            assert {(source, Reason.CONNECTION): 1.0 for source in ALL} == found.errors()
            assert set() == found.up()

    asyncio.run(run())


def test_a_kubelet_that_goes_away_is_noticed_and_its_pods_stay_for_a_while(tmp_path: Path) -> None:
    async def run() -> None:
        async with simulating(tmp_path, still()) as simulator, reader(demo.settings(simulator)) as found:
            await found.read()
            before = found.values("pods")
            simulator.faults = {"*": Fault("reset")}
            await found.read()

            assert set() == found.up()
            assert before == found.values("pods")

    asyncio.run(run())


def test_a_name_that_cannot_be_resolved_is_a_connection_error(tmp_path: Path) -> None:
    async def run() -> None:
        async with reading(tmp_path, kubelet_address="node-a.invalid") as (_, found):
            assert Reason.CONNECTION == (await found.failure(Source.HEALTHZ)).reason

    asyncio.run(run())
