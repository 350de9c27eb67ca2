"""A recording of a live node has no secrets and can be played: by `replay`, by the simulator, in a loop, moved in time."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from simulated import BOUND, body, eventually, film, samples, simulating, still

from kubelet_exporter import demo
from kubelet_exporter.config import Settings
from kubelet_exporter.record import record, scrubbed
from kubelet_exporter.serve import folded, replaying
from kubelet_exporter.simulator.faults import Fault
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.snapshot import Reading, Reason, Source
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.endpoints import INTERVALS, PATHS, decoders
from kubelet_exporter.sources.recording import Line, Recording, load, write

SECRET = "S3CRET"
NODE = "/api/v1/nodes/node-a"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-a"
CONTAINER: Mapping[str, Any] = {
    "name": "app",
    "image": "registry.example/app:1",
    "command": ["sh", "-c", f"login --password={SECRET}-command"],
    "args": [f"--token={SECRET}-args"],
    "env": [
        {"name": "PASSWORD", "value": f"{SECRET}-env"},
        {"name": "FROM", "valueFrom": {"secretKeyRef": {"name": "kept-secret-name", "key": "password"}}},
        {"name": "EMPTY"},
    ],
    "livenessProbe": {
        "httpGet": {"path": "/", "httpHeaders": [{"name": "Authorization", "value": f"{SECRET}-probe"}]},
        "exec": {"command": [f"{SECRET}-exec"]},
    },
    "lifecycle": {"preStop": {"exec": {"command": [f"{SECRET}-stop"]}}},
    "terminationMessagePath": "/dev/termination-log",
}
POD: Mapping[str, Any] = {
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "uid": "uid-web-0",
        "labels": {"env": "production", "command": "kept-label"},
        "annotations": {
            "kubernetes.io/config.seen": "2026-01-01T00:00:00.123456789Z",
            "kubernetes.io/config.source": "api",
            "kubectl.kubernetes.io/last-applied-configuration": f"{SECRET}-applied",
            "vault/token": f"{SECRET}-annotation",
        },
        "managedFields": [{"fieldsV1": {f"{SECRET}-managed": {}}}],
    },
    "spec": {
        "containers": [CONTAINER],
        "initContainers": [CONTAINER],
        "ephemeralContainers": [CONTAINER],
        "volumes": [
            {"name": "data", "csi": {"driver": "csi.example", "volumeAttributes": {"password": f"{SECRET}-csi"}}},
            {
                "name": "claim",
                "ephemeral": {
                    "volumeClaimTemplate": {"metadata": {"annotations": {"note": f"{SECRET}-template"}}},
                },
            },
        ],
    },
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "app",
                "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": f"{SECRET}-words"}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": f"{SECRET}-last-words"}},
            },
            {"name": "b", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "kept-waiting-message"}}},
        ],
    },
}


def with_secrets() -> Recording:
    """The still recording with marked secrets wherever a user may put one."""
    config = json.loads(body("/configz"))
    config["kubeletconfig"] |= {
        "staticPodURL": f"https://user:{SECRET}-url@host/pods",
        "staticPodURLHeader": {"Authorization": [f"{SECRET}-static"]},
    }
    node = json.loads(body(NODE))
    node["metadata"]["annotations"] = {"cloud/token": f"{SECRET}-node"}
    node["metadata"]["managedFields"] = [{"manager": f"{SECRET}-managed"}]
    pods = json.loads(body("/pods"))
    pods["items"].append(POD)
    texts = {"/configz": json.dumps(config), "/pods": json.dumps(pods), NODE: json.dumps(node)}
    lines = (Line(each.t, each.path, each.status, texts.get(each.path, each.body)) for each in still().lines)
    return Recording(tuple(lines), "node-a")


def recorded(folder: Path, source: Recording, faults: Mapping[str, Fault] | None = None, **changes: Any) -> list[Line]:
    """What is recorded of a simulated node in a short time."""

    async def run() -> list[Line]:
        async with asyncio.timeout(BOUND), simulating(folder, source) as simulator:
            simulator.faults = dict(faults or {})
            lines = await record(replace(demo.settings(simulator), **changes), 0.3)
            assert not [line for line in lines if simulator.token in (line.body or "")]
            return lines

    return asyncio.run(run())


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, names too."""
    if isinstance(value, dict):
        yield from value
        yield from texts(list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


# Recording


def test_a_recording_has_every_path_and_no_secret_at_any_depth(tmp_path: Path) -> None:
    before = json.dumps([line.body for line in with_secrets().lines])
    lines = recorded(tmp_path, with_secrets())
    write(lines, tmp_path / "node.jsonl")
    text = (tmp_path / "node.jsonl").read_text()

    assert 15 <= before.count(SECRET)
    assert {*PATHS, NODE, LEASE} <= {line.path for line in lines if line.status == 200}
    assert SECRET not in text
    assert SECRET.lower() not in text.lower()


def test_what_explains_a_node_stays_in_its_recording(tmp_path: Path) -> None:
    lines = recorded(tmp_path, with_secrets())
    pods = next(line.body or "" for line in lines if line.path == "/pods")
    found = set(texts(json.loads(pods)))

    for kept in (
        "kubernetes.io/config.seen",
        "api",
        "PASSWORD",
        "kept-secret-name",
        "kept-label",
        "production",
        "vault/token",
        "Authorization",
        "kept-waiting-message",
        "registry.example/app:1",
        "/dev/termination-log",
        "removed",
    ):
        assert kept in found, kept


def test_a_recording_tells_what_the_node_itself_tells(tmp_path: Path) -> None:
    lines = recorded(tmp_path, still())
    write(lines, tmp_path / "node.jsonl.gz")
    state = folded(load(tmp_path / "node.jsonl.gz"), Settings("node-a"))
    expected = folded(still(), Settings("node-a"))
    kinds = ("pods", "pods_limit", "volume_capacity_bytes", "node_condition", "node_info")

    assert "node-a" == load(tmp_path / "node.jsonl.gz").node_name
    assert [each for each in samples(expected.scrape().plain) if each[0] in kinds] == [
        each for each in samples(state.scrape().plain) if each[0] in kinds
    ]


def test_a_recording_keeps_failures_with_their_status(tmp_path: Path) -> None:
    faults = {
        "/pods": Fault("forbidden"),
        "/metrics": Fault("status", "503"),
        "/configz": Fault("reset"),
        NODE: Fault("forbidden"),
    }
    lines = recorded(tmp_path, still(), faults)
    write(lines, tmp_path / "node.jsonl")
    status = {line.path: line.status for line in load(tmp_path / "node.jsonl").lines}

    assert {"/pods": 403, "/metrics": 503, "/configz": 0, NODE: 403, "/healthz": 200} == {
        path: status[path] for path in (*faults, "/healthz")
    }

    state = folded(load(tmp_path / "node.jsonl"), Settings("node-a"))
    reasons = {source: each.failure.reason for source, each in state.snapshot.readings.items() if each.failure}

    assert {
        Source.PODS: Reason.FORBIDDEN,
        Source.METRICS: Reason.STATUS,
        Source.CONFIGZ: Reason.TIMEOUT,
        Source.NODE: Reason.FORBIDDEN,
    } == reasons


def test_a_hang_is_recorded_as_no_answer_and_holds_nothing_up(tmp_path: Path) -> None:
    lines = recorded(tmp_path, still(), {"/metrics": Fault("hang")}, kubelet_timeout=0.3)
    hung = [line for line in lines if line.path == "/metrics"]

    assert [0] == [line.status for line in hung]
    assert hung[0].took >= 0.3


def test_a_recording_goes_on_at_the_interval_of_each_path(tmp_path: Path) -> None:
    lines = recorded(tmp_path, still(), intervals={**INTERVALS, Source.PODS: 0.02})
    paths = [line.path for line in lines]

    assert 1 < paths.count("/pods")
    assert 1 == paths.count("/configz")
    assert sorted(lines, key=lambda line: line.t) == lines


@pytest.mark.parametrize("path", ["/pods", "/configz", NODE, LEASE])
@pytest.mark.parametrize("text", ["", f"{{{SECRET}", f"{SECRET}", "\x00"])
def test_a_body_that_should_be_json_and_is_not_is_left_out_whole(path: str, text: str) -> None:
    assert "" == scrubbed(path, text.encode())


@pytest.mark.parametrize(
    "document",
    [
        None,
        3,
        [],
        {"items": None},
        {"items": [None, 3, "text"]},
        {"items": [{"metadata": None, "spec": {"containers": None}}]},
        {"metadata": {"annotations": None, "managedFields": None}},
        {"kubeletconfig": None},
        {"kubeletconfig": {"staticPodURLHeader": None, "staticPodURL": ""}},
        {"env": [3, None]},
        {"state": {"terminated": None}},
    ],
)
@pytest.mark.parametrize("path", ["/pods", "/configz", NODE])
def test_odd_documents_are_recorded_as_they_are_or_shorter(path: str, document: Any) -> None:
    found = json.loads(scrubbed(path, json.dumps(document).encode()))

    assert type(document) is type(found)


def test_metrics_are_recorded_byte_for_byte() -> None:
    assert body("/metrics") == scrubbed("/metrics", body("/metrics").encode())


# Replaying


def test_replay_once_prints_what_is_known_at_the_end_of_the_recording(tmp_path: Path) -> None:
    write(film().lines, tmp_path / "film.jsonl.gz")
    environment = {name: text for name, text in os.environ.items() if not name.startswith("KUBELET_EXPORTER_")}
    command = [sys.executable, "-m", "kubelet_exporter", "replay", str(tmp_path / "film.jsonl.gz"), "--once"]
    printed = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=BOUND)
    expected = folded(load(tmp_path / "film.jsonl.gz"), Settings("node-a")).scrape().plain

    assert expected == printed.stdout
    assert 100 < len(samples(expected))


