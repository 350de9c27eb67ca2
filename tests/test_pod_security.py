"""The rendered pod against the Pod Security Standard "restricted", as far as a manifest can show it."""

from __future__ import annotations

from pathlib import Path

import pytest
from manifests import BASE, EXAMPLE, Manifest, container, pod_spec, the

RESTRICTED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def restricted_faults(spec: Manifest) -> list[str]:
    """The fields of a pod that the Pod Security Standard "restricted" refuses, for a Linux pod."""
    faults = [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    faults += ["sysctls"] if spec.get("securityContext", {}).get("sysctls") else []
    for volume in spec.get("volumes", []):
        faults += [f"volume {kind}" for kind in volume.keys() - {"name"} - RESTRICTED_VOLUMES]
    for one in [*spec["containers"], *spec.get("initContainers", []), *spec.get("ephemeralContainers", [])]:
        faults += container_faults(one.get("securityContext", {}), spec.get("securityContext", {}))
        faults += ["hostPort" for port in one.get("ports", []) if port.get("hostPort")]
        faults += probe_faults(one)
    return faults


def container_faults(own: Manifest, pod: Manifest) -> list[str]:
    """Faults of one container's security context; what it leaves out comes from the pod's."""
    both = pod | own
    capabilities = own.get("capabilities", {})
    seccomp = {"RuntimeDefault", "Localhost"}
    apparmor = {"RuntimeDefault", "Localhost"}
    selinux = {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
    options = both.get("seLinuxOptions", {})
    checks = {
        "privileged": not own.get("privileged", False),
        "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
        "capabilities.drop": "ALL" in capabilities.get("drop", []),
        "capabilities.add": set(capabilities.get("add", [])) <= {"NET_BIND_SERVICE"},
        "runAsNonRoot": both.get("runAsNonRoot") is True,
        "runAsUser": both.get("runAsUser") != 0,
        "seccompProfile": both.get("seccompProfile", {}).get("type") in seccomp,
        "appArmorProfile": both.get("appArmorProfile", {"type": "RuntimeDefault"})["type"] in apparmor,
        "seLinuxOptions": options.get("type", "") in selinux and not {"user", "role"} & options.keys(),
        "procMount": own.get("procMount", "Default") == "Default",
        "hostProcess": not both.get("windowsOptions", {}).get("hostProcess", False),
    }
    return [name for name, fine in checks.items() if not fine]


def probe_faults(one: Manifest) -> list[str]:
    """Probes and life-cycle hooks that name a host of their own (refused since 1.34)."""
    handlers = [one.get(name, {}) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers += one.get("lifecycle", {}).values()
    return ["probe host" for handler in handlers for way in handler.values() if isinstance(way, dict) and "host" in way]


@pytest.mark.parametrize("folder", [BASE, EXAMPLE], ids=["base", "example"])
def test_pod_meets_pod_security_restricted(folder: Path) -> None:
    spec = the("DaemonSet", folder)["spec"]["template"]["spec"]

    assert [] == restricted_faults(spec)


@pytest.mark.parametrize(
    ("breach", "fault"),
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"hostPID": True}, "hostPID"),
        ({"hostIPC": True}, "hostIPC"),
        ({"volumes": [{"name": "x", "hostPath": {"path": "/"}}]}, "volume hostPath"),
        ({"securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "Unconfined"}}}, "seccompProfile"),
        ({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}, "runAsNonRoot"),
    ],
)
def test_a_pod_that_breaks_one_field_of_restricted_is_found(breach: Manifest, fault: str) -> None:
    assert [fault] == restricted_faults(pod_spec() | breach)


@pytest.mark.parametrize(
    ("breach", "fault"),
    [
        ({"privileged": True}, "privileged"),
        ({"allowPrivilegeEscalation": True}, "allowPrivilegeEscalation"),
        ({"capabilities": {}}, "capabilities.drop"),
        ({"capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE"]}}, "capabilities.add"),
        ({"runAsNonRoot": False}, "runAsNonRoot"),
        ({"runAsUser": 0}, "runAsUser"),
        ({"seccompProfile": {"type": "Unconfined"}}, "seccompProfile"),
        ({"appArmorProfile": {"type": "Unconfined"}}, "appArmorProfile"),
        ({"seLinuxOptions": {"type": "spc_t"}}, "seLinuxOptions"),
        ({"procMount": "Unmasked"}, "procMount"),
        ({"windowsOptions": {"hostProcess": True}}, "hostProcess"),
    ],
)
def test_a_container_that_breaks_one_field_of_restricted_is_found(breach: Manifest, fault: str) -> None:
    broken = pod_spec() | {"containers": [container() | {"securityContext": container()["securityContext"] | breach}]}

    assert [fault] == restricted_faults(broken)


def test_namespace_enforces_the_restricted_standard() -> None:
    assert "restricted" == the("Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
