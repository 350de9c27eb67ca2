"""Decoders of JSON bodies: what becomes of each shape, and that one bad object costs itself alone."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from bodies import NOW, WRONG, body, condition, configz, node, pod, pods, summary, volume
from hypothesis import given
from hypothesis import strategies as st

from kubelet_exporter.catalog.exporter import DROPS
from kubelet_exporter.pod import Pod
from kubelet_exporter.snapshot import ON_REQUEST, Lease, Source
from kubelet_exporter.sources import decode
from kubelet_exporter.sources.decode import Decoded, Malformed
from kubelet_exporter.sources.endpoints import TEXTS, decoders
from kubelet_exporter.sources.pods import pods as pods_decoder

SOURCES = list(decoders())
each_source = pytest.mark.parametrize("source", SOURCES)
each_json_source = pytest.mark.parametrize("source", [s for s in SOURCES if s not in TEXTS])


def names(decoded: Decoded) -> list[str]:
    """The names of decoded pods."""
    return [pod.name for pod in decoded.value]


# Any body


@each_source
@pytest.mark.parametrize(
    "content",
    [
        *(
            b"",
            b" ",
            b"null",
            b"true",
            b"7",
            b'"ok"',
            b"[]",
            b"<html></html>",
            b"\xff\xfe",
            b"\x00",
            b'{"items": [',
            b"{}}",
        ),
        *(b'{"items": [], "node": {}, "metadata": {"name": "a"}, "spec": {}, "kubeletconfig": {}', b"\x1f\x8b\x08\x00"),
    ],
)
def test_a_body_of_another_kind_is_malformed_with_a_message(source: Source, content: bytes) -> None:
    with pytest.raises(Malformed) as refusal:
        decoders()[source](content)

    assert str(refusal.value)


@each_json_source
@pytest.mark.parametrize("opening", [b"[", b'{"a":'], ids=["lists", "objects"])
def test_nesting_without_end_is_malformed(source: Source, opening: bytes) -> None:
    depth = 100_000
    deep = opening * depth + b"0" + (b"]" if opening == b"[" else b"}") * depth
    content = b'{"items": [%b], "pods": [%b], "node": %b, "metadata": {"name": "a"}, "spec": {"renewTime": %b}}' % (
        (deep,) * 4
    )

    with pytest.raises(Malformed):
        decoders()[source](content)


@each_source
def test_every_reason_for_a_drop_is_one_that_is_counted(source: Source) -> None:
    twice = [condition(), condition(), None]
    samples = {
        Source.HEALTHZ: [b"ok"],
        Source.PODS: [pods(pod(), pod(), None)],
        Source.METRICS: [b"kubelet_pleg_last_seen_seconds NaN\n", b"kubelet_pleg_relist_interval_seconds_sum x\n"],
        Source.PROBES: [b"prober_probe_total NaN\n", b"prober_probe_total x\n"],
        Source.SUMMARY: [summary(volume(), None)],
        Source.CONFIGZ: [configz(maxPods=110)],
        Source.NODE: [node(*twice)],
        Source.LEASE: [b"{}"],
    }
    drops = [decoders(re.compile("."))[source](content).dropped for content in samples[source]]

    assert set(DROPS.get(source, ())) == {reason for each in drops for reason, count in each.items() if count}


# /healthz


@pytest.mark.parametrize("content", [b"ok", b"ok\n", b" ok "])
def test_ok_is_well(content: bytes) -> None:
    assert Decoded(value=True) == decode.healthz(content)


@pytest.mark.parametrize("content", [b"OK", b"ok ok", b"not ok", b"[+]ping ok"])
def test_anything_but_ok_is_not_well(content: bytes) -> None:
    with pytest.raises(Malformed, match="expected ok"):
        decode.healthz(content)


# /pods


def test_a_pod_has_uid_namespace_name_phase_and_the_static_pod_that_it_mirrors() -> None:
    mirror = pod("etcd", "uid-m", "Pending", annotations={"kubernetes.io/config.mirror": "uid-s"})

    assert (
        Pod("uid-a", "shop", "web-0", "Running"),
        Pod("uid-m", "shop", "etcd", "Pending", "uid-s"),
    ) == pods_decoder()(pods(pod(), mirror)).value


@pytest.mark.parametrize("items", [None, []])
def test_no_items_are_no_pods(items: Any) -> None:
    assert Decoded(()) == pods_decoder()(body({"items": items}))


@pytest.mark.parametrize("key", ["item", "Items", "pods"])
def test_a_list_without_items_is_malformed(key: str) -> None:
    with pytest.raises(Malformed):
        pods_decoder()(body({"kind": "PodList", key: []}))


@pytest.mark.parametrize("status", [None, {}, {"phase": None}, {"phase": ""}])
def test_a_pod_without_a_phase_is_unknown(status: Any) -> None:
    decoded = pods_decoder()(pods({**pod(), "status": status}))

    assert ["Unknown"] == [each.phase for each in decoded.value]


@pytest.mark.parametrize("missing", ["namespace", "annotations"])
def test_a_pod_may_lack_what_is_optional(missing: str) -> None:
    metadata = {key: value for key, value in pod(annotations={})["metadata"].items() if key != missing}

    assert (["web-0"], {}) == (names(decoded := pods_decoder()(pods({"metadata": metadata}))), dict(decoded.dropped))


@pytest.mark.parametrize(
    "bad",
    [
        *WRONG.values(),
        {"metadata": None},
        {"metadata": {"name": "web-1"}},
        {"metadata": {"uid": "uid-b"}},
        pod(name=""),
        pod(uid=""),
        {**pod(), "metadata": {"name": None, "uid": "uid-b"}},
        {**pod(), "metadata": {"name": "web-1", "uid": 7}},
        {**pod(), "metadata": {"name": "web-1", "uid": "uid-b", "namespace": []}},
        {**pod(), "metadata": {"name": "web-1", "uid": "uid-b", "annotations": []}},
        {**pod(), "metadata": {"name": "web-1", "uid": "uid-b", "annotations": {"a": 1}}},
        {**pod(), "status": []},
        {**pod(), "status": {"phase": 7}},
    ],
    ids=repr,
)
def test_a_bad_pod_costs_itself_and_is_counted(bad: Any) -> None:
    decoded = pods_decoder()(pods(pod("web-1", "uid-1"), bad, pod("web-2", "uid-2")))

    assert (["web-1", "web-2"], {"malformed": 1}) == (names(decoded), dict(decoded.dropped))


def test_a_pod_with_invalid_utf_8_costs_itself() -> None:
    content = pods(pod("web-1", "uid-1"), pod("web-2", "uid-2")).replace(b"web-1", b"web-\xff")
    decoded = pods_decoder()(content)

    assert (["web-2"], {"malformed": 1}) == (names(decoded), dict(decoded.dropped))


def test_half_of_a_surrogate_pair_does_not_get_through() -> None:
    content = pods(pod("web-1", "uid-1"), pod("web-2", "uid-2")).replace(b'"web-1"', b'"\\ud800"')

    with pytest.raises(Malformed):
        pods_decoder()(content)


def test_of_pods_with_one_uid_the_first_counts() -> None:
    decoded = pods_decoder()(
        pods(pod("web-1", "uid-1"), pod("web-2", "uid-2"), pod("web-3", "uid-1"), pod("web-1", "uid-1"))
    )

    assert {"web-1", "web-2"} == set(names(decoded))
    assert (2, {"duplicate": 2}) == (len(decoded.value), dict(decoded.dropped))


def test_pods_of_one_name_but_two_uids_are_two() -> None:
    decoded = pods_decoder()(pods(pod("web-0", "uid-1"), pod("web-0", "uid-2")))

    assert ({"uid-1", "uid-2"}, {}) == ({each.uid for each in decoded.value}, dict(decoded.dropped))


any_pod = st.builds(
    pod,
    st.sampled_from(["web-0", "web-1", ""]),
    st.sampled_from(["uid-1", "uid-2", "uid-3"]),
    st.sampled_from(["Running", "Failed"]),
)
any_item: st.SearchStrategy[Any] = any_pod | st.sampled_from([None, 7, {}])


@given(st.lists(st.lists(any_item, max_size=6), min_size=2, max_size=5))
def test_what_is_remembered_of_earlier_bodies_changes_nothing(bodies: list[list[Any]]) -> None:
    remembering = pods_decoder()

    assert [pods_decoder()(pods(*items)) for items in bodies] == [remembering(pods(*items)) for items in bodies]


def test_a_pod_that_did_not_change_is_not_decoded_again() -> None:
    decoder = pods_decoder()
    first, second = (
        decoder(pods(pod("web-1", "uid-1"), pod("web-2", "uid-2", phase))) for phase in ("Pending", "Running")
    )

    assert (True, False) == (first.value[0] is second.value[0], first.value[1] is second.value[1])
    assert "Running" == second.value[1].phase


def test_a_pod_that_is_gone_is_forgotten() -> None:
    decoder = pods_decoder()
    first, _, again = (decoder(pods(*items)).value for items in ([pod()], [], [pod()]))

    assert first == again
    assert first[0] is not again[0]


@given(st.lists(any_pod, unique_by=lambda each: each["metadata"]["uid"]), st.randoms(use_true_random=False))
def test_the_order_of_pods_is_irrelevant(items: list[Any], shuffle: random.Random) -> None:
    mixed = list(items)
    shuffle.shuffle(mixed)
    one, other = pods_decoder()(pods(*items)), pods_decoder()(pods(*mixed))

    assert (set(one.value), one.dropped) == (set(other.value), other.dropped)


# /configz


@pytest.mark.parametrize("key", ["kubeletconfig", "componentconfig"])
def test_the_configuration_is_found_under_either_key(key: str) -> None:
    assert Decoded({"maxPods": 110}) == decode.configz(body({key: {"maxPods": 110}}))


@pytest.mark.parametrize("document", [{}, {"config": {}}, *({"kubeletconfig": value} for value in WRONG.values())])
def test_a_body_without_a_configuration_is_malformed(document: Any) -> None:
    with pytest.raises(Malformed, match="no kubeletconfig"):
        decode.configz(body(document))


# Lease


def test_a_lease_was_renewed_at_a_time() -> None:
    assert Decoded(Lease(NOW + 0.25)) == decode.lease(body({"spec": {"renewTime": "2027-01-15T08:00:00.250000Z"}}))


@pytest.mark.parametrize(
    "document", [{}, {"spec": None}, {"spec": {}}, {"spec": {"renewTime": None}}, {"spec": {"renewTime": "?"}}]
)
def test_a_lease_without_a_time_was_renewed_at_an_unknown_one(document: Any) -> None:
    assert Decoded(Lease()) == decode.lease(body(document))


# Anything at all

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["items", "metadata", "name", "uid", "node", "pods", "volume", "pvcRef", "status"]), inner
        )
    ),
    max_leaves=15,
)
DECODERS: list[Callable[[bytes], Decoded]] = list(decoders().values())


@given(st.binary(max_size=60) | json_values.map(body), st.sampled_from(DECODERS))
def test_a_decoder_decodes_or_says_malformed(content: bytes, decoder: Callable[[bytes], Decoded]) -> None:
    try:
        decoded = decoder(content)
    except Malformed as error:
        assert str(error)  # noqa: PT017  # most bodies are refused
    else:
        assert {"malformed", "duplicate", "not_finite"} >= {
            reason for reason, count in decoded.dropped.items() if count
        }


def test_every_source_has_a_decoder_but_those_whose_decoder_depends_on_what_is_asked_for() -> None:
    assert ON_REQUEST == set(Source) - set(decoders())
