"""Recorded pods as the decoder of /pods tells them."""

from __future__ import annotations

import pytest
from bodies import pods
from decoding import decoded
from recorded import listed_last, listings

from kubelet_exporter.pod import Claim, Container, Pod, Probe, Resources
from kubelet_exporter.sources.pods import pods as pods_decoder
from kubelet_exporter.units import timestamp


def at(text: str) -> float:
    """The Unix time of a recorded time."""
    seconds = timestamp(text)
    assert seconds is not None
    return seconds


def recorded(name: str, begin: str) -> Pod:
    """The pod at the end of a recording whose name begins so."""
    return decoded(next(item for item in listed_last(name) if item["metadata"]["name"].startswith(begin)))


def test_a_stateful_pod_with_init_container_and_sidecar() -> None:
    started = at("2026-12-01T16:12:03Z")

    assert Pod(
        uid="86673cf9-894e-41a9-86d6-223f22bd015f",
        namespace="shop",
        name="orders-0",
        phase="Running",
        created=started,
        scheduled=started,
        seen=started + 0.857852684,
        accepted=started,
        sandbox=started + 2,
        initialized=started + 7,
        containers_ready=started + 13,
        ready=started + 13,
        volumes=frozenset({"persistentVolumeClaim", "projected"}),
        probed=True,
        containers=(
            Container(
                "migrate",
                "init",
                started=started + 2,
                finished=started + 6,
                ended="Completed",
                ended_at=started + 6,
                exit_code=0,
            ),
            Container("proxy", "sidecar", started=started + 6, startup=Probe("exec", "/bin/true", period=1)),
            Container(
                "db",
                "app",
                started=started + 7,
                readiness=Probe("exec", "/bin/sh -c 'test -f /data/f'", delay=3, period=2),
                requests=Resources(cpu=0.05, memory=2.0**25),
                limits=Resources(cpu=0.05, memory=2.0**25),
            ),
        ),
        owner="StatefulSet",
        claims=(Claim("orders-db"),),
    ) == recorded("v1.36-film-starts", "orders-0")


def test_a_static_pod_has_no_creation_and_is_from_a_file() -> None:
    started = at("2026-12-01T16:11:23Z")
    agent = recorded("v1.36-film-starts", "static-agent")

    assert agent.static
    assert (
        Pod(
            uid="f4a69835035986b7052189afbb763eb5",
            namespace="kube-system",
            name="static-agent-node-a",
            phase="Running",
            source="file",
            scheduled=started,
            seen=started + 0.000078403,
            accepted=started,
            sandbox=started,
            initialized=started,
            containers_ready=started,
            ready=started,
            # It ran before: the kubelet found it again.
            containers=(Container("agent", started=at("2026-12-01T15:56:17Z")),),
        )
        == agent
    )


def test_a_command_that_does_not_exist_was_never_started_and_backs_off_after_a_start_error() -> None:
    (container,) = recorded("v1.31-film-starts", "noexec").containers

    assert (
        "CrashLoopBackOff",
        "back-off 40s restarting failed container=c pod=noexec_shop(d1947137-9ec7-48d6-9514-b761c38ca6c0)",
        "StartError",
        3,
    ) == (container.waiting, container.message, container.ended, container.restarts)
    assert container.ended_message.endswith('exec: "/nope": stat /nope: no such file or directory: unknown')
    assert (None, None, None) == (container.started, container.finished, container.last_started)
    assert (None, False) == (container.first_started, container.was_started)


def test_a_container_between_two_restarts_has_both_runs() -> None:
    (container,) = recorded("v1.36-film-starts", "crash").containers
    ended = at("2026-12-01T16:13:36Z")

    assert (
        Container(
            "c",
            started=ended - 1,
            finished=ended,
            last_started=ended - 50,
            ended="Error",
            ended_at=ended,
            exit_code=3,
            restarts=4,
        )
        == container
    )


def test_an_evicted_pod_tells_why_and_who_took_it_away() -> None:
    oom = recorded("v1.36-memory-pressure", "oom")

    assert ("Failed", "Evicted", "TerminationByKubelet") == (oom.phase, oom.reason, oom.disruption)
    assert oom.message.startswith("The node was low on resource: memory.")
    assert oom.over


def test_a_pod_that_waits_for_its_sandbox_has_no_time_of_one() -> None:
    ghost = recorded("v1.36-film-starts", "nosandbox")

    assert ("ghost", None, None, "ContainerCreating") == (
        *(ghost.runtime_class, ghost.sandbox, ghost.ready),
        ghost.containers[0].waiting,
    )
    assert ghost.scheduled is not None


def test_a_gated_pod_has_ready_containers_and_is_not_ready() -> None:
    gated = recorded("v1.36-film-starts", "gated")

    assert (True, False, None) == (gated.gated, gated.probed, gated.ready)
    assert gated.containers_ready is not None


def test_a_pod_on_the_network_of_the_node() -> None:
    assert recorded("v1.36-film-sandbox-failures", "hostnet").host_network
    assert not recorded("v1.36-film-sandbox-failures", "late").host_network


def test_a_finalizer_lets_the_kubelet_shorten_the_grace_period() -> None:
    film = [
        (deleted["deletionTimestamp"][-4:], found.deletion, found.grace)
        for _, items in listings("v1.36-film-terminations")
        for item in items
        if item["metadata"]["name"] == "held" and "deletionTimestamp" in (deleted := item["metadata"])
        for found in [decoded(item)]
    ]
    asked_until = at("2026-12-01T16:40:40Z")

    assert [("40Z", asked_until, 5.0), ("36Z", asked_until - 4, 0.0)] == [
        (text[1:], *rest) for text, *rest in dict.fromkeys(film)
    ]


@pytest.mark.parametrize("name", ["v1.31-mixed", "v1.34-mixed", "v1.36-mixed", "v1.36-110pods"])
def test_every_recorded_pod_is_decoded_with_every_container_of_its_spec(name: str) -> None:
    items = listed_last(name)
    result = pods_decoder()(pods(*items))
    named = {
        item["metadata"]["uid"]: [
            each["name"] for kind in ("initContainers", "containers") for each in item["spec"].get(kind, ())
        ]
        for item in items
    }

    assert {} == dict(result.dropped)
    assert named == {each.uid: [container.name for container in each.containers] for each in result.value}
