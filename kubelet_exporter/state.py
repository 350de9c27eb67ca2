"""The one mutable thing: what is known of the node now, and what must be remembered of it."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kubelet_exporter import catalog, exposition
from kubelet_exporter.catalog import Ledger
from kubelet_exporter.snapshot import Reading, Snapshot

log = logging.getLogger(__name__)

# Rows also change when a held value grows too old, so a scrape is rendered anew after this many seconds in any case.
SCRAPE_AGE = 15.0


@dataclass(slots=True)
class State:
    """Takes readings one by one and renders scrapes, at most one for each change and format."""

    snapshot: Snapshot
    series_limit: int = 5000
    node_label: bool = True
    clock: Callable[[], float] = time.time
    ledger: Ledger = field(default_factory=catalog.first_ledger)
    scrapes: dict[str, tuple[float, exposition.Scrape]] = field(default_factory=dict)

    def take(self, reading: Reading) -> None:
        """Take one reading: the snapshot and every topic's memory move on."""
        _tell(self.snapshot.readings.get(reading.source), reading)
        self.snapshot = self.snapshot.take(reading, max(self.clock(), reading.attempted_at))
        self.ledger = catalog.advance(self.ledger, self.snapshot)
        self.scrapes.clear()

    def rows(self) -> catalog.Filled:
        """The rows of every table now."""
        return catalog.collect(replace(self.snapshot, now=self.clock()), self.ledger, self.series_limit)

    def scrape(self, accept: str = "") -> exposition.Scrape:
        """The scrape in the format that the Accept header asks for."""
        now = self.clock()
        rendered, scrape = self.scrapes.get(accept, (0.0, None))
        if scrape is None or now - rendered > SCRAPE_AGE:
            scrape = exposition.render(self.rows(), self.snapshot.node_name if self.node_label else None, accept)
            if len(self.scrapes) > 8:  # Accept headers come from outside
                self.scrapes.clear()
            self.scrapes[accept] = (now, scrape)
        return scrape


def _tell(last: Reading | None, reading: Reading) -> None:
    """Log a source whose state changed."""
    before = last.failure.reason if last and last.failure else None
    if reading.failure and reading.failure.reason != before:
        log.warning(
            "source %s fails: %s",
            reading.source,
            reading.failure.message,
            extra={"reason": reading.failure.reason},
        )
    elif not reading.failure and (last is None or before):
        log.info("source %s is read", reading.source)
