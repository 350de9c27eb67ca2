"""Log lines in logfmt or JSON, one a line, with the fields of the exporter-toolkit: time, level, source, msg."""

import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
PLAIN = re.compile(r"[\w./:@%+-]+", re.ASCII)


class Lines(logging.Formatter):
    """Formats records; extra fields of a record follow its message."""

    def __init__(self, form: Literal["logfmt", "json"]) -> None:
        super().__init__()
        self.form = form

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        fields: dict[str, str] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "source": f"{record.module}.py:{record.lineno}",
            "msg": record.getMessage(),
        }
        fields |= {key: str(value) for key, value in vars(record).items() if key not in OWN}
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields) if self.form == "json" else _logfmt(fields)


def _logfmt(fields: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value if PLAIN.fullmatch(value) else json.dumps(value)}" for key, value in fields.items())


def set_up(level: str, form: Literal["logfmt", "json"]) -> None:
    """Send all log lines of this level and above to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines(form))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
