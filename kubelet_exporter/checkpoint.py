"""Keeps which pod starts were counted, so that a restart of the exporter counts each once and loses few.

The directory may be an emptyDir: without the file the starts around a restart are left out, and counted as left out.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubelet_exporter.catalog import Ledger, first_ledger, pod_start
from kubelet_exporter.catalog.pod_start.memory import Memory, pending
from kubelet_exporter.snapshot import Source
from kubelet_exporter.state import State

log = logging.getLogger(__name__)

NAME = "pod-starts.json"
INTERVAL = 10.0
VERSION = 1


def content(state: State) -> Mapping[str, Any] | None:
    """What is kept of a state, None if it has not listed pods yet."""
    memory: Memory = state.ledger[pod_start.TOPIC.name]
    if memory.first is None:
        return None
    return {
        "version": VERSION,
        "node": state.snapshot.node_name,
        "time": state.snapshot.read_at(Source.PODS),
        "counted": sorted(memory.counted),
        "pending": sorted(pending(memory)),
    }


def save(state: State, folder: Path) -> None:
    """Write the file anew, whole or not at all; a failure is logged and tried again next time."""
    kept = content(state)
    if kept is None:
        return
    new = folder / f".{NAME}"
    try:
        new.write_text(json.dumps(kept))
        new.replace(folder / NAME)
    except OSError as error:
        log.warning("cannot keep the checkpoint: %s", error)


def ledger(folder: Path | None, node_name: str) -> Ledger:
    """What every topic remembers before the first reading, after the checkpoint if there is a good one of this node."""
    kept = _load(folder / NAME, node_name) if folder else None
    if kept is None:
        return first_ledger()
    return {**first_ledger(), pod_start.TOPIC.name: kept}


def _load(file: Path, node_name: str) -> Memory | None:
    try:
        kept = json.loads(file.read_text())
        memory = Memory(
            checkpoint=float(kept["time"]), counted=frozenset(kept["counted"]), pending=frozenset(kept["pending"])
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("the checkpoint cannot be read: %s", error, extra={"file": str(file)})
        return None
    if (kept.get("version"), kept.get("node")) != (VERSION, node_name):
        log.warning("the checkpoint is of another version or node", extra={"file": str(file)})
        return None
    return memory


async def keep(state: State, folder: Path) -> None:
    """Save the state every few seconds for ever, and when it ends."""
    try:
        while True:
            await asyncio.sleep(INTERVAL)
            save(state, folder)
    finally:
        save(state, folder)
