"""Kubernetes' notations as plain numbers: bytes and counts, ratios, seconds, Unix time. Standard library only."""

import math
import re
from datetime import UTC, datetime

SUFFIXES = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
    "Ei": 2.0**60,
}
LONGEST_DURATION = 2**63 * 1e-9  # Go counts nanoseconds in 64 bits
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?))", re.ASCII)
PERCENTAGE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)%", re.ASCII)
DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:[0-5]\d)",
    re.ASCII,
)


def quantity(text: str) -> float:
    """A resource quantity ("1.5Gi", "100m", "12e6") in its base unit.

    Raises ValueError for anything that Kubernetes would not accept.
    Source: k8s.io/apimachinery/pkg/api/resource/quantity.go.
    """
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 500Mi, 1.5Gi, 250m or 1e9")
    number, exponent, suffix = match.groups()
    value = float(number + exponent) if exponent else float(number) * SUFFIXES[suffix or ""]
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large for a quantity")
    return value


def percentage(text: str) -> float:
    """A percentage ("10%", "7.5%") as a ratio between 0 and 1; raises ValueError outside of 0 to 100 %."""
    match = PERCENTAGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a percentage such as 10%")
    value = float(match[1]) / 100
    if not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not between 0% and 100%")
    return value


def duration(text: str) -> float:
    """A Go duration ("1m30s", "-5s", "0") in seconds; raises ValueError. Source: Go's time.ParseDuration."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    parts = DURATION.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise ValueError(f"{text!r} is not a duration such as 1m30s")
    value = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if value >= LONGEST_DURATION:
        raise ValueError(f"{text!r} is longer than the 292 years of a duration")
    return sign * value


def timestamp(text: str | None) -> float | None:
    """An RFC 3339 time as Unix time in seconds, None if it is unknown.

    Go's zero time (year 1) and the Unix epoch that runtimes report for a container that never ran both mean unknown
    (kubernetes#45943, kubernetes#45977). Raises ValueError if the text is no time at all.
    """
    if not text:
        return None
    match = TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time such as 2026-01-31T12:00:00Z")
    base, fraction, zone = match.groups()
    moment = datetime.fromisoformat(base + ("+00:00" if zone in "Zz" else zone))
    if moment.year <= 1:
        return None
    seconds = moment.timestamp() + float(fraction or 0)
    return seconds if seconds > 0 else None


def rfc3339(seconds: float) -> str:
    """Unix time in seconds as an RFC 3339 time in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def host_port(host: str, port: int) -> str:
    """An address as it stands in a URL: IPv6 in brackets, with or without brackets in the input."""
    bare = host.strip("[]")
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"
