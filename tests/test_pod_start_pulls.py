"""What is known of the pulls of constructed starts: nothing, a bound, all; and what follows for the verdict."""

from __future__ import annotations

import pytest
from starting import NO_IMAGE, Starts, app, container, pod, pull, started, watched

from kubelet_exporter.catalog.facts.pod_start import START_SETTLE
from kubelet_exporter.catalog.pod_start.memory import undecided_pods

SETTLE = START_SETTLE.value
BOTH = pytest.mark.parametrize("version", ["v1.31.14", "v1.36.2"])


@BOTH
def test_no_growth_of_the_histogram_means_no_pull(version: str) -> None:
    starts = watched(version).pods(30, started(after=15)).counters(31)

    assert "slow/runtime" == starts.only()
    assert {"platform": 15.5, "total": 15.5} == starts.clocks()


@BOTH
def test_the_pulls_of_a_pod_that_starts_alone_are_its_own(version: str) -> None:
    starts = watched(version).pods(30, started(after=15)).counters(31, pulls=(1, 12.0))

    assert {"good/none": 1} == starts.outcomes()
    assert {"platform": 3.5, "total": 15.5} == starts.clocks()
    assert 12.0 == starts.stages()["pull"]
    assert 12.0 == starts.memory.pulls.sum


@pytest.mark.parametrize(
    ("after", "seconds", "said"),
    [(3, 100.0, "good"), (20, 10.0, "slow"), (20, 15.0, "slow"), (20, 15.5, ""), (20, 18.0, "")],
)
def test_pulls_of_pods_that_start_together_are_a_bound(after: float, seconds: float, said: str) -> None:
    both = started("a", 10, after), started("b", 10, 25)
    starts = watched().pods(36, both[0], pod("b")).counters(37, pulls=(2, seconds))

    assert said == starts.track("a").verdict


@pytest.mark.parametrize(("bound", "platform"), [(0.3, 3.5), (1.0, 3.5), (1.1, 0.0)])
def test_pulls_within_the_resolution_of_times_are_none_for_a_start_that_is_good_anyhow(
    bound: float, platform: float
) -> None:
    starts = watched().pods(14, started(after=3), pod("b")).counters(15, pulls=(2, bound))

    assert "good/none" == starts.only()
    assert {"platform": platform, "total": 3.5} == starts.clocks()
    assert "pull" not in starts.stages()
    assert 0 == sum(starts.memory.pulls.counts)
    assert (3.0 if platform else None) == starts.stages().get("containers")


@pytest.mark.parametrize(("after", "said"), [(4, "good"), (5, ""), (6, "slow")])
def test_pulls_within_the_resolution_of_times_still_count_for_a_start_that_may_be_slow(after: float, said: str) -> None:
    """5.5 s of which 1 s may have been a pull: within 5 s or not."""
    starts = watched().pods(18, started(after=after), pod("b")).counters(19, pulls=(2, 1.0))

    assert said == starts.track("a").verdict
    assert (after + 0.5 if said == "good" else 0.0) == starts.clocks()["platform"]


def test_a_short_pull_of_a_pod_that_starts_alone_stays_its_own() -> None:
    starts = watched().pods(14, started(after=3)).counters(15, pulls=(1, 0.8))

    assert 0.8 == starts.stages()["pull"]
    assert pytest.approx(2.7) == starts.clocks()["platform"]


def test_a_short_pull_that_may_lie_in_a_wait_is_none_for_a_start_that_is_good_anyhow() -> None:
    waiting = pod("a", 10, app(waiting="ErrImagePull", message=NO_IMAGE), sandbox=10)
    starts = (
        watched().pods(12, waiting).pods(40, pod(sandbox=10)).pods(43, started(after=32)).counters(44, pulls=(1, 0.8))
    )

    # 10 to 42.5, less the wait from 10.5 to 40
    assert {"platform": 3.0, "total": 32.5} == starts.clocks()


def test_before_1_36_prepare_is_known_if_no_more_than_the_resolution_of_times_was_pulled() -> None:
    short, long = (
        watched("v1.31.14").pods(14, started(after=3, sandbox=14), pod("b")).counters(15, pulls=(2, bound))
        for bound in (0.4, 2.0)
    )

    assert (3.5, 0.0) == (short.stages()["prepare"], short.stages()["containers"])
    assert {"handoff": 0.0} == long.stages()


def test_a_pod_whose_pulls_stay_unknown_is_left_out_after_a_while() -> None:
    starts = watched().pods(36, started(after=20), pod("b")).counters(37, pulls=(1, 18.0))
    assert {} == starts.outcomes()

    starts.pods(30 + SETTLE, started(after=20), pod("b"))
    assert {} == starts.outcomes()
    starts.pods(31 + SETTLE, started(after=20), pod("b"))

    assert ({"excluded/none": 1}, {"pull_unknown": 1}) == starts.said()
    assert {"platform": 0.0, "total": 20.5} == starts.clocks()


@pytest.mark.parametrize("pulls", [(0, 0.0), (9, 900.0)])
def test_what_an_exact_sandbox_took_is_slow_whatever_was_pulled_behind_it(pulls: tuple[float, float]) -> None:
    starts = watched().pods(36, started(after=20, sandbox=18), pod("b")).counters(37, pulls=pulls)

    assert "slow/node" == starts.only()


