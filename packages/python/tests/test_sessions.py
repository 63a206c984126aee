"""Roots and sessions: values, errors, iterators, async, threads and forks."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import everturn
from everturn import BadRequest, Busy, Campaign, ChatLog, Conflict, Game, NotFound, Root, Session, Thread

TURN = {"actor": "player", "narration": "You go in."}


def test_a_game_is_written_and_read(root: Root) -> None:
    with Game.open_or_create(root, "demo") as game:
        change = {"op": "set", "path": "npcs.luna.trust", "value": 5}
        stored = game.append({**TURN, "deltas": [{"scope": "world", "deltas": [change]}]})
        assert stored["turn"] == 1
        assert game.state(path="world.npcs.luna.trust") == 5
        assert game.state(0)["world"]["npcs"] == {}
        assert game.diff(0, 1)[0]["scope"] == "world"
        game.append({"actor": "gm", "narration": "Dark."})
        assert [entry["text"] for entry in game] == ["You go in.", "Dark."]
        assert game.mark("start", turn=1)["turn"] == 1
        assert [mark["name"] for mark in game.marks()] == ["start"]
        game.undo()
        assert game.fork("other", turn=1)["session"] == "other"
        branch = game.rewind(1)["branch"]
    assert {session["id"] for session in root.sessions()} == {"demo", "other", branch}
    assert isinstance(root.find("demo"), Game)


def test_every_format_can_be_created_and_continued(root: Root) -> None:
    turns: list[tuple[type[Session], str, dict[str, Any]]] = [
        (Game, "g", TURN),
        (Campaign, "camp_0001", {"user_input": "I look.", "assistant_text": "A heath."}),
        (ChatLog, "tale", {"type": "npc", "name": "Mara", "text": "Hello."}),
        (Thread, "t", {"role": "user", "content": "Hello."}),
    ]
    for kind, id, turn in turns:
        with kind.create(root, id) as session:
            assert session.append(turn)["turn"] >= 1
        with kind.open(root, id) as session:
            assert len(list(session)) >= 1


def test_values_keep_their_types(root: Root) -> None:
    value = {"n": 1, "f": 1.0, "big": 2**70, "neg": -(2**70), "t": True, "none": None, "s": "門\u0000\"\\", "l": [[], {}], "e": 1e-7}
    with Thread.create(root, "t") as thread:
        thread.append({"role": "user", "content": "x", "value": value})
        stored = next(thread.entries(raw=True))["raw"]["value"]
    assert stored == value
    assert [type(part) for part in stored.values()] == [type(part) for part in value.values()]
    line = (Path(root.path) / "threads/t/thread.jsonl").read_text().splitlines()[1]
    assert json.loads(line)["value"] == value


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), b"x", {1: 2}, object(), "\ud800"])
def test_what_json_cannot_hold_is_refused_and_nothing_is_stored(root: Root, bad: object) -> None:
    with Thread.create(root, "t") as thread:
        with pytest.raises((TypeError, ValueError)):
            thread.append({"role": "user", "content": "x", "value": bad})
        assert list(thread) == []


def test_a_value_that_contains_itself_is_refused(root: Root) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with Thread.create(root, "t") as thread, pytest.raises(ValueError):
        thread.append({"role": "user", "content": "x", "value": loop})


def test_a_deep_value_is_stored(root: Root) -> None:
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    thread = root.thread("deep")
    thread.append({}, [{"role": "user", "content": "x", "value": deep}])
    found = thread.items()[0]["value"]
    for _ in range(5000):
        found = found[0]
    assert found == "end"


def test_errors_have_a_kind_a_code_a_path_and_a_hint(root: Root) -> None:
    with pytest.raises(NotFound) as missing:
        root.find("nothing")
    assert missing.value.code == "not_found"
    Game.create(root, "demo").close()
    with pytest.raises(Conflict) as taken:
        Game.create(root, "demo")
    assert taken.value.code == "taken"
    with pytest.raises(BadRequest):
        ChatLog.open(root, "demo")
    game = Game.open(root, "demo")
    game.append(TURN)
    with Root(root.path, wait=0.05) as other:
        with pytest.raises(Busy) as busy:
            Game.open(other, "demo").append(TURN)
    assert busy.value.code == "busy" and busy.value.hint and busy.value.path
    again = pickle.loads(pickle.dumps(busy.value))
    assert (type(again), again.code, str(again)) == (Busy, "busy", str(busy.value))
    game.close()
    with pytest.raises(BadRequest) as closed:
        game.append(TURN)
    assert closed.value.code == "closed"


def test_a_damaged_thread_is_an_error_and_not_empty(root: Root) -> None:
    thread = root.thread("t")
    thread.append({}, [{"type": "checkpoint", "id": "a", "versions": {"x": 1}, "values": {"x": [1]}}])
    thread.append({}, [{"type": "checkpoint", "id": "b", "parent": "a", "versions": {"x": 2}, "values": {"x": [1, 2]}}])
    thread.release()
    file = Path(root.path) / "threads/t/thread.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(lines[0] + lines[2])
    with pytest.raises(everturn.Damaged):
        thread.checkpoint("", "b")


def test_a_turn_with_a_key_is_stored_once(root: Root) -> None:
    with Game.create(root, "demo") as game:
        assert game.append(TURN, key="k1")["stored"] == "now"
        assert game.append(TURN, key="k1")["stored"] == "before"
        with pytest.raises(Conflict):
            game.append({**TURN, "narration": "Another."}, key="k1")
        with pytest.raises(Conflict):
            game.append(TURN, after=7)
        assert len(list(game)) == 1


def test_search_finds_entries_of_every_format(root: Root) -> None:
    with Game.create(root, "demo") as game:
        game.append({"actor": "gm", "narration": "A lantern burns."})
    root.thread("t").append({}, [{"role": "user", "content": "Where is the lantern?"}])
    assert {hit["session"] for hit in root.search("lantern")} == {"demo", "t"}
    assert root.search("dragon") == []
    with pytest.raises(BadRequest):
        root.search('"open')


def test_the_trash_keeps_a_session(root: Root) -> None:
    with Game.create(root, "demo") as game:
        game.append(TURN)
    name = root.trash("demo")
    assert root.sessions() == []
    assert root.restore(name) == "demo"
    assert len(list(root.find("demo"))) == 1


def test_a_read_only_root_writes_nothing(root: Root) -> None:
    with Game.create(root, "demo") as game:
        game.append(TURN)
    with Root(root.path, mode="read_only") as reader:
        assert len(list(reader.find("demo"))) == 1
        with pytest.raises(BadRequest) as refused:
            reader.find("demo").append(TURN)
    assert refused.value.code == "read_only"
    with pytest.raises(everturn.EverturnError):
        Root(Path(root.path) / "missing", mode="open")


def test_entries_come_in_pages(root: Root) -> None:
    thread = root.thread("long")
    thread.append({}, [{"role": "user", "content": f"message {n}"} for n in range(1200)])
    with Thread.open(root, "long") as session:
        assert [entry["text"] for entry in session] == [f"message {n}" for n in range(1200)]
        assert [entry["turn"] for entry in session.entries(5, 7)] == [5, 6, 7]


async def test_async_variants_do_not_block_the_loop(root: Root) -> None:
    """While a write waits for another process's lock, the loop goes on."""
    game = Game.create(root, "demo")
    game.append(TURN)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    async with Root(root.path, wait=30) as other:
        second = Game.open(other, "demo")
        ticking = asyncio.create_task(tick())
        writing = asyncio.create_task(second.aappend(TURN))
        while ticks < 1000:
            await asyncio.sleep(0)
        assert not writing.done()
        game.close()
        assert (await writing)["turn"] == 2
        ticking.cancel()
        assert [entry["turn"] async for entry in second.aentries()] == [1, 2]
        assert len(await other.asessions()) == 1
        assert len(await other.asearch("go")) == 2
        second.close()


