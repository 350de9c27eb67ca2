"""Which certificates of a kubelet are trusted, which are not, and that a token is sent to none of the latter."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
from simulated import reader, simulating, still
from trusting import CA, SIGNED, Seen, trusting

from kubelet_exporter import demo
from kubelet_exporter.simulator.certificates import authority, self_made, serving
from kubelet_exporter.sources.trust import Mode, verifying

# By a CA


@pytest.mark.parametrize("mode", ["verify", "auto"])
def test_a_certificate_of_the_ca_for_the_name_of_the_node_is_verified(mode: Mode, tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, mode, SIGNED) as seen:
            assert "127.0.0.1" == seen.found.client.address
            assert "verify" == await seen.mode()

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["verify", "auto"])
@pytest.mark.parametrize("name", ["node-b", "127.0.0.1", "node-a.example"])
def test_a_certificate_for_another_name_is_refused_even_if_it_has_the_address(
    name: str, mode: Mode, tmp_path: Path
) -> None:
    async def run() -> None:
        async with trusting(tmp_path, mode, serving(CA, (name,), chain=False)) as seen:
            assert "node-a" in await seen.refusal()

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["verify", "auto"])
def test_an_expired_certificate_of_the_ca_is_refused(mode: Mode, tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, mode, serving(CA, ("node-a",), chain=False, days=-1)) as seen:
            assert "expired" in await seen.refusal()

    asyncio.run(run())


def test_a_self_made_certificate_is_refused_where_a_ca_is_demanded(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "verify", self_made("node-a")) as seen:
            await seen.refusal()

    asyncio.run(run())


def test_a_certificate_of_an_unknown_ca_is_refused_and_the_message_says_what_to_do(tmp_path: Path) -> None:
    async def run() -> None:
        unknown = serving(authority("unknown-ca"), ("node-a",), chain=False)
        async with trusting(tmp_path, "auto", unknown) as seen:
            message = await seen.refusal()

            assert "is not signed by the CA in" in message
            assert "kubelet-ca.crt" in message
            assert "--kubelet-ca-file" in message

    asyncio.run(run())


def test_a_ca_without_key_usage_is_good_enough_also_for_python_3_13(tmp_path: Path) -> None:
    async def run() -> None:
        assert "key" not in str(list(CA.certificate.extensions)).lower().replace("subjectkey", "")
        async with trusting(tmp_path, "verify", SIGNED) as seen:
            assert "verify" == await seen.mode()
            assert not verifying(tmp_path / "kubelet-ca.crt").verify_flags & ssl.VERIFY_X509_STRICT

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["verify", "auto"])
def test_a_ca_file_without_a_certificate_is_refused_as_tls(mode: Mode, tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, mode, SIGNED, ca=b"nothing") as seen:
            message = await seen.refusal()

            assert f"{tmp_path / 'kubelet-ca.crt'} holds no certificate of a CA" in message
            assert "--kubelet-ca-file" in message

    asyncio.run(run())


def test_a_missing_ca_file_is_named_where_a_ca_is_demanded(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "verify", self_made("node-a"), kubelet_ca_file=tmp_path / "none") as seen:
            message = await seen.refusal()

            assert f"there is no CA in {tmp_path / 'none'}" in message
            assert "--kubelet-ca-file" in message

    asyncio.run(run())


def test_a_refused_kubelet_is_read_once_it_serves_a_good_certificate(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "verify", serving(CA, ("node-b",), chain=False)) as seen:
            await seen.refusal()
            seen.simulator.serve_certificate(SIGNED)

            assert "verify" == await seen.mode()

    asyncio.run(run())


def test_a_renewed_certificate_of_the_ca_is_taken_without_a_failure(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "auto", SIGNED) as seen:
            await seen.mode()
            seen.simulator.serve_certificate(serving(CA, ("node-a",), chain=False))
            async with seen.new_connections():
                assert "verify" == await seen.mode()
                assert {} == seen.found.errors()

    asyncio.run(run())


# Up, never down


def test_a_pinned_kubelet_is_verified_once_it_has_a_certificate_of_the_ca(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "auto", self_made("node-a")) as seen:
            await seen.mode()
            seen.simulator.serve_certificate(SIGNED)
            async with seen.new_connections():
                await seen.refusal()

                assert "verify" == await seen.mode()

    asyncio.run(run())


def test_a_verified_kubelet_is_not_trusted_with_a_self_made_certificate_later(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "auto", SIGNED) as seen:
            await seen.mode()
            seen.simulator.serve_certificate(self_made("node-a"))
            async with seen.new_connections():
                await seen.refusal()

                assert "as it was before" in await seen.refusal()
                assert "as it was before" in await seen.refusal()

    asyncio.run(run())


def test_nothing_is_checked_where_nobody_wants_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with trusting(tmp_path, "insecure", serving(authority("any"), ("any",), chain=False, days=-1)) as seen:
            assert "insecure" == await seen.mode()

            seen.simulator.serve_certificate(self_made("other"))
            async with seen.new_connections():
                assert "insecure" == await seen.mode()

    asyncio.run(run())


# The way to the kubelet


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy", "all_proxy"])
def test_a_proxy_of_the_environment_is_ignored(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")

    async def run() -> None:
        async with trusting(tmp_path, "auto", SIGNED) as seen:
            assert "verify" == await seen.mode()

    asyncio.run(run())


def ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as listener:
            listener.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("address", ["::1", "[::1]"])
def test_a_kubelet_is_read_at_an_ipv6_address(address: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            simulating(tmp_path, still(), "::1") as simulator,
            reader(replace(demo.settings(simulator), kubelet_address=address)) as found,
        ):
            simulator.serve_certificate(SIGNED)
            (tmp_path / "ca.crt").write_bytes(CA.pem)

            assert "verify" == await Seen(simulator, found).mode()

    asyncio.run(run())
