"""Measures the exporter beside its budgets: CPU, memory, scrape size and latency, with a simulated node of 110 and 250 pods.

Prints a table and keeps it in docs/performance.md. The exporter and the simulated node are processes of their own; the figures
are those of the exporter alone, read from /proc.
"""

import argparse
import asyncio
import gc
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import aiohttp

from kubelet_exporter.demo import free_port
from kubelet_exporter.snapshot import Reading, Snapshot, Source
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.pods import pods as pods_decoder
from kubelet_exporter.sources.recording import Line, Recording
from kubelet_exporter.state import State

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tests" / "recordings" / "v1.36-110pods.jsonl.gz"
REPORT = ROOT / "docs" / "performance.md"
WARM_UP_SECONDS = 15
SCRAPERS, SCRAPES = 10, 200
CHURN = 10_000
STARTING, LOOP = 50, 30
CPU_BUDGET = 5.0  # millicores
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figure:
    """One measured value beside its budget, both in the same unit; no budget is None."""

    what: str
    pods: int
    value: float
    unit: str
    budget: float | None

    @property
    def row(self) -> str:
        budget = "" if self.budget is None else f"{self.budget:g} {self.unit}"
        verdict = "" if self.budget is None else "yes" if self.value <= self.budget else "**no**"
        return f"| {self.what} | {self.pods or ''} | {self.value:.4g} {self.unit} | {budget} | {verdict} |"


