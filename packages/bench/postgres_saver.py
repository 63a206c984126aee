"""Time of a durable turn of LangGraph's PostgresSaver, as one JSON object. `everturn-bench postgres --python FILE` runs it.

    postgres_saver.py URL [--sessions NUMBER] [--seconds NUMBER] [--bytes NUMBER]

Needs langgraph-checkpoint-postgres and psycopg[binary]. Each session is a process with a connection of its own, so that
Python's lock is not what is measured. A turn is a checkpoint with one new value of so many bytes, and its writes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver


def save_turns(url: str, session: int, sessions: int, seconds: int, size: int) -> list[float]:
    """The seconds of each turn of a session."""
    times: list[float] = []
    with PostgresSaver.from_conn_string(url) as saver:
        config: Any = {"configurable": {"thread_id": f"{sessions}-{session}-{time.time()}", "checkpoint_ns": ""}}
        version, text = None, "x" * size
        start = time.perf_counter()
        while (before := time.perf_counter()) - start < seconds:
            version = saver.get_next_version(version, None)
            turn = f"{len(times)} {text}"
            checkpoint: Any = {
                **empty_checkpoint(),
                "channel_values": {"turn": turn},
                "channel_versions": {"turn": version},
            }
            config = saver.put(config, checkpoint, {"source": "loop", "step": len(times)}, {"turn": version})
            saver.put_writes(config, [("turn", "done")], "task")
            times.append(time.perf_counter() - before)
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--bytes", type=int, default=1000)
    args = parser.parse_args()
    with PostgresSaver.from_conn_string(args.url) as saver:
        saver.setup()
    work = [(args.url, session, args.sessions, args.seconds, args.bytes) for session in range(args.sessions)]
    with multiprocessing.Pool(args.sessions) as pool:
        times = sorted(one for some in pool.starmap(save_turns, work, chunksize=1) for one in some)

    def at(share: int) -> int:
        return round(times[min(len(times) * share // 100, len(times) - 1)] * 1e6)

    print(json.dumps({"per_second": len(times) // args.seconds, "p50_us": at(50), "p99_us": at(99)}))


if __name__ == "__main__":
    main()
