"""The Node and its Lease by a GET: what is sent, what is taken, and what becomes of every way to fail."""

from __future__ import annotations

import asyncio
import importlib.metadata
import socket
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from scripted import (
    LEASE,
    NODE,
    Script,
    connected,
    replace_line,
    serving,
)
from simulated import body, eventually, samples, simulating, still

from kubelet_exporter import demo
from kubelet_exporter.serve import exporting
from kubelet_exporter.simulator import certificates
from kubelet_exporter.simulator.faults import Fault
from kubelet_exporter.snapshot import ALWAYS_READ, Lease, Node, Reading, Reason, Snapshot, Source
from kubelet_exporter.sources import apiserver
from kubelet_exporter.state import State

# What is sent


def test_the_kubernetes_package_is_not_the_one_that_sends_no_token() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    required = next(each for each in map(Requirement, project["dependencies"]) if each.name == "kubernetes")

    assert "36.0.0" != importlib.metadata.version("kubernetes")
    assert not required.specifier.contains("36.0.0")


def test_the_token_is_sent_and_read_anew_for_each_request(tmp_path: Path) -> None:
    script = Script([])

    async def run() -> None:
        async with serving(script, tmp_path) as server:
            await asyncio.to_thread(apiserver.get_node, server)
            (tmp_path / "token").write_text("renewed\n")
            await asyncio.to_thread(apiserver.get_node, server)

    asyncio.run(run())
    assert ["Bearer secret", "Bearer renewed"] == script.tokens


@pytest.mark.parametrize("content", [None, b"two\nlines", b"\xff"])
def test_without_a_token_nothing_is_sent_and_it_is_unauthorized(content: bytes | None, tmp_path: Path) -> None:
    script = Script([])

    async def run() -> Reading:
        async with serving(script, tmp_path) as server:
            (tmp_path / "token").unlink()
            if content is not None:
                (tmp_path / "token").write_bytes(content)
            return await asyncio.to_thread(apiserver.get_node, server)

    failure = asyncio.run(run()).failure
    assert failure is not None
    assert Reason.UNAUTHORIZED == failure.reason
    assert "--token-file" in failure.message
    assert [] == script.tokens


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}, "https://10.0.0.1:6443"),
        ({"KUBERNETES_SERVICE_HOST": "fd00::1"}, "https://[fd00::1]:443"),
    ],
)
def test_the_api_server_of_the_cluster_is_known_from_the_environment(
    environment: dict[str, str], expected: str | None
) -> None:
    assert expected == apiserver.in_cluster(environment)


# What is taken


def test_the_node_and_its_lease_are_read(tmp_path: Path) -> None:
    async def run() -> tuple[Reading, Reading]:
        async with simulating(tmp_path, still()) as simulator:
            server = connected(simulator)
            return (
                await asyncio.to_thread(apiserver.get_node, server),
                await asyncio.to_thread(apiserver.get_lease, server),
            )

    read_node, lease = asyncio.run(run())
    assert isinstance(read_node.value, Node)
    assert isinstance(lease.value, Lease)
    assert "node-a" == read_node.value.name
    assert lease.value.renewed
    assert len(body(NODE).encode()) == read_node.size
    assert len(body(LEASE).encode()) == lease.size


# What fails


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault("forbidden"), Reason.FORBIDDEN),
        (Fault("unauthorized"), Reason.UNAUTHORIZED),
        (Fault("status", "404"), Reason.STATUS),
        (Fault("status", "500"), Reason.STATUS),
        (Fault("status", "302"), Reason.STATUS),
        (Fault("reset"), Reason.CONNECTION),
        (Fault("cut"), Reason.CONNECTION),
        (Fault("hang"), Reason.TIMEOUT),
    ],
    ids=lambda value: f"{value.kind}{value.value}" if isinstance(value, Fault) else value,
)
def test_a_refusal_is_counted_by_its_reason(
    fault: Fault, reason: Reason, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apiserver, "READ_SECONDS", 0.5)

    async def run() -> list[Reading]:
        async with simulating(tmp_path, still()) as simulator:
            simulator.faults = {"*": fault}
            server = connected(simulator)
            reads = (apiserver.get_node, apiserver.get_lease)
            return [await asyncio.to_thread(read, server) for read in reads]

    readings = asyncio.run(run())
    assert [reason, reason] == [reading.failure.reason for reading in readings if reading.failure]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"metadata": {}}'])
