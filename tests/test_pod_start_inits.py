"""Starts that their init containers hold up."""

from __future__ import annotations

import pytest
from starting import app, container, pod, watched

from kubelet_exporter.catalog.facts.pod_start import START_BLOCK
from kubelet_exporter.pod import Container, Pod

BLOCK = START_BLOCK.value


def initializing(init: Container) -> Pod:
    """A pod whose app waits for this init container."""
    return pod("a", 10, init, app(waiting="PodInitializing"), sandbox=10)


def test_an_init_container_that_waits_for_its_next_attempt_is_the_users() -> None:
    crashing = container("init", role="init", waiting="CrashLoopBackOff", last_started=11, ended="Error", restarts=1)
    starts = watched().pods(12, initializing(crashing)).pods(20 + BLOCK, initializing(crashing))

    assert "failed/user" == starts.only()


@pytest.mark.parametrize(
    "attempt",
    [
        {"started": 595, "last_started": 295, "ended": "Error", "restarts": 6},
        {"started": 595, "finished": 596, "ended": "Error", "restarts": 6},
    ],
    ids=["while it runs", "when it has just failed"],
)
def test_an_init_container_that_fails_again_and_again_is_the_users_whenever_it_is_listed(
    attempt: dict[str, float],
) -> None:
    """Each attempt ends the wait for it: counted from the last one, the user's patience would never run out."""
    listed = initializing(container("init", role="init", **attempt))
    starts = watched().pods(12, initializing(container("init", role="init", started=11))).pods(10 + BLOCK, listed)
    assert "" == starts.only()

    starts.pods(11 + BLOCK, listed)

    assert "failed/user" == starts.only()


def test_an_init_container_may_run_for_hours() -> None:
    running = initializing(container("init", role="init", started=11))
    starts = watched().pods(12, running).pods(9000, running)

    assert {} == starts.outcomes()


def test_an_init_container_that_failed_and_then_ended_well_is_not_to_blame_for_what_comes_after_it() -> None:
    done = container("init", role="init", started=40, finished=50, last_started=30, restarts=3)
    hanging = pod("a", 10, done, app(waiting="ContainerCreating"), sandbox=10, initialized=50)
    starts = watched().pods(60, hanging).pods(11 + BLOCK, hanging)
    assert "" == starts.only()

    starts.pods(60 + BLOCK, hanging)

    assert "failed/unknown" == starts.only()


def test_a_pod_whose_init_container_ended_it_has_failed_on_the_users_account() -> None:
    ended = container("init", role="init", started=11, finished=12, ended="Error")
    starts = watched().pods(13, pod("a", 10, ended, app(waiting="PodInitializing"), phase="Failed", sandbox=10))

    assert "failed/user" == starts.only()
