"""Small wrong changes of a rule. A scene must notice each of them, or nothing guards that part of the rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Rule = dict[str, Any]
Changes = Iterator[tuple[str, str]]

FAR = ("1e+12", "-1e+12")
COMPARISONS = {">": ("<", ">=", "!="), ">=": (">", "<"), "==": ("!=",)}
FUNCTIONS = {
    "max by": ("min by", "sum by"),
    "min by": ("max by", "sum by"),
    "sum by": ("max by", "min by"),
    "count by": ("sum by",),
    "sum_over_time": ("max_over_time",),
    "last_over_time": ("max_over_time",),
}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*"}
PART = re.compile(r" (and|or|unless) (on \([^)]*\) )?")


def mutants(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """What was changed, and the rule after that one change."""
    expr = rule["expr"]
    kinds = (thresholds, comparisons, functions, groupings, matchers, parts, quantiles, complements, ranges, arithmetic)
    for changes in kinds:
        for text, changed in changes(expr):
            yield text, {**rule, "expr": changed}
    for key in ("for", "keep_firing_for"):
        if key in rule:
            yield f"without {key}", {name: value for name, value in rule.items() if name != key}
            yield f"{key} doubled", {**rule, key: re.sub(r"\d+", lambda match: str(2 * int(match[0])), rule[key])}


def _put(expr: str, span: tuple[int, int], text: str) -> str:
    return expr[: span[0]] + text + expr[span[1] :]


def thresholds(expr: str) -> Changes:
    """Each number that is compared with, moved far."""
    for number, match in enumerate(re.finditer(r"(?<=[>=] )[\d.]+", expr), 1):
        for far in FAR:
            yield f"{match[0]} ({number}) becomes {far}", _put(expr, match.span(), far)


def comparisons(expr: str) -> Changes:
    """Each comparison turned round."""
    for number, match in enumerate(re.finditer(r"(?<= )(>=|>|==)(?= [\d.a-z])", expr), 1):
        for other in COMPARISONS[match[0]]:
            yield f"{match[0]} ({number}) becomes {other}", _put(expr, match.span(), other)


def functions(expr: str) -> Changes:
    """Each aggregation exchanged for the others."""
    for number, match in enumerate(re.finditer(r"(max|min|sum|count) by|(sum|last)_over_time", expr), 1):
        for other in FUNCTIONS[match[0]]:
            yield f"{match[0]} ({number}) becomes {other}", _put(expr, match.span(), other)


def groupings(expr: str) -> Changes:
    """Each label that is grouped or matched by, left out."""
    for number, match in enumerate(re.finditer(r"(?<=(?:by|on) \()[^)]*", expr), 1):
        labels = match[0].split(", ")
        for label in labels:
            rest = ", ".join(each for each in labels if each != label)
            yield f"{label} ({number}) left out", _put(expr, match.span(), rest)


def matchers(expr: str) -> Changes:
    """Each condition on a label, and each value of an alternative, left out."""
    for number, match in enumerate(re.finditer(r'(\w+)[=!]~?"([^"]*)",?', expr), 1):
        yield f"{match[0]} ({number}) left out", _put(expr, match.span(), "")
        for value in re.finditer(r"\|[^|()]+(?!\|)\b|\b[^|()]+\|", match[2]):
            name = value[0].strip("|")
            yield (
                f"{name} of {match[1]} ({number}) left out",
                _put(expr, match.span(2), _put(match[2], value.span(), "")),
            )


def parts(expr: str) -> Changes:
    """What stands right of each and, or, unless left out, and what stands left of each or."""
    for number, match in enumerate(PART.finditer(expr), 1):
        left, right = _opening(expr, match.start()), _closing(expr, match.end())
        if match[1] != "or":
            right = _next_part(expr, match.end(), right)
        yield f"{match[1]} ({number}): left only", _put(expr, (match.start(), right), "")
        if match[1] == "or":
            yield f"or ({number}): right only", _put(expr, (left, match.end()), "")


def _opening(expr: str, end: int) -> int:
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += (expr[at] == ")") - (expr[at] == "(")
        if depth < 0:
            return at + 1
    return 0


def _closing(expr: str, start: int) -> int:
    depth = 0
    for at in range(start, len(expr)):
        depth += (expr[at] == "(") - (expr[at] == ")")
        if depth < 0:
            return at
    return len(expr)


def _next_part(expr: str, start: int, end: int) -> int:
    """Where the next and, or, unless on the same level begins: those bind less than what stands between them."""
    starts = (match.start() for match in PART.finditer(expr, start, end))
    return next((at for at in starts if _opening(expr, at) <= start), end)


def quantiles(expr: str) -> Changes:
    """Another quantile."""
    for match in re.finditer(r"(?<=histogram_quantile\()[\d.]+", expr):
        for other in ("0.5", "0.999"):
            yield f"quantile {match[0]} becomes {other}", _put(expr, match.span(), other)


def complements(expr: str) -> Changes:
    """The free share for the used one, and a time for an age."""
    for start in ("1 - ", "time() - "):
        if expr.startswith(start):
            yield f"without {start.strip()}", expr.removeprefix(start)


def ranges(expr: str) -> Changes:
    """Each window doubled."""
    for number, match in enumerate(re.finditer(r"(?<=\[)\d+", expr), 1):
        yield f"window {match[0]} ({number}) doubled", _put(expr, match.span(), str(2 * int(match[0])))


def arithmetic(expr: str) -> Changes:
    """Each plus, minus, times, divided by exchanged for its opposite, and each sign left out."""
    for number, match in enumerate(re.finditer(r"(?<= )[-+*/](?= )", expr), 1):
        yield f"{match[0]} ({number}) becomes {ARITHMETIC[match[0]]}", _put(expr, match.span(), ARITHMETIC[match[0]])
    for number, match in enumerate(re.finditer(r"(?<=\()-(?=\w)", expr), 1):
        yield f"sign ({number}) left out", _put(expr, match.span(), "")
