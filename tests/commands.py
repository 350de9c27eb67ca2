"""Commands as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kubelet_exporter.config import ENVIRONMENT

ROOT = Path(__file__).parent.parent
TAPE = ROOT / "kubelet_exporter" / "recordings" / "v1.36-starts.jsonl.gz"
BOUND = 40.0


def environment(**changes: str) -> dict[str, str]:
    """The environment without the exporter's own variables, and these changes; wide, so that help is not broken into lines."""
    inherited = {
        name: text for name, text in os.environ.items() if not name.startswith((ENVIRONMENT, "KUBERNETES_SERVICE"))
    }
    return inherited | {"COLUMNS": "400", "PYTHONUNBUFFERED": "1"} | changes


def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    command = [sys.executable, "-m", "kubelet_exporter", *arguments]
    return subprocess.run(
        command, env=environment(**changes), capture_output=True, text=True, timeout=BOUND, check=False, cwd=ROOT
    )
