"""Reads two objects of the API server: the Node by a single-object watch, its Lease by a small GET.

Only the package's transport is used: its models would double the memory of the exporter, and its `Watch` needs them.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import urllib3

from kubelet_exporter import units
from kubelet_exporter.snapshot import Failure, Reading, Reason, Source
from kubelet_exporter.sources import decode
from kubelet_exporter.sources.decode import Decoded, Decoder, Malformed
from kubelet_exporter.sources.transport import ApiClient, ApiException, Configuration
from kubelet_exporter.sources.trust import NoToken, bearer_token, verifying

Take = Callable[[Reading], None]
Query = Sequence[tuple[str, str]]

log = logging.getLogger(__name__)

NODE_PATH = "/api/v1/nodes/{name}"
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"
CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
WATCH_SECONDS = 60
LEASE_INTERVAL = 30.0
RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0)
STEADY_SECONDS = 30.0
LIMIT = 16 * 2**20


class Refused(Exception):
    """The API server answered with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"status {status}: {message}")
        self.status = status


class Event(msgspec.Struct):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class BookmarkMetadata(msgspec.Struct, rename="camel"):
    """What a bookmark's object has: it is no whole Node and has no name."""

    resource_version: str = ""


class Bookmark(msgspec.Struct):
    """What is used of a bookmark's object."""

    metadata: BookmarkMetadata


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A client of the API server for the objects of one node."""

    client: ApiClient
    node_name: str


def in_cluster(environment: Mapping[str, str] = os.environ) -> str | None:
    """The address that the cluster gives its pods, None outside of a cluster."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://{units.host_port(host, int(port))}" if host else None


def connect(url: str, ca_file: Path | None, token_file: Path, node_name: str) -> ApiServer:
    """A client that verifies by the CA and reads its token anew for each request."""
    configuration = Configuration(host=url, retries=False)

    def read_token(fresh: Configuration) -> None:
        fresh.api_key = {"BearerToken": f"Bearer {bearer_token(token_file)}"}

    configuration.api_key = {"BearerToken": ""}
    configuration.refresh_api_key_hook = read_token  # type: ignore[assignment]  # the package annotates it as None
    client = ApiClient(configuration)
    client.rest_client.pool_manager.connection_pool_kw["ssl_context"] = verifying(ca_file)
    return ApiServer(client, node_name)


def get_lease(server: ApiServer) -> Reading:
    """One reading of the node's Lease."""
    return reading(Source.LEASE, server, LEASE_PATH, decode.lease)


def get_node(server: ApiServer) -> Reading:
    """One reading of the Node object."""
    return reading(Source.NODE, server, NODE_PATH, decode.node)


async def follow_lease(server: ApiServer, take: Take) -> None:
    """Read the Lease for ever."""
    while True:
        take(await asyncio.to_thread(get_lease, server))
        await asyncio.sleep(LEASE_INTERVAL)


def follow_node(server: ApiServer, take: Take) -> None:
    """Start a thread that follows the Node for ever; `take` is called in the running event loop."""
    loop = asyncio.get_running_loop()

    def run() -> None:
        failures = 0
        while not loop.is_closed():
            reading, begin = get_node(server), time.monotonic()
            if not _hand_over(loop, take, reading):
                return
            for next_reading in () if reading.failure else _watched(server, reading):
                if not _hand_over(loop, take, next_reading):
                    return
            # A server that refuses each watch must be asked no oftener than one that refuses each GET.
            failures = failures + 1 if time.monotonic() - begin < STEADY_SECONDS else 0
            if failures:
                time.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS)) - 1])

    threading.Thread(target=run, name="node-watch", daemon=True).start()


def _hand_over(loop: asyncio.AbstractEventLoop, take: Take, reading: Reading) -> bool:
    try:
        loop.call_soon_threadsafe(take, reading)
    except RuntimeError:  # the loop was closed: the exporter ends
        return False
    return True


