"""The session for the OpenAI Agents SDK. Its own tests run in addition; see openai_suite.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Runner
from agents.memory import Session
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from everturn import BadRequest, Root
from everturn.openai_agents import EverturnSession

ITEMS: list[Any] = [
    {"role": "user", "content": "Where is the key?"},
    {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
    {"type": "checkpoint", "id": "not one of ours", "time": 1, "key": 2},
]


async def test_items_come_back_as_they_were(root: Root) -> None:
    session = EverturnSession("user/7", root)
    assert isinstance(session, Session)
    assert await session.get_items() == [] and await session.pop_item() is None
    await session.add_items(ITEMS)
    again = EverturnSession("user/7", Root(root.path))
    assert await again.get_items() == ITEMS
    assert await again.get_items(limit=2) == ITEMS[1:]
    assert await again.get_items(limit=0) == []
    assert await session.pop_item() == ITEMS[2]
    assert await again.get_items() == ITEMS[:2]
    await again.clear_session()
    assert await session.get_items() == []
    await session.add_items(ITEMS[:1])
    assert root.search("key")[0]["text"] == "Where is the key?"


async def test_a_closed_session_is_refused(root: Root) -> None:
    session = EverturnSession("t", root)
    session.close()
    for work in (session.add_items([]), session.get_items(), session.pop_item(), session.clear_session()):
        with pytest.raises(BadRequest):
            await work


async def test_all_items_of_a_call_are_stored_or_none(root: Root) -> None:
    session = EverturnSession("t", root)
    with pytest.raises(TypeError):
        await session.add_items([{"role": "user", "content": "a"}, {"role": "user", "content": object()}])  # type: ignore[typeddict-item]
    assert await session.get_items() == []


async def test_an_agent_remembers(root: Root) -> None:
    def says(text: str) -> Any:
        part = ResponseOutputText(text=text, type="output_text", annotations=[])
        return [ResponseOutputMessage(id="1", content=[part], role="assistant", status="completed", type="message")]

    agent = Agent(name="guide", model=ScriptedModel([says("North."), says("Yes.")]))
    session = EverturnSession("t", root)
    await Runner.run(agent, "Which way?", session=session)
    await Runner.run(agent, "Sure?", session=session)
    assert [entry["text"] for entry in root.find("t")] == ["Which way?", "North.", "Sure?", "Yes."]


def test_the_tests_of_the_sdk_pass(sdk_tests: Path | None) -> None:
    if sdk_tests is None:
        pytest.skip("needs the source distribution of the SDK: run ./test --packages")
    files = ["tests/memory/test_session.py", "tests/memory/test_session_limit.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "openai_suite", *files]
    environment = {"PYTHONPATH": str(Path(__file__).parent), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=sdk_tests, env=environment, capture_output=True, text=True)
    print("openai-agents:", done.stdout.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout
