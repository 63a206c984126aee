"""Time and bytes of a LangGraph thread with a growing state, beside SqliteSaver.

    langgraph_savers.py [--turns NUMBER]

Needs the package, langgraph and langgraph-checkpoint-sqlite: `target/packages/venv/bin/python` has them after
`./test --packages`. Figures for docs/benchmarks.md come from the wheel of `packages/python/release`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from everturn import Root
from everturn.langgraph import EverturnSaver


def size_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def measure(saver: Any, turns: int) -> tuple[float, float]:
    """Seconds per stored turn, of a checkpoint with its writes, and seconds to get the last one."""
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    messages: list[Any] = []
    profile, seen = {"bio": "x" * 2000}, {"profile": saver.get_next_version(None, None)}
    start = time.perf_counter()
    for turn in range(turns):
        messages = [*messages, HumanMessage(f"question {turn} " + "q" * 150), AIMessage(f"answer {turn} " + "a" * 150)]
        new = {"messages": saver.get_next_version(seen.get("messages"), None)}
        if turn == 0:
            new["profile"] = seen["profile"]
        seen = {**seen, **new}
        checkpoint: Any = {**empty_checkpoint(), "channel_values": {"messages": messages, "profile": profile}, "channel_versions": seen}
        config = saver.put(config, checkpoint, {"source": "loop", "step": turn}, new)
        saver.put_writes(config, [("messages", messages[-1])], "task")
    stored = (time.perf_counter() - start) / turns
    start = time.perf_counter()
    found = saver.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
    assert len(found.checkpoint["channel_values"]["messages"]) == 2 * turns
    return stored, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=1000)
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory() as place:
        ours, theirs = Path(place, "everturn"), Path(place, "sqlite")
        theirs.mkdir()
        with Root(ours) as root:
            store, get = measure(EverturnSaver(root), turns)
        with SqliteSaver.from_conn_string(str(theirs / "db")) as saver:
            sqlite_store, sqlite_get = measure(saver, turns)
        log = (ours / "threads/t/thread.jsonl").stat().st_size
        print(f"{turns} turns           Everturn     SqliteSaver   ratio")
        print(f"turn, ms        {store * 1e3:12.2f} {sqlite_store * 1e3:14.2f} {store / sqlite_store:8.2f}")
        print(f"get last, ms    {get * 1e3:12.2f} {sqlite_get * 1e3:14.2f} {get / sqlite_get:8.2f}")
        print(f"log or db, KiB  {log / 1024:12.0f} {size_of(theirs) / 1024:14.0f} {log / size_of(theirs):8.3f}")
        print(f"all files, KiB  {size_of(ours) / 1024:12.0f} {size_of(theirs) / 1024:14.0f} {size_of(ours) / size_of(theirs):8.3f}")


if __name__ == "__main__":
    main()
