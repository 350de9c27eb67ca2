"""Makes what the README shows: pictures of the dashboards and an excerpt of a scrape, from the demo on a real Prometheus.

Needs Debian's prometheus. It lets the demo run for some minutes, so that the graphs have something to show.
"""

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kubelet_exporter import demo
from kubelet_exporter.generate.texts import TITLES

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
EXCERPT = re.compile(
    r"^kubelet_exporter_(source_up|node_info|node_condition|pods|pods_limit|pleg_last_relist_timestamp_seconds"
    r"|volume_(capacity|available)_bytes|pod_starts_total|pods_starting|containers_waiting)\{.*",
    re.MULTILINE,
)
MARKS = re.compile(r"(<!-- scrape -->\n```\n).*?(```\n<!-- end of scrape -->)", re.DOTALL)


def excerpt(scrape: str) -> str:
    """Lines that show the manner of the whole; of conditions and sources one each is enough."""
    lines = [match[0] for match in EXCERPT.finditer(scrape)]
    dull = re.compile(r'(source_up.*source="(?!metrics)|condition="(?!Ready)|(starts_total|waiting).* 0.0$)')
    return "\n".join(line for line in lines if not dull.search(line)) + "\n"


async def show(minutes: float) -> None:
    """Run the demo, then draw and write."""
    with tempfile.TemporaryDirectory() as folder:
        async with demo.demonstrating(demo.shipped_recording(), Path(folder), ahead=demo.AHEAD_SECONDS) as running:
            if running.prometheus is None:
                sys.exit("prometheus is not on the PATH: apt-get install prometheus")
            await asyncio.sleep(minutes * 60)
            scrape = running.exporter.state.scrape().plain.decode()
            README.write_text(MARKS.sub(lambda match: match[1] + excerpt(scrape) + match[2], README.read_text()))
            for name in TITLES:
                for theme in ("light", "dark"):
                    await draw(name, theme, running.prometheus, minutes)


async def draw(name: str, theme: str, prometheus: str, minutes: float) -> None:
    """One picture, in a process of its own."""
    out = ROOT / "docs" / "pictures" / f"{name}-{theme}.png"
    out.parent.mkdir(exist_ok=True)
    command = [sys.executable, str(ROOT / "scripts" / "picture.py"), str(ROOT / "dashboards" / f"{name}.json")]
    options = ["--prometheus", prometheus, "--out", str(out), "--theme", theme, "--range", f"{max(1, int(minutes))}m"]
    await asyncio.to_thread(subprocess.run, [*command, *options], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long the demo runs before the pictures are drawn")
    asyncio.run(show(parser.parse_args().minutes))
