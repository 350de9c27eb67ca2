"""What the node's own counters say of starts that hang, how they are shown before a verdict, and what can be known."""

from __future__ import annotations

import pytest
from starting import Starts, app, container, pod, started, watched

from kubelet_exporter.catalog.facts.pod_start import START_BLOCK, START_CLOCK
from kubelet_exporter.catalog.pod_start.memory import STAGES
from kubelet_exporter.catalog.pod_start.metrics import capabilities, progress
from kubelet_exporter.pod import Pod

CLOCK, BLOCK = START_CLOCK.value, START_BLOCK.value
BOTH = pytest.mark.parametrize("version", ["v1.31.14", "v1.36.2"])


@BOTH
@pytest.mark.parametrize(
    ("fields", "failing", "said"),
    [
        ({}, {"errors": {"": 1}}, "network"),
        ({"host_network": True}, {"errors": {"": 1}}, "runtime"),
        ({"runtime_class": "ghost"}, {"errors": {"ghost": 1}}, "user"),
        ({"runtime_class": "gvisor"}, {"errors": {"runsc": 1}, "sandboxes": {"runsc": 9}}, "network"),
        ({}, {"errors": {"ghost": 1}}, "none"),
        ({"volumes": frozenset({"csi"})}, {"mounts": {"csi": 1}}, "storage"),
        ({"volumes": frozenset({"csi"})}, {"errors": {"": 1}, "mounts": {"csi": 1}}, "network"),
        ({}, {"mounts": {"csi": 1}}, "none"),
        ({"volumes": frozenset({"configMap"})}, {"mounts": {"configmap": 1}}, "user"),
        ({"volumes": frozenset({"secret"})}, {"mounts": {"secret": 1}}, "user"),
        ({"volumes": frozenset({"secret"})}, {"mounts": {"configmap": 1}}, "none"),
        ({"volumes": frozenset({"projected"})}, {"mounts": {"projected": 1}}, "none"),
        ({"volumes": frozenset({"csi", "projected"})}, {"mounts": {"projected": 1}}, "none"),
    ],
)
def test_counters_that_grow_while_a_pod_has_no_sandbox_are_evidence(
    fields: dict[str, str], failing: dict[str, dict[str, float]], said: str, version: str
) -> None:
    starts = watched(version).pods(11, pod(**fields)).counters(15, **failing)  # type: ignore[arg-type]

    assert said == starts.track().evidence


def test_old_errors_and_errors_of_others_after_the_sandbox_are_no_evidence() -> None:
    starts = (
        Starts().counters(0, errors={"": 7}).pods(0).pods(11, pod(), pod("b", sandbox=10)).counters(15, errors={"": 7})
    )
    assert "none" == starts.track().evidence

    starts.counters(20, errors={"": 8})

    assert ["network", "none"] == [starts.track(uid).evidence for uid in ("a", "b")]


@BOTH
def test_evidence_decides_whom_a_slow_or_failed_start_is_blamed_on(version: str) -> None:
    slow = watched(version).pods(11, pod()).counters(15, errors={"": 1}).pods(40, started(after=28, sandbox=38))
    slow.counters(41, errors={"": 1})
    failed = watched(version).pods(11, pod()).counters(15, errors={"": 1}).pods(11 + CLOCK, pod())

    assert ["slow/network", "failed/network"] == [slow.only(), failed.only()]


def test_a_missing_object_of_the_users_fails_after_the_users_patience() -> None:
    waiting = pod(volumes=frozenset({"configMap"}))
    starts = watched().pods(11, waiting).counters(15, mounts={"configmap": 1}).pods(20 + CLOCK, waiting)
    assert "" == starts.only()

    starts.pods(20 + BLOCK, waiting)

    assert "failed/user" == starts.only()


