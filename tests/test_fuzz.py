"""Real bodies, spoilt: a decoder refuses them, or what it gives makes a sound scrape."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from bodies import Known, faults
from hypothesis import given, settings
from hypothesis import strategies as st

from kubelet_exporter.catalog import WANTED
from kubelet_exporter.page import page
from kubelet_exporter.snapshot import Source
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.decode import Malformed
from kubelet_exporter.sources.endpoints import PATHS, TEXTS, decoders

RECORDING = Path(__file__).parent / "recordings" / "v1.36-mixed.jsonl.gz"

Steps = tuple[str | int, ...]
Change = Callable[[Any, str | int], None]


def recorded() -> dict[Source, bytes]:
    """One body of each source."""
    lines = recording.load(RECORDING).lines
    sources = [(recording.source_of(line.path, PATHS), line) for line in lines]
    return {source: (line.body or "").encode() for source, line in sources if source is not None}


def steps(value: Any, before: Steps = ()) -> Iterator[Steps]:
    """The way to every value in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*before, key)
        yield from steps(each, (*before, key))


BODIES = recorded()
JSON = [source for source in BODIES if source not in TEXTS]
READ = {
    *(
        "items",
        "metadata",
        "name",
        "uid",
        "namespace",
        "annotations",
        "status",
        "phase",
        "node",
        "pods",
        "volume",
        "pvcRef",
    ),
    *(
        "time",
        "capacityBytes",
        "availableBytes",
        "usedBytes",
        "inodes",
        "inodesFree",
        "inodesUsed",
        "kubeletconfig",
        "maxPods",
    ),
    *("conditions", "type", "lastHeartbeatTime", "nodeInfo", "kubeletVersion", "allocatable", "spec", "renewTime"),
}


def matters(document: Any, way: Steps) -> bool:
    """Whether the exporter reads this value: of /stats/summary what belongs to a claim, else what stands near the top."""
    parent = document
    for step in way[:-1]:
        parent = parent[step]
    near = len(way) <= (3 if way[0] in ("node", "pods") else 4)
    return way[-1] in READ and (near or "pvcRef" in {*parent, *way})


DOCUMENTS = {source: json.loads(BODIES[source]) for source in JSON}
WAYS = {source: list(steps(document)) for source, document in DOCUMENTS.items()}
# Half of the changes meet what the exporter reads.
PLACES = {
    source: st.sampled_from(ways) | st.sampled_from([way for way in ways if matters(DOCUMENTS[source], way)])
    for source, ways in WAYS.items()
}

HEALTHY = Known()
for _source, _body in BODIES.items():
    HEALTHY.read(_source, _body)


def unsound(source: Source, content: bytes) -> list[str]:
    """What is wrong with the scrape of a healthy node after one more answer of a source, and after the same once more."""
    known = Known()
    known.snapshot, known.ledger = HEALTHY.snapshot, HEALTHY.ledger
    try:
        decoders()[source](content)
        up = "1.0"
    except Malformed:
        up = "0.0"
    text = known.read(source, content).read(source, content).text()
    page(known.snapshot, known.ledger, "/metrics")
    found = faults(text)
    return found if f'source_up{{source="{source}"}} {up}' in text else [*found, f"source_up is not {up}"]


# Bytes


@st.composite
def spoilt_bytes(draw: st.DrawFn) -> tuple[Source, bytes]:
    """A body with bytes flipped, put in and taken out, perhaps cut off."""
    source = draw(st.sampled_from(list(BODIES)))
    content = bytearray(BODIES[source])
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(content) - 1)))
        length = draw(st.integers(0, 20))
        content[place : place + length] = draw(
            st.binary(max_size=3) | st.sampled_from([b"\n", b'"', b"}", b"-", b"e9", b"\xff"])
        )
    if draw(st.integers(0, 9)) == 0:
        del content[draw(st.integers(0, len(content))) :]
    return source, bytes(content)


@given(spoilt_bytes())
@settings(max_examples=250)
def test_a_body_with_spoilt_bytes_is_refused_or_sound(spoilt: tuple[Source, bytes]) -> None:
    assert [] == unsound(*spoilt)


