"""The kubelet's own work, its process, and its requests to the API server."""

from __future__ import annotations

import re

import pytest
from bodies import NOW, Known, histogram
from recorded import played

from kubelet_exporter.catalog import api_client, kubelet_work
from kubelet_exporter.snapshot import Reason, Source

REAL = ("v1.31-mixed", "v1.34-mixed", "v1.36-mixed", "v1.36-110pods")


def by(known: Known, metric: str, label: str) -> dict[str, float]:
    """The values of a metric by one of its labels."""
    lines = [line.rsplit(" ", 1) for line in known.series(metric)]
    return {re.findall(f'{label}="([^"]*)"', name)[0]: float(value) for name, value in lines}


def labelled(text: str, labels: str) -> str:
    """A histogram's text with labels on every line of it."""
    return re.sub(
        r"^(\w+)(?:\{(.*?)\})? ",
        lambda match: f"{match[1]}{{{labels}{',' * bool(match[2])}{match[2] or ''}}} ",
        text,
        flags=re.MULTILINE,
    )


# Process


def started(at: float) -> str:
    """The line that tells when the kubelet was started."""
    return f"process_start_time_seconds {at!r}\n"


def restarts(*starts: float) -> list[str]:
    """What is counted after readings of kubelets that were started then."""
    known = Known()
    for start in starts:
        known.read(Source.METRICS, started(start))
    return known.series("kubelet_restarts_total")


@pytest.mark.parametrize(
    ("starts", "count"),
    [
        ((NOW,), 0),
        ((NOW, NOW), 0),
        ((NOW, NOW + 60), 1),
        ((NOW, NOW + 60, NOW + 120, NOW + 120), 2),
        ((NOW, NOW + 0.5, NOW), 0),
        ((NOW, NOW - 30), 0),
        ((NOW, NOW - 3600, NOW), 1),
        ((NOW, 0.0, NOW), 0),
    ],
    ids=["first", "same", "restart", "two", "jitter of the clock", "clock set back", "and forward", "unknown"],
)
def test_a_later_start_is_a_restart(starts: tuple[float, ...], count: int) -> None:
    assert [f"kubelet_restarts_total {float(count)}"] == restarts(*starts)


def test_nothing_is_counted_before_a_start_is_known() -> None:
    known = Known().read(Source.METRICS, "go_goroutines 5\n").fail(Source.METRICS)

    assert [] == known.series("kubelet_restarts_total", "kubelet_start_timestamp_seconds")
    assert ["kubelet_goroutines 5.0"] == known.series("kubelet_goroutines")


def test_the_start_is_kept_while_the_kubelet_is_away_and_the_rest_is_not() -> None:
    known = Known().read(Source.METRICS, f"{started(NOW)}process_open_fds 7\nprocess_max_fds 20\n")
    fresh = known.values("kubelet_")
    later = known.at(NOW + 600).fail(Source.METRICS, Reason.CONNECTION).values("kubelet_")

    assert {
        "kubelet_start_timestamp_seconds",
        "kubelet_restarts_total",
        "kubelet_open_fds",
        "kubelet_max_fds",
    } == fresh.keys()
    assert {"kubelet_start_timestamp_seconds", "kubelet_restarts_total"} == later.keys()


# Work


def test_times_of_pod_workers_are_told_by_reason() -> None:
    text = "".join(
        labelled(
            histogram(kubelet_work.WORK, {"0.1": 1, "2": 2, "10": count, "+Inf": count}), f'operation_type="{kind}"'
        )
        for kind, count in {"create": 3, "sync": 5, "invented": 7}.items()
    )
    known = Known().read(Source.METRICS, text)

    assert {"create": 3, "sync": 5} == by(known, "pod_worker_duration_seconds_count", "operation")
    assert {"0.1", "10.0", "+Inf"} == by(known, "pod_worker_duration_seconds_bucket", "le").keys()


def test_pods_are_counted_over_static_and_others() -> None:
    text = 'kubelet_desired_pods{static=""} 16\nkubelet_desired_pods{static="true"} 1\nkubelet_running_pods 14\nkubelet_mirror_pods 1\n'
    known = Known().read(Source.METRICS, text)

    assert [17, 14, 1] == [known.values(name)[name] for name in ("desired_pods", "running_pods", "mirror_pods")]


