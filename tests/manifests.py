"""The manifests under deploy/ as a cluster would get them, for the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
KUSTOMIZE = ROOT / "deploy" / "kustomize"
BASE = KUSTOMIZE / "base"
EXAMPLE = KUSTOMIZE / "overlays" / "example"
Manifest = dict[str, Any]


def tool(name: str) -> str:
    """The path of a development tool: beside this Python, or else on the PATH."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(name, path=folders)
    assert found is not None, f"{name} is not installed"
    return found


@cache
def rendered_text(folder: Path) -> str:
    """What `kubectl apply -k` would send."""
    command = [tool("kubectl"), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(folder: Path) -> list[Manifest]:
    return list(yaml.safe_load_all(rendered_text(folder)))


def the(kind: str, folder: Path = BASE) -> Manifest:
    """The only object of a kind."""
    (found,) = [manifest for manifest in rendered(folder) if manifest["kind"] == kind]
    return found


def pod_spec() -> Manifest:
    spec: Manifest = the("DaemonSet")["spec"]["template"]["spec"]
    return spec


def container() -> Manifest:
    (only,) = pod_spec()["containers"]
    assert isinstance(only, dict)
    return only
