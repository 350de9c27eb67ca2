"""What answers and what does not, and what that means: pure functions of the latest readings and a small memory of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kubelet_exporter.catalog.facts.health import (
    HEALTH_ANSWER_AGE,
    HEALTH_LEASE_PATIENCE,
    HEALTH_REFUSAL_MEMORY,
    HEALTH_SLOW_REFUSAL,
)
from kubelet_exporter.catalog.facts.pleg import PLEG_STALE
from kubelet_exporter.samples import Metrics
from kubelet_exporter.snapshot import APISERVER_SOURCES, Reading, Reason, Snapshot, Source

# The kubelet asks the runtime before it answers these, and answers the others from its own memory.
OF_RUNTIME = (Source.METRICS, Source.SUMMARY)
# Read often enough that together they tell within seconds whether the kubelet can be reached.
FREQUENT = (Source.HEALTHZ, Source.PODS, *OF_RUNTIME)
NO_ANSWER = frozenset({Reason.TIMEOUT, Reason.CONNECTION})
REFUSED = frozenset({Reason.UNAUTHORIZED, Reason.FORBIDDEN})
LAST_SEEN = "kubelet_pleg_last_seen_seconds"
BLAMING_RUNTIME = ("PLEG", "runtime")


@dataclass(frozen=True, slots=True)
class Memory:
    """Unix times of what the kubelet did.

    Since when each of its sources has been `silent`, when it last `answered` a request that it accepted, since when nothing of it
    could be reached (`lost`), and when it last refused after a long wait.
    """

    silent: Mapping[Source, float] = field(default_factory=dict)
    answered: float | None = None
    lost: float | None = None
    slow_refusal: float | None = None


def advance(memory: Memory, snapshot: Snapshot) -> Memory:
    """The memory after a reading of the kubelet; readings of the API server do not change it."""
    if snapshot.latest is None or snapshot.latest in APISERVER_SOURCES:
        return memory
    reading = snapshot.readings[snapshot.latest]
    silent = {source: since for source, since in memory.silent.items() if source != reading.source}
    if reason(reading) == Reason.TIMEOUT:
        silent[reading.source] = memory.silent.get(reading.source, reading.attempted_at)
    lost = (memory.lost or _end(reading)) if unreachable(snapshot) else None
    memory = replace(memory, silent=silent, lost=lost)
    if accepted(reading):
        return replace(memory, answered=reading.attempted_at, slow_refusal=None)
    if reason(reading) == Reason.UNAUTHORIZED and reading.seconds >= HEALTH_SLOW_REFUSAL.value:
        return replace(memory, slow_refusal=_end(reading))
    return memory


def _end(reading: Reading) -> float:
    return reading.attempted_at + reading.seconds


def reason(reading: Reading | None) -> Reason | None:
    """Why a reading failed, None if it did not."""
    return reading.failure.reason if reading and reading.failure else None


def accepted(reading: Reading) -> bool:
    """Whether the kubelet knew the caller and answered: with a 403 too, but not with a 401."""
    return reason(reading) not in (*NO_ANSWER, Reason.TLS, Reason.UNAUTHORIZED)


def runtime_hung(snapshot: Snapshot, memory: Memory) -> bool | None:
    """Whether the runtime hangs: what needs it is silent, while the kubelet answers what does not.

    None while that cannot be said: nothing answers, or what needs the runtime is refused.
    """
    latest = [reading for source in OF_RUNTIME if (reading := snapshot.readings.get(source))]
    if any(accepted(reading) and reason(reading) != Reason.FORBIDDEN for reading in latest):
        return False
    since = hung_since(memory)
    if since is None or memory.answered is None or memory.lost is not None:
        return None
    return memory.answered >= since or None


def hung_since(memory: Memory) -> float | None:
    """Since when everything that needs the runtime has been silent."""
    if not memory.silent.keys() >= set(OF_RUNTIME):
        return None
    return max(memory.silent[source] for source in OF_RUNTIME)


def evidence(snapshot: Snapshot, memory: Memory) -> Mapping[str, bool | None]:
    """The signs of a hung runtime one by one; None for what is not known."""
    known = snapshot.readings.keys()
    return {
        "metrics_silent": Source.METRICS in memory.silent if Source.METRICS in known else None,
        "summary_silent": Source.SUMMARY in memory.silent if Source.SUMMARY in known else None,
        "kubelet_answers": _answers(snapshot, memory),
        "relist_old": _relist_old(snapshot),
        "node_says_so": _node_says_so(snapshot),
    }


def _answers(snapshot: Snapshot, memory: Memory) -> bool | None:
    if not snapshot.readings.keys() - APISERVER_SOURCES:
        return None
    return memory.answered is not None and snapshot.now - memory.answered <= HEALTH_ANSWER_AGE.value


def _relist_old(snapshot: Snapshot) -> bool | None:
    """By the last relist that was ever read: while the runtime hangs nothing newer can be read."""
    reading = snapshot.readings.get(Source.METRICS)
    seen = reading.value.value(LAST_SEEN) if reading and isinstance(reading.value, Metrics) else None
    return snapshot.now - seen > PLEG_STALE.value if seen else None


def _node_says_so(snapshot: Snapshot) -> bool | None:
    ready = [each for each in snapshot.node.conditions if each.condition == "Ready"] if snapshot.node else []
    if not ready:
        return None
    return ready[0].status == "False" and any(word in ready[0].message for word in BLAMING_RUNTIME)


def unreachable(snapshot: Snapshot) -> bool:
    """Whether no frequent source of the kubelet gets any answer."""
    return _all(snapshot, NO_ANSWER)


def _all(snapshot: Snapshot, reasons: Collection[Reason]) -> bool:
    """Whether every frequent source that was tried fails for one of these reasons, one that needs no runtime among them."""
    found = {source: reason(reading) for source in FREQUENT if (reading := snapshot.readings.get(source))}
    return not found.keys() <= set(OF_RUNTIME) and all(each in reasons for each in found.values())


def faults(snapshot: Snapshot, memory: Memory) -> Mapping[str, bool | None]:
    """What stands between exporter, kubelet and API server, by name; None while it cannot be told yet."""
    cause = _cause(snapshot, memory) if memory.lost is not None else ""
    away = apiserver_unreachable(snapshot, memory)
    return {
        "kubelet_down": None if cause is None else cause == "kubelet_down",
        "network": None if cause is None else cause == "network",
        "rights_lost": _all(snapshot, REFUSED) and not away,
        "apiserver_unreachable": away,
    }


def _cause(snapshot: Snapshot, memory: Memory) -> str | None:
    """Why the kubelet cannot be reached. A Lease that is still renewed tells that it lives."""
    lost = memory.lost or 0.0
    if snapshot.lease and (snapshot.lease.renewed or 0.0) > lost:
        return "network"
    if _all(snapshot, {Reason.CONNECTION}):
        return "kubelet_down"
    lease = snapshot.readings.get(Source.LEASE)
    if reason(lease) in NO_ANSWER:
        return "network"
    if lease and lease.read_at is not None and lease.read_at - lost > HEALTH_LEASE_PATIENCE.value:
        return "kubelet_down"
    return None


def apiserver_unreachable(snapshot: Snapshot, memory: Memory) -> bool:
    """Whether the API server cannot be reached from this node, by the exporter or, as slow refusals show, by the kubelet."""
    if memory.lost is not None:
        return False
    refused = memory.slow_refusal
    if refused is not None and snapshot.now - refused <= HEALTH_REFUSAL_MEMORY.value:
        return True
    lease = snapshot.readings.get(Source.LEASE)
    asked = snapshot.readings.get(Source.NODE) if reason(lease) == Reason.FORBIDDEN else lease
    return reason(asked) in NO_ANSWER
