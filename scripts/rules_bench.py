"""How long a real Prometheus takes to evaluate all rules for many nodes: `python scripts/rules_bench.py --nodes 1000`.

One real exporter plays the shipped recording; its scrape is served once for each node, with another name. Prometheus scrapes
every five seconds, so after five minutes each range of the rules holds as many samples as with the usual fifteen seconds or more.
Prints JSON: for each group of rules the longest evaluation in seconds, and their sum, which should stay below two seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from kubelet_exporter import demo
from kubelet_exporter.config import Settings
from kubelet_exporter.generate import rules
from kubelet_exporter.generate.overrides import Overrides
from kubelet_exporter.serve import Exporter, replaying

LIMIT_SECONDS = 2.0
SCRAPE_SECONDS = 5
EVALUATION_SECONDS = 15
DURATION = "prometheus_rule_group_last_duration_seconds"


@asynccontextmanager
async def fleet(exporter: Exporter, name: str, nodes: int) -> AsyncIterator[str]:
    """Serve the scrape of one exporter as that of many nodes; gives host and port."""

    async def scrape(_: web.Request) -> web.Response:
        text = exporter.state.scrape().plain.decode()
        lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        many = [as_node(lines, name, number) for number in range(nodes)]
        return web.Response(text="\n".join([*many, ""]))

    application = web.Application()
    application.router.add_get("/metrics", scrape)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def as_node(lines: str, name: str, number: int) -> str:
    """The series of a node as those of another one, with claims of its own."""
    claim = "persistentvolumeclaim="
    return lines.replace(f'node="{name}"', f'node="node-{number:04}"').replace(f'{claim}"', f'{claim}"{number:04}-')


def configure(folder: Path, target: str, port: int) -> Path:
    """Write the generated rules and the configuration of Prometheus, which also scrapes itself."""
    for path, content in rules.files(Overrides()).items():
        if path.startswith("alerts/"):
            (folder / Path(path).name).write_text(content)
    config = {
        "global": {"scrape_interval": f"{SCRAPE_SECONDS}s", "evaluation_interval": f"{EVALUATION_SECONDS}s"},
        "rule_files": [str(folder / "*.rules.yaml")],
        "scrape_configs": [
            {"job_name": "fleet", "static_configs": [{"targets": [target], "labels": {"cluster": "bench"}}]},
            {"job_name": "prometheus", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]},
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    return folder / "prometheus.yml"


async def measured(nodes: int, minutes: float) -> dict[str, Any]:
    """The longest evaluation of each group in the last minute, and the size of what was evaluated."""
    film = demo.shipped_recording()
    settings = Settings(node_name=film.node_name, listen_host="127.0.0.1", listen_port=0)
    port = demo.free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with replaying(film, settings) as exporter, fleet(exporter, film.node_name, nodes) as target:
            arguments = [
                f"--config.file={configure(folder, target, port)}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ]
            async with demo.program("prometheus", arguments, f"http://127.0.0.1:{port}") as url:
                if url is None:
                    raise FileNotFoundError("prometheus is not on PATH")
                await asyncio.sleep(minutes * 60)
                return await figures(url, nodes)


async def figures(url: str, nodes: int) -> dict[str, Any]:
    """What Prometheus says of itself."""
    async with aiohttp.ClientSession() as session:
        groups = await ask(session, url, f"max by (rule_group) (max_over_time({DURATION}[1m]))")
        series = await ask(session, url, "max(prometheus_tsdb_head_series)")
        alerts = await ask(session, url, "count(ALERTS) or vector(0)")
        failures = await ask(session, url, "sum(prometheus_rule_evaluation_failures_total)")
    seconds = {labels["rule_group"].rpartition(";")[2]: round(value, 4) for labels, value in groups}
    return {
        "nodes": nodes,
        "series": int(series[0][1]),
        "alerts": int(alerts[0][1]),
        "failures": int(failures[0][1]),
        "group_seconds": dict(sorted(seconds.items())),
        "seconds": round(sum(seconds.values()), 4),
        "limit_seconds": LIMIT_SECONDS,
    }


async def ask(session: aiohttp.ClientSession, url: str, query: str) -> Sequence[tuple[dict[str, str], float]]:
    """The labels and values of an instant query."""
    async with session.get(f"{url}/api/v1/query", params={"query": query}) as response:
        result = (await response.json())["data"]["result"]
    return [(each["metric"], float(each["value"][1])) for each in result]


def main() -> int:
    """Measure, print, and say by the status whether the limit was kept."""
    parser = argparse.ArgumentParser(
        description="how long a real Prometheus takes to evaluate all rules for many nodes"
    )
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=6, help="how long to scrape before reading the figures")
    options = parser.parse_args()
    found = asyncio.run(measured(options.nodes, options.minutes))
    print(json.dumps(found, indent=2))
    return int(found["seconds"] > LIMIT_SECONDS or found["failures"] > 0)


if __name__ == "__main__":
    sys.exit(main())
