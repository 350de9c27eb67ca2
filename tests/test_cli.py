"""The commands as a user runs them: help, mistakes and environment twins."""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import BOUND, TAPE, environment, run
from simulated import samples

from kubelet_exporter import __version__, cli, config
from kubelet_exporter.config import ENVIRONMENT
from kubelet_exporter.snapshot import Source
from kubelet_exporter.sources.endpoints import INTERVALS

COMMANDS = ("serve", "demo", "simulate", "record", "replay", "generate")
SERVE = ("serve", "--node-name", "node-a")


@contextmanager
def in_this_process(
    environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Mapping[str, config.Parser]]:
    """The parsers as they are with these variables of the environment."""
    with monkeypatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(ENVIRONMENT)]:
            patch.delenv(name)
        for name, text in environ.items():
            patch.setenv(name, text)
        yield cli.parsers()


def flags(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The flags of a command but --help and --version."""
    return [action for action in parser._actions if action.option_strings and action.dest not in ("help", "version")]


def twin(action: argparse.Action) -> str:
    return ENVIRONMENT + re.sub("[-.]", "_", action.option_strings[0].removeprefix("--")).upper()


# Help


def test_help_names_every_command_with_what_it_does() -> None:
    result = run("--help")

    assert (0, "") == (result.returncode, result.stderr)
    for command in COMMANDS:
        assert re.search(rf"^ +{command} +[a-z]{{3}}", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_reads_well_and_names_the_environment_twin_of_every_flag(command: str) -> None:
    result = run(command, "--help")
    described = result.stdout.partition("\noptions:")[2]

    assert (0, "") == (result.returncode, result.stderr)
    assert result.stdout.startswith(f"usage: kubelet-exporter {command} ")
    assert re.search(r"^[A-Z][^\n]+\.$", result.stdout, re.MULTILINE)
    assert "None" not in result.stdout
    assert "[]" not in result.stdout
    assert not re.findall(r"%\(|<class|function|PosixPath", result.stdout)
    for action in flags(cli.parsers()[command]):
        _, _, rest = described.partition(f"\n  {action.option_strings[0]}")
        assert f"[{twin(action)}]" in rest.partition("\n  -")[0], action


def test_help_tells_numbers_as_numbers_and_times_with_their_unit() -> None:
    text = run("serve", "--help").stdout

    assert "--series-limit NUMBER" in text
    for flag, default in (("pods-interval", "5s"), ("configz-interval", "5m"), ("kubelet-timeout", "12s")):
        assert re.search(rf"--{flag} DURATION\n? +.*\(default: {default}\)$", text, re.MULTILINE), flag


def test_the_version_is_told() -> None:
    assert f"kubelet-exporter {__version__}\n" == run("--version").stdout


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "COMMAND"),
        (("sreve",), "serve"),
        (("serve",), "--node-name"),
        ((*SERVE, "--kubelet-prot", "1"), "no flag --kubelet-prot; did you mean --kubelet-port?"),
        ((*SERVE, "--listen-address=:1"), "did you mean --web.listen-address?"),
        ((*SERVE, "--metric-interval", "1"), "did you mean --metrics-interval?"),
        ((*SERVE, "--tls-mode=pin"), "did you mean --kubelet-tls-mode?"),
        ((*SERVE, "--zzz"), "no flag --zzz"),
        ((*SERVE, "--kubelet-tls-mode", "off"), "verify"),
        ((*SERVE, "--kubelet-port", "many"), "--kubelet-port: 'many' is not a port"),
        ((*SERVE, "--kubelet-port", "65536"), "--kubelet-port: '65536' is not a port"),
        ((*SERVE, "--pods-interval", "soon"), "--pods-interval: 'soon' is not a duration such as"),
        ((*SERVE, "--pods-interval", "0"), "'0' is not above 0"),
        ((*SERVE, "--pods-interval=-5s"), "'-5s' is not above 0"),
        ((*SERVE, "--web.listen-address", "10052"), "'10052' is not [HOST]:PORT"),
        ((*SERVE, "--web.listen-address", ":99999"), "is not [HOST]:PORT"),
        ((*SERVE, "--volumes-exclude", "("), "is no regular expression"),
        (("serve", "--node-name", " "), "--node-name: a name must not be empty"),
        ((*SERVE, "--series-limit", "0"), "--series-limit: '0' is not a whole number above 0"),
        ((*SERVE, "--series-limit", "-1"), "'-1' is not a whole number above 0"),
        ((*SERVE, "--web.telemetry-path", "metrics"), "'metrics' is not a path such as /metrics"),
        ((*SERVE, "--web.telemetry-path", "/"), "'/' is not a path such as /metrics"),
        ((*SERVE, "--web.telemetry-path", "/-/ready"), "'/-/ready' is not a path such as /metrics"),
        ((*SERVE, "--checkpoint-dir", "/nowhere"), "--checkpoint-dir: '/nowhere' is no folder"),
        (("demo", "--exporter-port", "x"), "--exporter-port: 'x' is not a port"),
        (("simulate",), "recording"),
        (("record", "--node-name", "a"), "--output"),
        (("replay", "x", "--onec"), "did you mean --once?"),
        (("generate", "--chekc"), "did you mean --check?"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_told_in_two_lines_with_what_is_right(
    arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_this_process({}, monkeypatch), pytest.raises(SystemExit) as left:
        cli.main(arguments)
    printed = capsys.readouterr()

    assert (2, "") == (left.value.code, printed.out)
    assert message in printed.err
    assert 2 == printed.err.count("\n")
    assert "--help'\n" in printed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("replay", "/nowhere/film.jsonl"), "/nowhere/film.jsonl"),
        (("simulate", "pyproject.toml"), "pyproject.toml, line 1"),
        (("simulate", "TAPE", "--fault", "/pods=hagn"), "did you mean hang?"),
        (("record", "--node-name", "a", "--output", "/nowhere/x.jsonl"), "--output /nowhere/x.jsonl cannot be written"),
        (
            (
                "serve",
                "--node-name",
                "a",
                "--apiserver-ca-file",
                "pyproject.toml",
                "--apiserver-url",
                "https://[::1]:1",
            ),
            "pyproject.toml holds no certificate of a CA",
        ),
        (
            (
                "serve",
                "--node-name",
                "a",
                "--apiserver-ca-file",
                "pyproject.toml",
                "--apiserver-url",
                "https://[::1]:1",
            ),
            "--apiserver-ca-file",
        ),
        (("generate", "--check", "--overrides", "/nowhere.yaml"), "/nowhere.yaml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_told_in_one_line_without_a_traceback(arguments: Sequence[str], message: str) -> None:
    result = run(*(str(TAPE) if text == "TAPE" else text for text in arguments))
    last = result.stderr.splitlines()[-1]

    assert (1, "") == (result.returncode, result.stdout)
    assert last.startswith(f"kubelet-exporter {arguments[0]}: ")
    assert message in last
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("serve", "--node-name", "a", "--web.listen-address", "127.0.0.1:PORT"), "--web.listen-address"),
        (("replay", "TAPE", "--web.listen-address", "127.0.0.1:PORT"), "--web.listen-address"),
        (("demo", "--exporter-port", "PORT"), "--exporter-port"),
        (("simulate", "TAPE", "--kubelet-port", "PORT", "--apiserver-port=0"), "--kubelet-port"),
        (("simulate", "TAPE", "--apiserver-port", "PORT", "--kubelet-port=0"), "--apiserver-port"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_an_address_that_is_taken_is_told_with_the_flag_that_changes_it(arguments: Sequence[str], flag: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = run(*(text.replace("PORT", port).replace("TAPE", str(TAPE)) for text in arguments))

    assert 1 == result.returncode
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in result.stderr
    assert f"change it with {flag}\n" in result.stderr


def test_generating_without_grafanalib_says_what_to_install() -> None:
    program = "import sys; sys.modules['grafanalib'] = None; from kubelet_exporter.cli import main; main(['generate'])"
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=BOUND, check=False
    )

    assert (1, "") == (result.returncode, result.stdout)
    assert (
        "kubelet-exporter generate: grafanalib is not installed; run make generate, or "
        "pip install 'kubelet-exporter[generate]'\n" == result.stderr
    )


# Environment twins

TWINS = {
    "NODE_NAME": "node-b",
    "KUBELET_ADDRESS": "::1",
    "KUBELET_PORT": "10251",
    "KUBELET_TLS_MODE": "verify",
    "KUBELET_CA_FILE": "/ca",
    "KUBELET_PIN_FILE": "/pin",
    "KUBELET_TIMEOUT": "1m30s",
    "TOKEN_FILE": "/token",
    "APISERVER_URL": "https://api:6443",
    "APISERVER_CA_FILE": "/api-ca",
    "PODS_INTERVAL": "7",
    "WEB_LISTEN_ADDRESS": "[::1]:9000",
    "WEB_TELEMETRY_PATH": "/m",
    "SERIES_LIMIT": "17",
    "EVICTION_TOP": "3",
    "VOLUMES_EXCLUDE": "^test/",
    "NODE_LABEL": "false",
}


def test_every_setting_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {ENVIRONMENT + name: text for name, text in TWINS.items()}
    with in_this_process(environ, monkeypatch) as parsers:
        found = config.settings(vars(parsers["serve"].parse_args([])))

    assert (
        config.Settings(
            node_name="node-b",
            kubelet_address="::1",
            kubelet_port=10251,
            kubelet_tls_mode="verify",
            kubelet_ca_file=Path("/ca"),
            kubelet_pin_file=Path("/pin"),
            kubelet_timeout=90.0,
            token_file=Path("/token"),
            apiserver_url="https://api:6443",
            apiserver_ca_file=Path("/api-ca"),
            intervals={**INTERVALS, Source.PODS: 7.0},
            volumes_exclude=re.compile("^test/"),
            series_limit=17,
            eviction_top=3,
            node_label=False,
            listen_host="::1",
            listen_port=9000,
            telemetry_path="/m",
        )
        == found
    )


def test_a_flag_is_stronger_than_its_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {f"{ENVIRONMENT}NODE_NAME": "node-b", f"{ENVIRONMENT}NODE_LABEL": "no"}
    with in_this_process(environ, monkeypatch) as parsers:
        found = parsers["serve"].parse_args(["--node-name", "node-c", "--node-label"])

    assert ("node-c", True) == (found.node_name, found.node_label)


def test_several_faults_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with in_this_process({f"{ENVIRONMENT}FAULT": "/pods=hang *=delay:1"}, monkeypatch) as parsers:
        assert ["/pods=hang", "*=delay:1"] == parsers["simulate"].parse_args(["film"]).fault


@pytest.mark.parametrize("command", COMMANDS)
def test_no_two_flags_of_a_command_share_a_twin(command: str) -> None:
    twins = [twin(action) for action in flags(cli.parsers()[command])]

    assert sorted(set(twins)) == sorted(twins)


def test_a_twin_is_of_one_kind_whatever_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    with in_this_process({}, monkeypatch) as parsers:
        kinds: dict[str, set[object]] = {}
        for command in COMMANDS:
            for action in flags(parsers[command]):
                kinds.setdefault(twin(action), set()).add((type(action), action.type))

    assert dict.fromkeys(kinds, 1) == {name: len(each) for name, each in kinds.items()}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("KUBELET_TLS_MODE", "off", "auto, verify, pin, insecure"),
        ("LOG_LEVEL", "loud", "debug, info, warning, error"),
        ("NODE_LABEL", "perhaps", "neither true nor false"),
        ("PODS_INTERVAL", "soon", "'soon' is not a duration"),
        ("KUBELET_PORT", "tcp://10.0.0.1:10250", "is not a port"),
        ("WEB_LISTEN_ADDRESS", "here", "is not [HOST]:PORT"),
        ("VOLUMES_EXCLUDE", "(", "is no regular expression"),
    ],
)
def test_a_wrong_value_in_the_environment_is_told(
    name: str, text: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit) as left, in_this_process({ENVIRONMENT + name: text}, monkeypatch):
        cli.main(SERVE)

    assert 2 == left.value.code
    assert message in capsys.readouterr().err


def test_a_replay_is_told_by_the_environment_to_print_once() -> None:
    result = run(
        "replay",
        str(TAPE),
        KUBELET_EXPORTER_ONCE="true",
        KUBELET_EXPORTER_NODE_LABEL="false",
        KUBELET_EXPORTER_LOG_FORMAT="json",
    )
    found = samples(result.stdout.encode())

    assert 0 == result.returncode
    assert {"info"} == {json.loads(line)["level"] for line in result.stderr.splitlines()}
    assert ("pods", {"phase": "Running"}, 11.0) in found
