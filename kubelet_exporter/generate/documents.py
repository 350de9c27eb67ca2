"""YAML in and out: the only module that imports yaml."""

from collections.abc import Hashable
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """A loader that refuses a key that stands twice, where PyYAML would silently take the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"line {node.start_mark.line + 1}: the key {key!r} stands twice")
        return super().construct_mapping(node, deep)


def load(text: str) -> Any:
    """What a YAML document says; raises ValueError with line and column if it is none."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"this is no YAML: {error}") from error


def dump(document: Any, header: str) -> str:
    """One YAML document below a comment line, keys in the order given, each text on one line."""
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=float("inf"))
    return f"# {header}\n{text}"