async def test_a_cancelled_write_is_stored_or_not_but_never_lost_silently(root: Root) -> None:
    thread = Thread.create(root, "t")
    task = asyncio.create_task(thread.aappend({"role": "user", "content": "x"}))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(list(thread)) == 1


def test_the_interpreter_lock_is_released_while_a_write_waits(root: Root) -> None:
    game = Game.create(root, "demo")
    game.append(TURN)
    with Root(root.path, wait=30) as other:
        second = Game.open(other, "demo")
        writer = threading.Thread(target=second.append, args=(TURN,))
        writer.start()
        # If the waiting thread held the interpreter lock, this line would never run.
        game.close()
        writer.join(30)
        assert not writer.is_alive()
        second.close()


def test_many_threads_share_sessions(root: Root) -> None:
    with Game.create(root, "one") as game, Thread.create(root, "two"):
        thread = root.thread("three")
        failed: list[BaseException] = []

        def write(number: int) -> None:
            try:
                for at in range(20):
                    game.append({**TURN, "narration": f"{number}.{at}"}, key=f"{number}.{at}")
                    thread.append({}, [{"role": "user", "content": f"{number}.{at}"}])
            except BaseException as error:
                failed.append(error)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert failed == []
        wanted = sorted(f"{number}.{at}" for number in range(8) for at in range(20))
        assert sorted(entry["text"] for entry in game) == wanted
        assert sorted(item["content"] for item in thread.items()) == wanted


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_is_refused_and_the_parent_keeps_its_lock(root: Root) -> None:
    game = Game.create(root, "demo")
    game.append(TURN)
    thread = root.thread("t")
    thread.append({}, [{"role": "user", "content": "x"}])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            refused = 0
            for work in (lambda: game.append(TURN), lambda: root.sessions(), lambda: thread.items()):
                try:
                    work()
                except BadRequest as error:
                    refused += "fork" in str(error)
            code = 0 if refused == 3 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    # Another child drops everything that it has inherited.
    child = os.fork()
    if child == 0:
        del game, thread
        import gc

        gc.collect()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with Root(root.path, wait=0.05) as other, pytest.raises(Busy):
        Game.open(other, "demo").append(TURN)
    assert game.append(TURN)["turn"] == 2
    # A child that opens the root itself can write.
    game.close()
    child = os.fork()
    if child == 0:
        with Root(root.path) as own:
            Game.open(own, "demo").append(TURN)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(Game.open(root, "demo"))) == 3