def test_an_object_that_is_no_node_is_malformed(text: str, tmp_path: Path) -> None:
    async def run() -> Reading:
        lines = tuple(replace_line(line, text=text) if line.path == NODE else line for line in still().lines)
        async with simulating(tmp_path, replace(still(), lines=lines)) as simulator:
            return await asyncio.to_thread(apiserver.get_node, connected(simulator))

    failure = asyncio.run(run()).failure
    assert failure
    assert Reason.MALFORMED == failure.reason


def test_another_token_than_the_api_server_takes_is_unauthorized_until_it_is_renewed(tmp_path: Path) -> None:
    async def run() -> list[Reading]:
        async with simulating(tmp_path, still()) as simulator:
            server = connected(simulator)
            simulator.change_token(tell=False)
            refused = await asyncio.to_thread(apiserver.get_node, server)
            simulator.token_file.write_text(simulator.token)
            return [refused, await asyncio.to_thread(apiserver.get_node, server)]

    refused, good = asyncio.run(run())
    assert refused.failure
    assert Reason.UNAUTHORIZED == refused.failure.reason
    assert good.failure is None


def test_an_api_server_of_another_ca_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async def run() -> tuple[Reading, dict[str, int]]:
        async with simulating(tmp_path, still()) as simulator:
            simulator.ca_file.write_bytes(certificates.authority("other").pem)
            reading = await asyncio.to_thread(apiserver.get_node, connected(simulator))
            return reading, simulator.apiserver_requests

    reading, requests = asyncio.run(run())
    assert reading.failure
    assert Reason.TLS == reading.failure.reason
    assert {} == requests


def test_a_missing_ca_file_trusts_nobody(tmp_path: Path) -> None:
    async def run() -> Reading:
        async with simulating(tmp_path, still()) as simulator:
            simulator.ca_file.unlink()
            return await asyncio.to_thread(apiserver.get_node, connected(simulator))

    failure = asyncio.run(run()).failure
    assert failure
    assert Reason.TLS == failure.reason


def test_an_absent_api_server_is_counted_and_costs_nothing_else(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: every connection is refused
        port = nobody.getsockname()[1]

        async def run() -> None:
            async with simulating(tmp_path, still()) as simulator:
                settings = replace(demo.settings(simulator), apiserver_url=f"https://127.0.0.1:{port}")
                async with exporting(settings) as exporter:
                    state = exporter.state
                    await eventually(lambda: ALWAYS_READ == state.snapshot.readings.keys())
                    failed = {source: each.failure for source, each in state.snapshot.readings.items() if each.failure}

                    assert {Source.NODE, Source.LEASE} == failed.keys()
                    assert {Reason.CONNECTION} == {failure.reason for failure in failed.values()}
                    assert not any(task.done() for task in exporter.tasks)

        asyncio.run(run())


def test_a_missing_right_at_the_api_server_is_named(tmp_path: Path) -> None:
    state = State(Snapshot("node-a", 0.0))

    async def run() -> None:
        async with simulating(tmp_path, still()) as simulator:
            simulator.faults = {"*": Fault("forbidden")}
            server = connected(simulator)
            state.take(await asyncio.to_thread(apiserver.get_node, server))
            state.take(await asyncio.to_thread(apiserver.get_lease, server))

    asyncio.run(run())
    found = [labels for name, labels, _ in samples(state.scrape().plain) if name == "source_missing_right"]
    assert [("node", "nodes"), ("lease", "leases")] == [(each["source"], each["right"]) for each in found]
