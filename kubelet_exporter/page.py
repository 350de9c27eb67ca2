"""The status page: one look at a node, made of the same rows as the scrape. HTML without scripts, light and dark."""

from collections.abc import Iterable, Sequence
from html import escape

from kubelet_exporter import __version__
from kubelet_exporter.catalog import Ledger, exporter, health, pod_start, pods, volumes
from kubelet_exporter.catalog.health.metrics import disorders, hangs
from kubelet_exporter.catalog.pod_start.metrics import outcomes, progress
from kubelet_exporter.snapshot import Reading, Snapshot, Source
from kubelet_exporter.units import rfc3339

STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --bad: #b42318; --good: #1a7f37; --dim: #667085; --wash: #f6f8fa }
@media (prefers-color-scheme: dark) { :root { --line: #30363d; --bad: #ff7b72; --good: #56d364; --dim: #8b949e; --wash: #161b22 } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem; margin-bottom: 0 } h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem }
p { margin: .3rem 0 } .dim { color: var(--dim) } .bad { color: var(--bad) } .good { color: var(--good) }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
th { background: var(--wash); font-weight: 600 } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
a { color: inherit }
"""
SENTENCES = {
    "kubelet_down": "The kubelet is down.",
    "network": "The kubelet lives, or its node is cut off, but it cannot be reached from here.",
    "rights_lost": "The kubelet refuses this exporter: its token or its rights are lost.",
    "apiserver_unreachable": "The API server cannot be reached from this node.",
}


def page(snapshot: Snapshot, ledger: Ledger, telemetry_path: str) -> str:
    """The page for what is known now."""
    sections = (
        _findings(snapshot, ledger),
        _sources(snapshot, ledger),
        _node(snapshot),
        _pods(snapshot),
        _starts(snapshot, ledger),
        _volumes(snapshot, ledger),
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>kubelet-exporter: {escape(snapshot.node_name)}</title><style>{STYLE}</style></head><body>"
        f"<h1>Node {escape(snapshot.node_name)}</h1>"
        f"<p class='dim'>kubelet-exporter {escape(__version__)}, {rfc3339(snapshot.now)}. "
        f"<a href='{escape(telemetry_path)}'>Metrics</a> · <a href='/-/healthy'>healthy</a> · <a href='/-/ready'>ready</a></p>"
        f"{_versions(snapshot)}{''.join(sections)}</body></html>\n"
    )


def _findings(snapshot: Snapshot, ledger: Ledger) -> str:
    """One line for each thing that is wrong with the node as a whole."""
    memory = ledger[health.TOPIC.name]
    found = [f"The container runtime hangs since {rfc3339(row.since)}." for row in hangs(snapshot, memory) if row.since]
    found += [SENTENCES[row.fault] for row in disorders(snapshot, memory) if row.holds]
    return "".join(f"<p class='bad'><strong>{sentence}</strong></p>" for sentence in found)


def _sources(snapshot: Snapshot, ledger: Ledger) -> str:
    rows = [_source(snapshot, source, snapshot.readings.get(source)) for source in exporter.used(snapshot)]
    trusts = [
        f"The kubelet's certificate is trusted by: {escape(each.mode)}." for each in exporter.trusts(snapshot, {})
    ]
    drops = [
        f"Left out of {each.source}: {each.count} {escape(each.reason)}."
        for each in exporter.drops(snapshot, ledger[exporter.TOPIC.name])
        if each.count
    ]
    notes = "".join(f"<p class='dim'>{note}</p>" for note in trusts + drops)
    return _section("Sources", ("Source", "State", "Last good value", "Took", "Size", "Error"), rows) + notes


def _source(snapshot: Snapshot, source: Source, reading: Reading | None) -> Sequence[str]:
    if reading is None:
        return (source, "<span class='dim'>not read yet</span>", "", "", "", "")
    state = "<span class='bad'>down</span>" if reading.failure else "<span class='good'>up</span>"
    age = f"{snapshot.now - reading.read_at:.0f} s ago" if reading.read_at else "never"
    error = escape(f"{reading.failure.reason}: {reading.failure.message}") if reading.failure else ""
    size = f"{reading.size / 1000:.1f} kB" if reading.size else ""
    return (source, state, age, f"{reading.seconds * 1000:.0f} ms", size, error)


def _versions(snapshot: Snapshot) -> str:
    node = snapshot.node
    if node is None:
        return ""
    versions = (node.kubelet_version, node.runtime_version, node.kernel_version, node.os_image, node.architecture)
    return f"<p>{escape(' · '.join(filter(None, versions)))}</p>"


def _node(snapshot: Snapshot) -> str:
    conditions = [
        (escape(each.condition), escape(each.status), rfc3339(each.transition) if each.transition else "")
        for each in (snapshot.node.conditions if snapshot.node else ())
    ]
    return _section("Conditions", ("Condition", "Status", "Since"), conditions) if conditions else ""


def _pods(snapshot: Snapshot) -> str:
    rows = [(escape(each.phase), str(each.count)) for each in pods.phases(snapshot, None)]
    rows += [("the node takes", f"{each.pods:g}") for each in pods.limits(snapshot, None)]
    return _section("Pods", ("Phase", "Pods"), rows) if rows else ""


def _starts(snapshot: Snapshot, ledger: Ledger) -> str:
    memory = ledger[pod_start.TOPIC.name]
    judged = [
        (escape(each.verdict), "" if each.blame == "none" else escape(each.blame), str(each.count))
        for each in outcomes(snapshot, memory)
        if each.count
    ]
    going = [
        (escape(each.stage), str(each.count), "" if each.oldest is None else f"{each.oldest:.0f} s")
        for each in progress(snapshot, memory)
        if each.count
    ]
    counted = _section("Pod starts", ("Verdict", "Blame", "Pods"), judged) if judged else ""
    return counted + (_section("Pods on their way", ("Stage", "Pods", "Oldest"), going) if going else "")


def _volumes(snapshot: Snapshot, ledger: Ledger) -> str:
    rows = [
        (
            escape(f"{row.namespace}/{row.persistentvolumeclaim}"),
            _share(row.stats.available, row.stats.capacity),
            _share(row.stats.inodes_free, row.stats.inodes),
            f"{row.stats.capacity / 2**20:,.0f} MiB" if row.stats.capacity else "",
        )
        for row in volumes.volumes(snapshot, ledger[volumes.TOPIC.name])
    ]
    return _section("Volumes", ("Claim", "Used", "Inodes used", "Size"), rows) if rows else ""


def _share(free: float | None, total: float | None) -> str:
    return "" if free is None or not total else f"{1 - free / total:.0%}"


def _section(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h2>{title}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
