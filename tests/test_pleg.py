"""The PLEG: relists as the kubelet tells them, and how long it was fresh, stale and unhealthy."""

from __future__ import annotations

import pytest
from bodies import NOW, RELISTS, SEEN, Known, configz, histogram
from hypothesis import given
from hypothesis import strategies as st
from recorded import film, played

from kubelet_exporter.catalog.facts.pleg import PLEG_FRESH, PLEG_LONGEST_STEP, PLEG_UNHEALTHY
from kubelet_exporter.snapshot import Failure, Reading, Reason, Source
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.endpoints import PATHS
from kubelet_exporter.sources.recording import Recording

MINUTE = 60.0
PERIOD = 15.0  # between readings of /metrics
FRESH, UNHEALTHY, STEP = PLEG_FRESH.value, PLEG_UNHEALTHY.value, PLEG_LONGEST_STEP.value


# Relists


def test_relists_are_told_as_the_kubelet_tells_them() -> None:
    known = Known().read(
        Source.METRICS, f"{SEEN} 1799999999.5\n{histogram(buckets={'0.5': 7, '10': 8, '+Inf': 9}, total=31.5)}"
    )

    assert [
        "pleg_last_relist_timestamp_seconds 1.7999999995e+09",
        'pleg_relist_duration_seconds_bucket{le="0.5"} 7.0',
        'pleg_relist_duration_seconds_bucket{le="10.0"} 8.0',
        'pleg_relist_duration_seconds_bucket{le="+Inf"} 9.0',
        "pleg_relist_duration_seconds_count 9.0",
        "pleg_relist_duration_seconds_sum 31.5",
    ] == [line for line in known.series() if line.startswith("pleg_") and line[5:11] in ("last_r", "relist")]


def test_the_last_relist_is_kept_while_metrics_cannot_be_read_and_the_histogram_is_not() -> None:
    known = Known().read(Source.METRICS, f"{SEEN} 1799999999\n{histogram()}")
    seen = ["pleg_last_relist_timestamp_seconds 1.799999999e+09"]
    lines = []
    for minutes in (1, 4, 6, 600):
        known.at(NOW + minutes * MINUTE).fail(Source.METRICS)
        lines.append(
            (known.series("pleg_last_relist_timestamp_seconds"), len(known.series(f"pleg_{RELISTS[13:]}_bucket")))
        )

    assert [(seen, 3), (seen, 3), (seen, 0), (seen, 0)] == lines


def test_before_the_first_relist_there_is_no_last_one() -> None:
    assert [] == Known().read(Source.METRICS, f"{SEEN} 0\n").series("pleg_last_relist_timestamp_seconds")
    assert [] == Known().read(Source.METRICS, "other 0\n").series("pleg_last_relist_timestamp_seconds")


def test_a_kubelet_that_starts_anew_keeps_the_last_relist_until_the_next() -> None:
    known = Known().read(Source.METRICS, f"{SEEN} 1799999999\n").read(Source.METRICS, f"{SEEN} 0\n")
    between = known.series("pleg_last_relist_timestamp_seconds")
    known.read(Source.METRICS, f"{SEEN} 1800000001\n")

    assert ["pleg_last_relist_timestamp_seconds 1.799999999e+09"] == between
    assert ["pleg_last_relist_timestamp_seconds 1.800000001e+09"] == known.series("pleg_last_relist_timestamp_seconds")


@pytest.mark.parametrize("value", ["-5", "+Inf"])
def test_a_last_relist_at_no_time_is_unknown(value: str) -> None:
    assert [] == Known().read(Source.METRICS, f"{SEEN} {value}\n").series("pleg_last_relist_timestamp_seconds")


@pytest.mark.parametrize(
    "text",
    [
        histogram(buckets={"1": -1, "+Inf": 4}),
        histogram(buckets={"1": 1, "+Inf": float("inf")}).replace(" inf", " +Inf"),
        histogram(total=-1),
    ],
    ids=["negative", "infinite", "negative sum"],
)
def test_a_histogram_of_impossible_counts_is_left_out(text: str) -> None:
    assert [] == [line for line in Known().read(Source.METRICS, text).series() if line.startswith("pleg_relist")]