def test_two_processes_take_turns_on_one_thread(root: Root) -> None:
    script = (
        "import sys, everturn\n"
        "thread = everturn.Root(sys.argv[1], wait=60).thread('shared')\n"
        "for n in range(40): thread.append({}, [{'role': 'user', 'content': f'{sys.argv[2]}.{n}'}])\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", script, root.path, name]) for name in "ab"]
    assert [worker.wait(120) for worker in workers] == [0, 0]
    found = [item["content"] for item in root.thread("shared").items()]
    for name in "ab":
        assert [text for text in found if text.startswith(name)] == [f"{name}.{n}" for n in range(40)]


@pytest.mark.parametrize("key", ["user/7", "..", "latest", "ü 1", "a.b", "x" * 150, "con"])
def test_any_text_is_the_key_of_a_thread(root: Root, key: str) -> None:
    root.thread(key).append({}, [{"role": "user", "content": "x"}])
    assert root.thread_keys() == [key]
    assert len(root.thread(key).items()) == 1


def test_an_idle_lock_is_released(root: Root) -> None:
    root.thread("t").append({}, [{"role": "user", "content": "x"}])
    with Root(root.path, wait=60) as other:
        other.thread("t").append({}, [{"role": "user", "content": "y"}])
    assert [item["content"] for item in root.thread("t").items()] == ["x", "y"]


MODULES = ["", "._errors", "._root", ".langgraph", ".openai_agents", ".claude_agent_sdk"]


@pytest.mark.parametrize("module", [f"everturn{name}" for name in MODULES])
def test_the_examples_of_the_docstrings_run(module: str, tmp_path: Path) -> None:
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}: run ./test --packages")
    # Each docstring has a directory of its own.
    for number, test in enumerate(doctest.DocTestFinder().find(loaded, module, extraglobs={"path": None})):
        test.globs["path"] = str(tmp_path / str(number))
        assert doctest.DocTestRunner().run(test).failed == 0


def test_a_closed_root_has_released_its_threads(root: Root) -> None:
    root.thread("t").append({}, [{"role": "user", "content": "x"}])
    root.close()
    with Root(root.path, wait=0) as other:
        other.thread("t").append({}, [{"role": "user", "content": "y"}])
