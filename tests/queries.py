"""PromQL of rules and panels, taken apart by a parser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promql_parser


def parsed(query: str) -> Any:
    """The syntax tree of a query; Grafana's interval and range become a minute. Raises ValueError if it is no PromQL."""
    return promql_parser.parse(query.replace("$__rate_interval", "1m").replace("$__range", "1m"))


def nodes(tree: Any) -> Iterator[Any]:
    """Every node of a syntax tree."""
    yield tree
    children = [getattr(tree, name, None) for name in ("expr", "lhs", "rhs", "vector_selector", "param")]
    for child in [*children, *(getattr(tree, "args", None) or [])]:
        if isinstance(child, promql_parser.Expr):
            yield from nodes(child)


def selectors(query: str) -> list[tuple[str, set[str]]]:
    """Each metric that a query selects, with the labels that it is selected by."""
    found = [node for node in nodes(parsed(query)) if isinstance(node, promql_parser.VectorSelector)]
    return [(node.name or "", {matcher.name for matcher in node.matchers.matchers}) for node in found]
