"""Writers that are killed at random: every acknowledged turn is there, once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import game_loop
import langgraph_agent

from everturn import Game, Root
from everturn.claude_agent_sdk import EverturnSessionStore
from everturn.langgraph import EverturnSaver

Report = Callable[[object], object]

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


class Writer:
    """A forked process that runs `work` until it is killed, and what it has acknowledged."""

    def __init__(self, work: Callable[[Report], None]) -> None:
        self.pipe, end = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                os.close(self.pipe)
                work(lambda what: os.write(end, f"{what}\n".encode()))
            except BaseException as error:
                os.write(end, f"failed {error!r}\n".encode())
            finally:
                os._exit(1)
        os.close(end)
        self.text = b""

    def kill_after(self, acknowledged: int) -> list[str]:
        """Kills it after some acknowledgements, in the middle of the next ones."""
        while self.text.count(b"\n") < acknowledged:
            more = os.read(self.pipe, 65536)
            assert more, f"it ended by itself: {self.text!r}"
            self.text += more
            assert b"failed" not in self.text, self.text
        return self.kill()

    def kill(self) -> list[str]:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        while more := os.read(self.pipe, 65536):
            self.text += more
        os.close(self.pipe)
        assert b"failed" not in self.text, self.text
        # The last line counts only if it was written as a whole.
        return self.text.decode().split("\n")[:-1]


def test_a_game_loop_is_killed_100_times(tmp_path: Path) -> None:
    path, chance, last = str(tmp_path), random.Random(7), 0
    for _ in range(100):
        writer = Writer(lambda report: game_loop.play(path, None, report))
        acknowledged = [int(line) for line in writer.kill_after(chance.randrange(1, 6))]
        # One more turn may have been stored before its acknowledgement.
        assert acknowledged[0] in (last + 1, last + 2)
        assert acknowledged == list(range(acknowledged[0], acknowledged[-1] + 1))
        last = acknowledged[-1]
    with Root(path) as root:
        game = Game.open(root, "demo")
        steps = [entry["text"] for entry in game]
        assert len(steps) in (last, last + 1)
        assert steps == [f"step {number}" for number in range(1, len(steps) + 1)]
        assert game.state(path="world.steps") == len(steps)


def test_a_langgraph_agent_is_killed_100_times(tmp_path: Path) -> None:
    path, chance, last = str(tmp_path), random.Random(8), 0
    for _ in range(100):
        writer = Writer(lambda report: langgraph_agent.talk(path, None, report))
        last = max(last, *(int(line) for line in writer.kill_after(chance.randrange(1, 4))))
    langgraph_agent.talk(path, 1, lambda asked: None)
    with Root(path) as root:
        found = EverturnSaver(root).get_tuple({"configurable": {"thread_id": "demo"}})
        assert found is not None
        texts = [message.content for message in found.checkpoint["channel_values"]["messages"]]
        assert len(texts) >= 2 * (last + 1)
        wanted = [(f"question {n}", f"answer to question {n}") for n in range(1, len(texts) // 2 + 1)]
        assert texts == [text for pair in wanted for text in pair]


def write_from_threads(path: str, name: str, report: Report) -> None:
    """Three threads write to a game of their own, a thread that all share, and a transcript."""
    root = Root(path, wait=60)
    store = EverturnSessionStore(root)

    def write(number: int) -> None:
        game = Game.create(root, f"{name}-{number}")
        shared = root.thread("shared")
        key: Any = {"project_key": "p", "session_id": "s"}
        for at in range(1_000_000):
            text = f"{name}.{number}.{at}"
            game.append({"actor": "player", "narration": text})
            report(f"game {text}")
            shared.append({}, [{"role": "user", "content": text}])
            report(f"item {text}")
            asyncio.run(store.append(key, [{"type": "user", "uuid": text}]))
            report(f"entry {text}")

    workers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def test_two_processes_with_threads_are_killed(tmp_path: Path) -> None:
    path, chance = str(tmp_path), random.Random(9)
    acknowledged: list[str] = []
    for number in range(20):
        writers = [
            Writer(lambda report, name=f"{name}{number}": write_from_threads(path, name, report)) for name in "ab"
        ]
        acknowledged += writers[0].kill_after(chance.randrange(5, 40))
        acknowledged += writers[1].kill_after(chance.randrange(1, 40))
    with Root(path) as root:
        games = [entry["text"] for session in root.sessions() if session["format"] == "game" for entry in root.find(session["id"])]
        items = [item["content"] for item in root.thread("shared").items()]
        entries = asyncio.run(EverturnSessionStore(root).load({"project_key": "p", "session_id": "s"})) or []
    for kind, found in [("game", games), ("item", items), ("entry", [entry["uuid"] for entry in entries])]:
        wanted = [line.split(" ")[1] for line in acknowledged if line.startswith(f"{kind} ")]
        assert len(wanted) > 50
        assert len(found) == len(set(found))
        assert set(wanted) <= set(found)
        for writer in {text.rsplit(".", 1)[0] for text in found}:
            own = [int(text.rsplit(".", 1)[1]) for text in found if text.startswith(f"{writer}.")]
            assert own == list(range(len(own)))
