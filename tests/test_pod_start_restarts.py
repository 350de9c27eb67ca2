"""Starts around restarts of the exporter and of the kubelet, on new nodes, and pods that are no ordinary ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starting import BEGIN, NO_IMAGE, Starts, again, app, container, pod, started, watched

from kubelet_exporter.catalog.facts.pod_start import START_BLOCK
from kubelet_exporter.catalog.pod_start.memory import Memory, pending
from kubelet_exporter.pod import Pod, Probe

BLOCK = START_BLOCK.value

# The exporter restarts


def test_without_a_checkpoint_pods_that_were_bound_before_are_left_out() -> None:
    done = container(started=1, finished=2)
    starts = (
        Starts()
        .counters(0)
        .pods(
            10.5,
            started("a", 2),
            pod("b", 2),
            pod("c", 2, done, phase="Succeeded"),
            pod("d", 2, phase="Failed", reason="OutOfcpu"),
            pod("e", 2, app(5, restarts=3, last_started=4)),
            pod("f", 2, scheduled=None, created=None),
        )
    )

    assert ({}, {"preexisting": 4, "restart_window": 2}) == starts.said()


def test_pods_that_are_left_out_stay_so() -> None:
    starts = Starts().counters(0).pods(10.5, pod(at=2)).pods(99, started(at=2, after=90)).counters(100)

    assert ({}, {"restart_window": 1}) == starts.said()
    assert {} == starts.stages()


def test_pods_that_are_bound_after_the_exporter_began_are_counted() -> None:
    starts = Starts().counters(0).pods(10.5).pods(13, started(at=11)).counters(20)

    assert ({"good/none": 1}, {}) == starts.said()


def test_with_a_checkpoint_starts_that_nobody_saw_are_recovered_and_counted_ones_are_not_counted_again() -> None:
    memory = Memory(checkpoint=BEGIN + 100, counted=frozenset("ab"), pending=frozenset("cd"))
    starts = (
        Starts(memory)
        .counters(140)
        .pods(
            145,
            started("a", 20),  # counted as good
            pod("b", 30),  # counted as failed
            started("c", 98, 4, sandbox=99),  # still followed, started while nobody looked
            pod("d", 98),  # still followed, still on its way
            started("e", 20),  # older than the first exporter
            started("f", 110),  # all of it while nobody looked
            pod("g", 139),
        )
    )
    later = started("c", 98, 4), started("d", 98, 104, sandbox=201), started("g", 139, 2)
    starts.counters(150).pods(210, *later).pods(270, *later)

    assert {"good/none": 3, "slow/node": 1} == starts.outcomes()
    assert {"preexisting": 3} == starts.skipped()


def test_what_was_recovered_once_is_not_recovered_when_it_is_listed_anew() -> None:
    memory = Memory(checkpoint=BEGIN + 100, pending=frozenset("a"))
    anew = pod("a", 90, seen=103, accepted=90)
    starts = Starts(memory).counters(101).pods(102, pod("a", 90)).pods(103).pods(104).pods(105, anew)

    assert ({"unknown/none": 1}, {"vanished": 1, "preexisting": 1}) == starts.said()


def test_the_wait_of_a_pod_that_is_followed_further_counts_from_its_begin() -> None:
    waiting = pod("a", 10, app(waiting="ErrImagePull", message=NO_IMAGE), sandbox=11)
    before = watched().pods(12, waiting)
    after = again(before, checkpoint=BEGIN + 400, pending=pending(before.memory)).counters(401).pods(402, waiting)

    after.pods(405, started(after=394, sandbox=11)).pods(500, started(after=394, sandbox=11))

    assert {"good/none": 1} == after.outcomes()


def test_an_init_container_whose_first_start_nobody_knows_has_run_since_the_sandbox() -> None:
    init = container("init", role="init", started=300, finished=310, last_started=200, restarts=4)
    memory = Memory(checkpoint=BEGIN + 200, pending=frozenset("a"))
    starts = Starts(memory).counters(240).pods(350, pod("a", 10, init, app(311), sandbox=11)).pods(420).pods(421)

    assert {"good/none": 1} == starts.outcomes()


# The kubelet restarts


def test_a_kubelet_that_restarts_while_a_pod_starts_makes_its_times_useless_but_not_its_verdict() -> None:
    starts = watched().pods(11, pod()).pods(13, pod(seen=12.5)).pods(15, replace(started(after=3), seen=BEGIN + 12.5))
    starts.counters(16)

    assert ({"good/none": 1}, {"interrupted": 1}) == starts.said()
    assert ({}, {"platform": 0.0, "total": 0.0}) == (starts.stages(), starts.clocks())


def test_a_kubelet_that_restarts_while_a_pod_starts_does_not_set_back_its_clock() -> None:
    late = pod("a", 10, app(23), seen=20, sandbox=22)
    starts = watched().pods(11, pod()).pods(21, pod(seen=20)).pods(24, late).counters(25)

    assert ({"slow/node": 1}, {"interrupted": 1}) == starts.said()


def test_times_of_a_pod_that_had_started_survive_a_restart_of_the_kubelet() -> None:
    starts = watched().pods(12, started()).counters(15).pods(30, started(seen=29)).counters(31, born=29)

    assert ({"good/none": 1}, {}) == starts.said()
    assert 1.5 == starts.clocks()["total"]


@pytest.mark.parametrize(("empty", "skipped"), [([50], {}), ([49, 50], {"preexisting": 1})], ids=["once", "twice"])
@pytest.mark.parametrize(
    "listed",
    [
        started(seen=50),
        started(seen=50, accepted=10),
        pod("a", 10, app(45, restarts=5, last_started=40), seen=50, accepted=10),
        pod("a", 10, app(waiting="ErrImagePull", message=NO_IMAGE), seen=50, accepted=10),
    ],
    ids=["started", "started and accepted", "crashing", "held up"],
)
def test_pods_that_a_restarted_kubelet_sees_anew_are_not_counted_again(
    listed: Pod, empty: list[float], skipped: dict[str, int]
) -> None:
    """It lists nothing at first, and then all its pods as if they were new."""
    starts = watched().pods(12, started()).counters(15)
    for at in empty:
        starts.pods(at)
    starts.pods(51, listed).counters(55).pods(55 + BLOCK, listed)

    assert ({"good/none": 1}, skipped) == starts.said()


def test_a_kubelet_that_saw_a_pod_within_the_second_of_its_start_did_not_restart() -> None:
    starts = watched().pods(11, pod("a", 10, app(10), seen=10.9, accepted=10, sandbox=10)).counters(15)

    assert ({"good/none": 1}, {}) == starts.said()
    assert 0.0 == starts.clocks()["total"]


# New nodes


@pytest.mark.parametrize(
    ("created", "ready", "said"),
    [
        (-60, -10, ({}, {"bootstrap": 1})),
        (-60, 9, ({}, {"bootstrap": 1})),
        (-5000, -700, ({"good/none": 1}, {})),  # Ready for the first time, or for the second, eleven minutes ago
        (-5000, -10, ({"good/none": 1}, {})),  # an old node that was not Ready for a while
        (-700, -650, ({"good/none": 1}, {})),
    ],
)
def test_pods_of_a_new_node_are_left_out_for_a_while(created: float, ready: float, said: object) -> None:
    starts = Starts(version=None).node("v1.36.2", created, ready).counters(0).pods(0).pods(12, started()).counters(15)

    assert said == starts.said()


# No ordinary pods


def test_static_pods_and_their_mirrors_are_left_out() -> None:
    starts = watched().pods(12, started("a", source="file"), started("b", mirrors="a"), started("c", source="http"))

    assert ({}, {"static": 3}) == starts.counters(15).said()


def test_a_pod_that_comes_back_under_its_name_is_another_one() -> None:
    starts = watched().pods(12, started("a", name="orders-0")).counters(15).pods(20)
    starts.pods(22, started("b", 20, name="orders-0")).counters(25)
    together = watched().pods(12, started("a", name="orders-0"), started("b", name="orders-0")).counters(15)

    assert {"good/none": 2} == starts.outcomes() == together.outcomes()


def test_several_init_containers_are_left_out_of_the_platforms_time_and_the_gap_between_them_is_not() -> None:
    inits = (
        container("one", role="init", started=11, finished=21),
        container("two", role="init", started=24, finished=44),
    )
    starts = watched().pods(50, pod("a", 10, *inits, app(45), sandbox=10)).counters(51)

    assert {"platform": 5.5, "total": 35.5} == starts.clocks()
    assert {"handoff": 0.0, "prepare": 0.5, "init": 30.0, "containers": 5.0} == starts.stages()


@pytest.mark.parametrize(
    ("startup", "init", "said"), [(True, 20.0, "good/none"), (False, 0.0, "slow/runtime")], ids=["probed", "unprobed"]
)
def test_a_sidecar_must_have_started_and_its_startup_probe_is_the_users(startup: bool, init: float, said: str) -> None:  # noqa: FBT001
    proxy = container("proxy", role="sidecar", started=11, startup=Probe() if startup else None)
    starts = watched().pods(32, pod("a", 10, proxy, app(31), sandbox=10)).counters(33)

    assert said == starts.only()
    assert init == starts.stages().get("init", 0.0)


def test_a_sidecar_that_is_still_probed_stops_the_clock() -> None:
    proxy = container("proxy", role="sidecar", started=11, startup=Probe())
    probed = pod("a", 10, proxy, app(waiting="PodInitializing"), sandbox=10)
    starts = watched().pods(12, probed).pods(20 + 2 * BLOCK, probed)

    assert {} == starts.outcomes()


def test_a_pod_is_not_started_before_its_sidecar_is() -> None:
    starts = watched().pods(14, pod("a", 10, container("proxy", role="sidecar"), app(12), sandbox=10)).counters(15)

    assert {} == starts.outcomes()


# Readiness


def test_the_reaction_of_the_kubelet_is_that_of_pods_without_probes() -> None:
    ready = {"containers_ready": 13, "ready": 13}
    both = started("a", **ready), started("b", probed=True, **ready)
    starts = watched().pods(14, *both).counters(15).pods(16, *both)

    assert 4.0 == starts.stages()["ready_app"]
    assert (1, 2.0) == (sum(starts.memory.reactions.counts), starts.memory.reactions.sum)


def test_readiness_gates_are_a_stage_of_their_own() -> None:
    starts = watched().pods(14, started(gated=True, containers_ready=13)).counters(15)
    assert "ready_gates" not in starts.stages()

    starts.pods(44, started(gated=True, containers_ready=13, ready=43)).pods(
        45, started(gated=True, containers_ready=13, ready=43)
    )

    assert (2.0, 30.0) == (starts.stages()["ready_app"], starts.stages()["ready_gates"])


def test_the_first_readiness_counts_and_not_that_after_a_flap_or_a_crash() -> None:
    crashed = pod("a", 10, app(40, restarts=1, last_started=11), sandbox=10, containers_ready=41, ready=41)
    flapped = started(containers_ready=50)
    crash = watched().pods(12, started()).counters(15).pods(42, crashed).pods(43, crashed)
    flap = watched().pods(12, started(containers_ready=11)).counters(15).pods(51, flapped).pods(52, flapped)

    assert "ready_app" not in crash.stages()
    assert 0.0 == flap.stages()["ready_app"]


# Clocks that disagree


@pytest.mark.parametrize(
    ("scheduled", "handoff", "inconsistent"), [(5, 4.5, 0), (10, 0.0, 0), (10.4, 0.0, 0), (11, None, 1), (20, None, 1)]
)
def test_a_handoff_that_is_negative_by_more_than_the_resolution_cannot_be(
    scheduled: float, handoff: float | None, inconsistent: int
) -> None:
    starts = watched().pods(22, started(scheduled=scheduled)).counters(23)

    assert (handoff, inconsistent) == (starts.stages().get("handoff"), starts.memory.inconsistent["handoff"])


def test_a_readiness_that_came_before_the_start_cannot_be() -> None:
    starts = (
        watched()
        .pods(22, started(after=8, containers_ready=12))
        .counters(23)
        .pods(24, started(after=8, containers_ready=12))
    )

    assert 1 == starts.memory.inconsistent["ready_app"]
    assert 0 == sum(starts.memory.reactions.counts)


def test_a_pod_without_the_kubelets_mark_begins_when_it_was_accepted_else_when_it_was_listed() -> None:
    starts = watched().pods(14, started("a", seen=None, accepted=10, after=3), started("b", seen=None, after=6))

    assert [BEGIN + 10.5, BEGIN + 14] == [starts.track(uid).begin for uid in ("a", "b")]


def test_the_version_of_the_kubelet_may_become_known_after_its_pods() -> None:
    starts = (
        Starts(version=None).counters(0).pods(0).pods(11, pod()).node("v1.36.2").pods(40, started(after=28, sandbox=38))
    )

    assert starts.track().exact
