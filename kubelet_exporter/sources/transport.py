"""The HTTP client of the `kubernetes` package, and nothing else of it.

Imported the ordinary way the package also brings its dynamic client, websockets, OAuth and more: 6 MiB of every node's memory
that are never used. So its root is entered as a bare module before its client is imported.
"""

import importlib.util
import sys
from types import ModuleType


def _enter_bare(name: str) -> None:
    spec = importlib.util.find_spec(name)
    if name not in sys.modules and spec is not None:
        module = ModuleType(name)
        module.__path__ = list(spec.submodule_search_locations or ())
        sys.modules[name] = module


_enter_bare("kubernetes")

from kubernetes.client.api_client import ApiClient  # noqa: E402
from kubernetes.client.configuration import Configuration  # noqa: E402
from kubernetes.client.exceptions import ApiException  # noqa: E402

__all__ = ["ApiClient", "ApiException", "Configuration"]
