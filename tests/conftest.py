"""What every test may use."""

from __future__ import annotations

import os
import shutil

import pytest


def need(program: str) -> str:
    """The path of a program; without it the test is skipped, or fails where everything must be there (CI=true)."""
    path = shutil.which(program)
    if path is None and os.environ.get("CI") == "true":
        pytest.fail(f"{program} is not on PATH")
    if path is None:
        pytest.skip(f"{program} is not on PATH")
    return path
