"""The film of slow pulls, without and with the events that tell how long they took.

Images came one after another through a slow registry. Three pods pulled at once, so the kubelet's histogram of pulls grew for all
of them. Numbers beside a row are seconds of the minute, as in test_film_starts. A pull that "took 10.314s (17.302s including
waiting)" and was reported in second 55 lies from 55.5 - 17.302 to 55.5; 6.988 s of it were spent in the queue.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from films import RECORDINGS, Fold, Row, check, film

from kubelet_exporter import catalog
from kubelet_exporter.catalog.pod_start.judge import Pull
from kubelet_exporter.catalog.pod_start.memory import undecided_pods
from kubelet_exporter.snapshot import Reading, Source

PULLED = re.compile(r'Successfully pulled image ".*" in ([\d.]+)s \(([\d.]+)s including waiting\)')

STATIC = Row("static-agent-node-a", "", skip="static")
CACHED = Row(
    "cached",
    "good",
    prepare=1.0793,
    containers=0.0,
    why="seen 37.4207, sandbox 38, app 38: judged at the next reading of counters, before any pull had ended",
)

# The sandbox was ready at 37, before the pulls: prepare is known, whatever was pulled. But it says nothing about 8 to 49 s behind it.
WITHOUT_EVENTS = (
    STATIC,
    CACHED,
    Row("pull-0", "excluded", skip="pull_unknown", why="seen 37.3714, app 45: 8.1 s of which 0 to 7.1 s were pulls"),
    Row(
        "pull-1", "excluded", skip="pull_unknown", why="seen 37.388, second 86: 49.1 s, pulls of up to 96.7 s meanwhile"
    ),
    Row(
        "pull-init",
        "excluded",
        skip="pull_unknown",
        init=6.0,
        why="seen 37.4017, prep 72 to 78, app 78: 41.1 s, less 6 s of init",
    ),
)

WITH_EVENTS = (
    STATIC,
    CACHED,
    Row(
        "pull-0",
        "good",
        prepare=0.1286,
        pull=7.053,
        pull_wait=0.0,
        containers=0.947,
        why="seen 37.3714, sandbox 37, pulled until 44 for 7.053 s, app 45: 8.1286 s less the pull are 1.08 s",
    ),
    Row(
        "pull-1",
        "good",
        prepare=0.112,
        pull=24.159,
        pull_wait=24.002,
        containers=0.839,
        why="seen 37.388, sandbox 37; until 55 10.314 s of 17.302 s, app 55; until 86 13.845 s of 30.859 s, second 86",
    ),
    Row(
        "pull-init",
        "good",
        prepare=0.0983,
        init=6.0,
        pull=17.102,
        pull_wait=17.3,
        containers=0.598,
        why="seen 37.4017, sandbox 37; until 72 17.102 s of 34.402 s, prep 72 to 78, app 78 with an image that was there",
    ),
)


def slow_pulls() -> list[Reading]:
    return film("v1.36-film-slow-pulls")


def told() -> dict[str, tuple[Pull, ...]]:
    """The pulls of each pod, as its events tell."""
    file = RECORDINGS / "v1.36-film-slow-pulls.events.json"
    events: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["items"]
    pulls: dict[str, tuple[Pull, ...]] = {}
    for event in events:
        if match := PULLED.match(event["message"]):
            end = datetime.fromisoformat(event["lastTimestamp"]).timestamp() + 0.5
            pull = Pull(end, float(match[1]), float(match[2]) - float(match[1]))
            uid = event["involvedObject"]["uid"]
            pulls[uid] = (*pulls.get(uid, ()), pull)
    return pulls


def test_without_events_a_start_that_may_have_been_a_pull_is_excluded() -> None:
    fold = Fold().take(slow_pulls()).later()

    # prepare of an excluded pod is known on 1.36, though nothing is known of its pulls
    assert {"pull_unknown": 3, "static": 1} == {reason: n for reason, n in fold.memory.skipped.items() if n}
    prepares = {"pull-0": 0.1286, "pull-1": 0.112, "pull-init": 0.0983}
    check(fold, [row._replace(prepare=prepares.get(row.name, row.prepare)) for row in WITHOUT_EVENTS])


def test_with_events_every_pull_and_every_wait_for_one_is_told_apart() -> None:
    readings = slow_pulls()
    at = readings[0].attempted_at + 60.5
    events = Reading(Source.EVENTS, at, 0.01, value=told(), read_at=at)

    check(Fold().take(sorted([*readings, events], key=lambda each: each.attempted_at)), WITH_EVENTS)


def test_events_are_asked_only_for_pods_that_would_else_be_left_out() -> None:
    readings = slow_pulls()
    asked: list[set[str]] = []
    fold = Fold()

    for reading in readings:
        fold.take([reading])
        asked.append({pod.name for pod in undecided_pods(fold.memory, fold.snapshot.now)})

    assert {"pull-0"} in asked
    assert {"pull-0", "pull-1", "pull-init"} in asked
    assert not any("cached" in names or "static-agent-node-a" in names for names in asked)


def test_where_no_events_are_asked_for_a_start_is_left_out_as_soon_as_the_counters_leave_it_undecided() -> None:
    fold = Fold(ledger=catalog.first_ledger()).take(film("v1.36-film-slow-pulls"))

    found = {name: fold.found[uid] for uid, name in fold.names.items() if name.startswith("pull-")}
    assert {"pull-0", "pull-1", "pull-init"} == found.keys()
    assert {("excluded", "pull_unknown")} == {(each.verdict, each.skip) for each in found.values()}
    assert all(each.at < 60 for each in found.values())
