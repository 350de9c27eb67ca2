"""The kubelet's metrics text: what the exporter cuts out of it is what a parser of the whole would find."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from bodies import RELISTS, SEEN, histogram
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from kubelet_exporter.catalog import WANTED
from kubelet_exporter.samples import Metrics, Sample
from kubelet_exporter.sources import recording
from kubelet_exporter.sources.decode import Malformed
from kubelet_exporter.sources.metrics import metrics

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.jsonl.gz"))

Series = tuple[str, frozenset[tuple[str, str]], float]


def bodies(path: Path) -> list[str]:
    """Every answer of /metrics in a recording."""
    return [line.body or "" for line in recording.load(path).lines if line.path == "/metrics" and line.status == 200]


def by_the_full_parser(text: str, wanted: Iterable[str]) -> Counter[Series]:
    """Finite samples of the wanted families as prometheus_client reads the whole body.

    Counters are declared gauges first: the parser would add _total to their names.
    """
    named = {f"{name}{suffix}" for name in wanted for suffix in ("", "_bucket", "_sum", "_count")}
    literal = re.sub(r"^(# TYPE \S+) counter$", r"\1 gauge", text, flags=re.MULTILINE)
    samples = [sample for family in text_string_to_metric_families(literal) for sample in family.samples]
    return Counter(
        (sample.name, frozenset(sample.labels.items()), float(sample.value))
        for sample in samples
        if sample.name in named and not math.isnan(sample.value) and sample.value != -math.inf
    )


def by_the_prefilter(text: str, wanted: Iterable[str]) -> Counter[Series]:
    """What the exporter reads of a body."""
    value: Metrics = metrics(wanted)(text.encode()).value
    return Counter(
        (name, frozenset(each.labels.items()), each.value) for name, found in value.samples.items() for each in found
    )


def read(text: str, *wanted: str) -> tuple[dict[str, list[float]], dict[str, int]]:
    """The values of each name, and what was dropped."""
    decoded = metrics(wanted)(text.encode())
    values = {name: [each.value for each in found] for name, found in decoded.value.samples.items()}
    return values, {reason: count for reason, count in decoded.dropped.items() if count}


# Against the full parser


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_of_a_recorded_body_the_wanted_samples_are_those_of_the_full_parser(path: Path) -> None:
    for text in bodies(path):
        expected = by_the_full_parser(text, WANTED)

        assert {f"{name}_count" for name in WANTED if "pleg_relist" in name} <= {name for name, *_ in expected}
        assert expected == by_the_prefilter(text, WANTED)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_of_a_recorded_body_every_family_is_read_as_by_the_full_parser(path: Path) -> None:
    for text in bodies(path)[:1]:
        families = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)

        assert len(families) > 100
        assert by_the_full_parser(text, families) == by_the_prefilter(text, families)


label_text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=6)
escaped = label_text.map(lambda text: text.replace("\\", r"\\").replace('"', r"\""))
numbers = st.sampled_from(["0", "1", "-1", "1.5", "1e3", "+Inf", "-Inf", "NaN", "1.7e+09", "12345678901234567890"])
kinds = st.sampled_from(["counter", "gauge", "untyped"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A body of families with names that begin alike, labels with every character, and comments."""
    lines = []
    for name in draw(st.lists(st.sampled_from(["a", "a_b", "a_total", "ab", "a:c"]), unique=True)):
        lines += [f"# HELP {name} {draw(label_text)}", f"# TYPE {name} {draw(kinds)}"]
        for index in range(draw(st.integers(0, 3))):
            lines.append(f'{name}{{index="{index}",text="{draw(escaped)}"}} {draw(numbers)}')
        lines += draw(st.sampled_from([[], [""], ["# a comment about a"], [f"{name} {draw(numbers)}"]]))
    return "".join(f"{line}\n" for line in [*lines, ""])


@given(texts(), st.sets(st.sampled_from(["a", "a_b", "a_total", "ab", "a:c", "missing"]), min_size=1))
def test_of_generated_text_the_wanted_samples_are_those_of_the_full_parser(text: str, wanted: set[str]) -> None:
    assert by_the_full_parser(text, wanted) == by_the_prefilter(text, wanted)


# Names


def test_names_are_literal_where_a_counter_lacks_total() -> None:
    text = "# TYPE evictions counter\nevictions 1\n# TYPE evictions_total counter\nevictions_total 2\n"

    assert ({"evictions": [1], "evictions_total": [2]}, {}) == read(text, "evictions", "evictions_total")
    assert ({"evictions": [1]}, {}) == read(text, "evictions")
    assert ({"evictions_total": [2]}, {}) == read(text, "evictions_total")


def test_a_name_that_begins_like_a_wanted_one_is_left_alone() -> None:
    text = "a 1\na_b 2\na_b_c 3\na:d 4\nab 5\nb_a 6\na_count_x 7\n"

    assert ({"a": [1]}, {}) == read(text, "a")
    assert ({"a": [1], "a_b": [2]}, {}) == read(text, "a", "a_b")
    assert ({"a_b_c": [3], "a_b": [2]}, {}) == read(text, "a_b", "a_b_c")


