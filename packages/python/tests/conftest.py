"""Fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from everturn import Root


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path / "saves") as root:
        yield root


@pytest.fixture
def everturn_binary() -> str | None:
    """The command line, which `./test --packages` builds."""
    return os.environ.get("EVERTURN_BINARY")


@pytest.fixture
def sdk_tests() -> Path | None:
    """The source distribution of the OpenAI Agents SDK, which `./test --packages` fetches."""
    path = os.environ.get("EVERTURN_OPENAI_SDK")
    return Path(path) if path else None
