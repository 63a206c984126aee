"""The examples of docs/python.md and the example programs run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
PAGE = PACKAGE.parents[1] / "docs" / "python.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page_starts_with_ten_lines() -> None:
    assert len(EXAMPLES) == 5
    assert len(EXAMPLES[0].strip().splitlines()) <= 10


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-W", "error::SyntaxWarning", "-c", EXAMPLES[number]], cwd=tmp_path, check=True)
    assert any((tmp_path / "saves").iterdir())


@pytest.mark.parametrize("program", ["game_loop.py", "langgraph_agent.py"])
def test_an_example_program_continues(program: str, tmp_path: Path) -> None:
    run = [sys.executable, str(PACKAGE / "examples" / program), str(tmp_path / "saves"), "2"]
    first = subprocess.run(run, check=True, capture_output=True, text=True, env=os.environ)
    second = subprocess.run(run, check=True, capture_output=True, text=True, env=os.environ)
    numbers = [line.split()[1] for line in (first.stdout + second.stdout).splitlines()]
    assert numbers == ["1", "2", "3", "4"]