def test_a_missing_object_that_came_late_makes_no_slow_start_of_the_nodes() -> None:
    """The counters are the node's, so the user is not surely to blame either: the start is left out."""
    volumes = frozenset({"configMap"})
    starts = watched().pods(11, pod(volumes=volumes)).counters(15, mounts={"configmap": 1})
    starts.pods(99, started(after=88, sandbox=97, volumes=volumes)).counters(100, mounts={"configmap": 1})

    assert ({"excluded/none": 1}, {"user_evidence": 1}) == starts.said()


def test_a_full_disk_is_the_nodes_and_shortens_the_patience() -> None:
    waiting = pod("a", 10, app(waiting="ErrImagePull", message="write: no space left on device"), sandbox=10)
    starts = watched().pods(11, waiting).pods(11 + CLOCK, waiting)

    assert "failed/node" == starts.only()


# Before any verdict, and what can be known


def test_pods_on_their_way_are_shown_by_stage_with_the_age_of_the_oldest_before_any_verdict() -> None:
    init = container("init", role="init", started=30)
    listed: list[Pod] = [
        pod("a", 10),
        pod("b", 20),
        pod("c", 25, init, app(waiting="PodInitializing"), sandbox=26),
        pod("d", 40, sandbox=41),
        started("e", 40),
        pod("f", 5, deletion=60),
        pod("g", 5, phase="Failed"),
        pod("h", 5, source="file"),
        pod("i", 44, app(waiting="CreateContainerConfigError"), sandbox=45),
    ]
    starts = watched().pods(50, *listed)

    rows = [(row.stage, row.count, row.oldest) for row in progress(starts.snapshot, starts.memory)]
    assert [("prepare", 2, 40.0), ("init", 1, 25.0), ("containers", 1, 10.0), ("blocked", 1, 6.0)] == rows


def test_a_node_without_starts_shows_none_and_no_age_and_one_whose_pods_are_unknown_shows_nothing() -> None:
    idle, blind = watched(), Starts()

    rows = list(progress(idle.snapshot, idle.memory))
    assert {(0, None)} == {(row.count, row.oldest) for row in rows}
    assert ["prepare", "init", "containers", "blocked"] == [row.stage for row in rows]
    assert [] == list(progress(blind.snapshot, blind.memory))


def test_an_init_container_between_two_attempts_is_still_at_init() -> None:
    failed = container("init", role="init", started=11, finished=12, ended="Error")
    starts = watched().pods(13, pod("a", 10, failed, app(waiting="PodInitializing"), sandbox=10))

    assert "init" == starts.track().stage


@pytest.mark.parametrize(
    ("version", "pulls", "said"),
    [
        (
            "v1.36.2",
            None,
            {"sandbox_exact": True, "seen_exact": True, "pulls_bounded": True, "pulls_from_events": False},
        ),
        (
            "v1.31.14",
            (0, 0),
            {"sandbox_exact": False, "seen_exact": True, "pulls_bounded": True, "pulls_from_events": False},
        ),
        (
            "v1.29.3",
            None,
            {"sandbox_exact": False, "seen_exact": True, "pulls_bounded": False, "pulls_from_events": False},
        ),
        (None, (0, 0), {"seen_exact": True, "pulls_bounded": True, "pulls_from_events": False}),
    ],
)
def test_capabilities_say_what_can_be_known(
    version: str | None, pulls: tuple[float, float] | None, said: dict[str, bool]
) -> None:
    starts = Starts(version=version).counters(0, pulls=pulls).pods(11, pod()).counters(12, pulls=pulls)

    assert said == {row.feature: row.has for row in capabilities(starts.snapshot, starts.memory)}


def test_events_and_missing_marks_of_the_kubelet_show_in_the_capabilities() -> None:
    starts = watched().pods(11, pod(seen=None, accepted=10)).events(12)

    said = {row.feature: row.has for row in capabilities(starts.snapshot, starts.memory)}
    assert {"pulls_from_events": True, "seen_exact": False} == {
        each: said[each] for each in ("pulls_from_events", "seen_exact")
    }


def test_every_stage_is_there_before_it_is_observed() -> None:
    assert list(STAGES) == list(Starts().memory.stages)
