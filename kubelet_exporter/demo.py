"""`kubelet-exporter demo`: a simulated node, the normal exporter, and Prometheus and Alertmanager where they are installed."""

import asyncio
import json
import shutil
import socket
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import aiohttp

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.config import Settings
from kubelet_exporter.generate import inhibition, rules
from kubelet_exporter.generate.overrides import AlertOverride, Overrides
from kubelet_exporter.serve import Exporter, exporting
from kubelet_exporter.simulator import servers
from kubelet_exporter.simulator.player import Player
from kubelet_exporter.snapshot import ALWAYS_READ, Source
from kubelet_exporter.sources import recording

SCRAPE_SECONDS = 2
AHEAD_SECONDS = 30.0  # the shipped recording begins on an empty node
HOLD_SECONDS = 5.0
POLL_SECONDS = 2.0
START_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Demo:
    """The running parts; the servers' addresses are None where the program is not installed."""

    simulator: servers.Simulator
    exporter: Exporter
    prometheus: str | None
    alertmanager: str | None


def shipped_recording() -> recording.Recording:
    """The small recording of a real node that comes with the package."""
    with resources.as_file(resources.files("kubelet_exporter") / "recordings" / "v1.36-starts.jsonl.gz") as path:
        return recording.load(path)


@asynccontextmanager
async def demonstrating(
    film: recording.Recording, folder: Path, port: int = 0, ahead: float = 0.0
) -> AsyncIterator[Demo]:
    """Run all parts on loopback until the context ends, `ahead` seconds into the recording; files go below the folder."""
    async with AsyncExitStack() as stack:
        simulator = await stack.enter_async_context(servers.running(Player(film, ahead), folder))
        exporter = await stack.enter_async_context(exporting(settings(simulator, port), "--exporter-port"))
        alertmanager = await stack.enter_async_context(alertmanager_in(folder))
        prometheus = await stack.enter_async_context(prometheus_in(folder, exporter.url, alertmanager, short_holds()))
        yield Demo(simulator, exporter, prometheus, alertmanager)


def settings(simulator: servers.Simulator, port: int = 0) -> Settings:
    """Settings of an exporter that reads a simulated node and serves on loopback."""
    return Settings(
        node_name=simulator.player.recording.node_name,
        kubelet_address="127.0.0.1",
        kubelet_port=simulator.kubelet_port,
        kubelet_ca_file=simulator.ca_file,
        token_file=simulator.token_file,
        apiserver_url=f"https://127.0.0.1:{simulator.apiserver_port}",
        apiserver_ca_file=simulator.ca_file,
        listen_host="127.0.0.1",
        listen_port=port,
    )


async def tell(demo: Demo, stop: asyncio.Event, duration: float | None) -> None:
    """Print where everything is, what was found, and each change of the alerts that fire, until the stop or the duration."""
    print(addresses(demo), flush=True)
    await _first_look(demo)
    print(f"\n{summary(demo)}\n", flush=True)
    loop = asyncio.get_running_loop()
    end = loop.time() + duration if duration else float("inf")
    last: Sequence[str] = []
    while loop.time() < end and not stop.is_set():
        alerts = await firing(demo.prometheus) if demo.prometheus else []
        if alerts != last:
            print("\n".join(["firing now:", *alerts, ""] if alerts else ["no alert fires", ""]), flush=True)
        last = alerts
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), min(POLL_SECONDS, end - loop.time()))


async def _first_look(demo: Demo) -> None:
    for _ in range(int(START_SECONDS / 0.1)):
        if demo.exporter.state.snapshot.readings.keys() >= ALWAYS_READ:
            return
        await asyncio.sleep(0.1)


def how_to_serve(simulator: servers.Simulator) -> str:
    """The command that reads a simulated node, and how to let it fail."""
    kubelet = f"https://127.0.0.1:{simulator.kubelet_port}"
    return (
        "read this node with:\n  kubelet-exporter serve"
        f" --node-name {simulator.player.recording.node_name} --kubelet-port {simulator.kubelet_port}"
        f" --token-file {simulator.token_file} --apiserver-url https://127.0.0.1:{simulator.apiserver_port}"
        f" --apiserver-ca-file {simulator.ca_file}\n"
        f"its kubelet is at {kubelet}; change its faults with:\n"
        f"  curl -k -X PUT -d '/metrics=hang' {kubelet}/-/faults"
    )


def addresses(demo: Demo) -> str:
    """Where everything is."""
    simulator = demo.simulator
    lines = [
        f"simulated kubelet   https://127.0.0.1:{simulator.kubelet_port} (token in {simulator.token_file})",
        f"exporter            {demo.exporter.url}/metrics",
        f"status page         {demo.exporter.url}/",
        f"Prometheus          {demo.prometheus or 'not on the PATH: apt-get install prometheus'}",
        f"Alertmanager        {demo.alertmanager or 'not on the PATH: apt-get install prometheus-alertmanager'}",
    ]
    return "\n".join(lines)


