"""What `kubectl apply -k` sends: schemas, labels, scraping, rights, the pod."""

from __future__ import annotations

import copy
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from kubernetes_validate.utils import ValidationError, latest_version, validate
from manifests import BASE, EXAMPLE, KUSTOMIZE, ROOT, Manifest, container, pod_spec, rendered, the

RULES = KUSTOMIZE / "components" / "rules" / "prometheusrule.yaml"
MONITORING = {"PodMonitor", "PrometheusRule"}
KUBERNETES_VERSIONS = ["1.28", "1.31", latest_version()]


def monitoring_faults(manifest: Manifest) -> list[str]:
    """What the strict schema of a PodMonitor or PrometheusRule refuses."""
    schema = ROOT / "tests" / "schemas" / f"{manifest['kind'].lower()}.json"
    validator = Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(manifest)]


# Rendering and schemas


@pytest.mark.parametrize("folder", [BASE, EXAMPLE], ids=["base", "example"])
@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_every_core_object_fits_the_strict_schema(folder: Path, version: str) -> None:
    core = [manifest for manifest in rendered(folder) if manifest["kind"] not in MONITORING]

    for manifest in core:
        validate(manifest, version, strict=True)
    assert [
        "ClusterRole",
        "ClusterRoleBinding",
        "DaemonSet",
        "Namespace",
        "ResourceQuota",
        "Role",
        "RoleBinding",
        "ServiceAccount",
    ] == sorted(manifest["kind"] for manifest in core)


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_strict_schema_refuses_an_unknown_key_in_any_core_object(version: str) -> None:
    for manifest in rendered(BASE):
        broken = manifest | {"unknownKey": "x"}

        with pytest.raises(ValidationError, match="unknownKey"):
            validate(broken, version, strict=True)


def test_strict_schema_refuses_an_unknown_key_deep_in_the_daemonset() -> None:
    broken = copy.deepcopy(the("DaemonSet"))
    broken["spec"]["template"]["spec"]["containers"][0]["securityContext"]["readOnlyRootFileSystem"] = True

    with pytest.raises(ValidationError, match="readOnlyRootFileSystem"):
        validate(broken, latest_version(), strict=True)


def test_podmonitor_as_it_lies_fits_the_strict_schema() -> None:
    manifest = yaml.safe_load((KUSTOMIZE / "components" / "podmonitor" / "podmonitor.yaml").read_text(encoding="utf-8"))

    assert [] == monitoring_faults(manifest)


def test_generated_rules_as_they_lie_fit_the_strict_schema() -> None:
    manifest = yaml.safe_load(RULES.read_text(encoding="utf-8"))

    assert "PrometheusRule" == manifest["kind"]
    assert [] == monitoring_faults(manifest)


