"""Reads the endpoints of one kubelet over HTTPS, each at its own interval and with its own deadline."""

import asyncio
import logging
import ssl
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp

from kubelet_exporter import units
from kubelet_exporter.snapshot import Failure, Reading, Reason, Source
from kubelet_exporter.sources.decode import Decoder, Malformed
from kubelet_exporter.sources.trust import NoToken, Trust, Untrusted, bearer_token

Take = Callable[[Reading], None]
Session = aiohttp.ClientSession

log = logging.getLogger(__name__)

WORDS = 300  # bytes of a refusal that are told
JSON = ("application/json",)
TEXT = ("text/plain",)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One path of the kubelet: how often, how long (seconds) and how much (bytes) is read, and as what."""

    source: Source
    path: str
    interval: float
    deadline: float
    limit: int
    content_types: tuple[str, ...]
    decode: Decoder

    @property
    def hold(self) -> float:
        """How long its last good value is held, in seconds."""
        return max(300.0, 3 * self.interval)


class Refused(Exception):
    """The answer cannot be used, for this reason."""

    def __init__(self, reason: Reason, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status


@dataclass(frozen=True, slots=True)
class Kubelet:
    """Where a kubelet is and how it is spoken to."""

    session: aiohttp.ClientSession
    address: str
    port: int
    node_name: str
    trust: Trust
    token_file: Path

    async def fetch(self, endpoint: Endpoint) -> bytes:
        """The whole body of an endpoint; raises Refused or whatever the connection raises.

        A 401 is answered by reading the token once more: if it has changed, the request is sent again at once.
        """
        token = bearer_token(self.token_file)
        try:
            return await self._get(endpoint, token)
        except Refused as refused:
            if refused.reason is not Reason.UNAUTHORIZED or (fresh := bearer_token(self.token_file)) == token:
                raise
            return await self._get(endpoint, fresh)

    async def _get(self, endpoint: Endpoint, token: str) -> bytes:
        url = f"https://{units.host_port(self.address, self.port)}{endpoint.path}"
        # On the node's own network compression costs both sides more than it saves.
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept-Encoding": "identity",
            "Accept": endpoint.content_types[0],
        }
        option = await self.trust.decide()
        async with self.session.get(
            url, headers=headers, ssl=option, server_hostname=self.node_name, allow_redirects=False
        ) as response:
            await _check(response, endpoint)
            return await _read(response, endpoint.limit)


async def read(kubelet: Kubelet, endpoint: Endpoint) -> Reading:
    """One reading of an endpoint. The one place where errors of the kubelet are caught."""
    at, begin = time.time(), time.monotonic()
    reading = Reading(endpoint.source, at, 0.0, hold=endpoint.hold, steady=begin)
    try:
        async with asyncio.timeout(endpoint.deadline):
            body = await kubelet.fetch(endpoint)
        reading = replace(reading, size=len(body))
        decoded = endpoint.decode(body)
        reading = replace(reading, value=decoded.value, read_at=at, dropped=decoded.dropped)
    except ERRORS as error:
        reading = replace(reading, failure=failed(error, endpoint))
    if reading.failure and reading.failure.reason is Reason.TLS:
        kubelet.trust.doubt()
    return replace(reading, seconds=time.monotonic() - begin, tls=kubelet.trust.used)


async def follow(kubelet: Kubelet, endpoint: Endpoint, take: Take) -> None:
    """Read an endpoint for ever, one request at a time."""
    while True:
        begin = time.monotonic()
        take(await read(kubelet, endpoint))
        await asyncio.sleep(max(0.0, endpoint.interval - (time.monotonic() - begin)))


def session() -> aiohttp.ClientSession:
    """A session that ignores proxies of the environment and leaves decompression to us, who bound it."""
    return aiohttp.ClientSession(auto_decompress=False, trust_env=False, cookie_jar=aiohttp.DummyCookieJar())


def failed(error: Exception, endpoint: Endpoint) -> Failure:
    """Why a reading failed, for a metric and for a person."""
    if isinstance(error, Refused):
        return Failure(error.reason, str(error))
    if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
        return Failure(Reason.TIMEOUT, f"no answer within {endpoint.deadline:g} s")
    for kinds, reason in REASONS:
        if isinstance(error, kinds):
            return Failure(reason, str(error) or type(error).__name__)
    return Failure(Reason.CONNECTION, str(error) or type(error).__name__)


ERRORS = (TimeoutError, OSError, aiohttp.ClientError, Refused, Untrusted, NoToken, Malformed)
REASONS: Sequence[tuple[tuple[type[Exception], ...], Reason]] = (
    ((NoToken,), Reason.UNAUTHORIZED),
    ((Untrusted, ssl.SSLError, aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch), Reason.TLS),
    ((Malformed, aiohttp.ClientResponseError), Reason.MALFORMED),
    ((aiohttp.ClientPayloadError,), Reason.TRUNCATED),
)


async def _check(response: aiohttp.ClientResponse, endpoint: Endpoint) -> None:
    """Raise Refused for any other status than 200, with what the kubelet says: for a 403 that is the missing right."""
    if response.status != 200:
        words = " ".join((await response.content.read(WORDS)).decode(errors="replace").split())
        message = f"status {response.status} from {endpoint.path}: {words or response.reason}"
        raise Refused(Reason.of_status(response.status), message, response.status)
    if response.content_type not in endpoint.content_types:
        raise Refused(
            Reason.CONTENT_TYPE, f"content type {response.content_type}, expected {endpoint.content_types[0]}"
        )


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body, decompressed, if it is whole and at most `limit` bytes."""
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise Refused(Reason.CONTENT_TYPE, f"content encoding {encoding}")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise Refused(Reason.TOO_LARGE, f"more than {limit} bytes")
    return bytes(body) if encoding == "identity" else _gunzip(bytes(body), limit)


def _gunzip(body: bytes, limit: int) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        plain = unzip.decompress(body, limit + 1)
    except zlib.error as error:
        raise Refused(Reason.MALFORMED, f"not gzip: {error}") from error
    if len(plain) > limit:
        raise Refused(Reason.TOO_LARGE, f"more than {limit} bytes")
    if not unzip.eof:
        raise Refused(Reason.TRUNCATED, "gzip without its end")
    return plain
