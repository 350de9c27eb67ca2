"""When the PLEG last relisted, and for how long it has been fresh, stale and unhealthy: a fold over readings of /metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

from kubelet_exporter.catalog.facts.pleg import PLEG_FRESH, PLEG_LONGEST_STEP, PLEG_UNHEALTHY
from kubelet_exporter.snapshot import Reading, Reason, Snapshot, Source

LAST_SEEN = "kubelet_pleg_last_seen_seconds"
# The kubelet tries to connect to the runtime's events as soon as it starts, so one of these moves at once.
CONNECTIONS = ("kubelet_evented_pleg_connection_success_count", "kubelet_evented_pleg_connection_error_count")
GATE = "EventedPLEG"
# They need no runtime: while they answer and /metrics is silent, the PLEG hangs.
WITNESSES = (Source.HEALTHZ, Source.PODS)

Mode = Literal["generic", "evented"]
State = Literal["fresh", "stale", "unhealthy", "unknown"]
STATES: tuple[State, ...] = ("fresh", "stale", "unhealthy", "unknown")


@dataclass(frozen=True, slots=True)
class Memory:
    """When the last relist that is known of began, the mode, the end of the last reading on both clocks, the seconds in each state."""

    last_relist: float | None = None
    mode: Mode | None = None
    end: float | None = None
    steady: float | None = None
    observed: Mapping[State, float] = field(default_factory=lambda: dict.fromkeys(STATES, 0.0))


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after a reading of /metrics, whether it succeeded or failed.

    The last relist and the mode are kept while /metrics cannot be read, for that is how a hung runtime looks. The kubelet reports 0
    until its first relist; that is no time.
    """
    if snapshot.latest != Source.METRICS:
        return memory
    reading = snapshot.readings[Source.METRICS]
    seen = snapshot.metrics.value(LAST_SEEN) if reading.failure is None and snapshot.metrics else None
    last = seen if seen is not None and 0 < seen < inf else memory.last_relist
    memory = replace(memory, last_relist=last, mode=_mode(memory, snapshot))
    end = reading.attempted_at + reading.seconds
    shares = _shares(_step(memory, reading), _age(memory, snapshot, reading, end))
    observed = {state: memory.observed[state] + shares.get(state, 0.0) for state in STATES}
    steady = None if reading.steady is None else reading.steady + reading.seconds
    return replace(memory, end=end, steady=steady, observed=observed)


def _mode(memory: Memory, snapshot: Snapshot) -> Mode | None:
    """How the kubelet learns of its containers: by its configuration, or where that cannot be read by its counters."""
    gates = (snapshot.config or {}).get("featureGates")
    if isinstance(gates, Mapping) and gates.get(GATE) is True:
        return "evented"
    if not snapshot.fresh(Source.METRICS) or snapshot.metrics is None:
        return memory.mode
    return "evented" if any(snapshot.metrics.value(name) for name in CONNECTIONS) else "generic"


def _step(memory: Memory, reading: Reading) -> float:
    """Seconds since the end of the reading before, 0 for the first: on a clock that is never stepped, where there is one."""
    if memory.steady is not None and reading.steady is not None:
        step = reading.steady + reading.seconds - memory.steady
    elif memory.end is not None:
        step = reading.attempted_at + reading.seconds - memory.end
    else:
        step = 0.0
    return min(max(step, 0.0), PLEG_LONGEST_STEP.value)


def _age(memory: Memory, snapshot: Snapshot, reading: Reading, end: float) -> float | None:
    """Seconds since the last relist at the end of a reading; None where that says nothing of the PLEG."""
    if memory.mode == "evented":
        return None
    if reading.failure is None:
        return None if memory.last_relist is None else reading.attempted_at - memory.last_relist
    if reading.failure.reason != Reason.TIMEOUT or not _answers(snapshot):
        return None
    return PLEG_FRESH.value + reading.seconds if memory.last_relist is None else end - memory.last_relist


def _answers(snapshot: Snapshot) -> bool:
    """Whether the kubelet answers what needs no runtime. A 403 is an answer too: it is all that kubelets before 1.33 give here."""
    asked = [snapshot.readings[source] for source in WITNESSES if source in snapshot.readings]
    return any(each.failure is None or each.failure.reason == Reason.FORBIDDEN for each in asked)


def _shares(step: float, age: float | None) -> Mapping[State, float]:
    """How many of the last `step` seconds were in each state, if the last relist is `age` seconds old at their end."""
    if age is None:
        return {"unknown": step}
    unhealthy = min(max(age - PLEG_UNHEALTHY.value, 0.0), step)
    late = min(max(age - PLEG_FRESH.value, 0.0), step)
    return {"fresh": step - late, "stale": late - unhealthy, "unhealthy": unhealthy}
