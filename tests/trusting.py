"""A kubelet that serves a certificate, and sources that trust it in some way or not at all."""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simulated import ALL, Reader, reading

from kubelet_exporter.simulator.certificates import authority, serving
from kubelet_exporter.simulator.servers import Simulator
from kubelet_exporter.snapshot import Reason, Source
from kubelet_exporter.sources import kubelet
from kubelet_exporter.sources.trust import Mode

CA = authority("cluster-ca")
SIGNED = serving(CA, ("node-a",), chain=False)


def fingerprint(pem: bytes) -> str:
    """SHA-256 of the first certificate of a PEM."""
    first = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", pem.decode(), re.DOTALL)
    assert first
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(first[0])).hexdigest()


@dataclass(slots=True)
class Seen:
    """A kubelet and its reader, seen from the certificate."""

    simulator: Simulator
    found: Reader

    async def refusal(self) -> str:
        """Read everything, all of which must be refused before anything is sent; gives what is said to people."""
        sent = dict(self.simulator.requests)
        readings = await self.found.read()

        assert sent == self.simulator.requests
        assert {Reason.TLS} == {each.failure.reason for each in readings.values() if each.failure}
        assert set() == self.found.up()
        failure = readings[Source.PODS].failure
        assert failure is not None
        return failure.message

    async def mode(self) -> str:
        """Read everything, all of which must be good; gives how the certificate is trusted."""
        await self.found.read()
        modes = [mode for mode in ("verify", "pin", "insecure") if self.found.values("kubelet_tls_info", mode=mode)]

        assert ALL == self.found.up()
        assert 1 == len(modes)
        return modes[0]

    @asynccontextmanager
    async def new_connections(self) -> AsyncIterator[None]:
        """Connections are made anew; what was decided about the certificate stays."""
        async with kubelet.session() as session:
            self.found.client = replace(self.found.client, session=session)
            yield


@asynccontextmanager
async def trusting(
    folder: Path, mode: Mode, pem: bytes, *, ca: bytes = CA.pem, pin: str | None = None, **changes: Any
) -> AsyncIterator[Seen]:
    """A kubelet that serves this certificate, and sources that trust in this mode; the pin file is folder/pin."""
    (folder / "kubelet-ca.crt").write_bytes(ca)
    if pin is not None:
        (folder / "pin").write_text(pin)
    pin_file = None if pin is None else folder / "pin"
    files = {"kubelet_ca_file": folder / "kubelet-ca.crt", "kubelet_pin_file": pin_file} | changes
    async with reading(folder, None, kubelet_tls_mode=mode, **files) as (simulator, found):
        simulator.serve_certificate(pem)
        yield Seen(simulator, found)
