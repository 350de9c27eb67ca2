"""The whole chain with a real Prometheus and a real Alertmanager: simulated node, exporter, rules, notification."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from conftest import need

from kubelet_exporter import demo
from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.generate.overrides import RUNBOOK_BASE
from kubelet_exporter.simulator import faults

BOUND = 40.0  # seconds; each wait takes about half of it
POLL = 0.5
RECORDS = [record.name for topic in TOPICS for record in topic.records]
# Of whole hours, which none has passed here, or of more starts than there are; promtool plays them.
OF_HOURS = re.compile(
    r":increase(2h|6h|1d|3d)$|:pleg_not_fresh:ratio1h$|cold_start_seconds:mean1h$".replace(":pleg", "_pleg")
)
SOON = [record for record in RECORDS if not OF_HOURS.search(record)]
ALERTS = {alert.id for topic in TOPICS for alert in topic.alerts}

Json = Any
Wanted = Callable[[], Awaitable[bool]]


@dataclass
class Seen:
    """What was seen of one run: answers of Prometheus, and alerts as the webhook got them."""

    targets: Json = None
    rules: Json = None
    records: dict[str, int] = field(default_factory=dict)
    up: list[str] = field(default_factory=list)
    notified: list[Json] = field(default_factory=list)
    config: Path = Path()

    def firing(self, name: str, **labels: str) -> list[Mapping[str, Any]]:
        """The notifications of a firing alert with these labels."""
        wanted = {"alertname": name, **labels}.items()
        return [each for each in self.notified if each["status"] == "firing" and wanted <= each["labels"].items()]


@asynccontextmanager
async def webhook(seen: Seen) -> AsyncIterator[str]:
    """A receiver of notifications on loopback."""

    async def take(request: web.Request) -> web.Response:
        seen.notified += (await request.json())["alerts"]
        return web.Response()

    application = web.Application()
    application.router.add_post("/", take)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def until(wanted: Wanted) -> bool:
    """Whether something came true within the bound."""
    for _ in range(int(BOUND / POLL)):
        if await wanted():
            return True
        await asyncio.sleep(POLL)
    return False


async def asked(session: aiohttp.ClientSession, url: str, **parameters: str) -> Json:
    """The data of an answer of Prometheus."""
    async with session.get(url, params=parameters) as response:
        return (await response.json())["data"]


def send_to(receiver: str, config: Path) -> None:
    """Write a configuration of Alertmanager that sends each alert at once to the receiver."""
    route = {"receiver": "webhook", "group_by": ["..."], "group_wait": "0s", "group_interval": "1s"}
    hook = {"name": "webhook", "webhook_configs": [{"url": receiver}]}
    config.write_text(json.dumps({"route": route, "receivers": [hook]}))


async def look(session: aiohttp.ClientSession, prometheus: str, seen: Seen) -> bool:
    """Whether every record has series and every rule was evaluated; keeps what Prometheus says."""
    api = f"{prometheus}/api/v1"
    seen.targets = (await asked(session, f"{api}/targets"))["activeTargets"]
    seen.rules = (await asked(session, f"{api}/rules"))["groups"]
    seen.up = [each["value"][1] for each in (await asked(session, f"{api}/query", query="up"))["result"]]
    for record in SOON:
        seen.records[record] = len((await asked(session, f"{api}/query", query=record))["result"])
    return all(seen.records.values()) and all(rule["health"] == "ok" for group in seen.rules for rule in group["rules"])


async def played(folder: Path) -> Seen:
    """What is seen of a node whose volume fills, and which then refuses /metrics and hangs on /healthz."""
    seen = Seen(config=folder / "alertmanager.yml")
    async with (
        webhook(seen) as receiver,
        demo.demonstrating(demo.shipped_recording(), folder, ahead=demo.AHEAD_SECONDS) as running,
        aiohttp.ClientSession() as session,
    ):
        assert running.prometheus
        assert running.alertmanager
        prometheus = running.prometheus
        send_to(receiver, seen.config)
        async with session.post(f"{running.alertmanager}/-/reload") as response:
            assert response.status == 200

        async def volume_is_told() -> bool:
            return await look(session, prometheus, seen) and bool(seen.firing("KubeletVolumeFilling"))

        async def faults_are_told() -> bool:
            return bool(
                seen.firing("KubeletExporterRightMissing", source="metrics")
                and seen.firing("KubeletExporterSourceDown", source="healthz")
            )

        await until(volume_is_told)
        running.simulator.faults = dict(map(faults.parse, ("/metrics=forbidden", "/healthz=hang")))
        await until(faults_are_told)
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What one run of everything showed."""
    need("prometheus")
    need("alertmanager" if shutil.which("alertmanager") else "prometheus-alertmanager")
    need("amtool")
    return asyncio.run(played(tmp_path_factory.mktemp("integration")))


def test_prometheus_scrapes_the_exporter_without_error(seen: Seen) -> None:
    assert [("up", "")] == [(target["health"], target["lastError"]) for target in seen.targets]
    assert ["1"] == seen.up


@pytest.mark.parametrize("record", SOON)
def test_a_record_has_series(seen: Seen, record: str) -> None:
    assert seen.records[record] >= 1


def test_every_rule_is_evaluated_without_error(seen: Seen) -> None:
    rules = [rule for group in seen.rules for rule in group["rules"]]

    assert ALERTS | set(RECORDS) == {rule["name"] for rule in rules}
    assert [] == [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"]


def test_the_alert_of_a_filling_volume_arrives_with_labels_texts_and_runbook(seen: Seen) -> None:
    alerts = seen.firing("KubeletVolumeFilling", persistentvolumeclaim="orders-db")

    assert alerts
    assert alerts[0]["labels"] == {
        "alertname": "KubeletVolumeFilling",
        "cluster": "demo",
        "namespace": "shop",
        "persistentvolumeclaim": "orders-db",
        "severity": "warning",
    }
    assert alerts[0]["annotations"]["runbook_url"] == f"{RUNBOOK_BASE}/KubeletVolumeFilling.md"
    assert (
        "Claim shop/orders-db of cluster demo has been more than 80 % full" in alerts[0]["annotations"]["description"]
    )


def test_a_refused_path_raises_the_alert_of_the_missing_right(seen: Seen) -> None:
    alerts = seen.firing("KubeletExporterRightMissing")

    assert {("metrics", "nodes/metrics")} == {(each["labels"]["source"], each["labels"]["right"]) for each in alerts}


def test_a_path_that_hangs_raises_the_alert_of_its_source(seen: Seen) -> None:
    alerts = seen.firing("KubeletExporterSourceDown")

    assert "healthz" in {each["labels"]["source"] for each in alerts}


def test_amtool_accepts_the_configuration_of_alertmanager(seen: Seen) -> None:
    checked = subprocess.run(
        [need("amtool"), "check-config", str(seen.config)], check=False, capture_output=True, text=True
    )

    assert checked.returncode == 0, checked.stderr
