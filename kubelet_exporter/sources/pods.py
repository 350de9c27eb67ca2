"""The kubelet's /pods into a tuple of Pod, pod by pod, so that one bad pod costs itself alone."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kubelet_exporter.pod import Action, Container, Pod, Probe, Role
from kubelet_exporter.sources.decode import Decoded, Decoder, moment, one, parsed
from kubelet_exporter.sources.pod_resources import (
    Amounts,
    Mount,
    ResourceRequirements,
    amounts,
    claims,
    local_volumes,
    size_limits,
)

CONFIG = "kubernetes.io/config."


class Owner(msgspec.Struct, rename="camel"):
    """What is used of OwnerReference."""

    kind: str | None = None
    controller: bool | None = None


class Metadata(msgspec.Struct, rename="camel"):
    """What is used of ObjectMeta."""

    name: str
    uid: str
    namespace: str = "default"
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: float | None = None
    owner_references: list[Owner] | None = None


class HTTPGet(msgspec.Struct, rename="camel"):
    """What is used of HTTPGetAction."""

    path: str | None = None
    port: int | str | None = None


class Port(msgspec.Struct, rename="camel"):
    """What is used of TCPSocketAction and GRPCAction."""

    port: int | str | None = None
    service: str | None = None


class Exec(msgspec.Struct, rename="camel"):
    """What is used of ExecAction."""

    command: list[str] | None = None


class ProbeSpec(msgspec.Struct, rename="camel"):
    """What is used of Probe; what is not set is what the API server sets by default."""

    exec: Exec | None = None
    http_get: HTTPGet | None = None
    tcp_socket: Port | None = None
    grpc: Port | None = None
    initial_delay_seconds: float | None = None
    timeout_seconds: float | None = None
    period_seconds: float | None = None
    failure_threshold: int | None = None


class ContainerSpec(msgspec.Struct, rename="camel"):
    """What is used of Container."""

    name: str
    restart_policy: str | None = None
    liveness_probe: ProbeSpec | None = None
    readiness_probe: ProbeSpec | None = None
    startup_probe: ProbeSpec | None = None
    resources: ResourceRequirements | None = None
    volume_mounts: list[Mount] | None = None
    volume_devices: list[Mount] | None = None


class Spec(msgspec.Struct, rename="camel"):
    """What is used of PodSpec; a volume's keys are its name and its kind."""

    containers: list[ContainerSpec] | None = None
    init_containers: list[ContainerSpec] | None = None
    volumes: list[dict[str, Any]] | None = None
    readiness_gates: list[Any] | None = None
    host_network: bool | None = None
    runtime_class_name: str | None = None
    priority: int | None = None
    resources: ResourceRequirements | None = None
    overhead: Amounts | None = None


class Condition(msgspec.Struct, rename="camel"):
    """What is used of PodCondition."""

    type: str
    status: str = ""
    reason: str | None = None
    last_transition_time: str | None = None


class Waiting(msgspec.Struct, rename="camel"):
    """What is used of ContainerStateWaiting."""

    reason: str | None = None
    message: str | None = None


class Running(msgspec.Struct, rename="camel"):
    """What is used of ContainerStateRunning."""

    started_at: str | None = None


class Terminated(msgspec.Struct, rename="camel"):
    """What is used of ContainerStateTerminated."""

    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None
    started_at: str | None = None
    finished_at: str | None = None


class State(msgspec.Struct, rename="camel"):
    """A container's state: at most one of three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, rename="camel"):
    """What is used of ContainerStatus."""

    name: str
    state: State | None = None
    last_state: State | None = None
    restart_count: int = 0


class Status(msgspec.Struct, rename="camel"):
    """What is used of PodStatus."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class PodObject(msgspec.Struct, rename="camel"):
    """What is used of a Pod."""

    metadata: Metadata
    spec: Spec | None = None
    status: Status | None = None


class PodListObject(msgspec.Struct, rename="camel"):
    """A list of pods; null is an empty list (dd-agent#2263)."""

    items: list[msgspec.Raw] | None


def pods() -> Decoder:
    """A decoder of /pods; it remembers the pods of the last body, since few change between two readings."""
    known: dict[bytes, Pod] = {}

    def decode(body: bytes) -> Decoded:
        nonlocal known
        dropped: Counter[str] = Counter()
        found: dict[bytes, Pod] = {}
        good = 0
        for raw in parsed(body, PodListObject).items or ():
            text = bytes(raw)
            pod = known.get(text) or _pod(text)
            if pod is None:
                dropped["malformed"] += 1
            else:
                found[text] = pod
                good += 1
        known = found
        by_uid = {pod.uid: pod for pod in reversed(found.values())}
        dropped["duplicate"] += good - len(by_uid)
        return Decoded(tuple(reversed(by_uid.values())), +dropped)

    return decode


