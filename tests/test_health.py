"""A hung runtime and four other findings: each is recognised by itself, and none is taken for another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from bodies import NOW, PODS, SEEN, Known, body, condition, configz, node, summary
from recorded import film, played

from kubelet_exporter.catalog.facts.health import (
    HEALTH_ANSWER_AGE,
    HEALTH_LEASE_PATIENCE,
    HEALTH_REFUSAL_MEMORY,
    HEALTH_SLOW_REFUSAL,
)
from kubelet_exporter.catalog.facts.pleg import PLEG_STALE
from kubelet_exporter.snapshot import Failure, Reading, Reason, Source
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.endpoints import PATHS
from kubelet_exporter.units import rfc3339

OTHERS = (Source.HEALTHZ, Source.PODS, Source.PROBES, Source.CONFIGZ)
RUNTIME = (Source.METRICS, Source.SUMMARY)
KUBELET = (*OTHERS, *RUNTIME)
BODIES: Mapping[Source, Any] = {
    Source.HEALTHZ: "ok",
    Source.PODS: PODS,
    Source.PROBES: "# none\n",
    Source.CONFIGZ: configz(maxPods=110),
    Source.METRICS: f"{SEEN} {NOW - 1}\n",
    Source.SUMMARY: summary(),
}


def lease(age: float = 5.0, now: float = NOW) -> bytes:
    """A Lease that was renewed so many seconds before `now`."""
    return body({"spec": {"renewTime": rfc3339(now - age)}})


def well() -> Known:
    """A node of which everything was read."""
    known = Known()
    for source, content in BODIES.items():
        known.read(source, content)
    return known.read(Source.LEASE, lease()).read(Source.NODE, node(condition()))


def failing(known: Known, reason: Reason, *sources: Source, took: float = 12.0) -> Known:
    """The node after these sources failed now."""
    for source in sources:
        known.take(Reading(source, known.clock(), took, failure=Failure(reason, "as it is")))
    return known


def answering(known: Known, *sources: Source) -> Known:
    """The node after these sources answered now."""
    for source in sources:
        known.read(source, BODIES[source])
    return known


def findings(known: Known) -> set[str]:
    """What is said to be wrong."""
    hung = {"runtime_hung"} if known.series("runtime_hung") == ["runtime_hung 1.0"] else set()
    return hung | {line.split('"')[1] for line in known.series("fault") if line.endswith(" 1.0")}


def unknown(known: Known) -> set[str]:
    """What cannot be said."""
    told = {line.split('"')[1] for line in known.series("fault")}
    hung = set() if known.series("runtime_hung") else {"runtime_hung"}
    return hung | {"kubelet_down", "network", "rights_lost", "apiserver_unreachable"} - told


# Nothing is wrong


def test_nothing_is_found_on_a_node_that_is_well() -> None:
    assert (set(), set()) == (findings(well()), unknown(well()))


def test_nothing_is_said_before_anything_was_read() -> None:
    assert [] == Known().series("runtime_hung", "runtime_hung_evidence", "fault")


def test_the_api_server_alone_says_nothing_of_the_kubelet() -> None:
    known = Known().read(Source.LEASE, lease()).read(Source.NODE, node(condition()))

    assert [] == known.series("runtime_hung", "fault")


# A hung runtime


def test_the_runtime_hangs_when_all_that_needs_it_is_silent_and_the_rest_answers() -> None:
    known = failing(well().at(NOW + 15), Reason.TIMEOUT, *RUNTIME)
    known = answering(known.at(NOW + 16), Source.HEALTHZ)

    assert {"runtime_hung"} == findings(known)
    assert {"runtime_hung_since_timestamp_seconds": NOW + 15} == known.values("runtime_hung_since")


@pytest.mark.parametrize("source", OTHERS)
def test_any_other_endpoint_shows_that_the_kubelet_is_alive(source: Source) -> None:
    known = failing(Known(), Reason.TIMEOUT, *RUNTIME)
    before = findings(known)

    assert (set(), {"runtime_hung"}) == (before, findings(answering(known, source)))


def test_a_refusal_of_the_right_is_an_answer_of_a_living_kubelet() -> None:
    known = failing(Known(), Reason.TIMEOUT, *RUNTIME)
    before = findings(failing(known, Reason.UNAUTHORIZED, *OTHERS, took=0.1))

    assert (set(), {"runtime_hung"}) == (before, findings(failing(known, Reason.FORBIDDEN, Source.PODS, took=0.1)))


@pytest.mark.parametrize("source", RUNTIME)
def test_one_endpoint_that_answers_shows_that_the_runtime_does(source: Source) -> None:
    known = failing(answering(Known(), Source.HEALTHZ), Reason.TIMEOUT, *RUNTIME)
    before = findings(known)

    assert ({"runtime_hung"}, set()) == (before, findings(answering(known.at(NOW + 20), source)))
    assert [] == known.series("runtime_hung_since_timestamp_seconds")


def test_an_error_in_time_shows_that_the_runtime_answers() -> None:
    known = failing(answering(Known(), Source.HEALTHZ), Reason.TIMEOUT, Source.METRICS)
    known = failing(known, Reason.STATUS, Source.SUMMARY, took=0.1)

    assert ["runtime_hung 0.0"] == known.series("runtime_hung")


@pytest.mark.parametrize("reason", [Reason.FORBIDDEN, Reason.UNAUTHORIZED, Reason.CONNECTION, Reason.TLS])
def test_what_is_refused_before_the_runtime_is_asked_tells_nothing_of_it(reason: Reason) -> None:
    known = failing(answering(Known(), Source.HEALTHZ), Reason.TIMEOUT, Source.METRICS)
    known = failing(known, reason, Source.SUMMARY, took=0.1)

    assert [] == known.series("runtime_hung")


def test_an_answer_from_before_the_hang_does_not_count() -> None:
    known = failing(answering(Known(), *OTHERS).at(NOW + 1), Reason.TIMEOUT, *RUNTIME)

    assert [] == known.series("runtime_hung")


def test_a_kubelet_that_falls_silent_during_a_hang_is_no_hung_runtime_any_more() -> None:
    known = failing(answering(Known(), Source.HEALTHZ), Reason.TIMEOUT, *RUNTIME)
    known = failing(known.at(NOW + 15), Reason.TIMEOUT, *OTHERS, *RUNTIME)

    assert [] == known.series("runtime_hung")


def test_a_hang_lasts_since_the_first_silence_however_often_it_is_tried() -> None:
    known = failing(answering(Known(), Source.HEALTHZ), Reason.TIMEOUT, *RUNTIME)
    known = failing(answering(known.at(NOW + 15), Source.HEALTHZ), Reason.TIMEOUT, *RUNTIME)

    assert ["runtime_hung_since_timestamp_seconds 1.8e+09"] == known.series("runtime_hung_since_timestamp_seconds")


def signs(known: Known) -> dict[str, float]:
    """The evidence of a hang by name."""
    lines = (line.rsplit(" ", 1) for line in known.series("runtime_hung_evidence"))
    return {name.split('"')[1]: float(value) for name, value in lines}


def test_the_evidence_of_a_hang_is_told_piece_by_piece() -> None:
    known = well()
    before = signs(known)
    known = failing(answering(known.at(NOW + PLEG_STALE.value), Source.HEALTHZ), Reason.TIMEOUT, *RUNTIME)
    blamed = condition(status="False")
    known.read(Source.NODE, node({**blamed, "message": "[container runtime is down, PLEG is not healthy]"}))

    names = ("metrics_silent", "summary_silent", "kubelet_answers", "relist_old", "node_says_so")
    assert dict.fromkeys(names, 0.0) | {"kubelet_answers": 1.0} == before
    assert dict.fromkeys(names, 1.0) == signs(known)


def test_evidence_that_is_not_known_is_absent() -> None:
    assert {"kubelet_answers": 1.0} == signs(answering(Known(), Source.HEALTHZ))


def test_an_answer_shows_for_a_while_only_that_the_kubelet_answers() -> None:
    known = answering(Known(), Source.HEALTHZ)
    then = [signs(known.at(NOW + HEALTH_ANSWER_AGE.value + more))["kubelet_answers"] for more in (0, 1)]

    assert [1.0, 0.0] == then


def test_a_node_that_is_not_ready_for_another_reason_does_not_blame_the_runtime() -> None:
    known = Known().read(Source.HEALTHZ, "ok")
    known.read(Source.NODE, node({**condition(status="False"), "message": "cni plugin not initialized"}))

    assert 0.0 == signs(known)["node_says_so"]


# The kubelet cannot be reached


def test_a_kubelet_that_refuses_connections_is_down_at_once() -> None:
    known = failing(well().at(NOW + 15), Reason.CONNECTION, *KUBELET, took=0.0)

    assert ({"kubelet_down"}, {"runtime_hung"}) == (findings(known), unknown(known))


def test_one_source_that_answers_is_enough_to_be_up() -> None:
    known = failing(well().at(NOW + 15), Reason.CONNECTION, Source.HEALTHZ, Source.PODS, Source.METRICS, took=0.0)

    assert set() == findings(known)


def test_a_kubelet_that_refuses_connections_and_renews_its_lease_is_behind_a_fault_of_the_network() -> None:
    known = failing(well().at(NOW + 15), Reason.CONNECTION, *KUBELET, took=0.0)
    known.at(NOW + 30).read(Source.LEASE, lease(5, NOW + 30))

    assert {"network"} == findings(known)


def test_a_silent_kubelet_is_down_when_it_has_not_renewed_its_lease_for_long_enough() -> None:
    fallen = NOW + 15 + 12
    known = failing(well().at(NOW + 15), Reason.TIMEOUT, *KUBELET)
    early = unknown(known)
    known.at(fallen + HEALTH_LEASE_PATIENCE.value).read(
        Source.LEASE, lease(HEALTH_LEASE_PATIENCE.value + 5, known.clock())
    )
    still = unknown(known)
    known.at(known.clock() + 1).read(Source.LEASE, lease(HEALTH_LEASE_PATIENCE.value + 6, known.clock()))

    assert {"kubelet_down", "network", "runtime_hung"} == early == still
    assert {"kubelet_down"} == findings(known)


def test_a_silent_kubelet_that_renews_its_lease_is_behind_a_fault_of_the_network() -> None:
    known = failing(well().at(NOW + 15), Reason.TIMEOUT, *KUBELET)
    known.at(NOW + 45).read(Source.LEASE, lease(10, NOW + 45))

    assert {"network"} == findings(known)


def test_a_node_from_which_nothing_is_reached_is_cut_off() -> None:
    known = failing(well().at(NOW + 15), Reason.TIMEOUT, *KUBELET, Source.LEASE)

    assert {"network"} == findings(known)


def test_without_an_api_server_a_silent_kubelet_stays_unknown() -> None:
    known = failing(Known(), Reason.TIMEOUT, *KUBELET)

    assert (set(), {"kubelet_down", "network", "runtime_hung"}) == (findings(known), unknown(known))


def test_a_kubelet_that_comes_back_is_no_finding_any_more() -> None:
    known = failing(well().at(NOW + 15), Reason.CONNECTION, *KUBELET, took=0.0)
    known = answering(known.at(NOW + 20), Source.HEALTHZ)

    assert set() == findings(known)


# Rights


@pytest.mark.parametrize("reason", [Reason.UNAUTHORIZED, Reason.FORBIDDEN])
def test_quick_refusals_everywhere_are_lost_rights(reason: Reason) -> None:
    known = failing(well().at(NOW + 15), reason, *KUBELET, took=0.05)

    assert {"rights_lost"} == findings(known)


def test_rights_that_an_old_kubelet_never_had_are_not_lost() -> None:
    known = failing(answering(Known(), *RUNTIME), Reason.FORBIDDEN, *OTHERS, took=0.05)

    assert set() == findings(known)


# API server


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.CONNECTION])
def test_a_lease_that_cannot_be_read_is_an_api_server_out_of_reach(reason: Reason) -> None:
    known = failing(well(), reason, Source.LEASE)

    assert {"apiserver_unreachable"} == findings(known)


@pytest.mark.parametrize("reason", [Reason.UNAUTHORIZED, Reason.FORBIDDEN, Reason.STATUS, Reason.TLS])
def test_an_api_server_that_refuses_is_in_reach(reason: Reason) -> None:
    assert set() == findings(failing(well(), reason, Source.LEASE))


def test_without_the_right_to_leases_the_node_tells() -> None:
    known = failing(well(), Reason.FORBIDDEN, Source.LEASE)

    assert {"apiserver_unreachable"} == findings(failing(known, Reason.TIMEOUT, Source.NODE))


def test_slow_refusals_are_an_api_server_that_the_kubelet_cannot_reach_and_explain_quick_ones_for_a_while() -> None:
    slow = HEALTH_SLOW_REFUSAL.value
    known = failing(well(), Reason.UNAUTHORIZED, *KUBELET, took=slow)
    known = failing(known.at(NOW + slow + 1), Reason.UNAUTHORIZED, *KUBELET, took=0.05)
    during = findings(known.at(NOW + slow + HEALTH_REFUSAL_MEMORY.value))

    assert {"apiserver_unreachable"} == during
    assert {"rights_lost"} == findings(known.at(NOW + slow + HEALTH_REFUSAL_MEMORY.value + 1))


def test_an_accepted_request_ends_what_slow_refusals_told() -> None:
    known = failing(well(), Reason.UNAUTHORIZED, *KUBELET, took=10.0)

    assert set() == findings(answering(known.at(NOW + 20), Source.HEALTHZ))


# Real nodes


def test_a_recorded_hang_is_recognised_from_one_look_at_each_path() -> None:
    known = played("v1.36-runtime-hang")

    assert {"runtime_hung"} == findings(known)
    assert {"metrics_silent": 1, "summary_silent": 1, "kubelet_answers": 1, "node_says_so": 1} == signs(known)


@pytest.mark.parametrize(
    "name", ["v1.36-runtime-recovered", "v1.36-mixed", "v1.34-mixed", "v1.31-mixed", "v1.36-110pods"]
)
def test_nothing_is_found_on_a_recorded_node_that_is_well(name: str) -> None:
    known = played(name)

    assert set() == findings(known)
    assert ["runtime_hung 0.0"] == known.series("runtime_hung")


def test_a_recorded_outage_of_the_api_server_is_one_finding_from_begin_to_end() -> None:
    known, name = Known(), "v1.36-film-apiserver-outage"
    changes: list[tuple[int, set[str]]] = [(0, set())]
    for reading in recording.readings(film(name), PATHS, known.decoders):
        known.at(reading.attempted_at + reading.seconds).take(reading)
        found = findings(known)
        if found != changes[-1][1]:
            changes.append((round(known.clock() - film(name).begin), found))

    # The Lease is asked for at 40 s in vain, which is known 11 s later; it is read again at 340 s.
    assert [(0, set()), (51, {"apiserver_unreachable"}), (340, set())] == changes
