"""Topic storage: the kubelet's metrics text in, lines of the scrape out. Lines stand without the prefix kubelet_exporter_."""

from __future__ import annotations

from math import inf

import pytest
from bodies import NOW, Known, faults
from recorded import FOLDER, played

from kubelet_exporter.catalog.facts.storage import STORAGE_CALL, STORAGE_FAILURES, STORAGE_RETRY
from kubelet_exporter.catalog.storage.metrics import ALWAYS, BOUNDS, CSI, MOST_DRIVERS, STORAGE, VOLUMES, named
from kubelet_exporter.snapshot import Source

EBS = "kubernetes.io/csi:ebs.csi.aws.com"
WINDOW = 900
RECORDINGS = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*mixed.jsonl.gz"))


def times(name: str, labels: str, *counts: float, total: float = 1.0) -> str:
    """Lines of a histogram of the kubelet: counts up to 0.1, 0.25, 120, 300 and in all."""
    bounds = ("0.1", "0.25", "120", "300", "+Inf")
    lines = [f'{name}_bucket{{{labels},le="{le}"}} {count}' for le, count in zip(bounds, counts, strict=True)]
    return "\n".join([*lines, f"{name}_sum{{{labels}}} {total}", f"{name}_count{{{labels}}} {counts[-1]}", ""])


def operation(plugin: str, kind: str, status: str, *counts: float, migrated: str = "false") -> str:
    """The kubelet's histogram of a storage operation; a single count stands for all buckets."""
    labels = f'migrated="{migrated}",operation_name="{kind}",status="{status}",volume_plugin="{plugin}"'
    return times(STORAGE, labels, *(counts if len(counts) > 1 else counts * 5))


def call(driver: str, method: str, code: str, count: float) -> str:
    """The kubelet's histogram of calls to a CSI driver."""
    labels = f'driver_name="{driver}",grpc_status_code="{code}",method_name="{method}",migrated="false"'
    return times(CSI, labels, *[count] * 5)


def mounted(plugin: str, **states: float) -> str:
    """The kubelet's numbers of volumes of a plug-in."""
    return "".join(f'{VOLUMES}{{plugin_name="{plugin}",state="{state}_of_world"}} {n}\n' for state, n in states.items())


def text(*lines: str) -> str:
    """A metrics text with all three families."""
    types = f"# TYPE {STORAGE} histogram\n# TYPE {CSI} histogram\n# TYPE {VOLUMES} gauge\n"
    return types + "".join(sorted("\n".join(lines).splitlines(keepends=True)))


def read(*lines: str) -> Known:
    """A node whose kubelet tells these lines."""
    return Known().read(Source.METRICS, text(*lines))


def of(known: Known, name: str) -> dict[tuple[str, ...], float]:
    """The values of a metric by the values of its labels, in the order of the labels' names."""
    lines = [line.rsplit(" ", 1) for line in known.series(name)]
    return {tuple(labels.split('"')[1::2]): float(value) for labels, value in lines}


# Operations


def test_nothing_is_told_before_the_kubelet_was_read() -> None:
    own = ("storage_", "csi_")

    assert [] == [line for line in Known().series() if line.startswith(own)]
    assert [] == [line for line in Known().fail(Source.METRICS).series() if line.startswith(own)]


def test_a_kubelet_without_volumes_tells_nothing() -> None:
    assert [] == [line for line in read().series() if line.startswith(("storage_", "csi_"))]


@pytest.mark.parametrize(
    ("plugin", "driver"),
    [
        (EBS, "ebs.csi.aws.com"),
        ("kubernetes.io/configmap", "configmap"),
        ("kubernetes.io/csi", "csi"),
        ("ebs.csi.aws.com", "ebs.csi.aws.com"),
        ("flexvolume-shop/fuse", "flexvolume-shop/fuse"),
        ("", "other"),
    ],
)
def test_a_plugin_is_called_by_its_driver(plugin: str, driver: str) -> None:
    assert driver == named(plugin)


