"""A missing program may be skipped at a desk, never in CI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import need


def test_a_program_that_is_there_is_found_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    python = Path(sys.executable)
    monkeypatch.setenv("PATH", str(python.parent))

    assert str(python) == need(python.name)


def test_a_missing_program_skips_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="no-such-program is not on PATH"):
        need("no-such-program")


def test_a_missing_program_fails_the_test_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="no-such-program is not on PATH"):
        need("no-such-program")
