"""A runtime hangs and recovers, seen by a real Prometheus and a real Alertmanager: which alerts fire, in which order, and which are muted.

Waiting times are a twentieth of the real ones, and readings are more frequent, so that half an hour passes in one and a half minutes.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import aiohttp
import pytest
from conftest import need
from simulated import still

from kubelet_exporter import demo
from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.catalog.facts import FACTS
from kubelet_exporter.generate.overrides import AlertOverride, Overrides
from kubelet_exporter.serve import exporting
from kubelet_exporter.simulator import servers
from kubelet_exporter.simulator.faults import RUNTIME_PATHS
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.snapshot import Source
from kubelet_exporter.sources.endpoints import INTERVALS
from kubelet_exporter.sources.recording import LEASE_PATH, NODE_PATH, Line, Recording, shifted
from kubelet_exporter.units import timestamp

SPEED = 20
# Seconds of the film: the runtime hangs, the kubelet says so to the API server, the runtime answers again, the film ends.
HANGS, NOT_READY, RECOVERS, ENDS = 10, 25, 60, 120
BOUND = 100.0
POLL = 0.5
RENEWED = ("/metrics", "/stats/summary")
FOLLOWING = ("KubeletPLEGStale", "KubeletExporterSourceDown", "KubeletNodeNotReady")


def hanging(film: Recording) -> Recording:
    """A still node whose PLEG relists and whose Lease is renewed every two seconds, and whose runtime hangs for a while."""
    silent = (line for line in film.lines if line.path in RUNTIME_PATHS)
    lines = [Line(film.begin + HANGS, line.path, 0, None) for line in silent]
    for second in range(0, ENDS, 2):
        hung = HANGS <= second < RECOVERS
        lines += [
            Line(
                film.begin + second,
                line.path,
                line.status,
                shifted(line.body or "", round(film.begin + second - line.t)),
            )
            for line in film.lines
            if (second == 0 or line.path in RENEWED or line.path.startswith(LEASE_PATH))
            and not (hung and line.path in RUNTIME_PATHS)
        ]
    node = next(line for line in film.lines if line.path == NODE_PATH + film.node_name)
    for second, body in ((NOT_READY, blaming(node.body or "")), (RECOVERS + 2, node.body)):
        lines.append(Line(film.begin + second, node.path, 200, body))
    return Recording(tuple(sorted(lines, key=lambda line: line.t)), film.node_name)


def blaming(body: str) -> str:
    """The Node as its kubelet reports it while the runtime hangs."""
    node = json.loads(body)
    for condition in node["status"]["conditions"]:
        if condition["type"] == "Ready":
            condition |= {"status": "False", "reason": "KubeletNotReady", "message": "PLEG is not healthy"}
    return json.dumps(node)


def hurried() -> Overrides:
    """All waiting times of the rules, shorter."""
    alerts = [alert for topic in TOPICS for alert in topic.alerts]
    return Overrides(
        facts={"pleg_stale": FACTS["pleg_stale"].value / 4},  # readings take as long as ever
        alerts={alert.id: AlertOverride(hold=max(1.0, alert.hold.value / SPEED)) for alert in alerts},
    )


@dataclass
class Seen:
    """When each alert began to fire, in seconds after the hang, and what muted it; what fired at the end."""

    began: dict[str, float] = field(default_factory=dict)
    muted_by: dict[str, set[str]] = field(default_factory=dict)
    ended: bool = False


async def look(session: aiohttp.ClientSession, alertmanager: str, hang: float, seen: Seen) -> set[str]:
    """The names of the alerts that Alertmanager holds now; keeps since when, and what they are muted by."""
    async with session.get(f"{alertmanager}/api/v2/alerts") as response:
        alerts = await response.json()
    names = {alert["fingerprint"]: alert["labels"]["alertname"] for alert in alerts}
    for alert in alerts:
        name = alert["labels"]["alertname"]
        seen.began.setdefault(name, (timestamp(alert["startsAt"]) or 0.0) - hang)
        muted = {names.get(each, each) for each in alert["status"]["inhibitedBy"]}
        seen.muted_by.setdefault(name, set()).update(muted)
    return set(names.values())


async def played(folder: Path) -> Seen:
    """What Alertmanager holds from before the hang until after the recovery."""
    seen = Seen()
    async with servers.running(Player(hanging(still())), folder) as simulator:
        intervals = {**INTERVALS, Source.METRICS: 2.0, Source.SUMMARY: 2.0}
        settings = replace(demo.settings(simulator), intervals=intervals, kubelet_timeout=2.0)
        async with (
            exporting(settings) as exporter,
            demo.alertmanager_in(folder) as alertmanager,
            demo.prometheus_in(folder, exporter.url, alertmanager, hurried()),
            aiohttp.ClientSession() as session,
        ):
            assert alertmanager
            hang = simulator.player.started + HANGS
            while time.time() < hang + BOUND and not seen.ended:
                now = await look(session, alertmanager, hang, seen)
                seen.ended = time.time() > hang + RECOVERS - HANGS and not now & {"KubeletRuntimeHung", *FOLLOWING}
                await asyncio.sleep(POLL)
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What one hang showed."""
    need("prometheus")
    need("alertmanager" if shutil.which("alertmanager") else "prometheus-alertmanager")
    return asyncio.run(played(tmp_path_factory.mktemp("hang")))


def test_the_hang_is_told_first_and_within_the_time_of_two_readings(seen: Seen) -> None:
    # A reading begins within 2 s, waits 2 s, is scraped within 2 s and evaluated within 2 s, and the hold is 1 s.
    assert 2.0 <= seen.began["KubeletRuntimeHung"] <= 12.0
    assert seen.began["KubeletRuntimeHung"] == min(
        began for name, began in seen.began.items() if name in ("KubeletRuntimeHung", *FOLLOWING)
    )


def test_what_follows_from_it_comes_later_in_its_order(seen: Seen) -> None:
    order = sorted(("KubeletRuntimeHung", *FOLLOWING), key=lambda name: seen.began[name])

    assert ["KubeletRuntimeHung", *FOLLOWING] == order
    assert NOT_READY - HANGS <= seen.began["KubeletNodeNotReady"]


@pytest.mark.parametrize("alert", FOLLOWING)
def test_what_follows_from_it_is_muted_by_it(seen: Seen, alert: str) -> None:
    assert {"KubeletRuntimeHung"} == seen.muted_by[alert]


def test_the_hang_itself_is_not_muted(seen: Seen) -> None:
    assert set() == seen.muted_by["KubeletRuntimeHung"]


def test_everything_ends_when_the_runtime_answers_again(seen: Seen) -> None:
    assert seen.ended
