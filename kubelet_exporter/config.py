"""Flags and their environment twins, and the settings that they make."""

import argparse
import difflib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from kubelet_exporter import units
from kubelet_exporter.snapshot import Source
from kubelet_exporter.sources.endpoints import DEADLINE, INTERVALS
from kubelet_exporter.sources.trust import Mode

ENVIRONMENT = "KUBELET_EXPORTER_"
MOST_LOG_PATTERNS = 10
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a running exporter must know."""

    node_name: str
    kubelet_address: str = "127.0.0.1"
    kubelet_port: int = 10250
    kubelet_tls_mode: Mode = "auto"
    kubelet_ca_file: Path = ACCOUNT / "ca.crt"
    kubelet_pin_file: Path | None = None
    token_file: Path = ACCOUNT / "token"
    apiserver_url: str | None = None
    apiserver_ca_file: Path = ACCOUNT / "ca.crt"
    intervals: Mapping[Source, float] = field(default_factory=lambda: INTERVALS)
    kubelet_timeout: float = DEADLINE
    volumes_exclude: re.Pattern[str] | None = None
    events: bool = False
    log_patterns: tuple[str, ...] = ()
    checkpoint_dir: Path | None = None
    series_limit: int = 5000
    eviction_top: int = 5
    node_label: bool = True
    listen_host: str | None = None
    listen_port: int = 10052
    telemetry_path: str = "/metrics"


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Tells a default only where there is one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return super()._get_help_string(action) if action.default and not action.required else action.help


class Parser(argparse.ArgumentParser):
    """Knows the environment twin of every flag, and names the right flag when a wrong one is given."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", Help)
        super().__init__(allow_abbrev=False, **options)

    def flag(self, name: str, text: str, **options: Any) -> None:
        """Add a flag whose default may come from the environment."""
        twin = ENVIRONMENT + re.sub(r"[-.]", "_", name.removeprefix("--")).upper()
        if twin in os.environ:
            options["default"] = self._from_environment(twin, options)
            options.pop("required", None)
        if "." in name:
            options["dest"] = name.removeprefix("--").replace("-", "_")
        self.add_argument(name, help=f"{text} [{twin}]", **options)

    def _from_environment(self, twin: str, options: Mapping[str, Any]) -> Any:
        """The default that the environment gives; argparse converts texts, but checks no choices of defaults."""
        text = os.environ[twin]
        if options.get("action") is argparse.BooleanOptionalAction:
            return _switch(self, twin, text)
        if options.get("action") == "append":
            return text.split()
        if text not in options.get("choices", (text,)):
            self.error(f"{twin}={text!r} is none of {', '.join(options['choices'])}")
        return text

    def error(self, message: str) -> NoReturn:
        """Leave with status 2, the message and where to read on."""
        sys.stderr.write(f"{self.prog}: {message}\ntry '{self.prog} --help'\n")
        raise SystemExit(2)

    def refuse_unknown_flags(self, arguments: Sequence[str]) -> None:
        """Leave if a flag does not exist, and name the nearest that does."""
        known = [option for action in self._actions for option in action.option_strings]
        for flag in (text.partition("=")[0] for text in arguments if text.startswith("--")):
            if flag not in known:
                near = difflib.get_close_matches(flag, known, 1, cutoff=0.5)
                self.error(f"no flag {flag}" + (f"; did you mean {near[0]}?" if near else ""))


def _switch(parser: Parser, twin: str, text: str) -> bool:
    values = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in values:
        parser.error(f"{twin}={text!r} is neither true nor false")
    return values[text.lower()]


def seconds(text: str) -> float:
    """A positive duration: seconds as a number, or with units such as 1m30s."""
    try:
        value = float(text) if re.fullmatch(r"[0-9.]+", text) else units.duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 15 or 1m30s") from error
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0")
    return value


def _text(duration: float) -> str:
    """A duration in seconds as help tells it: 5s or 5m."""
    return f"{duration:g}s" if duration % 60 else f"{duration / 60:g}m"


