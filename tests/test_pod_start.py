"""Verdict and blame of constructed starts: clocks, pulls, evidence, what is taken away."""

from __future__ import annotations

from typing import Any

import pytest
from starting import NO_IMAGE, Starts, app, container, pod, started, watched

from kubelet_exporter.catalog.facts.pod_start import (
    START_BLOCK,
    START_CLOCK,
    START_GOOD,
    START_GOOD_STATEFUL,
    START_SETTLE,
)
from kubelet_exporter.catalog.pod_start.judge import PAIRS
from kubelet_exporter.catalog.pod_start.metrics import outcomes

BOTH = pytest.mark.parametrize("version", ["v1.31.14", "v1.36.2"])
GOOD, STATEFUL = START_GOOD.value, START_GOOD_STATEFUL.value
CLOCK, BLOCK, SETTLE = START_CLOCK.value, START_BLOCK.value, START_SETTLE.value


# Verdicts


def test_every_legal_pair_of_verdict_and_blame_is_there_at_0_before_any_reading() -> None:
    starts = Starts()

    rows = [(row.verdict, row.blame, row.count) for row in outcomes(starts.snapshot, starts.memory)]
    assert [(*pair, 0) for pair in PAIRS] == rows
    assert len(set(PAIRS)) == len(PAIRS) == 16


def test_only_good_excluded_and_unknown_starts_have_no_blame_and_nobody_else_is_blamed_for_slow_ones() -> None:
    assert {("good", "none"), ("excluded", "none"), ("unknown", "none")} == {pair for pair in PAIRS if "none" in pair}
    assert {"runtime", "network", "storage", "node", "unknown"} == {
        blame for verdict, blame in PAIRS if verdict == "slow"
    }


@pytest.mark.parametrize(
    ("volumes", "after", "said"),
    [
        (frozenset[str](), GOOD - 0.5, "good/none"),
        (frozenset[str](), GOOD, "slow/runtime"),  # taken in the middle of the second: half a second above
        (frozenset({"configMap", "secret", "projected", "emptyDir", "downwardAPI", "image"}), GOOD, "slow/runtime"),
        (frozenset({"persistentVolumeClaim"}), GOOD, "good/none"),
        (frozenset({"persistentVolumeClaim"}), STATEFUL, "slow/runtime"),
        (frozenset({"csi", "projected"}), STATEFUL - 1, "good/none"),
        (frozenset({"hostPath"}), GOOD + 1, "good/none"),
    ],
)
def test_a_start_is_good_within_the_limit_of_its_class(volumes: frozenset[str], after: float, said: str) -> None:
    starts = watched().pods(11, pod(volumes=volumes)).pods(50, started(after=after, volumes=volumes)).counters(60)

    assert said == starts.only()


@pytest.mark.parametrize(
    ("sandbox", "said"), [(10, "slow/runtime"), (14, "slow/runtime"), (15, "slow/node"), (20, "slow/node")]
)
def test_without_evidence_the_node_is_blamed_up_to_the_sandbox_and_the_runtime_behind_it(
    sandbox: float, said: str
) -> None:
    starts = watched().pods(30, started(after=12, sandbox=sandbox)).counters(31)

    assert said == starts.only()


def test_a_start_is_judged_once_however_often_it_is_read() -> None:
    starts = watched().pods(12, started()).counters(15)

    for at in range(16, 30):
        starts.pods(at, started()).counters(at)

    assert {"good/none": 1} == starts.outcomes()


