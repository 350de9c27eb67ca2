"""The node's own eviction thresholds, as its kubelet reads them from its configuration.

Source: pkg/kubelet/eviction/helpers.go ParseThresholdConfig, pkg/kubelet/eviction/defaults_linux.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kubelet_exporter import units

Kind = Literal["hard", "soft"]

MEMORY, ALLOCATABLE = "memory.available", "allocatableMemory.available"
SIGNALS = (
    MEMORY,
    ALLOCATABLE,
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "pid.available",
)
# What the kubelet fills in where nothing is set, and with mergeDefaultEvictionSettings what is missing.
DEFAULTS = {
    MEMORY: "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """What must be available of a signal: an amount, or a share of its capacity."""

    signal: str
    kind: Kind
    amount: float | None = None
    share: float | None = None

    def of(self, capacity: float | None) -> float | None:
        """The threshold as an amount; None for a share of a capacity that is unknown."""
        if self.share is None:
            return self.amount
        return None if capacity is None else self.share * capacity


def thresholds(config: Mapping[str, Any]) -> Iterator[Threshold]:
    """All thresholds that are in force. What cannot be read is left out: its kubelet would not have started."""
    hard = _given(config.get("evictionHard"))
    if config.get("mergeDefaultEvictionSettings") is True:
        hard = {**DEFAULTS, **hard}
    grace = _given(config.get("evictionSoftGracePeriod"))
    soft = {signal: text for signal, text in _given(config.get("evictionSoft")).items() if signal in grace}
    kinds: tuple[tuple[Kind, Mapping[str, str]], ...] = (("hard", hard), ("soft", soft))
    for kind, given in kinds:
        for signal, text in _with_implied(given, config).items():
            threshold = _threshold(signal, kind, text)
            if threshold:
                yield threshold


def _given(value: Any) -> dict[str, str]:
    """Signals and their texts; kubelets before 1.9 write them as one text such as `memory.available<100Mi,nodefs.available<10%`."""
    if isinstance(value, str):
        parts = (part.partition("<") for part in value.split(","))
        return {signal.strip(): text.strip() for signal, _, text in parts if text}
    if isinstance(value, Mapping):
        return {str(signal): str(text) for signal, text in value.items()}
    return {}


def _with_implied(given: Mapping[str, str], config: Mapping[str, Any]) -> Mapping[str, str]:
    """Pods as a whole have the threshold of memory, if the kubelet enforces what they may have.

    What is set for containerfs is ignored, as the kubelet does: it shares the file system of imagefs or nodefs.
    """
    known = {
        signal: text for signal, text in given.items() if signal in SIGNALS and not signal.startswith("containerfs")
    }
    if MEMORY in known and "pods" in (config.get("enforceNodeAllocatable") or ()):
        known[ALLOCATABLE] = known[MEMORY]
    return known


def _threshold(signal: str, kind: Kind, text: str) -> Threshold | None:
    """A threshold, None for a text that is none; 0% and 100% switch a signal off."""
    try:
        if text.endswith("%"):
            share = units.percentage(text)
            return Threshold(signal, kind, share=share) if 0 < share < 1 else None
        amount = units.quantity(text)
    except ValueError:
        return None
    return Threshold(signal, kind, amount=amount) if amount >= 0 else None