def test_relists_of_single_pods_and_lost_events_are_told_where_the_kubelet_has_them() -> None:
    name = "kubelet_pleg_pod_relist_duration_seconds"
    text = histogram(name, {"0.005": 1, "0.1": 3, "10": 4, "+Inf": 5}, 12.0)
    known = Known().read(Source.METRICS, f"{text}kubelet_pleg_discard_events 7\n")

    assert [
        'pleg_pod_relist_duration_seconds_bucket{le="0.1"} 3.0',
        'pleg_pod_relist_duration_seconds_bucket{le="10.0"} 4.0',
        'pleg_pod_relist_duration_seconds_bucket{le="+Inf"} 5.0',
    ] == known.series("pleg_pod_relist_duration_seconds_bucket")
    assert ["pleg_discarded_events_total 7.0"] == known.series("pleg_discarded_events_total")
    assert {} == Known().read(Source.METRICS, f"{SEEN} 5\n").values("pleg_pod")


# Mode


@pytest.mark.parametrize(
    ("gates", "connected", "mode"),
    [
        ({}, 0, "generic"),
        ({"EventedPLEG": False}, 0, "generic"),
        ({"EventedPLEG": True}, 0, "evented"),
        ({}, 1, "evented"),
        (None, 0, "generic"),
        ("EventedPLEG", 0, "generic"),
    ],
)
def test_an_evented_pleg_is_known_by_its_gate_or_by_its_connections(gates: object, connected: int, mode: str) -> None:
    known = Known().read(Source.CONFIGZ, configz(featureGates=gates))
    known.read(Source.METRICS, f"{SEEN} {NOW - 1}\nkubelet_evented_pleg_connection_success_count {connected}\n")

    assert [f'pleg_info{{mode="{mode}"}} 1.0'] == known.series("pleg_info")
    assert (mode == "generic") == bool(known.series("pleg_last_relist_timestamp_seconds"))


@pytest.mark.parametrize("outcome", ["success", "error"])
def test_an_evented_pleg_stays_one_while_neither_metrics_nor_configuration_can_be_read(outcome: str) -> None:
    known = Known().fail(Source.CONFIGZ, Reason.FORBIDDEN)
    read_with(known, f"kubelet_evented_pleg_connection_{outcome}_count 1\n")
    for seconds in range(15, 901, 15):
        hung(known.at(NOW + seconds))

    assert ['pleg_info{mode="evented"} 1.0'] == known.series("pleg_info")
    assert [] == known.series("pleg_last_relist_timestamp_seconds")
    assert {"unknown"} == observed(known).keys()


def test_a_kubelet_that_starts_anew_without_its_gate_is_generic() -> None:
    known = read_with(Known(), "kubelet_evented_pleg_connection_success_count 1\n")
    read_with(known, "kubelet_evented_pleg_connection_success_count 0\n")

    assert ['pleg_info{mode="generic"} 1.0'] == known.series("pleg_info")
    assert [f"pleg_last_relist_timestamp_seconds {NOW - 1:.9e}"] == known.series("pleg_last_relist_timestamp_seconds")


def test_the_mode_is_unknown_before_metrics_are_read() -> None:
    assert [] == Known().read(Source.CONFIGZ, configz(featureGates={"EventedPLEG": True})).series("pleg_info")


# Time in each state


def observed(known: Known) -> dict[str, float]:
    """Seconds in each state, those without any left out."""
    lines = [line.rsplit(" ", 1) for line in known.series("pleg_observed_seconds_total")]
    return {name.split('"')[1]: float(value) for name, value in lines if float(value)}


def read(known: Known, age: float) -> Known:
    """Read /metrics of a kubelet whose last relist began `age` seconds ago."""
    return known.read(Source.METRICS, f"{SEEN} {known.clock() - age!r}\n")