def test_a_pod_of_several_containers_starts_with_its_last() -> None:
    containers = app(11), container("second", started=13), container("third")
    starts = watched().pods(14, pod("a", 10, *containers, sandbox=10)).counters(15)
    assert "" == starts.only()

    starts.pods(30, pod("a", 10, *containers[:2], container("third", started=29), sandbox=10)).counters(31)

    assert "slow/runtime" == starts.only()
    assert 19.5 == starts.clocks()["total"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_job_that_ends_at_once_has_started_whatever_its_exit(phase: str) -> None:
    run = container(started=11, finished=11, ended="Error" if phase == "Failed" else "Completed")

    starts = watched().pods(12, pod("a", 10, run, phase=phase)).counters(15)

    assert ({"good/none": 1}, {}) == starts.said()


def test_the_sandbox_of_a_job_that_ended_unseen_is_unknown_from_1_36_on() -> None:
    """The condition is False again, and the start of a container is no exact time of its sandbox."""
    run = container(started=11, finished=11, ended="Completed")

    starts = watched().pods(12, pod("a", 10, run, phase="Succeeded")).counters(15)

    assert {"handoff": 0.0} == starts.stages()


@pytest.mark.parametrize(("after", "said"), [(1, "good/none"), (30, "slow/runtime")])
def test_a_pod_that_is_gone_before_its_pulls_are_known_still_has_its_verdict(after: float, said: str) -> None:
    starts = watched().pods(10 + after, started(after=after)).counters(41).pods(42).pods(43)
    early = watched().pods(12, started()).pods(13).pods(14)

    assert said == starts.only()
    assert ({"good/none": 1}, {}) == early.said()


def test_a_container_that_started_at_a_time_nobody_knows_makes_an_unknown_start() -> None:
    starts = watched().pods(15, pod("a", 10, app(14, restarts=2, last_started=12)))

    assert ({"unknown/none": 1}, {"start_time_lost": 1}) == starts.said()


def test_after_one_restart_the_first_start_is_that_of_the_last_run() -> None:
    starts = watched().pods(20, pod("a", 10, app(19, restarts=1, last_started=11), sandbox=10)).counters(21)

    assert 1.5 == starts.clocks()["total"]


def test_zero_times_are_no_starts() -> None:
    failing = app(
        None, waiting="CrashLoopBackOff", ended="StartError", ended_message='exec: "x": no such file or directory'
    )
    starts = watched().pods(12, pod("a", 10, failing, sandbox=10)).pods(13 + BLOCK, pod("a", 10, failing, sandbox=10))

    assert {"failed/user": 1} == starts.outcomes()
    assert {} == starts.stages()


# The user's and the registry's waits


@pytest.mark.parametrize(
    ("reason", "message", "said"),
    [
        ("CreateContainerConfigError", "", "failed/user"),
        ("ErrImagePull", NO_IMAGE, "failed/user"),
        ("ErrImagePull", "toomanyrequests", "failed/registry"),
        ("RegistryUnavailable", "", "failed/registry"),
    ],
)
def test_who_holds_up_a_start_for_too_long_has_failed_it(reason: str, message: str, said: str) -> None:
    waiting = pod("a", 10, app(waiting=reason, message=message), sandbox=10)
    starts = watched().pods(12, waiting).pods(10 + BLOCK, waiting)
    assert "" == starts.only()

    starts.pods(12 + BLOCK, waiting)

    assert said == starts.only()


def test_the_clock_stands_still_while_the_user_holds_up_a_start() -> None:
    waiting = pod("a", 10, app(waiting="CreateContainerConfigError"), sandbox=10)
    starts = watched().pods(12, waiting).pods(400, waiting).pods(405, started(after=392)).counters(410)

    assert {"good/none": 1} == starts.outcomes()


def test_a_failed_pull_counts_from_its_begin_and_not_from_its_message() -> None:
    """The attempt that failed is in no histogram: else 40 s of a registry that does not answer were the runtime's."""
    waiting = pod("a", 10, app(waiting="ErrImagePull", message="i/o timeout"), sandbox=10)
    starts = (
        watched().pods(11, pod(sandbox=10)).pods(51, waiting).pods(60, started(after=48)).counters(61, pulls=(1, 2.0))
    )

    assert {"good/none": 1} == starts.outcomes()


def test_a_pull_within_a_wait_is_not_left_out_twice() -> None:
    """10 s in the queue of the runtime after the wait cannot be hidden by 20 s of pull within the wait."""
    waiting = pod("a", 10, app(waiting="ErrImagePull", message="i/o timeout"), sandbox=10)
    starts = (
        watched().pods(12, waiting).pods(40, pod(sandbox=10)).pods(51, started(after=40)).counters(52, pulls=(1, 20.0))
    )
    assert "" == starts.only()

    starts.pods(60 + SETTLE, started(after=40))

    assert ({"excluded/none": 1}, {"pull_unknown": 1}) == starts.said()


def test_a_back_off_that_does_not_tell_its_cause_goes_on_with_the_last_one() -> None:
    error = pod("a", 10, app(waiting="ErrImagePull", message=NO_IMAGE), sandbox=10)
    silent = pod("a", 10, app(waiting="ImagePullBackOff", message='Back-off pulling image "x"'), sandbox=10)
    starts = watched("v1.31.14").pods(12, error)

    for at in range(20, 600, 20):
        starts.pods(at, error if at % 80 == 0 else silent)
    assert "" == starts.only()
    starts.pods(15 + BLOCK, silent)

    assert "failed/user" == starts.only()


def test_a_start_that_came_late_is_counted_once_as_failed_and_once_as_late() -> None:
    starts = watched().pods(11, pod()).pods(20 + CLOCK, pod())
    assert {"failed/node": 1} == starts.outcomes()

    starts.pods(400, started(after=380)).pods(405, started(after=380))

    assert ({"failed/node": 1}, 1) == (starts.outcomes(), starts.memory.late)


# Never started


def test_a_pod_without_a_sandbox_fails_when_the_clock_has_run_out() -> None:
    starts = watched().pods(11, pod()).pods(10 + CLOCK, pod())
    assert "" == starts.only()

    starts.pods(11 + CLOCK, pod())

    assert "failed/node" == starts.only()


@pytest.mark.parametrize(("version", "sandbox"), [("v1.36.2", 10), ("v1.31.14", None), (None, None)])
def test_what_may_be_a_pull_is_given_more_time_and_blamed_on_nobody(version: str | None, sandbox: float | None) -> None:
    """Before 1.36 the sandbox is told after the pull: a pod without one may be pulling a large image."""
    waiting = pod(sandbox=sandbox)
    starts = watched(version).pods(11, waiting).pods(20 + CLOCK, waiting)
    assert "" == starts.only()

    starts.pods(20 + BLOCK, waiting)

    assert "failed/unknown" == starts.only()


def test_the_clock_runs_only_while_the_pods_are_listed() -> None:
    """A /pods that does not answer says nothing of its pods, whatever /metrics says."""
    starts = watched().pods(11, pod()).counters(20 + CLOCK)

    assert {} == starts.outcomes()


@pytest.mark.parametrize(
    ("reason", "message", "said"),
    [
        ("OutOfcpu", "", "failed/control_plane"),
        ("NodeAffinity", "", "failed/control_plane"),
        ("UnexpectedAdmissionError", "", "failed/node"),
        ("Evicted", "The node was low on resource: memory.", "failed/node"),
        ("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 60Mi.", "failed/user"),
        ("SysctlForbidden", "", "failed/user"),
        ("", "", "failed/node"),
    ],
)
def test_a_pod_that_ended_before_it_started_has_failed(reason: str, message: str, said: str) -> None:
    starts = watched().pods(11, pod(phase="Failed", reason=reason, message=message))

    assert said == starts.only()


@pytest.mark.parametrize(
    "away",
    [
        {"phase": "Failed", "reason": "Preempting"},
        {"phase": "Failed", "reason": "NodeShutdown"},
        {"phase": "Failed", "reason": "Terminated"},
        {"phase": "Pending", "disruption": "EvictionByEvictionAPI", "deletion": 45, "grace": 30},
        {"phase": "Failed", "disruption": "PreemptionByScheduler", "deletion": 40, "grace": 30},
    ],
)
def test_a_pod_that_was_taken_away_before_it_started_is_excluded(away: dict[str, Any]) -> None:
    starts = watched().pods(60, pod(**away))

    assert ({"excluded/none": 1}, {"taken_away": 1}) == starts.said()


# Deleted: slow already, or left out


@pytest.mark.parametrize("phase", ["Pending", "Failed"])
@pytest.mark.parametrize(
    ("asked", "sandbox", "said"),
    [
        (13, None, "excluded/none"),
        (14, None, "excluded/none"),
        (20, None, "slow/node"),
        (20, 12, "excluded/none"),  # behind the sandbox it may have pulled
        (30, 20, "slow/node"),
    ],
)
def test_a_pod_that_is_deleted_is_slow_if_it_was_so_when_it_was_deleted(
    phase: str, asked: float, sandbox: float | None, said: str
) -> None:
    starts = watched().pods(11, pod()).pods(45, pod(deletion=asked + 30, grace=30, phase=phase, sandbox=sandbox))

    assert said == starts.only()
    assert ({} if said == "slow/node" else {"deleted": 1}) == starts.skipped()


def test_before_1_36_a_pod_that_is_deleted_may_have_pulled_unless_its_sandboxes_failed() -> None:
    deleted = pod(deletion=70, grace=30)
    pulling = watched("v1.31.14").pods(11, pod()).pods(45, deleted)
    failing = watched("v1.31.14").pods(11, pod()).counters(15, errors={"": 1}).pods(45, deleted)

    assert ["excluded/none", "slow/network"] == [pulling.only(), failing.only()]


def test_a_deleted_pod_that_the_user_held_up_is_left_out() -> None:
    waiting = app(waiting="CreateContainerConfigError")
    starts = watched().pods(12, pod("a", 10, waiting, sandbox=10))
    starts.pods(99, pod("a", 10, waiting, sandbox=10, deletion=90, grace=0))

    assert ({"excluded/none": 1}, {"deleted": 1}) == starts.said()


def test_a_pod_that_is_deleted_after_it_started_is_judged_by_its_start() -> None:
    starts = watched().pods(12, started(deletion=42, grace=30)).counters(15)

    assert {"good/none": 1} == starts.outcomes()
