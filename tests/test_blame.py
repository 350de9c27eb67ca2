"""The table of blame, row by row, with messages as containerd 1.6 to 2, CRI-O and runc write them (names are invented)."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kubelet_exporter.catalog import blame
from kubelet_exporter.catalog.blame import CONTAINER_RULES, EXCLUDED_DISRUPTIONS, EXCLUDED_REASONS, POD_RULES, Rule
from kubelet_exporter.pod import Container, Pod

RPC = "rpc error: code = Unknown desc = "
PULL = f'{RPC}failed to pull and unpack image "shop.example/web:1": '
REF = f'{PULL}failed to resolve reference "shop.example/web:1": '
RUNC = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
EXEC = f"{RUNC}unable to start container process: "
CRIO = "initializing source docker://shop.example/web:1: "


class Row(NamedTuple):
    """A reason, a message and who is to blame."""

    reason: str
    message: str
    blame: str


WAITING = (
    # Nothing but the pod's own text can be wrong.
    Row("InvalidImageName", 'couldn\'t parse image name "Web:1": invalid reference format', "user"),
    Row("ErrImageNeverPull", 'Container image "web:1" is not present with pull policy of Never', "user"),
    Row("CreateContainerConfigError", 'configmap "absent" not found', "user"),
    Row("SignatureValidationFailed", "image pull failed: signature validation failed", "user"),
    Row("RegistryUnavailable", "image pull failed for shop.example/web:1 because the registry is unavailable", "registry"),
    Row("ImageInspectError", 'Failed to inspect image "web:1": context deadline exceeded', "runtime"),
    Row("PostStartHookError", "Exec lifecycle hook failed", "user"),
    Row("PreCreateHookError", "failed to allocate exclusive processors", "node"),
    Row("PreStartHookError", "cannot reserve devices", "node"),
    # Pulls: node, runtime, registry, user.
    Row("ErrImagePull", f"{PULL}write /var/lib/containerd/ingest/1/data: no space left on device", "node"),
    Row("ErrImagePull", f"{PULL}failed to extract layer sha256:1: mount callback failed: unexpected EOF", "runtime"),
    Row("ErrImagePull", f"{PULL}failed to unpack image on snapshotter overlayfs: unexpected media type", "runtime"),
    Row("ErrImagePull", f"{PULL}failed to prepare extraction snapshot: context deadline exceeded", "runtime"),
    Row("ErrImagePull", f"{REF}unexpected status code: 429 Too Many Requests - toomanyrequests: limit reached", "registry"),
    Row("ErrImagePull", f"{REF}unexpected status from HEAD request to https://shop.example/v2/: 503 Service Unavailable", "registry"),
    Row("ErrImagePull", f'{REF}failed to do request: Head "https://shop.example/v2/web": dial tcp 10.0.0.9:443: i/o timeout', "registry"),
    Row("ErrImagePull", f'{REF}failed to do request: Head "https://shop.example/v2/web": connect: connection refused', "registry"),
    Row("ErrImagePull", f"{PULL}read tcp 10.0.0.1:5000->10.0.0.9:443: read: connection reset by peer", "registry"),
    Row("ErrImagePull", f"{REF}dial tcp: lookup shop.example on 10.0.0.2:53: no such host", "registry"),
    Row("ErrImagePull", f"{REF}dial tcp: lookup shop.example on 10.0.0.2:53: server misbehaving", "registry"),
    Row("ErrImagePull", f"{REF}net/http: TLS handshake timeout", "registry"),
    Row("ErrImagePull", f"{REF}tls: failed to verify certificate: x509: certificate signed by unknown authority", "registry"),
    Row("ErrImagePull", f"{PULL}httpReadSeeker: failed open: unexpected EOF", "registry"),
    Row("ErrImagePull", f"{RPC}{CRIO}pinging container registry shop.example: context deadline exceeded", "registry"),
    Row("ErrImagePull", f"{REF}dial tcp 10.0.0.9:443: connect: no route to host", "registry"),
    Row("ErrImagePull", f"{REF}shop.example/web:1: not found", "user"),
    Row("ErrImagePull", f"{RPC}{CRIO}reading manifest 1 in shop.example/web: manifest unknown", "user"),
    Row("ErrImagePull", f"{REF}pull access denied, repository does not exist or may require authorization", "user"),
    Row("ErrImagePull", f"{REF}failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized", "user"),
    Row("ErrImagePull", f"{RPC}{CRIO}reading manifest 1 in shop.example/web: unauthorized: access to the resource needs a login", "user"),
    Row("ErrImagePull", f"{REF}unexpected status from HEAD request to https://shop.example/v2/: 403 Forbidden", "user"),
    Row("ErrImagePull", "Head: no basic auth credentials", "user"),
    Row("ImagePullBackOff", f'Back-off pulling image "shop.example/web:1": ErrImagePull: {REF}shop.example/web:1: not found', "user"),
    Row("ImagePullBackOff", 'Back-off pulling image "shop.example/web:1"', "unknown"),
    Row("ErrImagePull", "", "unknown"),
    Row("ImageVolumeMountFailed", f"{REF}unexpected status code: 502 Bad Gateway", "registry"),
    Row("ImageVolumeMountFailed", "something else", "unknown"),
    # Starts: what cannot be executed is the user's, whatever shim and runc say around it.
    Row("RunContainerError", f'{EXEC}exec: "/nope": stat /nope: no such file or directory: unknown', "user"),
    Row("RunContainerError", f'{EXEC}exec: "nope": executable file not found in $PATH: unknown', "user"),
    Row("RunContainerError", f"{EXEC}exec /bin/app: exec format error", "user"),
    Row("StartError", f'{EXEC}exec: "/etc/passwd": permission denied: unknown', "user"),
    Row("StartError", f'{EXEC}exec: "/lib/systemd/systemd": stat /lib/systemd/systemd: no such file or directory', "user"),
    Row("CreateContainerError", "context deadline exceeded", "runtime"),
    Row("CreateContainerError", f'{RPC}failed to reserve container name "app_web": name "app_web" is reserved for "1f2e"', "runtime"),
    Row("CreateContainerError", "ttrpc: closed: unknown", "runtime"),
    Row("RunContainerError", f"{EXEC}unable to apply cgroup configuration: mkdir /sys/fs/cgroup/x: no such file or directory", "runtime"),
    Row("RunContainerError", f"{RUNC}unable to start unit: Message recipient disconnected from systemd: permission denied", "runtime"),
    Row("CreateContainerError", f"{EXEC}error mounting /var/app to rootfs: no such file or directory", "user"),
    Row("CreateContainerError", "failed to create shim log: open log: permission denied", "user"),
    Row("CreateContainerError", "mkdir /var/lib/containerd/1: no space left on device", "node"),
    Row("RunContainerError", f"{RUNC}fork/exec /proc/self/exe: cannot allocate memory", "node"),
    Row("CreatePodSandboxError", "too many open files", "node"),
    Row("ContainerCannotRun", "something else", "runtime"),
    Row("CreatePodSandboxError", "", "runtime"),
)  # fmt: skip

REJECTED = (
    *(
        Row(reason, "Node didn't have enough of it", "control_plane")
        for reason in (
            *("OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage", "OutOfExtendedResources"),
            *("NodeAffinity", "NodePorts", "NodeName", "VolumeAttachmentLimitExceeded"),
        )
    ),
    *(
        Row(reason, "Pod was rejected", "user")
        for reason in ("SysctlForbidden", "AppArmor", "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch")
    ),
    *(
        Row(reason, "Pod was rejected", "node")
        for reason in ("UnexpectedAdmissionError", "TopologyAffinityError", "SMTAlignmentError")
    ),
    Row("Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi.", "node"),
    Row("Evicted", "Pod was rejected: The node had condition: [MemoryPressure].", "node"),
    Row("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 60Mi.", "user"),
    Row("Evicted", 'Container app exceeded its local ephemeral storage limit "60Mi".', "user"),
    Row("Evicted", 'Usage of EmptyDir volume "cache" exceeds the limit "60Mi".', "user"),
)


def pod(*containers: Container, **fields: str) -> Pod:
    return Pod("uid-a", "shop", "web", **{"phase": "Pending", **fields}, containers=containers)  # type: ignore[arg-type]


def waiting(row: Row) -> Container:
    return Container("app", waiting=row.reason, message=row.message)


def deciding(rules: tuple[Rule, ...], row: Row) -> Rule | None:
    return next((rule for rule in rules if rule.fits(row.reason, row.message)), None)


@pytest.mark.parametrize("row", WAITING, ids=lambda row: f"{row.reason}: {row.message[-40:]}")
def test_a_waiting_container_is_blamed_by_reason_and_message(row: Row) -> None:
    assert row.blame == blame.of_container(waiting(row))


@pytest.mark.parametrize("row", REJECTED, ids=lambda row: f"{row.reason}: {row.message[-20:]}")
def test_a_rejected_pod_is_blamed_by_its_reason(row: Row) -> None:
    assert row.blame == blame.of_rejection(pod(phase="Failed", reason=row.reason, message=row.message))


@pytest.mark.parametrize(("rules", "rows"), [(CONTAINER_RULES, WAITING), (POD_RULES, REJECTED)])
def test_every_rule_and_every_reason_decides_some_row(rules: tuple[Rule, ...], rows: tuple[Row, ...]) -> None:
    decided = [deciding(rules, row) for row in rows]

    assert [rule for rule in rules if rule not in decided] == []
    assert frozenset().union(*(rule.reasons for rule in rules)) == {row.reason for row in rows}


@pytest.mark.parametrize("tag", ["1.0-SNAPSHOT", "404", "503", "eof", "denied", "x509"])
@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('Back-off pulling image "shop.example/web:{}"', "unknown"),
        ('failed to resolve reference "shop.example/web:{}": not found', "user"),
        (
            'failed to do request: Head "https://shop.example/v2/web/manifests/{}": connect: connection refused',
            "registry",
        ),
        ("unexpected status from HEAD request to https://shop.example/v2/web/manifests/{}: 500 Error", "registry"),
        ("initializing source docker://shop.example/web:{}: toomanyrequests", "registry"),
    ],
)
def test_the_name_of_an_image_is_no_message(message: str, said: str, tag: str) -> None:
    assert said == blame.of_container(waiting(Row("ErrImagePull", message.format(tag), said)))


@pytest.mark.parametrize("reason", ["", "ContainerCreating", "PodInitializing", "CrashLoopBackOff", "SomethingNew"])
def test_a_container_that_takes_its_turn_is_nobodys_fault(reason: str) -> None:
    assert blame.of_container(Container("app", waiting=reason)) is None


@pytest.mark.parametrize("state", ["", "CrashLoopBackOff"])
def test_a_crash_loop_after_a_start_that_failed_is_that_of_the_start(state: str) -> None:
    message = f'{EXEC}exec: "/nope": stat /nope: no such file or directory: unknown'
    container = Container("app", waiting=state, ended="StartError", ended_message=message, restarts=3)

    assert blame.of_container(container) == "user"


def test_the_message_of_the_last_end_stands_in_for_a_missing_one() -> None:
    container = Container(
        "app", waiting="RunContainerError", ended="StartError", ended_message="no space left on device"
    )

    assert blame.of_container(container) == "node"


@pytest.mark.parametrize("times", [{"started": 5.0}, {"last_started": 5.0}])
@pytest.mark.parametrize("reason", ["CrashLoopBackOff", "ErrImagePull", "RunContainerError", ""])
def test_a_container_that_once_started_has_not_failed_to_start(times: dict[str, float], reason: str) -> None:
    for role in ("app", "sidecar"):
        container = Container("app", role, waiting=reason, ended="Error", message="not found", **times)  # type: ignore[arg-type]
        assert blame.of_container(container) is None


def test_an_init_container_that_crashes_again_and_again_is_the_users_and_one_that_runs_is_not() -> None:
    crashing = Container("init", "init", waiting="CrashLoopBackOff", last_started=5.0, ended="Error")
    running = Container("init", "init", started=5.0)

    assert ["user", None] == [blame.of_container(crashing), blame.of_container(running)]


def test_the_first_container_that_is_held_up_for_a_reason_decides() -> None:
    runs, turns = Container("a", started=5.0), Container("b", waiting="ContainerCreating")
    held, last = (waiting(Row(reason, "", "")) for reason in ("ImageInspectError", "InvalidImageName"))

    assert blame.of_containers(pod(runs, turns, held, last)) == "runtime"
    assert blame.of_containers(pod(runs, turns)) is None


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded"])
def test_only_a_failed_pod_was_rejected(phase: str) -> None:
    assert blame.of_rejection(pod(phase=phase, reason="OutOfcpu")) is None


@pytest.mark.parametrize("reason", ["", "DeadlineExceeded", "outofcpu"])
def test_another_reason_of_a_failed_pod_is_no_rejection(reason: str) -> None:
    assert blame.of_rejection(pod(phase="Failed", reason=reason)) is None


@pytest.mark.parametrize(
    "fields",
    [
        *({"reason": reason} for reason in sorted(EXCLUDED_REASONS)),
        *({"disruption": reason} for reason in sorted(EXCLUDED_DISRUPTIONS)),
    ],
    ids=str,
)
def test_preemption_drain_and_shutdown_take_a_pod_away(fields: dict[str, str]) -> None:
    assert blame.taken_away(pod(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"reason": "Evicted"},
        {"disruption": "TerminationByKubelet"},
        {"reason": "Evicted", "disruption": "TerminationByKubelet"},
    ],
    ids=str,
)
def test_an_eviction_by_the_kubelet_takes_no_pod_away(fields: dict[str, str]) -> None:
    assert not blame.taken_away(pod(**fields))
