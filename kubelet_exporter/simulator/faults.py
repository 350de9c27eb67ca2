"""What a simulated node can do wrong on purpose: one fault a path, or one for a part of the node."""

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

Kind = Literal[
    "delay",
    "status",
    "cut",
    "content_type",
    "gzip_cut",
    "hang",
    "reset",
    "unauthorized",
    "forbidden",
    "duplicate_container",
    "null_items",
]

HELP: Mapping[Kind, str] = {
    "delay": "answers after VALUE seconds (10)",
    "status": "answers with the status VALUE (500) and a text",
    "cut": "ends the connection in the middle of the body",
    "content_type": "answers with the content type VALUE (text/html)",
    "gzip_cut": "answers with a gzip body that has no end",
    "hang": "accepts the request and never answers",
    "reset": "resets the connection",
    "unauthorized": "answers 401, as for a wrong token",
    "forbidden": "answers 403, as for a missing right",
    "duplicate_container": "lists a container twice; /metrics then answers 500, as real kubelets do",
    "null_items": 'answers with "items": null, or "pods": null in /stats/summary',
}
# Names of parts instead of paths. While a real runtime hangs these paths of the kubelet do not answer.
PARTS = ("runtime", "kubelet", "apiserver")
RUNTIME_PATHS = frozenset({"/metrics", "/metrics/cadvisor", "/metrics/resource", "/stats/summary"})
APISERVER_PATHS = ("/api/", "/apis/")
VALUES: Mapping[str, str] = {"delay": "10", "status": "500", "content_type": "text/html"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault and its value."""

    kind: Kind
    value: str = ""

    @property
    def number(self) -> float:
        """The value as a number."""
        return float(self.value)


def parse(text: str) -> tuple[str, Fault]:
    """A path or part and its fault from PATH=KIND[:VALUE]; `*` stands for every path. Raises ValueError."""
    path, equals, rest = text.partition("=")
    kind, _, value = rest.partition(":")
    if not equals or not (path in PARTS or path.startswith(("/", "*"))):
        raise ValueError(
            f"{text!r} is not PATH=KIND[:VALUE] such as /metrics=delay:10, nor {'|'.join(PARTS)}=KIND[:VALUE]"
        )
    if kind not in HELP:
        near = difflib.get_close_matches(kind, HELP, 1)
        raise ValueError(f"no fault {kind!r}; {f'did you mean {near[0]}?' if near else 'one of ' + ', '.join(HELP)}")
    fault = Fault(cast("Kind", kind), value or VALUES.get(kind, ""))
    if kind in ("delay", "status"):
        try:
            _ = fault.number
        except ValueError as error:
            raise ValueError(f"{text!r}: {kind} takes a number, not {value!r}") from error
    return path, fault


def chosen(faults: Mapping[str, Fault], path: str) -> Fault | None:
    """What a path does wrong: its own fault, else that of the part it belongs to, else that of all paths."""
    of_apiserver = path.startswith(APISERVER_PATHS)
    parts = ("apiserver",) if of_apiserver else ("runtime", "kubelet") if path in RUNTIME_PATHS else ("kubelet",)
    return next((faults[name] for name in (path, *parts, "*") if name in faults), None)


def spoilt(kind: Kind, body: bytes) -> bytes:
    """The body after a fault of its content; other faults leave it alone."""
    change = CHANGES.get(kind)
    if change is None or not body.startswith(b"{"):
        return body
    document = json.loads(body)
    change(document)
    return json.dumps(document).encode()


def _null_items(document: dict[str, Any]) -> None:
    document["pods" if "pods" in document else "items"] = None


def _duplicate_container(document: dict[str, Any]) -> None:
    for pod in document.get("pods") or ():
        pod["containers"] = [*(pod.get("containers") or ()), *(pod.get("containers") or ())[:1]]
    for pod in document.get("items") or ():
        status = pod.get("status", {})
        status["containerStatuses"] = [*status.get("containerStatuses", ()), *status.get("containerStatuses", ())[:1]]


CHANGES: Mapping[Kind, Callable[[dict[str, Any]], None]] = {
    "null_items": _null_items,
    "duplicate_container": _duplicate_container,
}
