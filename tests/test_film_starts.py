"""Films of starting pods: the right verdict on each, worked out by hand from the recorded times.

Numbers beside a row are seconds of the minute: `seen` is config.seen, exact; the times of conditions and containers are cut to
whole seconds by Kubernetes, so "5" stands for anything from 5 to 6 and is taken as 5.5. prepare is the sandbox minus seen.

What differs between 1.31 and 1.36: the kubelet writes PodReadyToStartContainers when it next writes the pod's status. From 1.36 on
that is right after the sandbox; before, it is after the first image was pulled and the container started. So with 1.36 the same pods
have a time of prepare whatever they pulled; with 1.31 prepare may contain a pull and is unknown as soon as more than the resolution
of times was pulled nearby. A back-off of a pull tells its cause with 1.36 and not with 1.31: the user stays blamed.
"""

from __future__ import annotations

from films import Fold, Row, check, film

from kubelet_exporter.catalog.pod_start.track import HALF
from kubelet_exporter.snapshot import Source

# Between the readings of counters around these starts four images were pulled (0.38 s in all), by whom nothing tells. That is less than
# the resolution of times, and all are good with and without: it counts as no pull. So containers is the start minus the sandbox, less
# init: 0 if both are in the same second.
STARTS_136 = (
    Row("static-agent-node-a", "", skip="static", why="from a file of the node"),
    Row("web-84b76c6b94-kkqvk", "good", prepare=1.7123, containers=0.0, why="seen 3.7877, sandbox 5, httpd 5"),
    Row("web-84b76c6b94-fc42z", "good", prepare=1.6555, containers=0.0, why="seen 3.8445, sandbox 5, httpd 5"),
    Row(
        "web-84b76c6b94-p722k",
        "good",
        prepare=1.6486,
        containers=0.0,
        why="seen 3.8514, sandbox 5, httpd 5; Ready at 10 is the probe's",
    ),
    Row(
        "report-cm2db",
        "good",
        prepare=1.6041,
        containers=0.0,
        why="seen 3.8959, sandbox 5, a Job that ran from 5 to 7: it started",
    ),
    Row(
        "crash",
        "good",
        prepare=0.5445,
        containers=1.0,
        why="seen 3.9555, sandbox 4, c 5; that it crashes afterwards is no failure to start",
    ),
    Row("oom", "good", prepare=0.5291, containers=1.0, why="seen 3.9709, sandbox 4, c 5; killed a second later"),
    Row(
        "live-fail",
        "good",
        prepare=1.5095,
        containers=0.0,
        why="seen 3.9905, sandbox 5, c 5; its liveness probe fails later",
    ),
    Row(
        "logger",
        "good",
        prepare=0.4594,
        containers=1.0,
        why="seen 4.0406, sandbox 4, c 5; evicted a minute after its start",
    ),
    Row("burner", "good", prepare=1.4412, containers=0.0, why="seen 4.0588, sandbox 5, c 5"),
    Row(
        "gated",
        "good",
        prepare=0.4055,
        containers=1.0,
        why="seen 4.0945, sandbox 4, c 5; its readiness gate stays shut, which is no part",
    ),
    Row(
        "orders-0",
        "good",
        prepare=1.6421,
        init=5.0,
        containers=0.0,
        why="seen 3.8579, sandbox 5, migrate 5 to 9, then the sidecar proxy 9 until its startup probe let db start at 10",
    ),
    Row("badimage", "failed", "user", why="seen 3.913, sandbox 4; no such image, from then on"),
    Row("nocm", "failed", "user", why="seen 3.9234, sandbox 4; its environment needs a ConfigMap that does not exist"),
    Row("noexec", "failed", "user", why="seen 4.0195, sandbox 4; no such program, started in 1970: never"),
    Row(
        "nocmvol",
        "failed",
        "user",
        why="seen 3.9414, no sandbox: mounts of ConfigMaps fail on the node, and it has one",
    ),
    Row(
        "nosandbox", "failed", "user", why="seen 4.0278, no sandbox: that of its RuntimeClass never worked on the node"
    ),
)
HELD_UP = {"badimage", "nocm", "noexec", "nocmvol", "nosandbox"}


def test_starts_of_a_film_of_1_36_are_as_worked_out() -> None:
    fold = Fold().take(film("v1.36-film-starts"))

    assert fold.undecided() == HELD_UP

    check(fold.later(), STARTS_136)


# 1.31: four images were pulled as well (0.37 s in all), which counts as no pull. The sandbox is told when the first container runs, so
# prepare ends with its start, and containers is what further containers take: none here has further ones but orders-0.
STARTS_131 = (
    Row("static-agent-node-a", "", skip="static"),
    Row("web-84b76c6b94-fpwhf", "good", prepare=2.7832, containers=0.0, why="seen 40.7168, sandbox 43, httpd 43"),
    Row(
        "web-84b76c6b94-sbzvl",
        "good",
        prepare=1.7949,
        containers=0.0,
        why="seen 40.7051, sandbox 43, httpd 42: it was there by then",
    ),
    Row("web-84b76c6b94-n46sf", "good", prepare=2.8149, containers=0.0, why="seen 40.6851, sandbox 43, httpd 43"),
    Row("oom", "good", prepare=1.595, containers=0.0, why="seen 40.905, sandbox 42, c 42"),
    Row("live-fail", "good", prepare=1.5608, containers=0.0, why="seen 40.9392, sandbox 42, c 42"),
    Row("gated", "good", prepare=1.4026, containers=0.0, why="seen 41.0974, sandbox 42, c 42"),
    Row("burner", "good", prepare=1.4577, containers=0.0, why="seen 41.0423, sandbox 42, c 42"),
    Row("crash", "good", prepare=1.6218, containers=0.0, why="seen 40.8782, sandbox 42, c 42"),
    Row("logger", "good", prepare=1.4609, containers=0.0, why="seen 41.0391, sandbox 42, c 42"),
    Row("report-k45wj", "good", prepare=1.743, containers=0.0, why="seen 40.757, a Job that ran from 42 to 44"),
    Row(
        "orders-0",
        "good",
        prepare=1.7832,
        init=6.0,
        containers=0.0,
        why="seen 40.7168, sandbox 42, migrate 42 to 46, proxy 46 until its startup probe let db start at 48",
    ),
    Row("badimage", "failed", "user", why="no such image; the back-off does not tell so, the error before it did"),
    Row("nocm", "failed", "user", why="no such ConfigMap"),
    Row("noexec", "failed", "user", why="no such program"),
    Row("nocmvol", "failed", "user", why="no sandbox, and mounts of ConfigMaps fail"),
    Row("nosandbox", "failed", "user", why="no sandbox, and its RuntimeClass's handler fails"),
)


