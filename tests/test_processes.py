"""Commands as processes: they find each other, do their work, and end when they are asked to."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from commands import BOUND, ROOT, TAPE, environment, run
from conftest import need
from simulated import samples

from kubelet_exporter import cli
from kubelet_exporter.snapshot import ALWAYS_READ


@asynccontextmanager
async def process(*arguments: str, **changes: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A command that runs until it is asked to end; it is killed if it does not."""
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kubelet_exporter",
        *arguments,
        env=environment(**changes),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def line_with(stream: asyncio.StreamReader | None, pattern: str) -> re.Match[str]:
    """The first line in which the pattern is found."""
    assert stream
    seen = []
    while line := (await stream.readline()).decode():
        seen.append(line)
        if match := re.search(pattern, line):
            return match
    pytest.fail(f"{pattern} is not in {''.join(seen)}")


async def ended(running: asyncio.subprocess.Process, number: signal.Signals) -> tuple[int, str, str]:
    """Status and rest of the output of a process that was sent a signal."""
    running.send_signal(number)
    out, err = await running.communicate()
    assert running.returncode is not None
    return running.returncode, out.decode(), err.decode()


def fetched(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def ready(url: str) -> None:
    """Wait until an exporter has tried all of its sources."""
    for _ in range(int(BOUND / 0.1)):
        if (await asyncio.to_thread(fetched, f"{url}/-/ready"))[0] == 200:
            return
        await asyncio.sleep(0.1)
    pytest.fail(f"{url} does not get ready")


def test_serve_reads_what_simulate_plays_and_both_end_when_asked_to(tmp_path: Path) -> None:
    async def both() -> None:
        simulate = ("simulate", str(TAPE), "--kubelet-port=0", "--apiserver-port=0", "--folder", str(tmp_path / "keys"))
        async with asyncio.timeout(BOUND), process(*simulate) as simulator:
            command = shlex.split((await line_with(simulator.stdout, "kubelet-exporter serve .*"))[0])[1:]
            async with process(*command, "--web.listen-address=127.0.0.1:0") as exporter:
                url = (await line_with(exporter.stderr, r"msg=serving .*url=(\S+)"))[1]
                await ready(url)
                status, text = await asyncio.to_thread(fetched, f"{url}/metrics")
                up = {
                    labels["source"] for name, labels, value in samples(text.encode()) if name == "source_up" and value
                }

                assert (200, {str(source) for source in ALWAYS_READ}) == (status, up)

                code, out, err = await ended(exporter, signal.SIGTERM)

                assert (0, "") == (code, out)
                assert "Traceback" not in err
            code, _, err = await ended(simulator, signal.SIGTERM)
            assert (0, "") == (code, err)

    asyncio.run(both())


def test_simulate_tells_how_to_change_its_faults() -> None:
    async def changed() -> str:
        async with (
            asyncio.timeout(BOUND),
            process("simulate", str(TAPE), "--kubelet-port=0", "--apiserver-port=0") as simulator,
            aiohttp.ClientSession() as session,
        ):
            command = shlex.split((await line_with(simulator.stdout, "curl .*"))[0])
            assert ["curl", "-k", "-X", "PUT", "-d"] == command[:5]
            async with session.put(command[6], data=command[5], ssl=False) as response:
                return await response.text()

    assert '{"/metrics": "hang"}' == asyncio.run(changed())


def test_a_serve_whose_api_server_hangs_still_ends_when_asked_to(tmp_path: Path) -> None:
    async def both() -> None:
        simulate = ("simulate", str(TAPE), "--kubelet-port=0", "--apiserver-port=0", "--folder", str(tmp_path / "keys"))
        async with asyncio.timeout(BOUND), process(*simulate, "--fault=*=hang") as simulator:
            command = shlex.split((await line_with(simulator.stdout, "kubelet-exporter serve .*"))[0])[1:]
            async with process(*command, "--web.listen-address=127.0.0.1:0", "--kubelet-timeout=1") as exporter:
                url = (await line_with(exporter.stderr, r"msg=serving .*url=(\S+)"))[1]
                await line_with(exporter.stderr, "source pods fails.*no answer within 1 s")

                assert (503, "not read yet: lease, node\n") == await asyncio.to_thread(fetched, f"{url}/-/ready")
                assert 0 == (await ended(exporter, signal.SIGTERM))[0]

    asyncio.run(both())


def test_a_recording_of_nothing_but_failures_fails_and_counts_them_by_reason(tmp_path: Path) -> None:
    files = ("--output", str(tmp_path / "node.jsonl"), "--token-file", str(tmp_path / "none"))
    result = run("record", "--node-name", "a", *files, "--duration=1s")

    assert (1, 9) == (result.returncode, len((tmp_path / "node.jsonl").read_text().splitlines()))
    assert "9 answers, 9 of them failed" in result.stdout
    assert re.fullmatch(r"9 times: cannot read the token: .*; set --token-file\n", result.stderr)


def test_record_writes_a_file_that_replay_plays(tmp_path: Path) -> None:
    async def recorded() -> str:
        simulate = ("simulate", str(TAPE), "--kubelet-port=0", "--apiserver-port=0", "--folder", str(tmp_path / "keys"))
        async with asyncio.timeout(BOUND), process(*simulate) as simulator:
            command = shlex.split((await line_with(simulator.stdout, "kubelet-exporter serve .*"))[0])[2:]
            output = str(tmp_path / "node.jsonl.gz")
            async with process("record", *command, "--output", output, "--duration=1s") as recorder:
                out, err = await recorder.communicate()
                assert 0 == recorder.returncode, err
                return out.decode()

    printed = asyncio.run(recorded())
    assert re.search(r"node\.jsonl\.gz: 1\d answers, \d+ of them failed", printed)
    assert 0 == run("replay", "--once", str(tmp_path / "node.jsonl.gz")).returncode


# The demo

WITHOUT_PROGRAMS = {"PATH": "/nonexistent"}


def test_the_demo_needs_nothing_else_and_ends_by_itself() -> None:
    result = run("demo", "--exporter-port=0", "--duration=1s", "--log.level=error", **WITHOUT_PROGRAMS)

    assert (0, "") == (result.returncode, result.stderr)
    for line in (
        r"simulated kubelet +https://127\.0\.0\.1:\d+",
        r"exporter +http://127\.0\.0\.1:\d+/metrics",
        r"status page +http://127\.0\.0\.1:\d+/$",
        r"Prometheus +not on the PATH: apt-get install prometheus",
        r"Alertmanager +not on the PATH",
        r"sources +8 up, 0 down$",
        r"certificate +trusted by: pin",
        r"node +node-a, v1\.36",
        r"pods +1\d: \d+ Running",
        r"volumes +2 claims",
        r"series +\d{3}",
    ):
        assert re.search(line, result.stdout, re.MULTILINE), line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=["control-c", "closed terminal"])
