"""Commands: serve, demo, simulate, record, replay, generate. Each imports only what it needs, to keep `serve` small."""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from kubelet_exporter import __version__, config, logs
from kubelet_exporter.config import Parser
from kubelet_exporter.simulator import faults

Arguments = argparse.Namespace


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; leaves with status 0, 1 (it failed) or 2 (wrong arguments)."""
    commands = parsers()
    texts = sys.argv[1:] if arguments is None else arguments
    chosen = next((commands[text] for text in texts if text in HELP), commands[""])
    chosen.refuse_unknown_flags(texts)
    given = commands[""].parse_args(texts)
    logs.set_up(getattr(given, "log.level"), getattr(given, "log.format"))
    try:
        raise SystemExit(COMMANDS[given.command](given))
    except (OSError, ValueError, RuntimeError) as error:
        sys.stderr.write(f"kubelet-exporter {given.command}: {error}\n")
        raise SystemExit(1) from error


def parsers() -> dict[str, Parser]:
    """The parser of each command by name; the empty name is the parser of all."""
    top = Parser(prog="kubelet-exporter", description="Prometheus exporter for the kubelet of one node.")
    top.add_argument("--version", action="version", version=f"kubelet-exporter {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    found = {"": top}
    for name, text in HELP.items():
        found[name] = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        config.add_log_flags(found[name])
    config.add_node_flags(found["serve"])
    config.add_interval_flags(found["serve"])
    config.add_serving_flags(found["serve"])
    config.add_series_flags(found["serve"])
    config.add_memory_flags(found["serve"])
    _add_demo_flags(found["demo"])
    _add_simulate_flags(found["simulate"])
    config.add_node_flags(found["record"])
    config.add_interval_flags(found["record"])
    found["record"].flag(
        "--output", "file to write; gzipped if it ends in .gz", type=Path, required=True, metavar="FILE"
    )
    found["record"].flag("--duration", "how long to record", type=config.seconds, default="1m", metavar="DURATION")
    _add_replay_flags(found["replay"])
    _add_generate_flags(found["generate"])
    return found


HELP = {
    "serve": "read the kubelet of this node and serve what is known of it",
    "demo": "run a simulated node, the exporter and, where installed, Prometheus and Alertmanager",
    "simulate": "run a simulated kubelet and API server that play a recording",
    "record": "write a recording of a live node, without secrets",
    "replay": "serve what is known of a recorded node, or print it once",
    "generate": "write alert rules, dashboards, reference and runbooks from the catalogue",
}


def _add_demo_flags(parser: Parser) -> None:
    parser.add_argument(
        "recording", nargs="?", type=Path, help="recording to play; default: the one that comes with the package"
    )
    parser.flag(
        "--exporter-port", "port of the exporter; 0 takes any free one", type=config.port, default=10052, metavar="PORT"
    )
    parser.flag("--duration", "end by itself after this time", type=config.seconds, metavar="DURATION")


def _add_simulate_flags(parser: Parser) -> None:
    parser.add_argument("recording", type=Path, help="recording to play")
    parser.flag(
        "--kubelet-port",
        "port of the simulated kubelet; 0 takes any free one",
        type=config.port,
        default=10250,
        metavar="PORT",
    )
    parser.flag(
        "--apiserver-port",
        "port of the simulated API server; 0 takes any free one",
        type=config.port,
        default=6443,
        metavar="PORT",
    )
    parser.flag("--events-file", "JSON file with an EventList to answer from", type=Path, metavar="FILE")
    parser.flag("--folder", "where to write token and CA; default: a temporary folder", type=Path, metavar="FOLDER")
    kinds = "; ".join(f"{kind}: {text}" for kind, text in faults.HELP.items())
    parser.flag(
        "--fault",
        f"let a path (* for all), or a part of the node ({', '.join(faults.PARTS)}), fail; may be repeated. {kinds}. Also while it runs: PUT lines of PATH=KIND to /-/faults, "
        "POST to /-/certificate and /-/token",
        action="append",
        default=[],
        metavar="PATH=KIND[:VALUE]",
    )


def _add_replay_flags(parser: Parser) -> None:
    parser.add_argument("recording", type=Path, help="recording to read")
    parser.flag(
        "--once",
        "print the scrape as of the end of the recording and end",
        action=argparse.BooleanOptionalAction,
        default=False,
    )
    config.add_serving_flags(parser)
    config.add_series_flags(parser)


def _add_generate_flags(parser: Parser) -> None:
    parser.flag(
        "--check",
        "change nothing; fail if a file is not what it should be",
        action=argparse.BooleanOptionalAction,
        default=False,
    )
    parser.flag("--output", "folder to write to", type=Path, default=Path(), metavar="FOLDER")
    parser.flag("--overrides", "YAML file with changes of alerts and facts", type=Path, metavar="FILE")


def _serve(given: Arguments) -> int:
    from kubelet_exporter.serve import exporting
    from kubelet_exporter.server import until

    async def serve(stop: asyncio.Event) -> None:
        async with exporting(config.settings(vars(given))) as exporter:
            await until(stop, *exporter.tasks)

    return _run(serve)


def _demo(given: Arguments) -> int:
    from kubelet_exporter import demo
    from kubelet_exporter.sources import recording

    film = recording.load(given.recording) if given.recording else demo.shipped_recording()

    async def run(stop: asyncio.Event) -> None:
        with tempfile.TemporaryDirectory(prefix="kubelet-exporter-") as folder:
            ahead = 0.0 if given.recording else demo.AHEAD_SECONDS
            async with demo.demonstrating(film, Path(folder), given.exporter_port, ahead) as running:
                await demo.tell(running, stop, given.duration)

    return _run(run)


def _simulate(given: Arguments) -> int:
    from kubelet_exporter.demo import how_to_serve
    from kubelet_exporter.simulator import servers
    from kubelet_exporter.simulator.player import Player
    from kubelet_exporter.sources import recording

    film = recording.load(given.recording)
    chosen = dict(faults.parse(text) for text in given.fault)
    events = json.loads(given.events_file.read_text())["items"] if given.events_file else ()

    async def simulate(stop: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kubelet-exporter-")))
            folder.mkdir(parents=True, exist_ok=True)
            ports = (given.kubelet_port, given.apiserver_port)
            simulator = await stack.enter_async_context(
                servers.running(Player(film, events=events), folder, ports=ports)
            )
            simulator.faults = chosen
            print(how_to_serve(simulator), flush=True)
            await stop.wait()

    return _run(simulate)


def _record(given: Arguments) -> int:
    from kubelet_exporter.record import record
    from kubelet_exporter.sources import recording

    _check_output(given.output)

    async def run(stop: asyncio.Event) -> int:
        lines = await record(config.settings(vars(given)), given.duration, stop)
        count = recording.write(lines, given.output)
        failed = [line for line in lines if line.status != 200]
        print(f"{given.output}: {count} answers, {len(failed)} of them failed")
        if len(failed) < count:
            return 0
        for reason, times in Counter(line.body for line in failed).most_common():
            sys.stderr.write(f"{times} times: {reason}\n")
        return 1

    return _run(run)


def _check_output(file: Path) -> None:
    """Raise ValueError now if a file cannot be written later."""
    try:
        file.open("ab").close()
    except OSError as error:
        raise ValueError(f"--output {file} cannot be written: {error.strerror}") from error


def _replay(given: Arguments) -> int:
    from kubelet_exporter.serve import folded, replaying
    from kubelet_exporter.server import until
    from kubelet_exporter.sources import recording

    film = recording.load(given.recording)
    settings = config.settings(vars(given), node_name=film.node_name)
    if given.once:
        sys.stdout.write(folded(film, settings).scrape().plain.decode())
        return 0

    async def replay(stop: asyncio.Event) -> None:
        async with replaying(film, settings) as exporter:
            await until(stop, *exporter.tasks)

    return _run(replay)


def _generate(given: Arguments) -> int:
    try:
        from kubelet_exporter.generate import overrides, tree
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise RuntimeError(
            f"{package} is not installed; run make generate, or pip install 'kubelet-exporter[generate]'"
        ) from error

    changes = overrides.read(given.overrides) if given.overrides else overrides.Overrides()
    stale = tree.stale(given.output, changes)
    if given.check:
        for path in stale:
            print(f"{path} is not what the catalogue gives; run 'make generate'")
        return 1 if stale else 0
    tree.write(given.output, changes)
    print(f"{len(stale)} files changed" if stale else "nothing changed")
    return 0


def _run(command: Callable[[asyncio.Event], Coroutine[Any, Any, int | None]]) -> int:
    """Run until it ends or a signal asks it to; gives the status that it ends with."""

    async def run() -> int | None:
        stop = asyncio.Event()
        numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
        if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as nohup wants it
            numbers.remove(signal.SIGHUP)
        for number in numbers:
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        return await command(stop)

    return asyncio.run(run()) or 0


COMMANDS = {
    "serve": _serve,
    "demo": _demo,
    "simulate": _simulate,
    "record": _record,
    "replay": _replay,
    "generate": _generate,
}
