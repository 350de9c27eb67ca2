"""What is served: the scrape in every format, the status page, liveness and readiness."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed_openmetrics
from simulated import BOUND, film, samples

from kubelet_exporter import server
from kubelet_exporter.config import Settings
from kubelet_exporter.pod import Pod
from kubelet_exporter.serve import folded
from kubelet_exporter.snapshot import (
    ALWAYS_READ,
    Condition,
    Failure,
    Node,
    Reading,
    Reason,
    Snapshot,
    Source,
    Summary,
    VolumeStats,
)
from kubelet_exporter.state import SCRAPE_AGE, State

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
PROMETHEUS_3_PROTOBUF = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7," + PROMETHEUS_3
)
TEXT = "text/plain;version=0.0.4"
EVERY = ALWAYS_READ


def full() -> State:
    """What is known at the end of the shipped recording."""
    return folded(film(), Settings(film().node_name))


def empty() -> State:
    return State(Snapshot("node-a", 0.0))


class Answer:
    """Status, headers and raw bytes of an answer."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body
        self.text = "" if headers.get("Content-Encoding") else body.decode()


class Client:
    """A client of a server under test that decompresses nothing."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session, self.url = session, url

    async def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        sent = {"Accept-Encoding": "identity"} | {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.request(method, self.url + path, headers=sent) as response:
            return Answer(response.status, response.headers, await response.read())


@asynccontextmanager
async def serving(
    state: State, expected: frozenset[Source] = frozenset(), path: str = "/metrics", host: str = "127.0.0.1"
) -> AsyncIterator[Client]:
    routes = server.application(state, expected, path)
    async with (
        asyncio.timeout(BOUND),
        server.serving(routes, host, 0) as url,
        aiohttp.ClientSession(auto_decompress=False) as session,
    ):
        yield Client(session, url)


def answered(state: State, path: str, **headers: str) -> Answer:
    """One answer of a server for this state."""

    async def run() -> Answer:
        async with serving(state) as client:
            return await client.get(path, **headers)

    return asyncio.run(run())


# The scrape


@pytest.mark.parametrize("accept", ["", "*/*", TEXT, "text/html", "application/json", "\t;;q=,", "a" * 4000])
def test_the_text_format_is_given_to_whoever_asks_for_no_other(accept: str) -> None:
    answer = answered(full(), "/metrics", Accept=accept)

    assert 200 == answer.status
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert samples(answer.body) == samples(full().scrape().plain)


@pytest.mark.parametrize(
    "accept", ["application/openmetrics-text; version=1.0.0", PROMETHEUS_2, PROMETHEUS_3, PROMETHEUS_3_PROTOBUF]
)
def test_openmetrics_is_given_to_prometheus_and_says_the_same(accept: str) -> None:
    answer = answered(full(), "/metrics", Accept=accept)
    families = list(parsed_openmetrics(answer.text))  # type: ignore[no-untyped-call]
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value for each in families for sample in each.samples
    }
    text = {
        (f"kubelet_exporter_{name}", *sorted(labels.items())): value
        for name, labels, value in samples(full().scrape().plain)
    }

    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")
    assert text == found


def test_the_scrape_is_zipped_for_those_who_take_it() -> None:
    zipped = answered(full(), "/metrics", Accept_Encoding="gzip")
    plain = answered(full(), "/metrics")

    assert "gzip" == zipped.headers["Content-Encoding"]
    assert plain.body == gzip.decompress(zipped.body)
    assert "Content-Encoding" not in plain.headers
    assert len(zipped.body) < len(plain.body) / 3


def test_many_scrapes_at_once_are_rendered_once_for_each_change() -> None:
    state = full()

    async def run() -> tuple[object, object, set[bytes]]:
        async with serving(state) as client:
            first = await client.get("/metrics", Accept=TEXT)
            before = state.scrapes[TEXT][1]
            answers = await asyncio.gather(*(client.get("/metrics", Accept=TEXT) for _ in range(50)))
            return before, state.scrapes[TEXT][1], {first.body, *(answer.body for answer in answers)}

    before, after, bodies = asyncio.run(run())
    assert before is after
    assert 1 == len(bodies)

    state.take(Reading(Source.HEALTHZ, film().end, 0.1, value=True, read_at=film().end))
    assert state.scrape(TEXT) is not before


def test_a_scrape_is_rendered_anew_when_held_values_may_have_grown_too_old() -> None:
    state = full()
    first = state.scrape(TEXT)
    state.clock = lambda: film().end + SCRAPE_AGE / 2
    second = state.scrape(TEXT)
    state.clock = lambda: film().end + SCRAPE_AGE + 1
    third = state.scrape(TEXT)

    assert first is second
    assert first is not third


def test_accept_headers_from_outside_do_not_fill_the_memory() -> None:
    state = empty()

    for number in range(100):
        state.scrape(f"text/plain;number={number}")

    assert 10 > len(state.scrapes)


def test_every_series_has_the_node_unless_it_is_turned_off() -> None:
    state = full()

    assert {"node-a"} == {labels.get("node") for _, labels, _ in samples(state.scrape().plain)}

    state = replace(full(), node_label=False)

    assert {None} == {labels.get("node") for _, labels, _ in samples(state.scrape().plain)}


def test_the_scrape_can_have_another_path() -> None:
    async def run() -> list[int]:
        async with serving(full(), path="/node/metrics") as client:
            page = await client.get("/")
            assert "href='/node/metrics'" in page.text
            return [(await client.get(path)).status for path in ("/node/metrics", "/metrics")]

    assert [200, 404] == asyncio.run(run())


def test_what_is_not_there_is_not_found() -> None:
    async def run() -> list[int]:
        async with serving(full()) as client:
            asked = [await client.get("/nothing"), await client.get("/metrics/"), await client.get("/metrics", "POST")]
            return [answer.status for answer in asked]

    assert [404, 404, 405] == asyncio.run(run())


def test_an_exporter_that_has_read_nothing_serves_its_own_series() -> None:
    answer = answered(empty(), "/metrics")
    found = samples(answer.body)

    assert 200 == answer.status
    assert "build_info" in {name for name, _, _ in found}
    assert {0.0} == {value for name, _, value in found if name == "source_errors_total"}
    assert not {"source_up", "pods", "node_info"} & {name for name, _, _ in found}


# Liveness and readiness


@pytest.mark.parametrize("state", [empty(), full()], ids=["empty", "full"])
def test_liveness_depends_on_nothing(state: State) -> None:
    answer = answered(state, "/-/healthy")

    assert (200, "ok\n") == (answer.status, answer.text)


def test_it_is_ready_once_every_source_was_tried_whatever_came_of_it() -> None:
    state = empty()

    async def run() -> list[tuple[int, str]]:
        async with serving(state, EVERY) as client:
            answers = [await client.get("/-/ready")]
            for source in (each for each in Source if each in ALWAYS_READ):
                failure = Failure(Reason.CONNECTION, "nobody is there")
                state.take(Reading(source, 1000.0, 0.1, failure=failure))
                answers.append(await client.get("/-/ready"))
            return [(answer.status, answer.text) for answer in answers]

    answers = asyncio.run(run())
    assert [503] * len(ALWAYS_READ) + [200] == [status for status, _ in answers]
    assert all(source in answers[0][1] for source in ALWAYS_READ)
    assert ("not read yet: lease\n", "ok\n") == (answers[-2][1], answers[-1][1])


# The status page


def test_the_page_shows_every_source_and_what_was_found() -> None:
    answer = answered(full(), "/")

    assert answer.headers["Content-Type"].startswith("text/html")
    for text in (
        *ALWAYS_READ,
        "node-a",
        "orders-db",
        "containerd://",
        "DiskPressure",
        "Running",
        "/metrics",
        "/-/ready",
    ):
        assert text in answer.text, text


def test_the_page_says_what_has_not_been_read_yet() -> None:
    text = answered(empty(), "/").text

    assert len(ALWAYS_READ) == text.count("not read yet")
    assert "events" not in text


def test_nothing_from_outside_becomes_html() -> None:
    bad = "<script>alert('x')</script>&\""
    state = State(Snapshot(bad, 0.0), clock=lambda: 1000.0)
    failure = Failure(Reason.STATUS, bad)
    node = Node(bad, kubelet_version=bad, os_image=bad, conditions=(Condition(bad, "True"),))
    volumes = Summary((VolumeStats(bad, bad, capacity=2.0, available=1.0, used=1.0),))
    for reading in (
        Reading(Source.HEALTHZ, 1000.0, 0.1, failure=failure),
        Reading(Source.NODE, 1000.0, 0.1, value=node, read_at=1000.0),
        Reading(Source.PODS, 1000.0, 0.1, value=(Pod("uid", bad, bad, bad),), read_at=1000.0, tls=bad),
        Reading(Source.SUMMARY, 1000.0, 0.1, value=volumes, read_at=1000.0),
    ):
        state.take(reading)

    text = answered(state, "/").text

    assert "<script" not in text
    assert 6 <= text.count("&lt;script&gt;")


# The server


def test_the_server_is_gone_when_its_context_ends() -> None:
    async def run() -> None:
        async with serving(empty()) as client:
            url = client.url
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectionError):
                await session.get(url)

    asyncio.run(run())


def test_waiting_ends_with_the_stop_and_with_a_task_that_fails() -> None:
    async def fail() -> None:
        raise RuntimeError("a bug")

    async def run() -> None:
        stop = asyncio.Event()
        endless = asyncio.create_task(asyncio.Event().wait())
        waiting = asyncio.create_task(server.until(stop, endless))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        stop.set()
        await asyncio.wait_for(waiting, BOUND)
        assert endless.cancelled()

        with pytest.raises(RuntimeError, match="a bug"):
            await asyncio.wait_for(server.until(asyncio.Event(), asyncio.create_task(fail())), BOUND)

    asyncio.run(run())