def test_the_demo_ends_and_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    async def interrupted() -> tuple[int, str, str]:
        async with (
            asyncio.timeout(BOUND),
            process("demo", "--exporter-port=0", "--log.level=error", TMPDIR=str(tmp_path), **WITHOUT_PROGRAMS) as demo,
        ):
            await line_with(demo.stdout, f"token in {tmp_path}/")
            await line_with(demo.stdout, "series")
            return await ended(demo, number)

    code, _, err = asyncio.run(interrupted())
    assert (0, "") == (code, err)
    assert [] == list(tmp_path.iterdir())


def test_a_hang_up_that_nohup_ignores_stays_ignored() -> None:
    async def command(_: asyncio.Event) -> None:
        assert signal.SIG_IGN == signal.getsignal(signal.SIGHUP)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert 0 == cli._run(command)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_demo_runs_prometheus_and_alertmanager_where_they_are_and_ends_them() -> None:
    need("prometheus")
    need("prometheus-alertmanager")
    result = run("demo", "--exporter-port=0", "--duration=8s", "--log.level=error")
    urls = re.findall(r"^(?:Prometheus|Alertmanager) +(http://127\.0\.0\.1:\d+)$", result.stdout, re.MULTILINE)

    assert (0, "") == (result.returncode, result.stderr)
    assert 2 == len(urls)
    assert re.search(r"sources +8 up, 0 down$", result.stdout, re.MULTILINE)
    for url in urls:
        with pytest.raises(urllib.error.URLError, match="refused"):
            fetched(url)


# Generating


def test_generate_check_names_a_file_that_was_changed(tmp_path: Path) -> None:
    written = run("generate", "--output", str(tmp_path))
    good = run("generate", "--check", "--output", str(tmp_path))
    changed = next((tmp_path / "alerts").glob("*.yaml"))
    changed.write_text(changed.read_text().replace("warning", "critical"))
    bad = run("generate", "--check", "--output", str(tmp_path))

    assert (0, "") == (written.returncode, written.stderr)
    assert (0, "", "") == (good.returncode, good.stdout, good.stderr)
    assert 1 == bad.returncode
    assert f"alerts/{changed.name} is not what the catalogue gives; run 'make generate'\n" == bad.stdout


def test_generate_check_changes_nothing(tmp_path: Path) -> None:
    result = run("generate", "--check", KUBELET_EXPORTER_OUTPUT=str(tmp_path))

    assert 1 == result.returncode
    assert [] == list(tmp_path.iterdir())