def summary(demo: Demo) -> str:
    """What the exporter found."""
    state = demo.exporter.state
    snapshot = replace(state.snapshot, now=state.clock())
    down = [reading.source for reading in snapshot.readings.values() if reading.failure]
    node, pods, volumes = snapshot.node, snapshot.pods or (), snapshot.summary.volumes if snapshot.summary else ()
    phases = Counter(pod.phase for pod in pods)
    trust = snapshot.readings[Source.HEALTHZ].tls if Source.HEALTHZ in snapshot.readings else "nothing yet"
    return "\n".join(
        [
            f"sources             {len(snapshot.readings) - len(down)} up, {len(down)} down {' '.join(down)}".rstrip(),
            f"certificate         trusted by: {trust}",
            f"node                {f'{node.name}, {node.kubelet_version}, {node.runtime_version}' if node else 'unknown'}",
            f"pods                {len(pods)}: {', '.join(f'{count} {phase}' for phase, count in phases.most_common())}",
            f"volumes             {len(volumes)} claims",
            f"series              {_series(state.scrape().plain)}",
        ]
    )


def _series(scrape: bytes) -> int:
    return sum(not line.startswith(b"#") for line in scrape.splitlines())


async def firing(prometheus: str) -> Sequence[str]:
    """The alerts that a Prometheus holds as firing, each with its labels; raises aiohttp.ClientError."""
    async with aiohttp.ClientSession() as session, session.get(f"{prometheus}/api/v1/alerts") as response:
        alerts = (await response.json())["data"]["alerts"]
    return sorted(_alert_line(alert["labels"]) for alert in alerts if alert["state"] == "firing")


def _alert_line(labels: Mapping[str, str]) -> str:
    rest = " ".join(
        f"{name}={value}" for name, value in sorted(labels.items()) if name not in ("alertname", "severity")
    )
    return f"{labels['severity']:8} {labels['alertname']}  {rest}"


def short_holds() -> Overrides:
    """Overrides that let every alert fire after seconds, since nobody watches a demo for an hour."""
    return Overrides(alerts={alert.id: AlertOverride(hold=HOLD_SECONDS) for topic in TOPICS for alert in topic.alerts})


@asynccontextmanager
async def prometheus_in(
    folder: Path, exporter: str, alertmanager: str | None, overrides: Overrides
) -> AsyncIterator[str | None]:
    """A Prometheus that scrapes the exporter and has our rules; gives its URL, None if it is not installed."""
    for path, content in rules.files(overrides).items():
        if path.startswith("alerts/"):
            (folder / Path(path).name).write_text(content)
    config = {
        "global": {"scrape_interval": f"{SCRAPE_SECONDS}s", "evaluation_interval": f"{SCRAPE_SECONDS}s"},
        "rule_files": [str(folder / "*.rules.yaml")],
        "scrape_configs": [
            {
                "job_name": "kubelet-exporter",
                "static_configs": [{"targets": [_target(exporter)], "labels": {"cluster": "demo"}}],
            }
        ],
        "alerting": {
            "alertmanagers": [{"static_configs": [{"targets": [_target(alertmanager)]}]}] if alertmanager else []
        },
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    port = free_port()
    arguments = [
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    async with program("prometheus", arguments, f"http://127.0.0.1:{port}") as url:
        yield url


@asynccontextmanager
async def alertmanager_in(folder: Path) -> AsyncIterator[str | None]:
    """An Alertmanager with our inhibitions that tells nobody; gives its URL, None if it is not installed."""
    config = {
        "route": {"receiver": "nobody", "group_wait": "1s"},
        "receivers": [{"name": "nobody"}],
        "inhibit_rules": inhibition.inhibit_rules(Overrides()),
    }
    (folder / "alertmanager.yml").write_text(json.dumps(config))
    port = free_port()
    arguments = [
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    name = "alertmanager" if shutil.which("alertmanager") else "prometheus-alertmanager"
    async with program(name, arguments, f"http://127.0.0.1:{port}") as url:
        yield url


@asynccontextmanager
async def program(name: str, arguments: Sequence[str], url: str) -> AsyncIterator[str | None]:
    """Run a server of this name until the context ends; gives its URL once it is ready, None if it is not installed.

    Raises RuntimeError if it does not get ready.
    """
    path = shutil.which(name)
    if path is None:
        yield None
        return
    process = await asyncio.create_subprocess_exec(
        path, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, start_new_session=True
    )
    try:
        await _ready(name, process, f"{url}/-/ready")
        yield url
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _ready(name: str, process: asyncio.subprocess.Process, url: str) -> None:
    async with aiohttp.ClientSession() as session:
        for _ in range(int(START_SECONDS / 0.1)):
            if process.returncode is not None:
                raise RuntimeError(f"{name} ended at once with status {process.returncode}")
            try:
                async with session.get(url) as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
    raise RuntimeError(f"{name} was not ready within {START_SECONDS:g} s")


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _target(url: str) -> str:
    return url.removeprefix("http://")