def _pod(text: bytes) -> Pod | None:
    pod = one(text, PodObject)
    if pod is None or not pod.metadata.name or not pod.metadata.uid:
        return None
    metadata, spec, status = pod.metadata, pod.spec or Spec(), pod.status or Status()
    annotations = metadata.annotations or {}
    conditions = {each.type: each for each in status.conditions or ()}
    volumes, resources = spec.volumes or (), spec.resources or ResourceRequirements()
    specs = [*(spec.containers or ()), *(spec.init_containers or ())]
    return Pod(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        phase=status.phase or "Unknown",
        mirrors=annotations.get(f"{CONFIG}mirror"),
        source=annotations.get(f"{CONFIG}source", "api"),
        created=moment(metadata.creation_timestamp),
        scheduled=_since(conditions, "PodScheduled"),
        seen=moment(annotations.get(f"{CONFIG}seen")),
        accepted=moment(status.start_time),
        sandbox=_since(conditions, "PodReadyToStartContainers"),
        initialized=_since(conditions, "Initialized"),
        containers_ready=_since(conditions, "ContainersReady"),
        ready=_since(conditions, "Ready"),
        deletion=moment(metadata.deletion_timestamp),
        grace=metadata.deletion_grace_period_seconds,
        reason=status.reason or "",
        message=status.message or "",
        disruption=_disruption(conditions),
        volumes=frozenset(kind for volume in volumes for kind in volume if kind != "name"),
        host_network=bool(spec.host_network),
        runtime_class=spec.runtime_class_name or "",
        probed=any(each.readiness_probe or each.startup_probe for each in specs),
        gated=bool(spec.readiness_gates),
        containers=tuple(_containers(spec, status)),
        priority=spec.priority or 0,
        owner=next((each.kind or "" for each in metadata.owner_references or () if each.controller), ""),
        requests=amounts(resources.requests),
        limits=amounts(resources.limits),
        overhead=amounts(spec.overhead),
        local_volumes=local_volumes(volumes),
        size_limits=tuple(size_limits(volumes)),
        claims=tuple(
            claims(
                metadata.name,
                volumes,
                [mount for each in specs for mount in each.volume_mounts or ()],
                [device for each in specs for device in each.volume_devices or ()],
            )
        ),
    )


def _since(conditions: Mapping[str, Condition], kind: str) -> float | None:
    condition = conditions.get(kind)
    return moment(condition.last_transition_time) if condition and condition.status == "True" else None


def _disruption(conditions: Mapping[str, Condition]) -> str:
    condition = conditions.get("DisruptionTarget")
    return (condition.reason or "") if condition and condition.status == "True" else ""


def _containers(spec: Spec, status: Status) -> Iterator[Container]:
    """Every container of the spec, with its status where there is one."""
    parts: Sequence[tuple[list[ContainerSpec] | None, list[ContainerStatus] | None]] = (
        (spec.init_containers, status.init_container_statuses),
        (spec.containers, status.container_statuses),
    )
    for init, (specs, statuses) in zip((True, False), parts, strict=True):
        by_name = {each.name: each for each in statuses or ()}
        for each in specs or ():
            role: Role = "app" if not init else "sidecar" if each.restart_policy == "Always" else "init"
            yield _container(each, role, by_name.get(each.name) or ContainerStatus(each.name))


def _container(spec: ContainerSpec, role: Role, status: ContainerStatus) -> Container:
    state, last = status.state or State(), status.last_state or State()
    ended = state.terminated or last.terminated or Terminated()
    run = state.running or state.terminated
    waiting = state.waiting or Waiting()
    resources = spec.resources or ResourceRequirements()
    return Container(
        name=spec.name,
        role=role,
        waiting=waiting.reason or "",
        message=waiting.message or "",
        started=moment(run.started_at) if run else None,
        finished=moment(state.terminated.finished_at) if state.terminated else None,
        last_started=moment(last.terminated.started_at) if last.terminated else None,
        ended=ended.reason or "",
        ended_message=ended.message or "",
        ended_at=moment(ended.finished_at),
        exit_code=ended.exit_code,
        restarts=status.restart_count,
        liveness=_probe(spec.liveness_probe),
        readiness=_probe(spec.readiness_probe),
        startup=_probe(spec.startup_probe),
        requests=amounts(resources.requests),
        limits=amounts(resources.limits),
    )


def _probe(spec: ProbeSpec | None) -> Probe | None:
    if spec is None:
        return None
    action, target = _action(spec)
    return Probe(
        action,
        target,
        delay=spec.initial_delay_seconds or 0.0,
        timeout=spec.timeout_seconds or 1.0,
        period=spec.period_seconds or 10.0,
        failures=spec.failure_threshold or 3,
    )


def _action(spec: ProbeSpec) -> tuple[Action, str]:
    if spec.exec:
        return "exec", shlex.join(spec.exec.command or ())
    if spec.http_get:
        return "httpGet", f"{spec.http_get.port}{spec.http_get.path or '/'}"
    if spec.tcp_socket:
        return "tcpSocket", str(spec.tcp_socket.port)
    return ("grpc", f"{spec.grpc.port} {spec.grpc.service or ''}".strip()) if spec.grpc else ("", "")
