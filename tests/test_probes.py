"""Probes as the kubelet counts them, restarts by liveness, and probes that are set up badly."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bodies import NOW, Known, pods
from recorded import played

from kubelet_exporter.catalog.facts.containers import PROBE_WINDOW
from kubelet_exporter.catalog.pod_specs import MOST_NAMESPACES
from kubelet_exporter.catalog.probes import MOST_CONTAINERS
from kubelet_exporter.snapshot import Source

WINDOW = PROBE_WINDOW.value


def line(result: str, count: float, kind: str = "Liveness", pod: str = "web-0", uid: str = "uid-a") -> str:
    """What the kubelet counts of one probe with one result."""
    labels = f'container="app",namespace="shop",pod="{pod}",pod_uid="{uid}",probe_type="{kind}",result="{result}"'
    return f"prober_probe_total{{{labels}}} {count}\n"


def read(known: Known, *lines: str) -> Known:
    """The node after an answer of /metrics/probes."""
    return known.read(Source.PROBES, "".join(lines) or "# none\n")


def totals(known: Known) -> dict[tuple[str, str], float]:
    """The probes by type and result, those that never happened left out."""
    found = {}
    for each in known.series("probes_total"):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', each))
        found[labels["type"], labels["result"]] = float(each.rsplit(" ", 1)[1])
    return {key: value for key, value in found.items() if value}


# All probes


def test_every_type_and_result_is_there_from_0_once_the_kubelet_was_asked() -> None:
    assert [] == Known().fail(Source.PROBES).series("probes_total", "containers_probed", "liveness_restarts_total")
    assert 9 == len(read(Known()).series("probes_total"))
    assert {} == totals(read(Known(), line("failed", 7)))


def test_what_comes_after_the_first_reading_is_added_up_over_pods() -> None:
    known = read(Known(), line("failed", 7), line("successful", 5, "Readiness"))
    read(
        known,
        line("failed", 9),
        line("successful", 8, "Readiness"),
        line("successful", 4, "Readiness", "web-1", "uid-b"),
    )

    assert {("liveness", "failed"): 2, ("readiness", "successful"): 7} == totals(known)


def test_a_kubelet_that_begins_again_and_a_pod_that_goes_take_nothing_away() -> None:
    known = read(read(Known(), line("failed", 7)), line("failed", 10))
    read(known, line("failed", 2))
    read(known)

    assert {("liveness", "failed"): 5} == totals(known)


def test_types_and_results_that_are_none_are_left_out() -> None:
    known = read(Known())
    read(known, line("failed", 3, "Invented"), line("invented", 4))

    assert {} == totals(known)


# Containers whose probes fail


def ratios(known: Known) -> dict[str, float]:
    """The shown shares by pod and type."""
    found = {}
    for each in known.series("pod_probe_failed_ratio"):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', each))
        found[f"{labels['pod']} {labels['type']}"] = float(each.rsplit(" ", 1)[1])
    return found


def test_the_share_is_that_of_the_last_minutes_and_only_failures_are_shown() -> None:
    known = read(Known(), line("failed", 100), line("successful", 100))
    read(known.at(NOW + 30), line("failed", 101), line("successful", 103), line("successful", 9, "Readiness"))

    assert {"web-0 liveness": 0.25} == ratios(known)


def test_old_failures_are_forgotten_after_a_window_or_two() -> None:
    known = read(Known(), line("failed", 0), line("successful", 0))
    shown = []
    for step in range(1, 5):
        read(known.at(NOW + step * WINDOW), line("failed", 5), line("successful", step * 30))
        shown.append(bool(ratios(known)))

    assert [True, False, False, False] == shown


def test_a_pod_that_is_gone_is_not_shown_any_more() -> None:
    known = read(read(Known(), line("failed", 1)), line("failed", 5))
    before = ratios(known)

    assert ({"web-0 liveness": 1.0}, {}) == (before, ratios(read(known)))


def test_at_most_ten_are_shown_those_with_most_failures() -> None:
    known = read(Known())
    read(known, *(line("failed", 10 + number, pod=f"web-{number:02}", uid=f"uid-{number}") for number in range(15)))

    assert [f"web-{number:02} liveness" for number in range(14, 14 - MOST_CONTAINERS, -1)] == list(ratios(known))


def test_containers_are_counted_by_type_and_those_that_fail_half_of_the_time() -> None:
    known = read(Known())
    read(
        known,
        *(line("failed", 5, pod="a", uid="a"), line("successful", 5, pod="a", uid="a")),
        *(line("failed", 4, pod="b", uid="b"), line("successful", 6, pod="b", uid="b")),
        line("successful", 6, "Readiness", "b", "b"),
    )
    counts = {
        metric: [float(each.rsplit(" ", 1)[1]) for each in known.series(metric)]
        for metric in ("containers_probed", "containers_failing_probes")
    }

    assert {"containers_probed": [2, 1, 0], "containers_failing_probes": [1, 0, 0]} == counts


# Restarts by liveness


def probed_pod(restarts: int, failures: int = 3, **spec: Any) -> bytes:
    """A pod with a liveness probe, restarted so often."""
    probe = {"failureThreshold": failures, "httpGet": {"path": "/", "port": 80}}
    container = {"name": "app", "livenessProbe": probe, **spec}
    status = {"name": "app", "restartCount": restarts, "state": {"running": {}}}
    return pods(
        {
            "metadata": {"namespace": "shop", "name": "web-0", "uid": "uid-a"},
            "spec": {"containers": [container]},
            "status": {"phase": "Running", "containerStatuses": [status]},
        }
    )


@pytest.mark.parametrize(
    ("failed", "restarts", "counted"),
    [(3, 1, 1), (2, 1, 0), (3, 0, 0), (9, 2, 1)],
    ids=["failed as often as it may", "too seldom", "not restarted", "restarted twice at once"],
)
def test_a_restart_after_enough_failures_is_one_by_liveness(failed: int, restarts: int, counted: int) -> None:
    known = read(Known().read(Source.PODS, probed_pod(0)), line("failed", 0))
    read(known.read(Source.PODS, probed_pod(restarts)), line("failed", failed))

    assert [f"liveness_restarts_total {float(counted)}"] == known.series("liveness_restarts_total")


def test_a_restart_is_counted_by_one_reading_only() -> None:
    known = read(Known().read(Source.PODS, probed_pod(0)), line("failed", 0))
    read(known.read(Source.PODS, probed_pod(1)), line("failed", 3))
    read(known, line("failed", 3))

    assert ["liveness_restarts_total 1.0"] == known.series("liveness_restarts_total")


def test_a_restart_of_a_container_without_liveness_probe_is_none() -> None:
    known = read(Known().read(Source.PODS, probed_pod(0, livenessProbe=None)), line("failed", 0, "Readiness"))
    read(known.read(Source.PODS, probed_pod(1, livenessProbe=None)), line("failed", 9, "Readiness"))

    assert ["liveness_restarts_total 0.0"] == known.series("liveness_restarts_total")


def test_a_film_with_a_pod_that_fails_its_liveness_tells_it() -> None:
    known = played("v1.36-film-terminations")

    assert totals(known)["liveness", "failed"] > 0


# Checks of pod specs

HTTP = {"httpGet": {"path": "/healthz", "port": 8080}}
READY = {"httpGet": {"path": "/ready", "port": 8080}}
EXEC = {"exec": {"command": ["cat", "/tmp/ok"]}}


def found(namespace: str = "shop", phase: str = "Running", **probes: Any) -> dict[str, float]:
    """The findings on a pod with these probes, by check."""
    item = {
        "metadata": {"namespace": namespace, "name": "web-0", "uid": "uid-a"},
        "spec": {"containers": [{"name": "app", **probes}]},
        "status": {"phase": phase},
    }
    lines = Known().read(Source.PODS, pods(item)).series("pod_spec_findings")
    return {re.findall('check="([^"]*)"', each)[0]: float(each.rsplit(" ", 1)[1]) for each in lines}


@pytest.mark.parametrize(
    ("probes", "checks"),
    [
        ({}, set()),
        ({"livenessProbe": HTTP, "readinessProbe": HTTP}, {"same_endpoint", "liveness_unguarded"}),
        ({"livenessProbe": {**HTTP, "initialDelaySeconds": 5}, "readinessProbe": HTTP}, {"same_endpoint"}),
        ({"livenessProbe": HTTP, "readinessProbe": READY, "startupProbe": HTTP}, set()),
        ({"livenessProbe": HTTP}, {"liveness_unguarded"}),
        ({"livenessProbe": {**HTTP, "initialDelaySeconds": 5}}, set()),
        ({"readinessProbe": EXEC}, {"exec_timeout_short"}),
        ({"readinessProbe": {**EXEC, "timeoutSeconds": 1}}, {"exec_timeout_short"}),
        ({"readinessProbe": {**EXEC, "timeoutSeconds": 2}}, set()),
        ({"readinessProbe": {**HTTP, "timeoutSeconds": 1}}, set()),
        ({"startupProbe": EXEC}, {"exec_timeout_short"}),
        (
            {
                "livenessProbe": {"tcpSocket": {"port": 1}, "initialDelaySeconds": 1},
                "readinessProbe": {"tcpSocket": {"port": 2}},
            },
            set(),
        ),
    ],
)
def test_a_check_finds_what_the_articles_warn_of(probes: Any, checks: set[str]) -> None:
    assert dict.fromkeys(checks, 1.0) == found(**probes)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_over_are_not_looked_at(phase: str) -> None:
    assert {} == found(phase=phase, livenessProbe=HTTP)


def test_namespaces_with_fewest_findings_share_a_series() -> None:
    items = [
        {
            "metadata": {"namespace": f"space-{number:02}", "name": f"web-{copy}", "uid": f"uid-{number}-{copy}"},
            "spec": {"containers": [{"name": "app", "livenessProbe": HTTP}]},
            "status": {"phase": "Running"},
        }
        for number in range(MOST_NAMESPACES + 2)
        for copy in range(1 if number < 2 else 2)
    ]
    lines = Known().read(Source.PODS, pods(*items)).series("pod_spec_findings")

    assert MOST_NAMESPACES + 1 == len(lines)
    assert ['pod_spec_findings{check="liveness_unguarded",namespace="_other"} 2.0'] == [
        each for each in lines if "_other" in each
    ]