def test_operations_are_told_by_driver_and_whether_they_succeeded() -> None:
    found = of(
        read(
            operation(EBS, "volume_mount", "success", 5),
            operation(EBS, "volume_mount", "fail-unknown", 2),
            operation("kubernetes.io/nfs", "volume_mount", "success", 1),
        ),
        "storage_operations_total",
    )

    assert 5 == found["ebs.csi.aws.com", "volume_mount", "success"]
    assert 2 == found["ebs.csi.aws.com", "volume_mount", "failure"]
    assert (1, 0) == tuple(found["nfs", "volume_mount", status] for status in ("success", "failure"))


def test_migrated_operations_and_every_kind_of_failure_are_added_up() -> None:
    found = of(
        read(
            operation(EBS, "volume_mount", "fail-unknown", 2),
            operation(EBS, "volume_mount", "fail-unknown", 3, migrated="true"),
            operation(EBS, "volume_mount", "invented", 4),
        ),
        "storage_operations_total",
    )

    assert 9 == found["ebs.csi.aws.com", "volume_mount", "failure"]


def test_successes_and_failures_turn_up_together_so_that_the_first_of_either_counts() -> None:
    found = of(
        read(
            operation(EBS, "unmount_device", "success", 7),
            operation("kubernetes.io/nfs", "map_volume", "fail-unknown", 1),
        ),
        "storage_operations_total",
    )

    assert 0 == found["ebs.csi.aws.com", "unmount_device", "failure"]
    assert 0 == found["nfs", "map_volume", "success"]


def test_a_driver_whose_first_mount_is_under_way_has_counters_of_0() -> None:
    known = read(mounted(EBS, desired_state=1))
    before = of(known, "storage_operations_total")
    known.read(Source.METRICS, text(mounted(EBS, desired_state=1), operation(EBS, "volume_mount", "fail-unknown", 1)))

    pairs = {("ebs.csi.aws.com", kind, status): 0.0 for kind in ALWAYS for status in ("success", "failure")}
    assert pairs == before
    assert pairs | {("ebs.csi.aws.com", "volume_mount", "failure"): 1} == of(known, "storage_operations_total")


def test_a_driver_that_was_seen_once_keeps_its_counters_when_the_kubelet_starts_anew() -> None:
    known = read(operation(EBS, "volume_mount", "success", 7)).at(NOW + 20).read(Source.METRICS, text())

    assert {0.0} == set(of(known, "storage_operations_total").values())
    assert len(ALWAYS) * 2 == len(known.series("storage_operations_total"))


def test_operations_that_are_not_known_are_added_up() -> None:
    known = read(operation(EBS, "invented", "success", 2), operation(EBS, "of_some_years", "success", 3))

    assert 5 == of(known, "storage_operations_total")["ebs.csi.aws.com", "other", "success"]
    assert [] == known.series("storage_operation_duration_seconds_count")


@pytest.mark.parametrize("count", [-1, inf])
def test_a_count_that_cannot_be_is_left_out(count: float) -> None:
    known = read(operation(EBS, "volume_mount", "success", count), mounted(EBS, desired_state=count))

    assert ("ebs.csi.aws.com", "volume_mount", "success") not in of(known, "storage_operations_total")
    assert ("ebs.csi.aws.com", "desired") not in of(known, "storage_volumes")
    assert [] == faults(known.text())


# Drivers


def drivers(known: Known) -> list[str]:
    """The drivers of storage operations."""
    return sorted({driver for driver, _, _ in of(known, "storage_operations_total")})


def test_only_so_many_drivers_have_a_name_the_most_used_first() -> None:
    lines = [operation(f"plugin-{number:02}", "volume_mount", "success", number) for number in range(40)]

    kept = drivers(read(*lines))

    assert [*["other"], *[f"plugin-{number}" for number in range(40 - MOST_DRIVERS, 40)]] == kept
    assert (
        sum(range(40 - MOST_DRIVERS))
        == of(read(*lines), "storage_operations_total")["other", "volume_mount", "success"]
    )


