"""What every test may use."""

from __future__ import annotations

import os
import shutil

import hypothesis
import pytest

# A slow machine is no failure. In CI the same examples every time, so that a failure belongs to the change at hand.
hypothesis.settings.register_profile("desk", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") == "true" else "desk")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of this project."""
    parser.addoption(
        "--renew-golden",
        action="store_true",
        help="write tests/golden anew from the recordings instead of comparing; look at the difference before committing it",
    )


def need(program: str) -> str:
    """The path of a program; without it the test is skipped, or fails where everything must be there (CI=true)."""
    path = shutil.which(program)
    if path is None and os.environ.get("CI") == "true":
        pytest.fail(f"{program} is not on PATH")
    if path is None:
        pytest.skip(f"{program} is not on PATH")
    return path
