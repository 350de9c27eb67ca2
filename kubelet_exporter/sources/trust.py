"""How the kubelet's serving certificate is trusted: by the cluster's CA, by a pinned fingerprint, or not at all."""

import asyncio
import hashlib
import logging
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import aiohttp

Mode = Literal["auto", "verify", "pin", "insecure"]
Used = Literal["verify", "pin", "insecure"]

log = logging.getLogger(__name__)

# A chain that ends in a CA of its own making: X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN.
SELF_MADE = frozenset({18, 19})


class Untrusted(Exception):
    """The kubelet's certificate is refused; the message says why and what to do."""


class NoToken(Exception):
    """There is no usable bearer token; the message says why and what to do."""


@dataclass(slots=True)
class Trust:
    """The decision about one kubelet's certificate, taken at the first handshake; no token is sent before it."""

    mode: Mode
    host: str
    port: int
    node_name: str
    ca_file: Path | None = None
    pin_file: Path | None = None
    used: Used | None = None
    option: ssl.SSLContext | aiohttp.Fingerprint | bool = True
    pinned: bytes | None = None
    verified: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def decide(self) -> ssl.SSLContext | aiohttp.Fingerprint | bool:
        """What aiohttp's `ssl` must be; raises Untrusted, OSError or ssl.SSLError if there is no decision yet."""
        async with self.lock:
            if self.used is None:
                await self._decide()
            return self.option

    def doubt(self) -> None:
        """Decide anew at the next reading, for the certificate was refused; what was pinned stays pinned.

        A kubelet that was once verified by a CA must stay so: its certificate is never pinned again.
        """
        self.used = None

    async def _decide(self) -> None:
        match self.mode:
            case "insecure":
                self._use("insecure", option=False)
            case "pin":
                await self._pin()
            case "verify" | "auto":
                await self._verify_or_pin()

    async def _verify_or_pin(self) -> None:
        try:
            await self._verify()
        except ssl.SSLCertVerificationError as error:
            if self.mode == "auto" and error.verify_code in SELF_MADE and not self.verified:
                await self._pin()
                return
            raise Untrusted(self._refusal(error.verify_message)) from error

    def _refusal(self, why: str) -> str:
        """What is wrong with a certificate that no CA vouches for, and what to do."""
        if self.ca_file is None or not self.ca_file.exists():
            wrong = f"there is no CA in {self.ca_file} to verify the kubelet's certificate by"
        elif self.verified:
            wrong = f"the kubelet's certificate is not signed by the CA in {self.ca_file}, as it was before"
        else:
            made = " nor made by the kubelet itself" if self.mode == "auto" else ""
            wrong = f"the kubelet's certificate is not signed by the CA in {self.ca_file}{made}"
        return f"{wrong}: {why}; set --kubelet-ca-file to the CA that signed it, or another --kubelet-tls-mode"

    async def _verify(self) -> None:
        try:
            context = verifying(self.ca_file)
        except OSError as error:
            raise Untrusted(f"{self.ca_file} holds no certificate of a CA: {error}; set --kubelet-ca-file") from error
        await self._handshake(context)
        self.pinned, self.verified = None, True
        self._use("verify", option=context)

    async def _pin(self) -> None:
        expected = _read_pin(self.pin_file) or self.pinned
        seen = hashlib.sha256(await self._handshake(_unverified())).digest()
        if expected is not None and seen != expected:
            raise Untrusted(
                f"the kubelet serves another certificate (sha256 {seen.hex()}) than the pinned one (sha256 {expected.hex()}); "
                "if it was renewed, renew the pin file or restart the exporter"
            )
        if expected is None:
            log.warning("pinned the first certificate that the kubelet served", extra={"sha256": seen.hex()})
            self._keep(seen)
        self.pinned = seen
        self._use("pin", option=aiohttp.Fingerprint(seen))

    def _keep(self, pin: bytes) -> None:
        """Write the pin file, if there shall be one; without it the pin holds until the exporter ends."""
        if self.pin_file is None:
            return
        try:
            self.pin_file.write_text(f"{pin.hex()}\n")
        except OSError as error:
            log.warning("the pin is lost at the next start, for --kubelet-pin-file cannot be written: %s", error)

    def _use(self, used: Used, *, option: ssl.SSLContext | aiohttp.Fingerprint | bool) -> None:
        self.used, self.option = used, option

    async def _handshake(self, context: ssl.SSLContext) -> bytes:
        """Shake hands, send nothing, and return the certificate as DER."""
        _, writer = await asyncio.open_connection(self.host, self.port, ssl=context, server_hostname=self.node_name)
        try:
            certificate: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        finally:
            writer.transport.abort()
        if certificate is None:
            raise Untrusted("the kubelet serves no certificate")
        return certificate


def verifying(ca_file: Path | None) -> ssl.SSLContext:
    """A context that verifies by this CA, or by none if the file does not exist; raises OSError if it holds no certificate.

    Python 3.13 refuses CA certificates without a key usage extension, as self-made cluster CAs often are; that one flag is
    cleared, everything else is checked.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if ca_file and ca_file.exists():
        context.load_verify_locations(ca_file)
    return context


def bearer_token(file: Path) -> str:
    """The token in a file; raises NoToken."""
    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NoToken(f"cannot read the token: {error}; set --token-file") from error
    if not token.isascii() or not token.isprintable():
        raise NoToken(f"{file} holds no bearer token but something of several lines or bytes; set --token-file")
    return token


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _read_pin(pin_file: Path | None) -> bytes | None:
    try:
        if pin_file is None or not pin_file.exists():
            return None
        text = pin_file.read_text(errors="replace").strip().replace(":", "").lower().removeprefix("sha256")
    except OSError as error:
        raise Untrusted(f"the pin cannot be read: {error}; set --kubelet-pin-file") from error
    try:
        pin = bytes.fromhex(text)
    except ValueError:
        pin = b""
    if len(pin) != hashlib.sha256().digest_size:
        raise Untrusted(
            f"{pin_file} holds no SHA-256 fingerprint: 64 hexadecimal digits of the certificate in DER form"
        )
    return pin