def test_a_pull_that_another_pod_ended_just_before_is_not_this_ones() -> None:
    """Both share one window of the counters: the first pulled for 20 s, the second was slow without a pull."""
    first, second = started("a", 10, 29), started("b", 41, 12)
    starts = watched().counters(38).pods(42, first, pod("b", 41)).pods(54, first, second).counters(55, pulls=(1, 28.0))

    assert "" == starts.track("b").verdict


def test_a_pod_that_pulled_and_is_gone_is_another_pod() -> None:
    starts = (
        watched().pods(11, pod("a")).pods(16, pod("b", 15)).pods(29, started("b", 15, 12)).counters(30, pulls=(1, 10.0))
    )

    assert "" == starts.track("b").verdict


def test_a_job_that_pulled_and_ended_in_the_same_window_is_another_pod() -> None:
    job = pod("a", 10, container(started=38, finished=39), phase="Succeeded", sandbox=10)
    starts = watched().pods(42, job, pod("b", 41)).pods(54, job, started("b", 41, 12)).counters(55, pulls=(1, 28.0))

    assert "" == starts.track("b").verdict


@BOTH
def test_before_the_first_pull_the_histogram_is_absent_and_there_was_none(version: str) -> None:
    starts = (
        Starts(version=version).counters(0, pulls=None).pods(0).pods(30, started(after=15)).counters(31, pulls=None)
    )

    assert "slow/runtime" == starts.only()


def test_the_first_pull_of_all_is_born_within_its_window() -> None:
    starts = Starts().counters(0, pulls=None).pods(0).pods(30, started(after=15)).counters(31, pulls=(1, 12.0))

    assert {"good/none": 1} == starts.outcomes()


@pytest.mark.parametrize("version", ["v1.29.3", None])
def test_a_kubelet_before_1_30_tells_no_pulls_so_what_may_be_one_is_left_out(version: str | None) -> None:
    starts = Starts(version=version).counters(0, pulls=None).pods(0).counters(5, pulls=None)
    starts.pods(30, started(after=15), started("b", 10, 2, sandbox=12)).counters(31, pulls=None)
    assert {} == starts.outcomes()

    starts.pods(99, started(after=15), started("b", 10, 2, sandbox=12))

    assert ({"good/none": 1, "excluded/none": 1}, {"pull_unknown": 1}) == starts.said()


def test_pulls_are_unknown_over_a_restart_of_the_kubelet_even_if_their_number_grew() -> None:
    starts = watched().pods(30, started(after=15)).counters(31, pulls=(1, 1.0), born=28)

    assert "" == starts.only()
    assert starts.memory.windows[-1].pulls is None


def test_pulls_before_the_first_reading_of_counters_are_unknown() -> None:
    starts = Starts().pods(0).counters(12).pods(30, started(after=15)).counters(31)

    assert "" == starts.only()


@BOTH
def test_events_tell_pulls_and_waits_exactly(version: str) -> None:
    starts = (
        watched(version)
        .pods(41, pod("b"))
        .pods(42, started(after=30, sandbox=11), pod("b"))
        .counters(43, pulls=(1, 29))
    )
    assert [1, 0] == [len(undecided_pods(starts.memory, starts.snapshot.now)), len(starts.outcomes())]

    starts.events(44, a=[pull(40, 20, 8)])

    assert {"good/none": 1} == starts.outcomes()
    assert {"platform": 2.5, "total": 30.5} == starts.clocks()
    stages = starts.stages()
    assert {"pull": 20.0, "pull_wait": 8.0, "containers": 1.0, "prepare": 1.5} == {
        each: stages[each] for each in ("pull", "pull_wait", "containers", "prepare")
    }


def test_pulls_and_init_runs_that_overlap_are_left_out_once() -> None:
    init = container("init", role="init", started=20, finished=30)
    fold = watched().pods(42, pod("a", 10, init, app(40), sandbox=10), pod("b")).counters(43, pulls=(2, 40))
    fold.events(44, a=[pull(25, 10), pull(38, 10)])

    # 30.5 s less the union of 15-25, 28-38 and 20.5-30.5
    assert 7.5 == fold.clocks()["platform"]
    assert {
        "handoff": 0.0,
        "prepare": 0.5,
        "init": 10.0,
        "pull": 13.0,
        "pull_wait": 0.0,
        "containers": 7.0,
    } == fold.stages()


def test_a_wait_for_a_pull_is_no_longer_than_the_start_itself() -> None:
    fold = watched().pods(42, started(after=12), pod("b")).counters(43, pulls=(2, 40)).events(44, a=[pull(20, 5, 30)])

    assert (0.0, 10.0) == (fold.stages()["pull"], fold.stages()["pull_wait"])


def test_events_that_tell_of_a_slow_start_make_it_slow() -> None:
    starts = watched().pods(42, started(after=30), pod("b")).counters(43, pulls=(1, 29)).events(44, a=[pull(20, 5)])

    assert "slow/runtime" == starts.only()