def test_removed_images_are_there_from_0_and_unknown_before_the_kubelet_tells_of_pods() -> None:
    text = 'kubelet_desired_pods{static=""} 1\n'
    removed = 'kubelet_image_garbage_collected_total{reason="age"} 4\n'
    before, first, then = (Known().read(Source.METRICS, each) for each in ("other 0\n", text, text + removed))

    assert {} == by(before, "images_garbage_collected_total", "reason")
    assert {"space": 0, "age": 0} == by(first, "images_garbage_collected_total", "reason")
    assert {"space": 0, "age": 4} == by(then, "images_garbage_collected_total", "reason")


# API server


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("200", "2xx"),
        ("101", "2xx"),
        ("304", "3xx"),
        ("404", "4xx"),
        ("401", "401"),
        ("403", "403"),
        ("429", "429"),
        ("503", "5xx"),
        ("<error>", "error"),
        ("", "error"),
        ("999", "error"),
        ("5e", "error"),
    ],
)
def test_a_code_belongs_to_one_class(code: str, kind: str) -> None:
    assert kind == api_client.class_of(code)


def test_requests_are_added_up_by_class_and_every_class_is_there() -> None:
    lines = {("200", "GET"): 5, ("201", "POST"): 2, ("409", "POST"): 1, ("404", "GET"): 3, ("<error>", "GET"): 4}
    text = "".join(
        f'{api_client.REQUESTS}{{code="{code}",host="h",method="{verb}"}} {count}\n'
        for (code, verb), count in lines.items()
    )
    known = Known().read(Source.METRICS, text)

    assert {"2xx": 7, "3xx": 0, "4xx": 4, "5xx": 0, "error": 4, "401": 0, "403": 0, "429": 0} == by(
        known, "api_requests_total", "code"
    )


def test_times_of_requests_are_added_up_over_verbs() -> None:
    text = "".join(
        labelled(histogram(name, {"0.1": 1, "0.5": 2, "4": 2, "+Inf": 3}), f'host="h",verb="{verb}"')
        for name in (api_client.DURATION, api_client.WAIT)
        for verb in ("GET", "PUT")
    )
    known = Known().read(Source.METRICS, text)

    assert {"0.1": 2, "0.5": 4, "4.0": 4, "+Inf": 6} == by(known, "api_rate_limiter_duration_seconds_bucket", "le")
    assert {"api_request_duration_seconds_count": 6} == known.values("api_request_duration_seconds_count")


# Real kubelets


@pytest.mark.parametrize("name", REAL)
def test_a_real_kubelet_tells_all_of_it(name: str) -> None:
    known = played(name)
    names = {
        "kubelet_start_timestamp_seconds": 1.7e9,
        "kubelet_goroutines": 50,
        "kubelet_resident_memory_bytes": 2e7,
        "kubelet_open_fds": 5,
        "kubelet_max_fds": 1000,
        "desired_pods": 1,
        "running_pods": 1,
        "pod_worker_start_duration_seconds_count": 1,
        "pod_worker_duration_seconds_count": 1,
        "pod_status_sync_duration_seconds_count": 1,
        "api_request_duration_seconds_count": 10,
        "api_rate_limiter_duration_seconds_count": 10,
    }

    assert [] == [each for each, least in names.items() if known.values(each).get(each, 0) < least]
    assert by(known, "api_requests_total", "code")["2xx"] > 10


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize(
    ("metric", "bounds"),
    [
        ("pod_worker_start_duration_seconds", kubelet_work.START_BOUNDS),
        ("pod_worker_duration_seconds", kubelet_work.WORK_BOUNDS),
        ("pod_status_sync_duration_seconds", kubelet_work.STATUS_BOUNDS),
        ("api_request_duration_seconds", api_client.DURATION_BOUNDS),
        ("api_rate_limiter_duration_seconds", api_client.WAIT_BOUNDS),
    ],
)
def test_a_real_kubelet_has_every_bound_that_is_asked_for(name: str, metric: str, bounds: tuple[float, ...]) -> None:
    found = by(played(name), f"{metric}_bucket", "le")

    assert [*bounds, float("inf")] == sorted(map(float, found))