def test_a_family_that_is_not_there_is_absent() -> None:
    assert ({}, {}) == read("other 1\n", SEEN)
    assert ({}, {}) == read("\n", SEEN)
    assert ({}, {}) == read(f"# HELP {SEEN} Text.\n# TYPE {SEEN} gauge\n", SEEN)


def test_a_name_in_a_comment_or_in_a_label_is_no_sample() -> None:
    assert ({}, {}) == read(f'# {SEEN} 1\n#{SEEN} 1\nother{{name="{SEEN} 1"}} 1\n', SEEN)


def test_labels_are_unescaped_and_kept_apart() -> None:
    found = metrics(["a"])(b'a{x="1",y="q\\"\\\\\\n"} 1\na{x="2"} 2\n').value

    assert (Sample({"x": "1", "y": 'q"\\\n'}, 1), Sample({"x": "2"}, 2)) == found.samples["a"]


def test_a_time_behind_the_value_is_passed_over() -> None:
    assert ({"a": [1]}, {}) == read("a 1 1700000000000\n", "a")


def test_lines_of_a_family_may_stand_apart() -> None:
    text = 'a_sum 5\nb 1\n# TYPE a histogram\na_bucket{le="+Inf"} 2\n'

    assert ({"a_sum": [5], "a_bucket": [2]}, {}) == read(text, "a")


# Bad lines


@pytest.mark.parametrize(
    "bad",
    [
        "a",
        "a ",
        "a\t",
        "a x",
        "a 1_000",
        "a 0x10",
        "a{ 1",
        'a{x="1" 1',
        "a{x=1} 1",
        'a{x="1} 1',
        'a{x="1",x="2"} 1',
        'a{"x"} 1',
        "a}{ 1",
        "a 1" + "0" * 400,
        "a 1\na 2",
        'a{x="1"} 1\na{x="1"} 1',
        "# TYPE a",
        "# TYPE a histogram extra words\na_bucket 1",
        'a_bucket{le="many"} 1',
        'a_bucket{le="NaN"} 1',
        'a_bucket{le="1"} 1\na_bucket{le="1.0"} 1',
        "a_sum",
    ],
)
def test_one_bad_line_costs_one_family(bad: str) -> None:
    text = f"b 1\n{bad}\na_count 3\nab 2\n"

    assert ({"b": [1], "ab": [2]}, {"malformed": 1}) == read(text, "a", "b", "ab")


def test_invalid_utf_8_costs_one_family() -> None:
    decoded = metrics(["a", "b"])(b'a{x="\xff"} 1\nb 1\nother{x="\xff"} 1\n')

    assert (["b"], {"malformed": 1}) == (list(decoded.value.samples), {k: v for k, v in decoded.dropped.items() if v})


def test_a_bad_line_of_an_unwanted_family_costs_nothing() -> None:
    assert ({"a": [1]}, {}) == read("b{ x\na 1\nab\n", "a")


def test_nan_and_minus_infinity_are_dropped_and_counted_and_plus_infinity_is_kept() -> None:
    text = 'a{q="1"} NaN\na{q="2"} -Inf\na{q="3"} +Inf\na{q="4"} 4\na_sum 5\nb NaN\n'

    assert ({"a": [math.inf, 4], "a_sum": [5]}, {"not_finite": 3}) == read(text, "a", "b")


@pytest.mark.parametrize("content", [b"", b"a 1", b"a 1\nb", b"a 1\r", b"a 1\n\x00"])
def test_a_body_whose_last_line_has_no_end_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed, match="last line"):
        metrics(["a"])(content)


@given(
    st.binary(max_size=40), st.sampled_from([b"", b"a ", b"a{", b'a{x="', b"a_bucket{le=", b"# TYPE a ", b"# HELP a "])
)
def test_a_family_of_any_bytes_costs_no_other(content: bytes, begin: bytes) -> None:
    line = begin + content.replace(b"\n", b" ") + b"\n"

    assert [1] == [each.value for each in metrics(["a", "b"])(b"b 1\n" + line).value.samples["b"]]


# Values and histograms


def test_a_value_is_that_of_the_metric_without_labels() -> None:
    found = metrics([SEEN])(f"{SEEN} 1.7e9\n".encode()).value

    assert (1.7e9, None) == (found.value(SEEN), found.value("missing"))


def test_a_histogram_has_rising_bounds_and_a_sum() -> None:
    found = metrics([RELISTS])(histogram(buckets={"10": 4, "+Inf": 5, "0.5": 1}, total=30).encode()).value.histogram(
        RELISTS
    )

    assert (((0.5, 1), (10, 4), (math.inf, 5)), 30, 5) == (found.buckets, found.sum, found.count)


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        histogram().replace("_sum", "_summe"),
        histogram().replace("_sum 0.5", "_sum NaN"),
        histogram(buckets={"1": 3}),
        histogram(buckets={"1": 3, "+Inf": 2}),
        histogram(buckets={"1": math.nan, "+Inf": 2}).replace('le="1"} nan', 'le="1"}'),
        f"{RELISTS}_sum 1\n{RELISTS}_count 1\n",
    ],
)
def test_a_histogram_that_lacks_a_part_or_falls_is_none(text: str) -> None:
    assert metrics([RELISTS])(text.encode()).value.histogram(RELISTS) is None