@pytest.mark.parametrize("kind", sorted(MONITORING))
def test_monitoring_objects_of_the_example_fit_the_strict_schema(kind: str) -> None:
    manifest = the(kind, EXAMPLE)

    assert [] == monitoring_faults(manifest)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("PodMonitor", {"selector": {}, "podMetricsEndpoints": [{"port": "metrics", "unknownKey": "x"}]}),
        ("PrometheusRule", {"groups": [{"name": "g", "rules": [{"alert": "A", "expr": "up", "unknownKey": "x"}]}]}),
    ],
)
def test_strict_monitoring_schema_refuses_exactly_the_unknown_key(kind: str, spec: Manifest) -> None:
    manifest = {"apiVersion": "monitoring.coreos.com/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}

    (fault,) = monitoring_faults(manifest)

    assert "unknownKey" in fault


# Names, labels, scraping


def test_base_lives_in_its_own_namespace_except_the_lease_right() -> None:
    places = {manifest["kind"]: manifest["metadata"].get("namespace") for manifest in rendered(BASE)}

    assert {
        "Namespace": None,
        "ClusterRole": None,
        "ClusterRoleBinding": None,
        "ResourceQuota": "kubelet-exporter",
        "ServiceAccount": "kubelet-exporter",
        "DaemonSet": "kubelet-exporter",
        "Role": "kube-node-lease",
        "RoleBinding": "kube-node-lease",
    } == places


def test_every_object_and_pod_carries_the_recommended_labels() -> None:
    expected = {
        "app.kubernetes.io/name": "kubelet-exporter",
        "app.kubernetes.io/component": "metrics",
        "app.kubernetes.io/part-of": "kubelet-exporter",
    }
    labels = {manifest["kind"]: manifest["metadata"]["labels"] for manifest in rendered(EXAMPLE)}
    labels["pod"] = the("DaemonSet")["spec"]["template"]["metadata"]["labels"]

    assert dict.fromkeys(labels, expected) == {
        kind: {name: value for name, value in own.items() if name in expected} for kind, own in labels.items()
    }


def test_daemonset_selects_by_name_only_because_a_selector_cannot_change() -> None:
    assert {"matchLabels": {"app.kubernetes.io/name": "kubelet-exporter"}} == the("DaemonSet")["spec"]["selector"]


def test_podmonitor_finds_the_pods_and_the_port_of_the_daemonset() -> None:
    monitor = the("PodMonitor", EXAMPLE)
    daemonset = the("DaemonSet", EXAMPLE)
    pod = daemonset["spec"]["template"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]

    assert daemonset["metadata"]["namespace"] == monitor["metadata"]["namespace"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert endpoint["port"] in [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
    assert monitor["spec"]["jobLabel"] in pod["metadata"]["labels"]


def test_podmonitor_leaves_namespace_and_pod_to_what_is_watched() -> None:
    (endpoint,) = the("PodMonitor", EXAMPLE)["spec"]["podMetricsEndpoints"]
    (drop,) = [rule["regex"] for rule in endpoint["relabelings"] if rule.get("action") == "labeldrop"]

    assert endpoint["honorLabels"] is True
    assert [
        "namespace",
        "pod",
    ] == [label for label in ("namespace", "pod", "node", "instance", "job") if re.fullmatch(drop, label)]


def test_example_sets_the_image_and_the_release_label() -> None:
    image = the("DaemonSet", EXAMPLE)["spec"]["template"]["spec"]["containers"][0]["image"]
    releases = {kind: the(kind, EXAMPLE)["metadata"]["labels"].get("release") for kind in sorted(MONITORING)}

    assert "registry.example.com/monitoring/kubelet-exporter:0.1.0" == image
    assert {"PodMonitor": "kube-prometheus-stack", "PrometheusRule": "kube-prometheus-stack"} == releases


# Rights


def rights(role: Manifest) -> set[tuple[str, str, str]]:
    """(API group, resource, verb) of each thing that a role allows; nothing else may narrow or widen a rule."""
    assert all(rule.keys() == {"apiGroups", "resources", "verbs"} for rule in role["rules"])
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("folder", [BASE, EXAMPLE], ids=["base", "example"])
def test_rights_are_exactly_the_default_rights(folder: Path) -> None:
    fine = {("", f"nodes/{part}", "get") for part in ("metrics", "stats", "pods", "configz", "healthz")}
    nodes = {("", "nodes", verb) for verb in ("get", "list", "watch")}

    assert fine | nodes == rights(the("ClusterRole", folder))
    assert {("coordination.k8s.io", "leases", "get")} == rights(the("Role", folder))


@pytest.mark.parametrize("folder", [BASE, EXAMPLE], ids=["base", "example"])
def test_no_role_allows_nodes_proxy_or_a_wildcard(folder: Path) -> None:
    roles = [manifest for manifest in rendered(folder) if manifest["kind"] in {"Role", "ClusterRole"}]
    words = {word for role in roles for right in rights(role) for word in right}

    assert 2 == len(roles)
    assert [] == [word for word in sorted(words) if "*" in word or "proxy" in word]
    assert [] == [role for role in roles if "aggregationRule" in role]


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_only_the_daemonsets_account_is_bound_to_a_role(kind: str) -> None:
    binding = the(f"{kind}Binding")
    account = the("ServiceAccount")["metadata"]

    assert {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": kind,
        "name": the(kind)["metadata"]["name"],
    } == binding["roleRef"]
    assert [{"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}] == binding[
        "subjects"
    ]
    assert account["name"] == pod_spec()["serviceAccountName"]


def test_only_the_exporters_pod_gets_a_token() -> None:
    assert the("ServiceAccount")["automountServiceAccountToken"] is False
    assert pod_spec()["automountServiceAccountToken"] is True


# The pod


def test_pod_runs_as_65532_on_a_read_only_root_with_no_volume_but_its_checkpoint() -> None:
    context = pod_spec()["securityContext"]

    assert (65532, 65532) == (context["runAsUser"], context["runAsGroup"])
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True
    assert [{"name": "checkpoint", "emptyDir": {"sizeLimit": "8Mi"}}] == pod_spec()["volumes"]


def test_pod_runs_on_every_linux_node_whatever_its_taints() -> None:
    assert [{"operator": "Exists"}] == pod_spec()["tolerations"]
    assert {"kubernetes.io/os": "linux"} == pod_spec()["nodeSelector"]


def test_node_name_and_kubelet_address_come_from_the_downward_api() -> None:
    fields = {
        variable["name"]: variable["valueFrom"]["fieldRef"]["fieldPath"]
        for variable in container()["env"]
        if "valueFrom" in variable
    }

    assert {
        "KUBELET_EXPORTER_NODE_NAME": "spec.nodeName",
        "KUBELET_EXPORTER_KUBELET_ADDRESS": "status.hostIP",
    } == fields


def test_pod_has_a_memory_limit_and_no_cpu_limit() -> None:
    assert {"requests": {"cpu": "5m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}} == container()["resources"]


def test_probes_ask_the_exporters_own_pages() -> None:
    probes = {name: container()[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}

    assert {
        "livenessProbe": {"path": "/-/healthy", "port": "metrics"},
        "readinessProbe": {"path": "/-/ready", "port": "metrics"},
    } == probes
    assert [{"name": "metrics", "containerPort": 10052}] == container()["ports"]


def test_quota_admits_the_priority_class_of_the_pod() -> None:
    (scope,) = the("ResourceQuota")["spec"]["scopeSelector"]["matchExpressions"]

    assert {"scopeName": "PriorityClass", "operator": "In", "values": [pod_spec()["priorityClassName"]]} == scope


def test_a_rollout_takes_a_tenth_of_the_nodes_at_a_time() -> None:
    assert {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "10%"},
    } == the("DaemonSet")["spec"]["updateStrategy"]


# The components that add a right


@pytest.mark.parametrize(
    ("component", "rule", "variable"),
    [
        (
            "events",
            {"apiGroups": [""], "resources": ["events"], "verbs": ["list"]},
            {"name": "KUBELET_EXPORTER_EVENTS", "value": "true"},
        ),
        (
            "log-patterns",
            {"apiGroups": [""], "resources": ["nodes/log"], "verbs": ["get"]},
            {"name": "KUBELET_EXPORTER_LOG_PATTERNS", "value": "FailedCreatePodSandBox,ImagePullBackOff"},
        ),
    ],
)
def test_a_component_adds_one_right_and_its_switch_and_nothing_else(
    component: str, rule: Any, variable: Any, tmp_path: Path
) -> None:
    shutil.copytree(KUSTOMIZE, tmp_path, dirs_exist_ok=True)
    overlay = tmp_path / "overlays" / component
    overlay.mkdir()
    content = {"resources": ["../../base"], "components": [f"../../components/{component}"]}
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(content))
    added = [each for each in rendered(overlay) if each not in rendered(BASE)]

    by_kind = {each["kind"]: each for each in added}
    assert {"ClusterRole", "ClusterRoleBinding", "DaemonSet"} == set(by_kind)
    assert [rule] == by_kind["ClusterRole"]["rules"]
    (only,) = by_kind["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    assert variable in only["env"]
