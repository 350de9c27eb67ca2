"""Whose fault it is that a container does not start: a table of waiting reasons, messages and pod reasons."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kubelet_exporter.pod import Container, Pod

NAMES = re.compile(r"\w+://\S+|\"[^\"]*\"")

Blame = Literal["none", "user", "registry", "runtime", "network", "storage", "node", "control_plane", "unknown"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A set of reasons, a pattern that their message must contain, and the blame. The first rule that fits decides.

    Names of images and addresses are no part of the message: a tag may well be 1.0-SNAPSHOT or 404.
    """

    reasons: frozenset[str]
    pattern: str
    blame: Blame

    def fits(self, reason: str, message: str) -> bool:
        """Whether the rule says something about this reason and message."""
        return reason in self.reasons and re.search(self.pattern, NAMES.sub("", message), re.IGNORECASE) is not None


def _rule(reasons: str, blame: Blame, pattern: str = "") -> Rule:
    return Rule(frozenset(reasons.split()), pattern, blame)


PULL = "ErrImagePull ImagePullBackOff ImageVolumeMountFailed"
START = "CreateContainerError RunContainerError StartError ContainerCannotRun CreatePodSandboxError"

# Reasons of a container's waiting state. Sources: pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime/kuberuntime_container.go.
CONTAINER_RULES: tuple[Rule, ...] = (
    _rule("InvalidImageName ErrImageNeverPull CreateContainerConfigError SignatureValidationFailed", "user"),
    _rule("RegistryUnavailable", "registry"),
    _rule("ImageInspectError", "runtime"),
    _rule("PostStartHookError", "user"),
    _rule("PreCreateHookError PreStartHookError", "node"),
    _rule(PULL, "node", r"no space left on device"),
    _rule(PULL, "runtime", r"failed to extract layer|failed to unpack|snapshot"),
    _rule(
        PULL,
        "registry",
        r"RegistryUnavailable|toomanyrequests|\b429\b|\b50[0-4]\b|i/o timeout|connection (refused|reset)|no such host"
        r"|TLS handshake|x509|unexpected EOF|\bEOF\b|deadline exceeded|server misbehaving|no route to host",
    ),
    _rule(
        PULL,
        "user",
        r"not ?found|manifest unknown|does not exist|denied|unauthorized|no basic auth|forbidden|\b40[134]\b",
    ),
    _rule(START, "user", r"executable file not found|exec format error|exec: .*(no such file|permission denied)"),
    _rule(START, "runtime", r"context deadline exceeded|is reserved for|ttrpc|cgroup|systemd"),
    _rule(START, "user", r"permission denied|no such file or directory"),
    _rule(START, "node", r"no space left on device|too many open files|cannot allocate memory"),
    _rule(START, "runtime"),
    _rule(PULL, "unknown"),
)

# Reasons of a pod that was rejected at admission. Source: pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/kubelet.go.
CONTROL_PLANE = (
    "OutOfcpu OutOfmemory OutOfpods OutOfephemeral-storage OutOfExtendedResources NodeAffinity NodePorts NodeName "
    "VolumeAttachmentLimitExceeded"
)
NODE = "UnexpectedAdmissionError TopologyAffinityError SMTAlignmentError Evicted"
POD_RULES: tuple[Rule, ...] = (
    _rule(CONTROL_PLANE, "control_plane"),
    _rule("SysctlForbidden AppArmor PodOSNotSupported PodOSSelectorNodeLabelDoesNotMatch", "user"),
    _rule("Evicted", "user", r"exceed(s|ed) (the|its) .*limit"),
    _rule(NODE, "node"),
)

# Ends that nobody is to blame for: the pod was taken away while it started.
EXCLUDED_REASONS = frozenset({"Preempting", "Preempted", "NodeShutdown", "Shutdown", "Terminated", "NodeLost"})
EXCLUDED_DISRUPTIONS = frozenset(
    {
        "PreemptionByScheduler",
        "PreemptionByKubeScheduler",
        "DeletionByTaintManager",
        "EvictionByEvictionAPI",
        "DeletionByPodGC",
    }
)


def of_container(container: Container) -> Blame | None:
    """Whose fault it is that this container does not start, None if it merely takes its turn or did start.

    A container that could not be executed ends with StartError, and then waits in CrashLoopBackOff like one that ran. An init
    container that ran and failed holds the pod up, an app container does not.
    """
    if container.was_started:
        return "user" if container.role == "init" and container.waiting == "CrashLoopBackOff" else None
    if container.waiting in ("", "CrashLoopBackOff"):
        return _first(CONTAINER_RULES, container.ended, container.ended_message)
    return _first(CONTAINER_RULES, container.waiting, container.message or container.ended_message)


def of_containers(pod: Pod) -> Blame | None:
    """The blame of the first container that does not start for a reason."""
    return next((blame for container in pod.containers if (blame := of_container(container))), None)


def of_rejection(pod: Pod) -> Blame | None:
    """Whose fault it is that the kubelet rejected this pod, None if it did not."""
    return _first(POD_RULES, pod.reason, pod.message) if pod.phase == "Failed" else None


def taken_away(pod: Pod) -> bool:
    """Whether the pod was preempted, drained or shut down."""
    return pod.reason in EXCLUDED_REASONS or pod.disruption in EXCLUDED_DISRUPTIONS


def _first(rules: Iterable[Rule], reason: str, message: str) -> Blame | None:
    return next((rule.blame for rule in rules if rule.fits(reason, message)), None)