def _watched(server: ApiServer, first: Reading) -> Iterator[Reading]:
    """A reading for each event, and one for each watch that ended well without any; ends where a GET is needed again.

    It is needed after an error (410 Gone among them); its own failure is then the reading that tells.
    """
    version = first.value.resource_version
    while version:
        at, begin = time.time(), time.monotonic()
        last = first
        try:
            for event in _events(server, version):
                value, version = _applied(event)
                if value:
                    at = time.time()
                    last = Reading(
                        Source.NODE, at, 0.0, len(event.object), value=value.value, read_at=at, dropped=value.dropped
                    )
                    yield last
                elif not version:
                    return
        except ERRORS as error:
            log.debug("the watch of the Node ended", extra={"error": str(error)})
            return
        if time.monotonic() - begin < 1:  # a server that ends watches at once must not be asked in a tight loop
            time.sleep(1)
        first = Reading(Source.NODE, time.time(), 0.0, value=last.value, read_at=time.time())
        yield first


def _applied(event: Event) -> tuple[Decoded | None, str]:
    """The Node of an event and the version to resume from, which is empty if the watch cannot be resumed."""
    match event.type:
        case "ADDED" | "MODIFIED":
            decoded = decode.node(bytes(event.object))
            return decoded, decoded.value.resource_version
        case "BOOKMARK":
            return None, msgspec.json.decode(event.object, type=Bookmark).metadata.resource_version
        case "DELETED":
            return None, ""
        case _:
            raise Malformed(f"watch event {event.type}: {bytes(event.object)[:200]!r}")


def _events(server: ApiServer, version: str) -> Iterator[Event]:
    query = [
        ("fieldSelector", f"metadata.name={server.node_name}"),
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", version),
        ("timeoutSeconds", str(WATCH_SECONDS)),
    ]
    response = _request(server, "/api/v1/nodes", query, WATCH_SECONDS + READ_SECONDS)
    try:
        rest = b""
        for chunk in response.stream(2**16):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > LIMIT:
                raise Malformed(f"a watch event of more than {LIMIT} bytes")
            yield from (msgspec.json.decode(line, type=Event) for line in lines if line.strip())
    finally:
        response.close()


def get(server: ApiServer, path: str, query: Query = ()) -> bytes:
    """What is at a path, in which {name} stands for the node's name; raises one of ERRORS."""
    response = _request(server, path, query, READ_SECONDS)
    try:
        body: bytes = response.read(LIMIT + 1)
    finally:
        response.release_conn()
    if len(body) > LIMIT:
        raise Malformed(f"more than {LIMIT} bytes")
    return body


def _request(server: ApiServer, path: str, query: Query, seconds: float) -> Any:
    method, url, headers, body, _ = server.client.param_serialize(
        "GET",
        path,
        path_params={"name": server.node_name},
        query_params=list(query),
        header_params={"Accept": "application/json"},
        auth_settings=["BearerToken"],
    )
    answer = server.client.call_api(method, url, headers, body, _request_timeout=(CONNECT_SECONDS, seconds))
    if answer.status != 200:
        raise Refused(answer.status, answer.response.read(500).decode(errors="replace"))
    return answer.response


ERRORS = (ApiException, urllib3.exceptions.HTTPError, OSError, Refused, NoToken, Malformed, msgspec.DecodeError)


def reading(source: Source, server: ApiServer, path: str, decoder: Decoder, query: Query = ()) -> Reading:
    """One reading of an object or a list. The one place where errors of the API server are caught."""
    at, begin, size = time.time(), time.monotonic(), 0
    try:
        body = get(server, path, query)
        size = len(body)
        decoded = decoder(body)
    except ERRORS as error:
        return Reading(source, at, time.monotonic() - begin, size, failure=_failed(error))
    seconds = time.monotonic() - begin
    return Reading(source, at, seconds, size, value=decoded.value, read_at=at, dropped=decoded.dropped)


def _failed(error: Exception) -> Failure:
    if isinstance(error, Refused):
        return Failure(Reason.of_status(error.status), str(error))
    for kinds, reason in REASONS:
        if isinstance(error, kinds):
            return Failure(reason, str(error).strip())
    return Failure(Reason.CONNECTION, str(error))


# The package raises ApiException of its own only for errors of TLS.
REASONS: Sequence[tuple[tuple[type[Exception], ...], Reason]] = (
    ((NoToken,), Reason.UNAUTHORIZED),
    ((ApiException, urllib3.exceptions.SSLError), Reason.TLS),
    ((urllib3.exceptions.NewConnectionError,), Reason.CONNECTION),
    ((urllib3.exceptions.TimeoutError,), Reason.TIMEOUT),
    ((Malformed, msgspec.DecodeError), Reason.MALFORMED),
)
