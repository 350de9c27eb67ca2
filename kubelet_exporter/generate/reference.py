"""The reference in Markdown: metrics, facts, and a runbook for each alert."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubelet_exporter.catalog import TOPICS
from kubelet_exporter.catalog.facts import FACTS
from kubelet_exporter.catalog.model import Alert, Fact, Metric, Topic, resolve
from kubelet_exporter.generate.overrides import Overrides, alerts_with, facts_with
from kubelet_exporter.generate.texts import (
    MARK,
    TITLES,
    Facts,
    facts_in,
    facts_of_alert,
    facts_of_panel,
    in_reading_order,
    records_in,
)

HEADER = f"<!-- {MARK} -->\n"
SEVERITIES = {
    "critical": "critical: act now",
    "warning": "warning: act in working hours",
    "info": "info: context for other alerts",
}


def files(overrides: Overrides) -> Mapping[str, str]:
    """Relative path and content of every page."""
    facts = facts_with(overrides)
    pages = {
        "docs/metrics.md": _metrics(facts),
        "docs/facts.md": _facts(overrides),
        "docs/runbooks/README.md": _list(overrides),
    }
    books = {
        f"docs/runbooks/{alert.id}.md": _runbook(alert, topic, facts)
        for topic in TOPICS
        for alert in alerts_with(topic, overrides)
    }
    return {path: f"{HEADER}\n{text.strip()}\n" for path, text in {**pages, **books}.items()}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


# Metrics -----------------------------------------------------------------------------------------------------------


def _metrics(facts: Facts) -> str:
    sections = [
        f"## {topic.title}\n\n{topic.question}\n\n{_columns(topic.metrics, facts)}" for topic in in_reading_order()
    ]
    intro = (
        "Every series carries the label `node`; `cluster` and `job` come from the scrape. What is not known has no sample: there is no "
        "0, NaN or -1 for unknown. A metric that is STABLE keeps its name and labels until the next major version."
    )
    return "\n\n".join(["# Metrics", intro, *sections])


def _columns(metrics: Sequence[Metric], facts: Facts) -> str:
    rows = [
        (
            f"`{metric}`",
            metric.kind,
            ", ".join(f"`{label}`" for label in ("node", *metric.labels)),
            metric.unit or "-",
            metric.stability,
            resolve(metric.help, facts),
        )
        for metric in metrics
    ]
    return _table(("Metric", "Type", "Labels", "Unit", "Stability", "Meaning"), rows)


# Facts -------------------------------------------------------------------------------------------------------------


def _facts(overrides: Overrides) -> str:
    facts = facts_with(overrides)
    intro = (
        "Every number in rules, panels and runbooks, once, with its source. To change one, generate with an overrides file: "
        "`facts: {ID: NUMBER}`, in seconds, bytes, or as a ratio from 0 to 1. What is configured on a node, such as maxPods, is no fact: "
        "it is read from the node."
    )
    rows = [
        (
            f"`{fact.id}`",
            _value(fact),
            fact.meaning,
            fact.source,
            "<br>".join(_uses(fact, overrides)) or "how metrics are computed",
        )
        for fact in facts.values()
    ]
    says = [(fact.id, fact.article) for fact in facts.values() if fact.article]
    corrections = [(f"`{id_}`", article.says, article.truth, article.since) for id_, article in says]
    return "\n\n".join(
        [
            "# Facts",
            intro,
            _table(("Fact", "Value", "Meaning", "Source", "Used by"), rows),
            "## Where the articles are not exact",
            "The exporter grew from two articles on the kubelet. Where they and Kubernetes differ, it follows Kubernetes.",
            _table(("Fact", "The article says", "It is", "Since"), corrections),
        ]
    )


def _value(fact: Fact) -> str:
    default = FACTS[fact.id]
    return fact.text if fact.value == default.value else f"{fact.text} (default: {default.text})"


def _uses(fact: Fact, overrides: Overrides) -> Iterator[str]:
    """Where a fact is used: alerts, records, panels, as Markdown."""
    for topic in TOPICS:
        disabled = {name for name, own in overrides.alerts.items() if own.disabled}
        for alert in topic.alerts:
            if fact.id in facts_of_alert(alert) and alert.id not in disabled:
                yield f"[{alert.id}](runbooks/{alert.id}.md)"
        for record in topic.records:
            if fact.id in facts_in(record.expr):
                yield f"`{record}`"
        for title in dict.fromkeys(panel.title for panel in topic.panels if fact.id in facts_of_panel(panel)):
            yield f"panel {title}"


# Runbooks ----------------------------------------------------------------------------------------------------------


def _runbook(alert: Alert, topic: Topic, facts: Facts) -> str:
    book = alert.runbook
    keep = f", and it keeps firing for {alert.keep_firing.text}" if alert.keep_firing else ""
    parts = [
        f"# {alert.id}",
        f"**{alert.summary}**",
        f"- Severity: {SEVERITIES[alert.severity]}\n- Fires after: {alert.hold.text}{keep}\n- Look at: {_look(topic)}",
        f"## Meaning\n\n{book.meaning.strip()}",
        f"## Impact\n\n{book.impact.strip()}",
        f"## Diagnosis\n\n{book.diagnosis.strip()}",
        f"## Mitigation\n\n{book.mitigation.strip()}",
        f"## Rule\n\n```promql\n{_lines(alert.expr)}\n```",
        *(
            f"where `{record}` is\n\n```promql\n{_lines(resolve(record.expr, facts))}\n```"
            for record in records_in(alert.expr)
        ),
    ]
    return "\n\n".join(parts)


def _lines(expr: str) -> str:
    return re.sub(r" (and|or|unless) ", r"\n  \1 ", expr)


def _look(topic: Topic) -> str:
    rows = [f"dashboard *{TITLES[board]}*, row *{topic.title}*" for board in topic.boards if board != "overview"]
    overview = [f"*{panel.title}*" for panel in topic.boards.get("overview", ())]
    return "; ".join([*rows, *([f"dashboard *{TITLES['overview']}*, {', '.join(overview)}"] if overview else [])])


def _list(overrides: Overrides) -> str:
    rows = [
        (f"[{alert.id}]({alert.id}.md)", alert.severity, alert.hold.text, alert.summary)
        for topic in in_reading_order()
        for alert in alerts_with(topic, overrides)
    ]
    intro = (
        "One page for each alert: what it means, what it does to users, how to find the cause, what to do. "
        "In the commands, replace words in capitals (NODE, NAMESPACE, CLAIM) by the labels of the alert."
    )
    return "\n\n".join(["# Runbooks", intro, _table(("Alert", "Severity", "Fires after", "What happened"), rows)])
