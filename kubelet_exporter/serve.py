"""The exporter at work: sources fill the state, the server renders it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from kubelet_exporter import checkpoint, server
from kubelet_exporter.catalog import pod_start
from kubelet_exporter.catalog.pod_start.memory import undecided_pods
from kubelet_exporter.config import Settings
from kubelet_exporter.pod import Pod
from kubelet_exporter.snapshot import ALWAYS_READ, Reading, Snapshot, Source
from kubelet_exporter.sources import apiserver, events, kubelet, log_query, recording
from kubelet_exporter.sources.endpoints import PATHS, decoders, endpoints
from kubelet_exporter.sources.trust import Trust
from kubelet_exporter.state import State

log = logging.getLogger(__name__)

Take = Callable[[Reading], None]


@dataclass(frozen=True, slots=True)
class Exporter:
    """A running exporter: what it knows, where it serves, and the tasks that must not end."""

    state: State
    url: str
    tasks: tuple[asyncio.Task[None], ...]


@asynccontextmanager
async def exporting(settings: Settings, flag: str = "--web.listen-address") -> AsyncIterator[Exporter]:
    """Read a node and serve what is known of it until the context ends; `flag` is the one that says where."""
    state = _state(settings)
    api = api_server(settings)
    expected = ALWAYS_READ if api else frozenset(PATHS.values())
    async with kubelet.session() as session, _serving(state, settings, expected, flag) as url:
        client = node_kubelet(settings, session)
        points = endpoints(settings.intervals, settings.kubelet_timeout, settings.volumes_exclude)
        tasks = [asyncio.create_task(kubelet.follow(client, point, state.take)) for point in points]
        if settings.log_patterns:
            tasks.append(asyncio.create_task(log_query.follow_log(client, settings.log_patterns, state.take)))
        if api:
            apiserver.follow_node(api, state.take)
            tasks.append(asyncio.create_task(apiserver.follow_lease(api, state.take)))
            if settings.events:
                tasks.append(asyncio.create_task(events.follow_events(api, partial(_undecided, state), state.take)))
        else:
            log.warning("no API server is known, so the Node and its Lease are not read; set --apiserver-url")
        if settings.checkpoint_dir:
            tasks.append(asyncio.create_task(checkpoint.keep(state, settings.checkpoint_dir)))
        async with _cancelled(tasks):
            yield Exporter(state, url, tuple(tasks))


def _undecided(state: State) -> Sequence[Pod]:
    return undecided_pods(state.ledger[pod_start.TOPIC.name], state.clock())


@asynccontextmanager
async def replaying(film: recording.Recording, settings: Settings) -> AsyncIterator[Exporter]:
    """Serve what is known of a recorded node, played in a loop with its times moved to now."""
    state = _state(settings)
    async with _serving(state, settings, frozenset()) as url:
        decoder = decoders(settings.volumes_exclude)
        tasks = [asyncio.create_task(recording.play(film, PATHS, decoder, state.take))]
        async with _cancelled(tasks):
            yield Exporter(state, url, tuple(tasks))


def folded(film: recording.Recording, settings: Settings) -> State:
    """What is known at the end of a recording, on its own clock."""
    state = replace(_state(settings), clock=lambda: now)
    for reading in recording.readings(film, PATHS, decoders(settings.volumes_exclude)):
        now = reading.attempted_at
        state.take(reading)
    now = film.end
    return state


def node_kubelet(settings: Settings, session: kubelet.Session) -> kubelet.Kubelet:
    """The kubelet that the settings name."""
    trust = Trust(
        mode=settings.kubelet_tls_mode,
        host=settings.kubelet_address.strip("[]"),
        port=settings.kubelet_port,
        node_name=settings.node_name,
        ca_file=settings.kubelet_ca_file,
        pin_file=settings.kubelet_pin_file,
    )
    return kubelet.Kubelet(
        session, settings.kubelet_address, settings.kubelet_port, settings.node_name, trust, settings.token_file
    )


def api_server(settings: Settings) -> apiserver.ApiServer | None:
    """The API server that the settings name, else that of the cluster, else none; raises ValueError for a CA that is none."""
    url = settings.apiserver_url or apiserver.in_cluster()
    if url is None:
        return None
    try:
        return apiserver.connect(url, settings.apiserver_ca_file, settings.token_file, settings.node_name)
    except OSError as error:
        file = settings.apiserver_ca_file
        raise ValueError(f"{file} holds no certificate of a CA: {error}; set --apiserver-ca-file") from error


def _state(settings: Settings) -> State:
    ledger = checkpoint.ledger(settings.checkpoint_dir, settings.node_name)
    starts = replace(ledger[pod_start.TOPIC.name], events_may_come=settings.events)
    return State(
        Snapshot(settings.node_name, 0.0, eviction_top=settings.eviction_top),
        settings.series_limit,
        settings.node_label,
        ledger={**ledger, pod_start.TOPIC.name: starts},
    )


@asynccontextmanager
async def _serving(
    state: State, settings: Settings, expected: frozenset[Source], flag: str = "--web.listen-address"
) -> AsyncIterator[str]:
    routes = server.application(state, expected, settings.telemetry_path)
    async with server.serving(routes, settings.listen_host, settings.listen_port, flag) as url:
        log.info("serving", extra={"url": url, "node": settings.node_name})
        yield url


@asynccontextmanager
async def _cancelled(tasks: list[asyncio.Task[None]]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
