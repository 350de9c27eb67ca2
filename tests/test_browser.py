"""The status page as a browser shows it, in both themes."""

import asyncio
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from conftest import need

from kubelet_exporter import server
from kubelet_exporter.config import Settings
from kubelet_exporter.serve import folded
from kubelet_exporter.sources import recording

FILM = Path(__file__).parent / "recordings" / "v1.36-film-starts.jsonl.gz"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--window-size=1000,1400"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
)
THEMES = {"light": "--blink-settings=preferredColorScheme=1", "dark": "--blink-settings=preferredColorScheme=0"}


def browse(folder: Path, *arguments: str) -> str:
    """What chromium prints of the page of a recorded node."""
    chromium = need("chromium")
    film = recording.load(FILM)
    routes = server.application(folded(film, Settings(film.node_name)), frozenset())

    async def run() -> str:
        async with server.serving(routes, "127.0.0.1", 0) as url:
            command = [chromium, *FLAGS, f"--user-data-dir={folder}", *arguments, url]
            done = await asyncio.to_thread(
                subprocess.run, command, capture_output=True, text=True, timeout=60, check=True
            )
            return done.stdout

    return asyncio.run(run())


def corner(picture: Path) -> int:
    """The brightness of the first pixel of a PNG, 0 to 255."""
    content = picture.read_bytes()
    data, at = b"", 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        if content[at + 4 : at + 8] == b"IDAT":
            data += content[at + 8 : at + 8 + length]
        at += 12 + length
    return zlib.decompress(data)[1]  # behind the filter of the first line


def test_page_is_a_document_with_all_its_sections(tmp_path: Path) -> None:
    page = browse(tmp_path, "--dump-dom")

    for text in (
        "Node node-a",
        "v1.36.2",
        "<h2>Sources</h2>",
        "<h2>Conditions</h2>",
        "<h2>Pods</h2>",
        "shop/orders-db",
    ):
        assert text in page


@pytest.mark.parametrize("theme", THEMES)
def test_page_follows_the_theme_of_its_reader(tmp_path: Path, theme: str) -> None:
    picture = tmp_path / "page.png"

    browse(tmp_path / "profile", THEMES[theme], f"--screenshot={picture}")

    assert (corner(picture) > 200) == (theme == "light")