@given(st.sampled_from(list(BODIES)), st.floats(0, 1, exclude_max=True))
@settings(max_examples=60)
def test_a_body_that_is_cut_off_is_refused(source: Source, share: float) -> None:
    content = BODIES[source].rstrip()
    cut = content[: min(int(len(content) * share), len(content) - 1)].rstrip()

    with pytest.raises(Malformed):
        decoders()[source](cut)


# JSON


def _drop(parent: Any, key: str | int) -> None:
    del parent[key]


def _twice(parent: Any, key: str | int) -> None:
    if isinstance(parent, list):
        parent.append(deepcopy(parent[int(key)]))
    elif isinstance(parent, dict):
        parent[key] = [parent[key], deepcopy(parent[key])]


def _put(value: Any) -> Change:
    def put(parent: Any, key: str | int) -> None:
        parent[key] = deepcopy(value)

    return put


NUMBERS = [0, -1, 1e308, -1e308, 2**63, 2**64, 10**300, -0.0, 1e-320]
OTHERS: list[Any] = [
    None,
    "",
    "text",
    "-1",
    "1e400",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    [],
    {},
    [None],
    True,
    '"\\\n{}',
]
CHANGES: list[Change] = [_drop, _twice, *(_put(value) for value in (*NUMBERS, *OTHERS))]
BEYOND_FLOAT = _put(10**400)  # in /configz a known bug, see test_a_limit_beyond_all_numbers_is_no_limit


@st.composite
def spoilt_documents(draw: st.DrawFn) -> tuple[Source, bytes]:
    """A body with values dropped, doubled, or replaced by another type or an extreme number."""
    source = draw(st.sampled_from([*JSON, Source.SUMMARY, Source.SUMMARY]))  # it has most numbers
    document = json.loads(BODIES[source])
    changes = CHANGES if source == Source.CONFIGZ else [*CHANGES, BEYOND_FLOAT]
    for _ in range(draw(st.integers(1, 10))):
        *way, key = draw(PLACES[source])
        parent = document
        try:
            for step in way:
                parent = parent[step]
            draw(st.sampled_from(changes))(parent, key)
        except (KeyError, IndexError, TypeError, ValueError):
            pass  # an earlier change took it away
    return source, json.dumps(document).encode()


@given(spoilt_documents())
@settings(max_examples=400)
def test_a_document_with_spoilt_values_is_refused_or_sound(spoilt: tuple[Source, bytes]) -> None:
    assert [] == unsound(*spoilt)


# Metrics text

LINES = BODIES[Source.METRICS].decode().splitlines()
WANTED_LINES = [number for number, line in enumerate(LINES) if any(name in line for name in WANTED)]


@st.composite
def spoilt_lines(draw: st.DrawFn) -> tuple[Source, bytes]:
    """Metrics text with wanted lines dropped, doubled, moved, or with another value, bound or end."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        number = draw(st.sampled_from(WANTED_LINES))
        name, _, value = lines[number].rpartition(" ")
        values = ["NaN", "-Inf", "+Inf", "-1", "1e400", "1" + "0" * 400, "", "x", "1 2", value + value, "0"]
        lines[number] = draw(
            st.sampled_from(
                [
                    *(
                        "",
                        f"{lines[number]}\n{lines[number]}",
                        name,
                        lines[number] + "}",
                        lines[number].replace('"', ""),
                    ),
                    lines[number].replace("le=", "el="),
                    lines[number].replace('le="', 'le="x'),
                    lines[draw(st.sampled_from(WANTED_LINES))],
                    *(f"{name} {other}" for other in values),
                ]
            )
        )
    return Source.METRICS, "".join(f"{line}\n" for line in lines).encode()


@given(spoilt_lines())
@settings(max_examples=250)
def test_metrics_text_with_spoilt_lines_is_sound(spoilt: tuple[Source, bytes]) -> None:
    assert [] == unsound(*spoilt)


def test_the_healthy_node_is_sound_and_tells_of_every_topic() -> None:
    names = {line.partition("{")[0].partition(" ")[0] for line in HEALTHY.series()}

    assert [] == faults(HEALTHY.text())
    assert {"pods", "pods_limit", "node_condition", "node_lease_renew_timestamp_seconds"} <= names
    assert {"pleg_last_relist_timestamp_seconds", "pleg_relist_duration_seconds_bucket", "volume_used_bytes"} <= names
