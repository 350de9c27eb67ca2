"""The file format of recordings: read, written, refused with the place where it is broken, and moved in time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from simulated import body

from kubelet_exporter.simulator.player import Player
from kubelet_exporter.snapshot import Source
from kubelet_exporter.sources.endpoints import decoders
from kubelet_exporter.sources.recording import Line, Recording, Unreadable, load, moved, newcomers, shifted, write

NODE = "/api/v1/nodes/node-a"
FILMS = Path(__file__).parent / "recordings"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-a"


# Broken recordings

GOOD = b'{"t": 1.0, "took": 0.1, "path": "/healthz", "status": 200, "body": "ok"}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (GOOD + b"\n" + b"not json\n", "line 3"),
        (GOOD + GOOD[:30] + b"\n", "line 2"),
        (GOOD + b'{"t": 1, "path": "/pods"}\n', "line 2.*status"),
        (b'{"t": "now", "path": "/pods", "status": 200}\n', r"line 1.*\$\.t"),
        (b"[]\n", "line 1"),
        (GOOD + b'{"t": 1, "path": "\xff", "status": 200}\n', "line 2"),
        (gzip.compress(GOOD * 50, mtime=0)[:-12], "is cut off or no gzip file"),
        (gzip.compress(GOOD + b"{\n", mtime=0), "line 2"),
        (b"\x1f\x8b\x08\x00 nothing", "is cut off or no gzip file"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff", "is cut off or no gzip file"),
    ],
)
def test_a_broken_recording_is_refused_with_the_place(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(content)

    with pytest.raises(Unreadable, match=message) as refused:
        load(file)
    assert str(file) in str(refused.value)


def test_lines_are_played_in_the_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "film.jsonl").write_bytes(GOOD.replace(b"1.0", b"2.0") + GOOD)
    loaded = load(tmp_path / "film.jsonl")

    assert (1.0, 2.0) == (loaded.begin, loaded.end)
    assert "node" == loaded.node_name


@pytest.mark.parametrize("name", ["film.jsonl", "film.jsonl.gz"])
def test_what_is_written_is_what_is_read(name: str, tmp_path: Path) -> None:
    lines = (Line(1.5, "/pods", 200, 'a "text" of\nlines, ü', 0.25), Line(2.5, "/pods", 0), Line(3.5, NODE, 404, None))

    assert 3 == write(lines, tmp_path / name)
    assert Recording(lines, "node-a") == load(tmp_path / name)


# Moving in time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "2026-01-31T23:59:58Z"}', '{"a": "2026-02-01T00:00:08Z"}'),
        ('{"a": "2026-01-31T23:59:58.123456789Z"}', '{"a": "2026-02-01T00:00:08.123456789Z"}'),
        ('{"a": "2026-01-31T23:59:58.5+02:00"}', '{"a": "2026-02-01T00:00:08.5+02:00"}'),
        ('["2024-02-28T23:59:59Z"]', '["2024-02-29T00:00:09Z"]'),
        ('{"zero": "1970-01-01T00:00:00Z"}', '{"zero": "1970-01-01T00:00:00Z"}'),
        ('{"zero": "0001-01-01T00:00:00Z"}', '{"zero": "0001-01-01T00:00:00Z"}'),
        ('{"never": "9999-12-31T23:59:59Z"}', '{"never": "9999-12-31T23:59:59Z"}'),
        ('{"none": "2026-13-45T99:00:00Z"}', '{"none": "2026-13-45T99:00:00Z"}'),
        ('{"text": "at 2026-01-31T23:59:58Z"}', '{"text": "at 2026-01-31T23:59:58Z"}'),
        ('{"time": null, "number": 1767225600}', '{"time": null, "number": 1767225600}'),
        ("", ""),
        ("ok", "ok"),
    ],
)
def test_times_in_json_are_moved_and_nothing_else_is(text: str, expected: str) -> None:
    assert expected == shifted(text, 10)


@pytest.mark.parametrize(
    ("text", "moved_to"),
    [
        ("kubelet_pleg_last_seen_seconds 1.767225600e+09", 1767225610.0),
        ("process_start_time_seconds 1767225600.25", 1767225610.25),
        ('container_start_time_seconds{container="a b",pod="{}"} 1.7672256e+09', 1767225610.0),
        ("kubelet_pleg_last_seen_seconds 0", 0.0),
        ("kubelet_pleg_relist_duration_seconds_sum 12.5", 12.5),
        ("kubelet_certificate_manager_client_ttl_seconds 2.5e+07", 2.5e7),
        ('kubelet_running_pods{at="1767225600"} 17', 17.0),
    ],
)
def test_only_instants_in_metrics_are_moved(text: str, moved_to: float) -> None:
    head = "# HELP kubelet_pleg_last_seen_seconds Seen.\n"
    found = shifted(f"{head}{text}\n", 10)

    assert found.startswith(head)
    assert found.endswith("\n")
    assert text.rpartition(" ")[0] == found[len(head) :].rpartition(" ")[0]
    assert moved_to == float(found.rpartition(" ")[2])


@pytest.mark.parametrize("path", ["/pods", "/stats/summary", "/metrics", "/configz", NODE, LEASE])
def test_moving_there_and_back_changes_nothing_in_real_bodies(path: str) -> None:
    there = shifted(body(path), 86_400)
    values = [shifted(there, -86_400), body(path)]
    if path == "/metrics":  # numbers are written another way
        values = [str([decoders()[Source.METRICS](each.encode()).value]) for each in values]

    assert values[0] == values[1]
    assert (there == body(path)) is (path == "/configz")


def test_a_line_is_moved_whole() -> None:
    line = Line(1000.5, NODE, 200, '{"t": "2026-01-01T00:00:00Z"}', 0.25)

    assert Line(1010.5, NODE, 200, '{"t": "2026-01-01T00:00:10Z"}', 0.25) == moved(line, 10)
    assert Line(11.0, "/pods", 0, "", 12.0) == moved(Line(1.0, "/pods", 0, None, 12.0), 10)


# Played in a loop

OLD, NEW = "11111111-2222-3333-4444-555555555555", "ffffffff-2222-3333-4444-555555555555"


def listing(at: float, *uids: str) -> Line:
    return Line(at, "/pods", 200, json.dumps({"items": [{"metadata": {"uid": uid}} for uid in uids]}))


def test_pods_that_come_within_a_recording_are_others_in_each_pass() -> None:
    uids = newcomers(Recording((listing(1, OLD), listing(2, OLD, NEW)), "node-a"))

    assert {NEW} == uids
    bodies = [moved(listing(2, OLD, NEW), 0, uids, passes).body for passes in (0, 1, 2)]
    renewed = ("00000000-2222-3333-4444-555555555555", "00000001-2222-3333-4444-555555555555")
    assert [listing(2, OLD, uid).body for uid in (NEW, *renewed)] == bodies


def test_a_pod_has_the_same_uid_in_all_answers_and_events_of_a_pass() -> None:
    film = load(FILMS / "v1.36-film-slow-pulls.jsonl.gz")
    events = json.loads((FILMS / "v1.36-film-slow-pulls.events.json").read_text())["items"]
    now = [film.begin]
    player = Player(film, clock=lambda: now[0], events=events)
    now[0] += 60 + 2 * (film.end - film.begin)

    pods = json.loads((player.answer("/pods") or film.lines[0]).body or "")["items"]
    told = {pod["metadata"]["name"]: json.loads(player.events_of(pod["metadata"]["uid"]))["items"] for pod in pods}
    assert all(told[name] for name in ("pull-0", "pull-1", "pull-init", "cached"))
    statistics = (player.answer("/stats/summary") or film.lines[0]).body or ""
    assert all(pod["metadata"]["uid"] in statistics for pod in pods)