def scaled(film: Recording, count: int) -> Recording:
    """The recording with exactly `count` pods, cloned or left out."""

    def line(each: Line) -> Line:
        if each.path not in ("/pods", "/stats/summary") or each.status != 200:
            return each
        document = json.loads(each.body or "")
        key = "items" if each.path == "/pods" else "pods"
        originals = document[key]
        document[key] = [_clone(originals[i % len(originals)], i // len(originals)) for i in range(count)]
        return Line(each.t, each.path, each.status, json.dumps(document), each.took)

    return replace(film, lines=tuple(map(line, film.lines)))


def _clone(pod: dict[str, object], generation: int) -> dict[str, object]:
    text = json.dumps(pod)
    for uid in set(re.findall(r'"uid": "([0-9a-f-]{36})"', text)) if generation else ():
        text = text.replace(uid, f"{generation:08x}{uid[8:]}")
    return json.loads(re.sub(r'("name": "[a-z0-9-]+)"', rf'\1-{generation}"', text, count=1) if generation else text)  # type: ignore[no-any-return]


def busy(film: Recording, count: int) -> Recording:
    """The recording with `count` pods of which STARTING start at once, again in every pass of LOOP seconds."""
    lines = {line.path: line for line in scaled(film, count).lines}
    pods = json.loads(lines["/pods"].body or "")["items"]
    old, new = pods[:-STARTING], pods[-STARTING:]

    def listed(at: float, items: list[dict[str, object]]) -> Line:
        return Line(film.begin + at, "/pods", 200, json.dumps({"kind": "PodList", "items": items}))

    seen, started = (datetime.fromtimestamp(film.begin + at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for at in (5, 8))
    waiting = [_starting(pod, seen, {"waiting": {"reason": "ContainerCreating"}}) for pod in new]
    running = [_starting(pod, seen, {"running": {"startedAt": started}}) for pod in new]
    film_of_pods = (listed(0, old), listed(5, old + waiting), listed(8, old + running), listed(LOOP, old + running))
    others = tuple(line for path, line in lines.items() if path != "/pods")
    return replace(film, lines=tuple(sorted((*others, *film_of_pods), key=lambda line: line.t)))


def _starting(pod: dict[str, object], seen: str, state: dict[str, object]) -> dict[str, object]:
    """The pod as if it had been seen just now, with every container in this state."""
    text = json.dumps(pod)
    copy = json.loads(re.sub(r'"20\d\d-\d\d-\d\dT[0-9:.]+Z"', f'"{seen}"', text))
    for statuses in ("containerStatuses", "initContainerStatuses"):
        for status in copy["status"].get(statuses, ()):
            status |= {"state": state, "lastState": {}, "restartCount": 0}
    copy["status"]["phase"] = "Running" if "running" in state else "Pending"
    return copy  # type: ignore[no-any-return]


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command of the package as a process, ended by its process id."""
    command = [sys.executable, "-m", "kubelet_exporter", *arguments]
    environment = os.environ | {"MALLOC_ARENA_MAX": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as child:
        try:
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(10)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident(pid: int | str) -> float:
    """Resident memory of a process in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 2**20


def measured(played: Recording, count: int, seconds: float) -> list[Figure]:
    """All figures of an exporter that reads a node of so many pods."""
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder, "film.jsonl")
        recording.write(played.lines, film)
        ports = ("--kubelet-port", "0", "--apiserver-port", "0")
        with process("simulate", str(film), *ports, "--folder", folder) as simulator:
            _, command = (simulator.stdout.readline() for _ in range(2)) if simulator.stdout else ("", "")
            port = free_port()
            arguments = command.split()[1:]
            with process(*arguments, "--web.listen-address", f"127.0.0.1:{port}") as exporter:
                return asyncio.run(_figures(exporter.pid, f"http://127.0.0.1:{port}/metrics", count, seconds))


async def _figures(pid: int, url: str, count: int, seconds: float) -> list[Figure]:
    async with aiohttp.ClientSession(headers={"Accept-Encoding": "identity"}) as session:
        await asyncio.sleep(WARM_UP_SECONDS)
        begin, cpu = time.monotonic(), cpu_seconds(pid)
        while time.monotonic() - begin < seconds:
            body = await _scrape(session, url)
            await asyncio.sleep(15)
        used = (cpu_seconds(pid) - cpu) / (time.monotonic() - begin)
        memory = resident(pid)
        latencies = sorted(
            chain.from_iterable(await asyncio.gather(*(_latencies(session, url) for _ in range(SCRAPERS))))
        )
    series = sum(not line.startswith(b"#") for line in body.splitlines())
    return [
        Figure(
            "CPU, average, one scrape every 15 s",
            count,
            used * 1000,
            "millicores",
            CPU_BUDGET if count <= 110 else None,
        ),
        Figure("CPU for an hour of running", count, used * 3600, "s", 18 if count <= 110 else None),
        Figure("resident memory", count, memory, "MiB", 64 if count <= 110 else 80),
        Figure("series", count, series, "series", 900 + 2 * count),
        Figure("bytes of a scrape", count, len(body) / 1000, "kB", None),
        Figure("median of /metrics, 10 scrapers at once", count, statistics.median(latencies) * 1000, "ms", None),
        Figure(
            "p99 of /metrics, 10 scrapers at once",
            count,
            latencies[int(len(latencies) * 0.99)] * 1000,
            "ms",
            10 if count <= 110 else None,
        ),
    ]


async def _latencies(session: aiohttp.ClientSession, url: str) -> list[float]:
    found = []
    for _ in range(SCRAPES):
        begin = time.monotonic()
        await _scrape(session, url)
        found.append(time.monotonic() - begin)
    return found


async def _scrape(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as response:
        return await response.read()


def churn() -> float:
    """Growth of resident memory, in MiB, over so many pods created and deleted."""
    decode, state = pods_decoder(), State(Snapshot("node-a", 0.0))
    for number in range(2 * CHURN):
        if number == CHURN:
            gc.collect()
            before = resident("self")
        items = [{"metadata": {"name": f"p{n}", "uid": f"{n:032x}"}} for n in range(number, number + 3)]
        value = decode(json.dumps({"items": items}).encode()).value
        state.take(Reading(Source.PODS, float(number), 0.0, value=value, read_at=float(number)))
    gc.collect()
    return resident("self") - before


def churned() -> Figure:
    """The growth, measured in a process of its own."""
    output = subprocess.run([sys.executable, __file__, "--churn"], capture_output=True, text=True, check=True).stdout
    return Figure("growth over 10,000 pods created and deleted", 0, float(output), "MiB", 2)


def machine() -> str:
    """The machine that the figures were taken on."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    python = f"Python {platform.python_version()}, Linux {platform.release().partition('-')[0]}"
    return f"{os.cpu_count()} cores of {cpu[1] if cpu else platform.machine()}, {python}"


def report(figures: Sequence[Figure], seconds: float) -> str:
    """The page."""
    rows = "\n".join(figure.row for figure in figures)
    return f"""# Performance

Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}, on {machine()}. Machines differ and are noisy: compare figures of one run.

The exporter runs with its default intervals against a simulated node over HTTPS, which plays a real kubelet 1.36 with its pods
cloned. CPU and memory are those of the exporter's process alone, from /proc, over {seconds:g} seconds after a warm-up of
{WARM_UP_SECONDS}; then {SCRAPERS} scrapers ask {SCRAPES} times each without a pause. The budgets are those of
[architecture.md](architecture.md#budgets).

| what | pods | measured | budget | within |
|---|---|---|---|---|
{rows}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="how long CPU is measured for each number of pods")
    parser.add_argument("--churn", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.churn:
        print(churn())
        return
    sample = recording.load(SAMPLE)
    figures = [figure for count in (110, 250) for figure in measured(scaled(sample, count), count, given.seconds)]
    cpu, *_ = measured(busy(sample, 250), 250, given.seconds)
    starting = replace(cpu, what=f"CPU with {STARTING} pods starting every {LOOP} s", budget=CPU_BUDGET)
    text = report([*figures, starting, churned()], given.seconds)
    REPORT.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