def test_starts_of_a_film_of_1_31_are_as_worked_out() -> None:
    fold = Fold().take(film("v1.31-film-starts"))

    assert fold.undecided() == HELD_UP

    check(fold.later(), STARTS_131)


def test_a_back_off_without_its_cause_keeps_the_clock_of_the_user_running() -> None:
    fold = Fold().take(film("v1.31-film-starts"))

    (track,) = (track for track in fold.memory.tracks.values() if track.pod.name == "badimage")
    assert (track.blocker, track.blocks) == ("user", ())
    assert track.blocked is not None
    assert track.blocked - track.begin < 3


# The pod network was broken until the 58th second. No image was pulled, so all times are known. A container started within the
# second of its sandbox: containers is 0 within the resolution.
SANDBOX_FAILURES = (
    Row("static-agent-node-a", "", skip="static"),
    Row("hostnet", "good", prepare=0.7662, containers=0.0, why="seen -2.2662, sandbox -2: the host's network was well"),
    Row("late-7b4858f997-2mx5p", "slow", "network", prepare=65.7414, containers=0.0, why="seen -2.2414, sandbox 63"),
    Row("late-7b4858f997-glhtf", "slow", "network", prepare=69.7136, containers=0.0, why="seen -2.2136, sandbox 67"),
    Row("late-7b4858f997-qclxs", "slow", "network", prepare=61.7107, containers=0.0, why="seen -2.2107, sandbox 59"),
    Row("late-7b4858f997-wb5lr", "slow", "network", prepare=66.7505, containers=0.0, why="seen -2.2505, sandbox 64"),
    Row("late-7b4858f997-nlfhj", "slow", "network", prepare=63.7403, containers=0.0, why="seen -2.2403, sandbox 61"),
)


def test_a_broken_pod_network_makes_slow_starts_of_the_network_and_none_of_pods_without_it() -> None:
    check(Fold().take(film("v1.36-film-sandbox-failures")), SANDBOX_FAILURES)


def test_pods_whose_sandbox_fails_are_seen_starting_before_any_verdict() -> None:
    readings = film("v1.36-film-sandbox-failures")
    at = readings[0].attempted_at + 40
    fold = Fold().take(reading for reading in readings if reading.attempted_at < at)

    assert {"late-7b4858f997-" + each for each in ("2mx5p", "glhtf", "qclxs", "wb5lr", "nlfhj")} == fold.undecided()
    stages = [track.stage for track in fold.memory.tracks.values() if not track.verdict and not track.skip]
    assert ["prepare"] * 5 == stages


OLD = (
    "burner",
    "slow-stop",
    "held",
    "prestop",
    "sidecar-job-kl69h",
    "gated",
    "oom",
    "report-drdjv",
    "crash",
    "live-fail",
)
OLD_WEBS = ("5h8k4", "2ljkf", "97j56")
TERMINATIONS = (
    Row("static-agent-node-a", "", skip="static"),
    *(Row(name, "", skip="preexisting", why="started before the film began") for name in (*OLD, "logger")),
    *(Row(f"web-84b76c6b94-{each}", "", skip="preexisting") for each in OLD_WEBS),
    Row("orders-0", "", skip="preexisting", uid="e2d3"),
    *(
        Row(name, "", skip="restart_window", why="on its way before the film began, and nothing kept what was counted")
        for name in ("badimage", "nocmvol", "nocm", "noexec", "nosandbox")
    ),
    Row(
        "orders-0",
        "good",
        prepare=0.4561,
        init=5.0,
        containers=1.0,
        uid="2f3e",
        why="a new pod of the same name: seen 43.0439, sandbox 43, migrate 43 to 47, proxy 48 until db 49; 47 to 48 is containers",
    ),
    Row("web-84b76c6b94-p2sh4", "good", prepare=0.3179, containers=0.0, why="seen 81.1821, all within that second"),
    Row("web-84b76c6b94-7rqbc", "good", prepare=0.3259, containers=0.0, why="seen 81.1741, all within that second"),
)


def test_of_a_film_of_ends_only_the_starts_within_it_are_counted() -> None:
    check(Fold().take(film("v1.36-film-terminations")).later(), TERMINATIONS)


def test_config_seen_is_exact_and_other_times_are_taken_in_the_middle_of_their_second() -> None:
    fold = Fold().take(film("v1.36-film-starts"))

    pod = next(track.pod for track in fold.memory.tracks.values() if track.pod.name == "crash")
    track = fold.memory.tracks[pod.uid]
    assert pod.seen is not None
    assert pod.seen % 1
    assert (track.begin, pod.scheduled) == (pod.seen, float(int(pod.seen)))
    assert pod.sandbox is not None
    assert track.sandbox == pod.sandbox + HALF
    assert fold.snapshot.fresh(Source.PODS)