def test_folding_uses_the_recorded_clock_at_every_reading() -> None:
    metrics = next(line for line in still().lines if line.path == "/metrics")
    later = metrics.t + 3600
    silent = Recording((metrics, Line(later, "/metrics", 0), Line(later, "/healthz", 200, "ok")), "node-a")
    state = folded(silent, Settings("node-a"))
    names = {name for name, _, _ in samples(state.scrape().plain)}

    assert later == state.clock()
    assert "pleg_last_relist_timestamp_seconds" in names  # learnt an hour before the end and kept
    assert "pleg_relist_duration_seconds_count" not in names  # held for minutes only


def test_a_recording_is_served_with_its_times_moved_to_now() -> None:
    async def run() -> bytes:
        settings = Settings("node-a", listen_host="127.0.0.1", listen_port=0)
        async with asyncio.timeout(BOUND), replaying(still(), settings) as exporter, aiohttp.ClientSession() as session:
            async with session.get(f"{exporter.url}/-/ready") as response:
                assert 200 == response.status
            await eventually(lambda: exporter.state.snapshot.readings)
            async with session.get(f"{exporter.url}/metrics") as response:
                return await response.read()

    found = samples(asyncio.run(run()))
    [success, *_] = [value for name, _, value in found if name == "source_last_success_timestamp_seconds"]
    assert 60 > abs(success - time.time())


