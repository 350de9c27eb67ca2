"""Events of single pods: decoded whole or not at all, asked for only of pods that nothing else decides."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubelet_exporter import demo
from kubelet_exporter.catalog.pod_start.judge import Pull
from kubelet_exporter.pod import Container, Pod
from kubelet_exporter.serve import exporting
from kubelet_exporter.simulator import faults, servers
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.sources import events, recording
from kubelet_exporter.sources.events import events as decoder
from kubelet_exporter.state import State

RECORDINGS = Path(__file__).parent / "recordings"
EVENTS = json.loads((RECORDINGS / "v1.36-film-slow-pulls.events.json").read_text())["items"]
POD = Pod("uid-1", "shop", "web", "Running", containers=(Container("app"),))
BOUND = 60.0


def pulled(message: str, **times: str) -> dict[str, Any]:
    return {"reason": "Pulled", "message": message, "firstTimestamp": "2026-01-01T00:01:00Z", **times}


def decoded(*items: object, pod: Pod = POD) -> object:
    return decoder(pod)(json.dumps({"items": list(items)}).encode()).value


MINUTE = 1767225660.0


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            'Successfully pulled image "x:1" in 7.053s (17.302s including waiting). Image size: 43 bytes.',
            (7.053, 10.249),
        ),
        ('Successfully pulled image "x:1" in 812ms (812ms including waiting)', (0.812, 0.0)),
        ('Successfully pulled image "x:1" in 1m2.345s (1m3.345s including waiting)', (62.345, 1.0)),
        ('Successfully pulled image "x:1" in 2.5s', (2.5, 0.0)),
    ],
)
def test_pull_and_wait_are_read_from_the_message_of_every_release(message: str, expected: tuple[float, float]) -> None:
    (pull,) = decoded(pulled(message))["uid-1"]  # type: ignore[index]

    assert pytest.approx((MINUTE + 0.5, *expected)) == (pull.end, pull.seconds, pull.waited)


def test_an_exact_event_time_is_preferred() -> None:
    event = pulled(
        'Successfully pulled image "x" in 1s (1s including waiting)', eventTime="2026-01-01T00:01:00.250000Z"
    )

    assert {"uid-1": (Pull(MINUTE + 0.25, 1.0),)} == decoded(event)


def test_an_image_that_was_there_is_no_pull() -> None:
    assert {"uid-1": ()} == decoded(pulled('Container image "x:1" already present on machine'))


def test_nothing_is_known_until_every_container_had_its_image() -> None:
    two = replace(POD, containers=(Container("app"), Container("sidecar")))
    first = pulled('Successfully pulled image "x" in 1s (1s including waiting)')

    assert {} == decoded(first, pod=two)
    assert {} == decoded()
    assert ["uid-1"] == list(decoded(first, pulled('Container image "y" already present on machine'), pod=two))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "message", ['Successfully pulled image "x" in sooons', 'Successfully pulled image "x" in 1s (x including waiting)']
)
def test_a_pull_whose_time_cannot_be_read_leaves_all_unknown(message: str) -> None:
    assert {} == decoded(pulled(message))


def test_a_broken_event_costs_itself_alone() -> None:
    assert {"uid-1": ()} == decoded(None, 7, {"reason": 3}, pulled('Container image "x" already present on machine'))


def test_recorded_events_give_the_pulls_of_each_pod() -> None:
    names = ("pull-0", "pull-1", "pull-init", "cached")
    counts = {"pull-0": 1, "pull-1": 2, "pull-init": 2, "cached": 1}
    found = {}
    for name in names:
        own = [event for event in EVENTS if event["involvedObject"]["name"] == name]
        pod = replace(POD, uid=name, containers=tuple(Container(str(n)) for n in range(counts[name])))
        found[name] = [(pull.seconds, round(pull.waited, 3)) for pull in decoded(*own, pod=pod)[name]]  # type: ignore[index]

    assert {
        "pull-0": [(7.053, 0.0)],
        "pull-1": [(10.314, 6.988), (13.845, 17.014)],
        "pull-init": [(17.102, 17.3)],
        "cached": [],
    } == found


def run(
    folder: Path, enough: Callable[[State, servers.Simulator], bool], *, fault: str = ""
) -> tuple[State, servers.Simulator]:
    """An exporter with --events on the film of slow pulls, whose /metrics is not to be had, until enough is known."""

    async def follow() -> tuple[State, servers.Simulator]:
        film = recording.load(RECORDINGS / "v1.36-film-slow-pulls.jsonl.gz")
        film = replace(film, lines=tuple(line for line in film.lines if line.path != "/metrics"))
        async with servers.running(Player(film, ahead=3.0, events=EVENTS), folder) as simulator:
            simulator.faults = dict([faults.parse(fault)]) if fault else {}
            intervals = dict.fromkeys(demo.settings(simulator).intervals, 0.5)
            settings = replace(demo.settings(simulator), events=True, intervals=intervals)
            async with exporting(settings) as exporter, asyncio.timeout(BOUND):
                while not enough(exporter.state, simulator):
                    await asyncio.sleep(0.1)
                return exporter.state, simulator

    return asyncio.run(follow())


def test_only_a_pod_that_pulled_slowly_is_asked_for_and_then_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "INTERVAL", 0.2)

    def judged(state: State, _: servers.Simulator) -> bool:
        return b'verdict="good"} 1.0' in state.scrape().plain

    state, simulator = run(tmp_path, judged)
    scrape = state.scrape().plain.decode()

    assert 'kubelet_exporter_source_up{node="node-a",source="events"} 1.0' in scrape
    assert 1 <= simulator.apiserver_requests["/api/v1/namespaces/shop/events"] <= 3
    assert 'kubelet_exporter_pod_start_skipped_total{node="node-a",reason="pull_unknown"} 0.0' in scrape


def test_a_missing_right_is_named_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "INTERVAL", 0.2)

    def refused(state: State, _: servers.Simulator) -> bool:
        return b'right="events",source="events"} 1.0' in state.scrape().plain

    state, _ = run(tmp_path, refused, fault="/api/v1/namespaces/shop/events=forbidden")

    assert b'kubelet_exporter_source_up{node="node-a",source="pods"} 1.0' in state.scrape().plain
