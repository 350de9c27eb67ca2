"""The certificate that a kubelet made itself: pinned when it is first seen, or by a file, and no other is let in."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from simulated import ALL
from trusting import fingerprint, trusting

from kubelet_exporter.simulator.certificates import self_made
from kubelet_exporter.snapshot import Reason
from kubelet_exporter.sources.trust import Mode


@pytest.mark.parametrize("days", [365, -1], ids=["valid", "expired"])
@pytest.mark.parametrize("mode", ["pin", "auto"])
def test_a_certificate_that_the_kubelet_made_itself_is_pinned(mode: Mode, days: float, tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, mode, self_made("node-a", days=days)) as seen:
            assert "pin" == await seen.mode()

    asyncio.run(run())


def test_a_self_made_certificate_is_pinned_where_there_is_no_ca(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "auto", self_made("node-a")) as seen:
            (tmp_path / "kubelet-ca.crt").unlink()

            assert "pin" == await seen.mode()

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["pin", "auto"])
def test_another_certificate_than_the_pinned_one_is_refused_for_every_source(mode: Mode, tmp_path: Path) -> None:
    first, second = self_made("node-a"), self_made("node-a")

    async def run() -> None:
        async with trusting(tmp_path, mode, first) as seen:
            await seen.mode()
            seen.simulator.serve_certificate(second)
            async with seen.new_connections():
                await seen.refusal()
                message = await seen.refusal()

                assert fingerprint(first) in message
                assert fingerprint(second) in message
                assert {(source, Reason.TLS): 2.0 for source in ALL} == seen.found.errors()

                seen.simulator.serve_certificate(first)
                await seen.found.read()

                assert ALL == seen.found.up()

    asyncio.run(run())


def test_a_missing_pin_file_is_written(tmp_path: Path) -> None:
    pem = self_made("node-a")

    async def run() -> None:
        async with trusting(tmp_path, "auto", pem, pin="") as seen:
            (tmp_path / "pin").unlink()

            assert "pin" == await seen.mode()
            assert f"{fingerprint(pem)}\n" == (tmp_path / "pin").read_text()

    asyncio.run(run())


def test_a_pin_file_that_cannot_be_written_is_told_once_and_the_pin_holds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = self_made("node-a"), self_made("node-a")

    async def run() -> None:
        pin_file = tmp_path / "missing" / "pin"
        async with trusting(tmp_path, "auto", first, kubelet_pin_file=pin_file) as seen:
            assert "pin" == await seen.mode()
            seen.simulator.serve_certificate(second)
            async with seen.new_connections():
                await seen.refusal()

                assert fingerprint(first) in await seen.refusal()

    asyncio.run(run())
    assert 1 == caplog.text.count("--kubelet-pin-file cannot be written")
    assert 1 == caplog.text.count("pinned the first certificate")


def test_a_pin_file_that_cannot_be_read_is_told_with_its_flag(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "auto", self_made("node-a"), kubelet_pin_file=tmp_path) as seen:
            message = await seen.refusal()

            assert str(tmp_path) in message
            assert "--kubelet-pin-file" in message

    asyncio.run(run())


@pytest.mark.parametrize("form", ["{}", "{}\n", "sha256:{}", " {}\n\n"])
def test_a_pin_file_is_read(form: str, tmp_path: Path) -> None:
    pem = self_made("node-a")

    async def run() -> None:
        async with trusting(tmp_path, "pin", pem, pin=form.format(fingerprint(pem))) as seen:
            assert "pin" == await seen.mode()

    asyncio.run(run())


def test_a_pin_in_the_form_of_openssl_is_read(tmp_path: Path) -> None:
    pem = self_made("node-a")
    pin = ":".join(re.findall("..", fingerprint(pem).upper()))

    async def run() -> None:
        async with trusting(tmp_path, "pin", pem, pin=pin) as seen:
            assert "pin" == await seen.mode()

    asyncio.run(run())


def test_a_first_certificate_that_is_not_the_one_in_the_pin_file_is_refused(tmp_path: Path) -> None:
    pin = "ab" * 32

    async def run() -> None:
        async with trusting(tmp_path, "auto", self_made("node-a"), pin=pin) as seen:
            assert pin in await seen.refusal()
            assert pin == (tmp_path / "pin").read_text()

    asyncio.run(run())


@pytest.mark.parametrize("pin", ["", "nothing", "ab" * 31, "ab" * 33, "\x00"])
def test_a_pin_file_without_a_fingerprint_is_named(pin: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "pin", self_made("node-a"), pin=pin) as seen:
            assert f"{tmp_path / 'pin'} holds no SHA-256 fingerprint" in await seen.refusal()

    asyncio.run(run())


def test_a_pin_file_of_other_bytes_is_named(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "pin", self_made("node-a"), pin="") as seen:
            (tmp_path / "pin").write_bytes(b"\xff\xfe")

            assert "holds no SHA-256 fingerprint" in await seen.refusal()

    asyncio.run(run())


def test_a_renewed_pin_file_lets_the_renewed_certificate_in(tmp_path: Path) -> None:
    first, second = self_made("node-a"), self_made("node-a")

    async def run() -> None:
        async with trusting(tmp_path, "pin", first, pin=fingerprint(first)) as seen:
            await seen.mode()
            seen.simulator.serve_certificate(second)
            async with seen.new_connections():
                await seen.refusal()
                (tmp_path / "pin").write_text(fingerprint(second))

                assert "pin" == await seen.mode()

    asyncio.run(run())