def test_a_film_is_played_in_its_rhythm_and_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "SHORTEST_LOOP", 0.1)
    short = Recording(
        (
            Line(1000.25, "/healthz", 200, "ok"),
            Line(1000.25, "/not/read", 200, "?"),
            Line(1000.30, "/healthz", 500, "bad"),
        ),
        "node-a",
    )
    readings: list[Reading] = []

    async def run() -> float:
        playing = asyncio.create_task(recording.play(short, PATHS, decoders(), readings.append))
        await eventually(lambda: len(readings) >= 5)
        playing.cancel()
        return time.time()

    now = asyncio.run(run())
    assert [None, Reason.STATUS, None, Reason.STATUS] == [
        each.failure.reason if each.failure else None for each in readings[:4]
    ]
    assert [0.05] == [round(readings[1].attempted_at - readings[0].attempted_at, 6)]
    assert all(abs(now - each.attempted_at) < BOUND for each in readings)


def test_the_simulator_plays_a_film_from_its_begin_again() -> None:
    lines = tuple(Line(1000.0 + second, "/healthz", 200, f"{second}") for second in range(21))
    now = 5000.0
    player = Player(Recording(lines, "node-a"), clock=lambda: now)
    bodies = []
    for passed in (0.0, 10.5, 19.9, 20.0, 31.0):
        now = 5000.0 + passed
        answer = player.answer("/healthz")
        assert answer
        bodies.append(answer.body)

    assert ["0", "10", "19", "0", "11"] == bodies
    assert player.answer("/nothing") is None
