"""Kubernetes' notations: every legal spelling, what is refused, and round trips over generated values."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from ipaddress import IPv6Address
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubelet_exporter.units import duration, host_port, percentage, quantity, rfc3339, timestamp

NOON = 1_769_860_800.0  # 2026-01-31T12:00:00Z

words = st.text(max_size=12) | st.text("0123456789.+-eEKMkmi%nuµsh:TZ[] ", max_size=12)


# Quantities


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("007", 7),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5),
        ("-.5", -0.5),
        ("1n", 1e-9),
        ("1u", 1e-6),
        ("100m", 0.1),
        ("2k", 2e3),
        ("2M", 2e6),
        ("2G", 2e9),
        ("2T", 2e12),
        ("2P", 2e15),
        ("2E", 2e18),
        ("1Ki", 2**10),
        ("1Mi", 2**20),
        ("1.5Gi", 1.5 * 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("8Ei", 2**63),
        ("12e6", 12e6),
        ("12E6", 12e6),
        ("1e+3", 1e3),
        ("1E-3", 1e-3),
        ("1.5e3", 1.5e3),
    ],
)
def test_quantity_is_read_in_every_spelling_of_kubernetes(text: str, value: float) -> None:
    assert value == pytest.approx(quantity(text), rel=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "Ki", ".", "+", "-", "e3", " 1", "1 ", "1\n", "1 Ki", "1K", "1ki", "1mi", "1kB", "1B", "1KiB", "1e"),
        *("1e1.5", "1e3Ki", "1Kim", "0x10", "1_000", "1,5", "1..5", "--1", "inf", "nan", "Infinity", "٣", "1٣", "½"),
    ],
)
def test_quantity_refuses_what_kubernetes_refuses_and_names_it(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity such as") as refusal:
        quantity(text)

    assert repr(text) in str(refusal.value)


def test_quantity_beyond_a_float_is_refused_and_not_infinite() -> None:
    with pytest.raises(ValueError, match="'1e400' is too large"):
        quantity("1e400")


@given(st.integers(-(10**15), 10**15), st.sampled_from(["n", "u", "m", "", "k", "M", "Ki", "Mi", "Gi", "Ti"]))
def test_quantity_of_a_whole_number_is_the_number_times_its_suffix(number: int, suffix: str) -> None:
    powers = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6}
    binary = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
    factor = Fraction(10) ** powers[suffix] if suffix in powers else Fraction(2) ** binary[suffix]

    assert float(number * factor) == pytest.approx(quantity(f"{number}{suffix}"), rel=1e-14)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_quantity_reads_back_what_python_writes(value: float) -> None:
    assert value == quantity(repr(value))


@given(words)
def test_quantity_is_finite_or_refused(text: str) -> None:
    try:
        value = quantity(text)
    except ValueError as error:
        assert repr(text) in str(error)  # noqa: PT017  # most words are refused
    else:
        assert math.isfinite(value)


# Percentages


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("0%", 0),
        ("10%", 0.1),
        ("7.5%", 0.075),
        (".5%", 0.005),
        ("5.%", 0.05),
        ("1e1%", 0.1),
        ("+5%", 0.05),
        ("100%", 1),
    ],
)
def test_percentage_becomes_a_ratio(text: str, ratio: float) -> None:
    assert ratio == pytest.approx(percentage(text), rel=1e-15)


@pytest.mark.parametrize(
    "text", ["", "%", "10", "0.1", "10%%", "%10", "10 %", " 10%", "10%\n", "100m%", "1Ki%", "ten%", "nan%", "inf%"]
)
def test_percentage_refuses_what_is_none_and_names_it(text: str) -> None:
    with pytest.raises(ValueError, match="is not a percentage such as") as refusal:
        percentage(text)

    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize("text", ["-1%", "100.1%", "1e3%", "1e400%"])
def test_percentage_outside_of_0_to_100_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not between 0% and 100%"):
        percentage(text)


@given(st.integers(0, 10_000))
def test_percentage_of_hundredths_is_read_exactly(hundredths: int) -> None:
    text = f"{hundredths // 100}.{hundredths % 100:02}%"

    assert hundredths / 10_000 == pytest.approx(percentage(text), rel=1e-15)


# Durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("0s", 0),
        ("1ns", 1e-9),
        ("1us", 1e-6),
        ("1µs", 1e-6),
        ("1μs", 1e-6),
        ("1ms", 1e-3),
        ("5s", 5),
        ("+5s", 5),
        ("-5s", -5),
        ("5m0s", 300),
        ("1m30s", 90),
        ("-1m30s", -90),
        ("1h", 3600),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("1.s", 1),
        ("24h0m0s", 86400),
        ("1h2m3s4ms5us6ns", 3723.004005006),
        ("1s1s", 2),
        ("1s1h", 3601),
        ("2562047h", 2562047 * 3600),
    ],
)
def test_duration_is_read_in_every_spelling_of_go(text: str, seconds: float) -> None:
    assert seconds == pytest.approx(duration(text), rel=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        *("", "+", "-", "s", ".s", "1", "1.5", "00", "--5s", "+-5s", " 5s", "5s ", "5 s", "1m 30s", "1m30", "30,5s"),
        *("1d", "1w", "1y", "1S", "1H", "1e3s", "1_0s", "0x1s", "infs", "١s", "5s\n", "m5"),
    ],
)
def test_duration_refuses_what_go_refuses_and_names_it(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 1m30s") as refusal:
        duration(text)

    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize("text", ["2562048h", "-2562048h", "9" * 400 + "s"])
def test_duration_that_go_cannot_hold_is_refused_and_not_infinite(text: str) -> None:
    with pytest.raises(ValueError, match="is longer than"):
        duration(text)


@given(st.booleans(), st.integers(0, 9999), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_duration_adds_up_its_parts(negative: bool, hours: int, minutes: int, seconds: int, millis: int) -> None:  # noqa: FBT001
    text = f"{'-' * negative}{hours}h{minutes}m{seconds}.{millis:03}s"
    total = timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=millis).total_seconds()

    assert (-total if negative else total) == pytest.approx(duration(text), rel=1e-12)


@given(words)
def test_duration_is_finite_or_refused(text: str) -> None:
    try:
        value = duration(text)
    except ValueError as error:
        assert repr(text) in str(error)  # noqa: PT017  # most words are refused
    else:
        assert math.isfinite(value)


# Times


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31t12:00:00z", NOON),
        ("2026-01-31T12:00:00+00:00", NOON),
        ("2026-01-31T12:00:00-00:00", NOON),
        ("2026-01-31T13:00:00+01:00", NOON),
        ("2026-01-31T17:45:00+05:45", NOON),
        ("2026-01-31T04:00:00-08:00", NOON),
        ("2026-01-31T12:00:00.5Z", NOON + 0.5),
        ("2026-01-31T12:00:00.000000001Z", NOON),
        ("2026-01-31T12:00:00.123456789Z", NOON + 0.123456789),
        ("2024-02-29T00:00:00Z", 1_709_164_800),
        ("1970-01-01T00:00:01Z", 1),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ],
)
def test_timestamp_is_unix_time(text: str, seconds: float) -> None:
    assert seconds == timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "1970-01-01T00:00:00Z"),
        *("1970-01-01T01:00:00+01:00", "1969-12-31T23:59:59Z", "0002-01-01T00:00:00Z"),
    ],
)
def test_zero_time_and_epoch_mean_unknown(text: str | None) -> None:
    assert timestamp(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("now", "2026-01-31", "12:00:00Z", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-01-31T12:00Z"),
        *("2026-01-31T12:00:00.Z", "2026-01-31T12:00:00,5Z", "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00+01"),
        *(" 2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z\n", "1769860800", "26-01-31T12:00:00Z", "2026-1-31T12:00:00Z"),
        *("2026-01-31T12:00:00+05:60", "٢٠٢٦-01-31T12:00:00Z", "2026-W05-6T12:00:00Z"),
    ],
)
def test_timestamp_refuses_other_notations_and_names_them(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time such as") as refusal:
        timestamp(text)

    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        *("2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "2026-00-01T12:00:00Z", "2026-01-31T24:00:00Z"),
        *("2026-01-31T12:60:00Z", "2026-01-31T12:00:60Z", "2026-01-31T12:00:00+24:00", "0000-01-01T00:00:00Z"),
    ],
)
def test_timestamp_refuses_moments_that_do_not_exist(text: str) -> None:
    with pytest.raises(ValueError, match=r"out of range|must be"):
        timestamp(text)


moments = st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 31))  # noqa: DTZ001  # hypothesis adds the zone
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(moments, zones)
def test_timestamp_reads_back_what_python_writes(moment: datetime, zone: timezone) -> None:
    aware = moment.replace(tzinfo=UTC).astimezone(zone)

    assert aware.timestamp() == pytest.approx(timestamp(aware.isoformat()), abs=1e-6)


@given(st.integers(1, 253_402_300_799))
@example(int(NOON))
def test_rfc3339_and_timestamp_are_inverse(seconds: int) -> None:
    assert seconds == timestamp(rfc3339(seconds))


def test_rfc3339_is_in_utc_to_the_second() -> None:
    assert "2026-01-31T12:00:00Z" == rfc3339(NOON + 0.9)


# Addresses


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.0.0.1", "10.0.0.1:10250"),
        ("node-a.example", "node-a.example:10250"),
        ("fd00::10", "[fd00::10]:10250"),
        ("[fd00::10]", "[fd00::10]:10250"),
        ("::1", "[::1]:10250"),
        ("fe80::1%eth0", "[fe80::1%eth0]:10250"),
        ("::ffff:10.0.0.1", "[::ffff:10.0.0.1]:10250"),
    ],
)
def test_host_and_port_stand_as_in_a_url(host: str, address: str) -> None:
    assert address == host_port(host, 10250)


@given(st.ip_addresses(), st.integers(1, 65535), st.booleans())
def test_a_url_parser_finds_host_and_port_again(host: object, port: int, brackets: bool) -> None:  # noqa: FBT001
    given_host = f"[{host}]" if brackets and isinstance(host, IPv6Address) else str(host)
    url = urlsplit(f"https://{host_port(given_host, port)}/pods")

    assert (str(host), port, "/pods") == (url.hostname, url.port, url.path)
