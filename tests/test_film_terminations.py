"""The film v1.36-film-terminations read by hand: how long each pod took to end, and who is overdue when.

All times are seconds of the film. Pods are listed every second. The film begins 0.81 s into a second and the API server's times
are whole seconds, so that these stand at .19 s of the film.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import pytest
from bodies import Known, pods
from recorded import film, listings, played

from kubelet_exporter.catalog.termination import Memory
from kubelet_exporter.snapshot import Source

FILM = "v1.36-film-terminations"
BEGIN = film(FILM).begin
RESOLUTION = 0.02  # of the tables


class End(NamedTuple):
    """The UID of a pod, when its deletion was asked for, the first listing without it, and why it took so long."""

    uid: str
    asked: float
    gone: float
    why: str


# `asked` is the first deletionTimestamp that was listed, less the grace period beside it.
ENDS = {
    "orders-0": End(
        "e2d350fd", 9.19 - 5, 13.02, "ignores SIGTERM for its 5 s, up to 9.19; then its sidecar is stopped"
    ),
    "prestop": End("416af6af", 64.19 - 60, 19.02, "its preStop hook sleeps 12 s; over at 17.19, well within its 60 s"),
    "web-84b76c6b94-2ljkf": End("d263179c", 24.19 - 5, 27.05, "ignores SIGTERM as process 1: killed after its 5 s"),
    "web-84b76c6b94-97j56": End("ba111d45", 24.19 - 5, 27.05, "the same"),
    "slow-stop": End("e69d5eb9", 34.19 - 30, 36.06, "traps SIGTERM: killed after its 30 s, at 34.19"),
    "live-fail": End(
        "ceb6f35c", 70.19 - 30, 86.12, "its probe's kill ends in a restart at 54.19; that run has 30 s again"
    ),
    "held": End(
        "5cbf9f70", 9.19 - 5, 111.16, "over at 5.19, which the kubelet tells with grace 0; a finalizer holds it"
    ),
}


class Late(NamedTuple):
    """A moment, since when each pod is overdue at it, and why these."""

    at: float
    since: dict[str, float]
    why: str


WEB = {"web-84b76c6b94-2ljkf": 24.19, "web-84b76c6b94-97j56": 24.19}
HELD = {"held": 5.19}
LATE = (
    Late(5.1, {}, "four deletions were asked for at 4.19, all within their grace"),
    Late(6.5, {}, "held is over, but its deletionTimestamp still stands at 9.19"),
    Late(7.1, HELD, "the kubelet has set its grace to 0 and so its time to 5.19"),
    Late(12.1, HELD | {"orders-0": 9.19}, "its 5 s are over and it is still listed"),
    Late(13.1, HELD, "orders-0 is gone: that of this name is its successor"),
    Late(24.1, HELD, "web has until 24.19"),
    Late(26.5, HELD | WEB, "killed, and not yet removed"),
    Late(34.1, HELD, "slow-stop has until 34.19"),
    Late(35.5, HELD | {"slow-stop": 34.19}, "killed, and not yet removed"),
    Late(64.5, HELD, "prestop was gone long before its 64.19"),
    Late(70.1, HELD, "live-fail has until 70.19"),
    Late(86.0, HELD | {"live-fail": 70.19}, "its run of 54.19 was killed at 84.19, and it is not yet removed"),
    Late(111.1, HELD, "still held"),
    Late(111.2, {}, "the finalizer was removed"),
    Late(124.1, {}, "the end"),
)


def memory(known: Known) -> Memory:
    """What the topic remembers."""
    remembered: Memory = known.ledger["termination"]
    return remembered


def moments(begin: float = 0.0, uid: str = "") -> Iterator[Known]:
    """What is known after each listing, if the film began then and held only pods whose UID begins so."""
    known = Known()
    for at, items in listings(FILM):
        if at >= begin:
            chosen = [item for item in items if item["metadata"]["uid"].startswith(uid)]
            yield known.at(BEGIN + at).read(Source.PODS, pods(*chosen))


@pytest.mark.parametrize("name", ENDS)
def test_a_pod_of_the_film_took_as_long_as_its_timestamps_say(name: str) -> None:
    uid, asked, gone, why = ENDS[name]
    *_, end = moments(uid=uid)
    histogram = memory(end).taken.histogram

    assert 1 == histogram.count
    assert pytest.approx(gone - asked, abs=RESOLUTION) == histogram.sum, why


def test_the_whole_film_is_observed_as_the_table_says() -> None:
    seconds = sorted(end.gone - end.asked for end in ENDS.values())
    histogram = memory(played(FILM)).taken.histogram
    below_8 = dict.fromkeys((0.5, 1, 2, 3, 4, 5, 6), 0)

    assert [7.86, 7.86, 8.83, 14.83, 31.87, 45.93, 106.97] == [round(each, 2) for each in seconds]
    assert below_8 | {8: 2, 10: 3, 20: 4, 30: 4, 45: 5, 60: 6, 120: 7, 300: 7, 600: 7, 1800: 7, inf: 7} == dict(
        histogram.buckets
    )
    assert pytest.approx(sum(seconds), abs=RESOLUTION) == histogram.sum
    assert {} == memory(played(FILM)).asked


def test_a_pod_of_the_film_that_was_removed_by_force_is_not_observed() -> None:
    # crash is listed at 40.06 without a deletionTimestamp and gone at 41.07: nothing tells when its deletion was asked for.
    *_, end = moments(uid="87f4fa5c")

    assert 0 == memory(end).taken.histogram.count


@pytest.mark.parametrize("late", LATE, ids=lambda late: str(late.at))
def test_at_a_moment_of_the_film_these_pods_are_overdue(late: Late) -> None:
    lines = [line.rsplit(" ", 1) for line in played(FILM, until=late.at).series("pod_termination_overdue_seconds")]
    since = {name.partition('pod="')[2].partition('"')[0]: late.at - float(value) for name, value in lines}

    assert {name: pytest.approx(each, abs=RESOLUTION) for name, each in late.since.items()} == since, late.why


@pytest.mark.parametrize(("at", "count"), [(4.5, 0), (5.5, 4), (14, 3), (22, 4), (28, 2), (42, 2), (87, 1), (124, 0)])
def test_at_a_moment_of_the_film_so_many_pods_are_being_deleted(at: float, count: int) -> None:
    # 4: held, slow-stop, prestop, orders-0; 3: orders-0 is gone; 4: prestop is gone, two of web come; 2: held, slow-stop;
    # 2: held, live-fail; 1: held.
    assert [f"pods_terminating {count}.0"] == played(FILM, until=at).series("pods_terminating")


def test_an_exporter_that_starts_in_the_middle_of_the_film_observes_whole_what_ends_after_it() -> None:
    *_, end = moments(begin=50)
    histogram = memory(end).taken.histogram

    # live-fail as in the table; held from 5.19 instead of 4.19, since its grace is 0 by now.
    assert 2 == histogram.count
    assert pytest.approx((86.12 - 40.19) + (111.16 - 5.19), abs=RESOLUTION) == histogram.sum
