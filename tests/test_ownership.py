"""Each third-party package is imported in the modules that own it, and nowhere else."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "kubelet_exporter"
OWNERS = {
    "aiohttp": {"server", "sources.kubelet", "sources.trust", "simulator.servers", "demo"},
    "attr": {"generate.dashboards"},
    "cryptography": {"simulator.certificates"},
    "grafanalib": {"generate.dashboards"},
    "kubernetes": {"sources.transport"},
    "msgspec": {
        "sources.decode",
        "sources.pod_resources",
        "sources.pod_stats",
        "sources.summary",
        "sources.recording",
        "sources.apiserver",
        "sources.pods",
        "sources.events",
    },
    "prometheus_client": {"exposition", "sources.metrics"},
    "urllib3": {"sources.apiserver"},
    "yaml": {"generate.documents"},
}
MODULES = {
    file.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", "."): file for file in PACKAGE.rglob("*.py")
}


def imported(file: Path) -> set[str]:
    """The top-level packages that a module imports, in whatever place of it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return {name.partition(".")[0] for name in found}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_third_parties_are_imported_only_by_their_owners(module: str) -> None:
    others = imported(MODULES[module]) - sys.stdlib_module_names - {"kubelet_exporter"}

    assert {package for package in OWNERS if module in OWNERS[package]} == others


def test_web_servers_are_built_in_two_modules_only() -> None:
    users = {module for module, file in MODULES.items() if "from aiohttp import web" in file.read_text()}

    assert {"server", "simulator.servers"} == users