def read_with(known: Known, more: str) -> Known:
    """Read /metrics of a kubelet that has just relisted, with more lines in it."""
    return known.read(Source.METRICS, f"{SEEN} {known.clock() - 1!r}\n{more}")


def hung(known: Known) -> Known:
    """A reading of /metrics in vain, which ends now, and one of /healthz with success."""
    known.read(Source.HEALTHZ, "ok")
    known.take(Reading(Source.METRICS, known.clock() - 12, 12.0, failure=Failure(Reason.TIMEOUT, "no answer")))
    return known


def test_each_state_is_there_from_the_start_at_0() -> None:
    assert [
        f'pleg_observed_seconds_total{{state="{state}"}} 0.0' for state in ("fresh", "stale", "unhealthy", "unknown")
    ] == (Known().series("pleg_observed_seconds_total"))


@pytest.mark.parametrize(
    ("age", "states"),
    [
        (1, {"fresh": 15}),
        (FRESH, {"fresh": 15}),
        (FRESH + 5, {"fresh": 10, "stale": 5}),
        (FRESH + 15, {"stale": 15}),
        (UNHEALTHY, {"stale": 15}),
        (UNHEALTHY + 4, {"stale": 11, "unhealthy": 4}),
        (UNHEALTHY + 15, {"unhealthy": 15}),
        (-3, {"fresh": 15}),
    ],
)
def test_the_time_between_two_readings_is_divided_by_the_age_at_its_end(age: float, states: dict[str, float]) -> None:
    known = read(read(Known(), 1).at(NOW + PERIOD), age)

    assert states == pytest.approx(observed(known))


def test_a_hang_counts_by_the_age_of_the_last_relist_while_the_kubelet_answers() -> None:
    known = read(read(Known().at(NOW - PERIOD), 1).at(NOW), 1)
    for seconds in range(15, 301, 15):
        hung(known.at(NOW + seconds))

    # The last relist began a second before the reading at NOW.
    assert {"fresh": 14.75 + 9, "stale": 170, "unhealthy": 121} == pytest.approx(observed(known))


def test_a_hang_without_any_known_relist_is_stale() -> None:
    known = hung(hung(Known()).at(NOW + PERIOD))

    assert {"fresh": 3, "stale": 12} == pytest.approx(observed(known))


@pytest.mark.parametrize("refused", [Source.HEALTHZ, Source.PODS])
def test_a_kubelet_that_refuses_for_want_of_a_right_answers(refused: Source) -> None:
    known = read(Known(), 1).fail(refused, Reason.FORBIDDEN)
    for seconds in range(15, 301, 15):
        known.at(NOW + seconds).take(
            Reading(Source.METRICS, NOW + seconds - 12, 12.0, failure=Failure(Reason.TIMEOUT, "no answer"))
        )

    assert {"fresh": 8.75, "stale": 170, "unhealthy": 121} == pytest.approx(observed(known))


@pytest.mark.parametrize("reason", sorted(set(Reason) - {Reason.FORBIDDEN}))
def test_a_kubelet_that_fails_in_another_way_where_it_needs_no_runtime_does_not_answer(reason: Reason) -> None:
    known = read(Known(), 1).fail(Source.HEALTHZ, reason).fail(Source.PODS, reason).at(NOW + PERIOD)
    known.take(Reading(Source.METRICS, NOW + 3, 12.25, failure=Failure(Reason.TIMEOUT, "no answer")))

    assert {"unknown": PERIOD} == pytest.approx(observed(known))


@pytest.mark.parametrize("reason", [Reason.CONNECTION, Reason.UNAUTHORIZED, Reason.STATUS])
def test_metrics_that_fail_for_another_reason_tell_nothing_of_the_pleg(reason: Reason) -> None:
    known = read(Known(), 1).read(Source.HEALTHZ, "ok").at(NOW + PERIOD)
    known.take(Reading(Source.METRICS, NOW + PERIOD, 0.25, failure=Failure(reason, "no")))

    assert {"unknown": PERIOD} == pytest.approx(observed(known))


