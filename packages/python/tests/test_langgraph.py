"""The saver for LangGraph: the published conformance suite, values, storage, delta channels, and a graph."""

from __future__ import annotations

import json
import operator
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from everturn import Root
from everturn.langgraph import EverturnSaver


@checkpointer_test(name="EverturnSaver")
async def everturn_saver() -> AsyncIterator[EverturnSaver]:
    with tempfile.TemporaryDirectory() as directory, Root(directory) as root:
        yield EverturnSaver(root)


async def test_the_published_conformance_suite_passes() -> None:
    report = await validate(everturn_saver)
    passed = sum(result.tests_passed for result in report.results.values())
    failures = [failure for result in report.results.values() for failure in result.failures or []]
    skipped = [name for name, result in report.results.items() if not result.detected]
    print(f"langgraph-checkpoint-conformance: {passed} passed, {len(failures)} failed, {len(skipped)} skipped")
    assert failures == []
    assert skipped == []
    assert len(report.results) == 8 and passed >= 70


def config(thread: str = "t", **more: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


@pytest.mark.parametrize("encrypted", [False, True])
def test_values_of_every_kind_come_back(root: Root, encrypted: bool) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef") if encrypted else None
    saver = EverturnSaver(root, serde=serde)
    values: dict[str, Any] = {
        "messages": [
            HumanMessage("secretword", id="1", name="Ann"),
            AIMessage("", id="2", tool_calls=[{"name": "f", "args": {"x": 1.5}, "id": "c"}], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
            ToolMessage([{"type": "text", "text": "r"}], tool_call_id="c", artifact=(1, 2)),
            SystemMessage("s"),
        ],
        "tuple": (1, "a"),
        "set": {1, 2},
        "bytes": b"\x00\xff",
        "nan": float("inf"),
        "keys": {1: "a", "b": {"$type": "x"}},
        "plain": {"a": [1, 2.0, None, True, "門"]},
        "deep": [{"x": {3}}],
    }
    checkpoint: Checkpoint = {**empty_checkpoint(), "channel_values": values, "channel_versions": {name: "1" for name in values}}
    stored = saver.put(config(), checkpoint, {"source": "loop", "step": 1}, checkpoint["channel_versions"])
    saver.put_writes(stored, [("messages", HumanMessage("w")), ("tuple", (3,))], "task")
    saver.root.close()
    found = EverturnSaver(root.path, serde=serde).get_tuple(config())
    assert found is not None
    # LangGraph's own saver in memory, with the same serializer, is the reference: it returns a tuple as a list.
    reference = InMemorySaver(serde=serde)
    stored = reference.put(config(), checkpoint, {"source": "loop", "step": 1}, checkpoint["channel_versions"])
    reference.put_writes(stored, [("messages", HumanMessage("w")), ("tuple", (3,))], "task")
    wanted = reference.get_tuple(config())
    assert wanted is not None
    assert found.checkpoint == wanted.checkpoint
    assert found.metadata == wanted.metadata
    assert found.pending_writes == wanted.pending_writes
    assert [type(message) for message in found.checkpoint["channel_values"]["messages"]] == [type(m) for m in values["messages"]]
    text = (Path(root.path) / "threads/t/thread.jsonl").read_text()
    assert ("secretword" in text) is not encrypted


def add_all(state: list[Any] | None, writes: list[Any]) -> list[Any]:
    return [*(state or []), *writes]


class Deltas(TypedDict):
    log: Annotated[list[str], DeltaChannel(add_all, snapshot_frequency=4)]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    count: Annotated[int, operator.add]
    profile: dict[str, Any]


def chat(saver: Any, nodes: int = 1) -> Any:
    builder = StateGraph(State)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"answer {state['count']}")], "count": 1})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


def test_a_graph_runs_resumes_and_is_readable(root: Root) -> None:
    graph = chat(EverturnSaver(root))
    for n in range(5):
        graph.invoke({"messages": [HumanMessage(f"question {n}")], "profile": {"name": "Ann"}}, config())
    root.close()
    with Root(root.path) as again:
        graph = chat(EverturnSaver(again))
        state = graph.get_state(config())
        assert len(state.values["messages"]) == 10 and state.values["count"] == 5
        history = list(graph.get_state_history(config()))
        assert len(history) == 15
        # A fork from an earlier checkpoint continues from there, and the main line stays.
        early = history[-3].config
        graph.invoke({"messages": [HumanMessage("another way")]}, early)
        assert len(list(graph.get_state_history(config()))) == 18
        session = again.find("t")
        assert session.state()["count"] == 2
        assert any("another way" == entry["text"] for entry in session)
        assert again.search("another way")[0]["session"] == "t"


async def test_a_graph_with_interrupts_runs_in_async_code(root: Root) -> None:
    builder = StateGraph(State)
    builder.add_node("ask", lambda state: {"messages": [AIMessage(interrupt("sure?"))], "count": 1})
    builder.add_edge(START, "ask")
    graph = builder.compile(checkpointer=EverturnSaver(root))
    paused = await graph.ainvoke({"messages": [HumanMessage("delete it")]}, config())
    assert paused["__interrupt__"][0].value == "sure?"
    done = await graph.ainvoke(Command(resume="yes"), config())
    assert [message.content for message in done["messages"]] == ["delete it", "yes"]


def test_the_log_does_not_grow_with_the_square_of_the_turns(root: Root) -> None:
    sizes: list[int] = []
    graph = chat(EverturnSaver(root))
    for turn in range(1, 101):
        graph.invoke({"messages": [HumanMessage("q" * 200)], "profile": {"bio": "x" * 5000}}, config())
        if turn in (50, 100):
            root.thread("t").release()
            sizes.append((Path(root.path) / "threads/t/thread.jsonl").stat().st_size)
    assert sizes[1] < 3 * sizes[0], sizes
    text = (Path(root.path) / "threads/t/thread.jsonl").read_text()
    assert text.count('"id":"') > 100
    json.loads(text.splitlines()[-1])


def test_pruning_keeps_what_a_delta_channel_needs(root: Root) -> None:
    builder = StateGraph(Deltas)
    builder.add_node("n", lambda state: {"log": f"after {len(state['log'])}"})
    builder.add_edge(START, "n")
    saver = EverturnSaver(root)
    graph = builder.compile(checkpointer=saver)
    for turn in range(7):
        graph.invoke({"log": f"turn {turn}"}, config())
    before = graph.get_state(config()).values["log"]
    assert len(before) == 14
    count = len(list(saver.list(config())))
    saver.prune(["t"])
    assert 1 <= len(list(saver.list(config()))) < count
    assert graph.get_state(config()).values["log"] == before


def test_a_deleted_thread_can_be_restored(root: Root) -> None:
    saver = EverturnSaver(root)
    chat(saver).invoke({"messages": [HumanMessage("hello")]}, config())
    saver.delete_thread("t")
    assert saver.get_tuple(config()) is None
    assert list(saver.list(None)) == []