def port(text: str) -> int:
    """A TCP port; 0 may stand for any free one."""
    if not _is_port(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port between 0 and 65535")
    return int(text)


def _is_port(text: str) -> bool:
    return text.isdecimal() and int(text) <= 65535


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from error


def log_patterns(text: str) -> tuple[str, ...]:
    """Texts to search the log for, separated by commas: at most ten, of letters, digits and . _ : -."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    wrong = [part for part in found if not re.fullmatch(r"[A-Za-z0-9._:-]{1,100}", part)]
    if wrong:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r} has other characters than letters, digits and . _ : -")
    if len(found) > MOST_LOG_PATTERNS:
        raise argparse.ArgumentTypeError(
            f"{len(found)} patterns are more than {MOST_LOG_PATTERNS}: each is searched for every minute"
        )
    return found


def count(text: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def name(text: str) -> str:
    """A name, which is not empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("a name must not be empty")
    return text


def url_path(text: str) -> str:
    """A path to serve at; / and /-/... are taken."""
    if not re.fullmatch(r"/(?!-/)[^\s{}?#]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a path such as /metrics; / and /-/... are taken")
    return text


def folder(text: str) -> Path:
    """A folder that exists."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return Path(text)


def listen_address(text: str) -> tuple[str | None, int]:
    """A host, which may be left out or be IPv6 in brackets, and a port."""
    host, colon, port = text.rpartition(":")
    if not colon or not _is_port(port):
        raise argparse.ArgumentTypeError(f"{text!r} is not [HOST]:PORT such as :10052 or [::1]:10052")
    return host.strip("[]") or None, int(port)


def add_node_flags(parser: Parser) -> None:
    """Flags that say which node is read and how."""
    parser.flag("--node-name", "name of the node", type=name, required=True, metavar="NAME")
    parser.flag("--kubelet-address", "address of the kubelet", default="127.0.0.1", metavar="HOST")
    parser.flag("--kubelet-port", "port of the kubelet", type=port, default=10250, metavar="PORT")
    parser.flag(
        "--kubelet-tls-mode",
        "how the kubelet's certificate is trusted: by a CA, by the fingerprint first seen, not at all, or, with auto, by the CA and "
        "else by fingerprint if the kubelet made it itself",
        choices=("auto", "verify", "pin", "insecure"),
        default="auto",
    )
    parser.flag(
        "--kubelet-ca-file", "CA of the kubelet's certificate", type=Path, default=ACCOUNT / "ca.crt", metavar="FILE"
    )
    parser.flag(
        "--kubelet-pin-file", "file with the SHA-256 fingerprint to pin; written if missing", type=Path, metavar="FILE"
    )
    parser.flag(
        "--kubelet-timeout",
        "how long one reading of the kubelet may take",
        type=seconds,
        default=_text(DEADLINE),
        metavar="DURATION",
    )
    parser.flag(
        "--token-file", "bearer token for kubelet and API server", type=Path, default=ACCOUNT / "token", metavar="FILE"
    )
    parser.flag("--apiserver-url", "API server; default: that of the cluster, none outside of one", metavar="URL")
    parser.flag("--apiserver-ca-file", "CA of the API server", type=Path, default=ACCOUNT / "ca.crt", metavar="FILE")


def add_interval_flags(parser: Parser) -> None:
    """Flags that say how often each endpoint is read."""
    for source, interval in INTERVALS.items():
        parser.flag(
            f"--{source}-interval",
            f"how often {source} is read",
            type=seconds,
            default=_text(interval),
            metavar="DURATION",
        )


def add_serving_flags(parser: Parser) -> None:
    """Flags that say what is served where."""
    parser.flag("--web.listen-address", "where to serve", type=listen_address, default=":10052", metavar="[HOST]:PORT")
    parser.flag("--web.telemetry-path", "path of the scrape", type=url_path, default="/metrics", metavar="PATH")


def add_memory_flags(parser: Parser) -> None:
    """Flags of what is remembered and asked for beyond the readings."""
    parser.flag(
        "--events",
        "ask the API server for the events of pods whose pull time decides whether they were slow; needs the right to list events",
        action=argparse.BooleanOptionalAction,
        default=False,
    )
    parser.flag(
        "--log-patterns",
        "count lines of the kubelet's log with these texts, such as FailedCreatePodSandBox,ImagePullBackOff; needs the right "
        "nodes/log and a kubelet with NodeLogQuery",
        type=log_patterns,
        metavar="TEXT,TEXT",
    )
    parser.flag("--checkpoint-dir", "existing folder to keep which starts were counted", type=folder, metavar="FOLDER")


def add_series_flags(parser: Parser) -> None:
    """Flags that say which series there are."""
    parser.flag(
        "--series-limit",
        "series of a scrape above which those of pods and volumes are left out",
        type=count,
        default=5000,
        metavar="NUMBER",
    )
    parser.flag(
        "--eviction-top",
        "how many of the pods that would be evicted first are named, for each eviction signal",
        type=count,
        default=5,
        metavar="NUMBER",
    )
    parser.flag("--volumes-exclude", "claims to leave out, by namespace/name", type=pattern, metavar="REGEX")
    parser.flag(
        "--node-label", "add the label node to every series", action=argparse.BooleanOptionalAction, default=True
    )


def add_log_flags(parser: Parser) -> None:
    """Flags that say what is logged and how."""
    parser.flag(
        "--log.level",
        "least severe level that is logged",
        choices=("debug", "info", "warning", "error"),
        default="info",
    )
    parser.flag("--log.format", "format of log lines", choices=("logfmt", "json"), default="logfmt")


def settings(arguments: Mapping[str, Any], **changes: Any) -> Settings:
    """The settings of flags that were given; `changes` override them."""
    given = {name.removeprefix("web."): value for name, value in arguments.items() if value is not None}
    if "listen_address" in given:
        given["listen_host"], given["listen_port"] = given["listen_address"]
    given["intervals"] = {source: given.get(f"{source}_interval", INTERVALS[source]) for source in INTERVALS}
    known = {name: given[name] for name in Settings.__dataclass_fields__ if name in given}
    return Settings(**(known | changes))
