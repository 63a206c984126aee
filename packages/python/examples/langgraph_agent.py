"""A LangGraph agent that can be killed at any moment and continues where it was.

    python langgraph_agent.py saves 10
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from everturn import Root
from everturn.langgraph import EverturnSaver


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def answer(state: State) -> dict[str, Any]:
    """Stands for a model."""
    return {"messages": [AIMessage(f"answer to {state['messages'][-1].content}")]}


def talk(path: str, turns: int | None, report: Callable[[int], object]) -> None:
    """Asks `turns` more questions, or until the process is killed. Each is reported when its answer is durable."""
    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    with Root(path) as root:
        graph = builder.compile(checkpointer=EverturnSaver(root))
        config: Any = {"configurable": {"thread_id": "demo"}}
        if graph.get_state(config).tasks:
            graph.invoke(None, config)  # The last run was killed before its answer.
        asked = len(graph.get_state(config).values.get("messages", [])) // 2
        end = None if turns is None else asked + turns
        while asked != end:
            asked += 1
            graph.invoke({"messages": [HumanMessage(f"question {asked}")]}, config)
            report(asked)


if __name__ == "__main__":
    talk(sys.argv[1], int(sys.argv[2]), lambda asked: print("question", asked, flush=True))
