"""The documents name only what exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")])
MAKE_TARGETS = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))


def shell_blocks(document: Path) -> list[str]:
    """The fenced blocks marked ``sh``."""
    return re.findall(r"^```sh\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if not target.startswith("https://"):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_make_targets_exist(document: Path) -> None:
    text = document.read_text()
    named = set(re.findall(r"^make ([a-z-]+)", "\n".join(shell_blocks(document)), re.MULTILINE))
    named |= set(re.findall(r"`(?:PROVIDER=\S+ )?make ([a-z-]+)`", text))
    assert named <= MAKE_TARGETS


def test_make_alone_lists_the_targets_for_users() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    for target in ("setup", "demo", "test", "lint", "types", "layers", "docs", "bench", "clean"):
        assert f"make {target} " in listed


def test_design_records_are_numbered_without_gaps() -> None:
    numbers = [path.name[:4] for path in sorted((REPOSITORY / "docs" / "design").glob("0*.md"))]
    assert numbers == [f"{n:04}" for n in range(1, len(numbers) + 1)]
    assert numbers