def test_a_driver_never_loses_its_name_to_a_busier_one() -> None:
    lines = [operation(f"plugin-{number:02}", "volume_mount", "success", 1) for number in range(MOST_DRIVERS)]
    known = read(*lines)
    before = drivers(known)
    known.read(Source.METRICS, text(*lines, operation("busy", "volume_mount", "success", 1000)))

    assert [*["other"], *before] == drivers(known)
    assert 1000 == of(known, "storage_operations_total")["other", "volume_mount", "success"]


def test_a_failed_reading_tells_no_driver_and_forgets_none() -> None:
    known = read(operation(EBS, "volume_mount", "success", 7))
    before = known.ledger["storage"]

    assert ("ebs.csi.aws.com",) == before == known.fail(Source.METRICS).ledger["storage"]


# CSI


def test_calls_to_csi_drivers_are_told_by_their_last_name() -> None:
    known = read(
        call("ebs.csi.aws.com", "/csi.v1.Node/NodeStageVolume", "OK", 4),
        call("ebs.csi.aws.com", "/csi.v1.Node/NodeStageVolume", "DeadlineExceeded", 1),
        call("ebs.csi.aws.com", "/csi.v1.Node/NodeStageVolume", "Internal", 2),
        call("ebs.csi.aws.com", "/csi.v1.Node/NodeDance", "OK", 3),
    )

    assert {
        ("ebs.csi.aws.com", "NodeStageVolume", "success"): 4,
        ("ebs.csi.aws.com", "NodeStageVolume", "failure"): 3,
        ("ebs.csi.aws.com", "other", "success"): 3,
        ("ebs.csi.aws.com", "other", "failure"): 0,
    } == of(known, "csi_operations_total")
    assert {("NodeStageVolume",): 7} == of(known, "csi_operation_duration_seconds_count")


# Times


def test_times_are_told_by_operation_whatever_the_driver_and_the_end() -> None:
    known = read(
        operation(EBS, "volume_mount", "success", 1, 2, 3, 4, 5),
        operation("kubernetes.io/nfs", "volume_mount", "fail-unknown", 10, 20, 30, 40, 50),
    )

    assert {("0.1", "volume_mount"): 11, ("120.0", "volume_mount"): 33, ("+Inf", "volume_mount"): 55} == of(
        known, "storage_operation_duration_seconds_bucket"
    )
    assert 2 == of(known, "storage_operation_duration_seconds_sum")["volume_mount",]


# Volumes


def test_wanted_and_mounted_volumes_are_told_by_driver() -> None:
    known = read(mounted(EBS, desired_state=3, actual_state=1), mounted("kubernetes.io/nfs", desired_state=2))

    assert {
        ("ebs.csi.aws.com", "desired"): 3,
        ("ebs.csi.aws.com", "mounted"): 1,
        ("nfs", "desired"): 2,
        ("nfs", "mounted"): 0,
    } == of(known, "storage_volumes")


def test_volumes_of_nameless_drivers_are_added_up_and_states_that_are_not_known_left_out() -> None:
    lines = [mounted(f"plugin-{number:02}", desired_state=1) for number in range(MOST_DRIVERS + 3)]
    found = of(read(*lines, mounted("plugin-00", invented=9)), "storage_volumes")

    assert (3, MOST_DRIVERS + 1) == (found["other", "desired"], len({driver for driver, _ in found}))
    assert MOST_DRIVERS + 3 == sum(found.values())


# Real kubelets


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_real_kubelet_has_the_bounds_and_its_missing_configmap_shows(name: str) -> None:
    known = played(name)
    bounds = {float(bound) for bound, kind in of(known, "storage_operation_duration_seconds_bucket") if kind}

    assert {*BOUNDS, inf} == bounds
    assert 0 < of(known, "storage_operations_total")["configmap", "volume_mount", "failure"]
    assert (
        1 == of(known, "storage_volumes")["configmap", "desired"] - of(known, "storage_volumes")["configmap", "mounted"]
    )
    assert not [driver for driver in drivers(known) if driver == "other" or "kubernetes.io" in driver]
    assert [] == faults(known.text())


def test_a_single_volume_whose_tries_time_out_fails_often_enough_within_the_window_of_the_alert() -> None:
    assert WINDOW // (STORAGE_RETRY.value + STORAGE_CALL.value) >= STORAGE_FAILURES.value