def test_a_kubelet_that_is_silent_everywhere_tells_nothing_of_the_pleg() -> None:
    known = read(Known(), 1).at(NOW + PERIOD).fail(Source.HEALTHZ)
    known.take(Reading(Source.METRICS, NOW + 3, 12.25, failure=Failure(Reason.TIMEOUT, "no answer")))

    assert {"unknown": PERIOD} == pytest.approx(observed(known))


def test_an_evented_pleg_is_neither_fresh_nor_stale() -> None:
    known = Known().read(Source.CONFIGZ, configz(featureGates={"EventedPLEG": True}))

    assert {"unknown": PERIOD} == observed(read(read(known, 1).at(NOW + PERIOD), 1))


def test_a_pause_of_the_exporter_counts_at_most_three_readings_and_a_clock_set_back_nothing() -> None:
    known = read(read(Known(), 1).at(NOW + 3600), 1)
    paused = observed(known)
    back = observed(read(known.at(NOW), 1))

    assert {"fresh": STEP} == paused == back


def test_the_clock_that_is_never_stepped_tells_how_much_time_passed() -> None:
    known = Known()
    for at, steady in ((NOW, 100.0), (NOW + 40, 115.0)):
        metrics = known.decoders[Source.METRICS](f"{SEEN} {at - 1}\n".encode()).value
        known.at(at).take(Reading(Source.METRICS, at, 0.25, value=metrics, read_at=at, steady=steady))

    assert {"fresh": 15.0} == observed(known)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(-10, 400), st.booleans()), max_size=20))
def test_the_states_add_up_to_the_time_that_was_observed_and_never_fall(steps: list[tuple[float, float, bool]]) -> None:
    known, now, total = read(Known(), 1), NOW, 0.0
    for step, age, answers in steps:
        before, now = observed(known), now + step
        known.at(now)
        if answers:
            read(known, age)
        else:
            known.take(Reading(Source.METRICS, now, 0.25, failure=Failure(Reason.TIMEOUT, "no answer")))
        total += min(step, STEP)
        assert all(seconds >= before.get(state, 0.0) for state, seconds in observed(known).items())

    assert total == pytest.approx(sum(observed(known).values()), abs=1e-3)


def test_a_recorded_kubelet_is_fresh() -> None:
    known = played("v1.36-film-starts")
    seconds = observed(known)

    assert 90 < seconds["fresh"] < 130
    assert {"fresh"} == seconds.keys()


@pytest.mark.parametrize("name", ["v1.31-film-starts", "v1.36-film-terminations", "v1.36-film-apiserver-outage"])
def test_a_recorded_kubelet_whose_runtime_answers_is_never_stale(name: str) -> None:
    seconds = observed(played(name))

    assert seconds["fresh"] > 60
    assert seconds.keys() <= {"fresh", "unknown"}


def test_the_recorded_answers_of_a_hung_runtime_make_the_pleg_stale_and_then_unhealthy() -> None:
    known, hang = played("v1.36-runtime-recovered"), film("v1.36-runtime-hang")
    relist = 1.79613907e09
    for passed in range(15, 301, 15):
        delta = round(film("v1.36-runtime-recovered").begin - hang.begin) + passed
        again = Recording(tuple(recording.moved(line, delta) for line in hang.lines), hang.node_name)
        for reading in recording.readings(again, PATHS, known.decoders):
            known.at(reading.attempted_at + reading.seconds).take(reading)
    end = known.snapshot.readings[Source.METRICS].attempted_at + 10

    assert ["pleg_last_relist_timestamp_seconds 1.79613907e+09"] == known.series("pleg_last_relist_timestamp_seconds")
    assert {"fresh": 8.5, "stale": 170.0, "unhealthy": end - relist - UNHEALTHY} == pytest.approx(
        observed(known), abs=0.1
    )
