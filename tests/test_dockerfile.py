"""The Dockerfile, as far as it can be judged without building it."""

from __future__ import annotations

import re
import subprocess

from manifests import ROOT, tool


def hadolint(text: str) -> subprocess.CompletedProcess[str]:
    command = [tool("hadolint"), "--no-color", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)


def instructions() -> list[str]:
    """The Dockerfile's instructions, one a line, without comments."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line]


def test_dockerfile_passes_hadolint() -> None:
    done = hadolint((ROOT / "Dockerfile").read_text(encoding="utf-8"))

    assert ("", 0) == (done.stdout, done.returncode)


def test_hadolint_refuses_a_dockerfile_with_an_entry_point_in_shell_form() -> None:
    done = hadolint((ROOT / "Dockerfile").read_text(encoding="utf-8") + "ENTRYPOINT python3 -m kubelet_exporter\n")

    assert 1 == done.returncode
    assert "DL3025" in done.stdout


def test_image_runs_the_exporter_as_the_user_of_the_pod() -> None:
    assert [
        "USER 65532:65532",
        "EXPOSE 10052",
        'ENTRYPOINT ["python3", "-m", "kubelet_exporter"]',
        'CMD ["serve"]',
    ] == instructions()[-4:]


def test_build_context_has_every_file_that_the_dockerfile_copies() -> None:
    copied = {
        word.removeprefix("./")
        for line in instructions()
        if line.startswith("COPY ") and "--from=" not in line
        for word in line.split()[1:-1]
    }
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == copied
    assert "*" in lines
