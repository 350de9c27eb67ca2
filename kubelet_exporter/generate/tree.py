"""The tree of generated files: what it should be, what differs, and how it is written."""

from collections.abc import Mapping
from pathlib import Path

from kubelet_exporter.generate import dashboards, inhibition, reference, rules
from kubelet_exporter.generate.overrides import Overrides
from kubelet_exporter.generate.texts import MARK

FOLDERS = ("alerts/*.yaml", "dashboards/*.json", "docs/runbooks/*.md")
HEAD = 1000  # the mark stands within so many bytes


def files(overrides: Overrides) -> Mapping[str, str]:
    """Relative path and content of every generated file; the same overrides give the same bytes."""
    parts = (rules, inhibition, dashboards, reference)
    return {path: text for part in parts for path, text in part.files(overrides).items()}


def write(root: Path, overrides: Overrides) -> None:
    """Make the generated files below `root` what they should be, and remove those that no longer belong; raises OSError."""
    wanted = files(overrides)
    for path in stale(root, overrides):
        file = root / path
        if path in wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(wanted[path], encoding="utf-8", newline="\n")
        else:
            file.unlink()


def stale(root: Path, overrides: Overrides) -> list[str]:
    """Relative paths below `root` that are missing, differ, or were generated and no longer belong; raises OSError."""
    wanted = files(overrides)
    different = {path for path, content in wanted.items() if _content(root / path) != content.encode()}
    left_over = {path for path in _generated(root) if path not in wanted}
    return sorted(different | left_over)


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def _generated(root: Path) -> set[str]:
    found = (file for pattern in FOLDERS for file in root.glob(pattern))
    return {file.relative_to(root).as_posix() for file in found if MARK.encode() in file.read_bytes()[:HEAD]}
