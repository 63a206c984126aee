"""A checkpoint saver for LangGraph, over the plain files of Everturn.

>>> from langgraph.checkpoint.base import empty_checkpoint
>>> saver = EverturnSaver(path)
>>> config = {"configurable": {"thread_id": "support-7", "checkpoint_ns": ""}}
>>> stored = saver.put(config, empty_checkpoint(), {"source": "input", "step": -1}, {})
>>> saver.get_tuple(config).metadata["step"]
-1
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from os import PathLike
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ._everturn import NativeThread
from ._langgraph_values import decode, encode
from ._root import Root, in_thread

# The members of a checkpoint that have a place of their own in the record.
_OWN = ("id", "ts", "channel_values", "channel_versions")


class EverturnSaver(BaseCheckpointSaver[str]):
    """Stores the checkpoints of each thread in `threads/<id>/thread.jsonl` of a root.

    A checkpoint is durable when `put` returns. A channel that has not changed is not stored again, and a list that has
    grown is stored as what was added. With a serializer other than `JsonPlusSerializer`, such as one that encrypts, every
    value passes through it.
    """

    def __init__(self, root: Root | str | PathLike[str], *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self.root = root if isinstance(root, Root) else Root(root)

    @property
    def _readable(self) -> bool:
        return type(self.serde) is JsonPlusSerializer

    def _encode(self, value: Any) -> Any:
        return encode(value, self.serde, self._readable)

    def _decode(self, value: Any) -> Any:
        return decode(value, self.serde)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """A version that is greater than `current`, and unlike that of any other branch."""
        number = int(current.split(".")[0]) if isinstance(current, str) else int(current or 0)
        return f"{number + 1:08}.{random.getrandbits(48):012x}"

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint. When it returns, the checkpoint survives a crash and a power cut."""
        given = config.get("configurable", {})
        thread_id, ns = str(given["thread_id"]), str(given.get("checkpoint_ns", ""))
        thread = self.root.thread(thread_id)
        versions = checkpoint["channel_versions"]
        # LangGraph names the channels that are new. A value that was never stored is stored in any case.
        values = {name: value for name, value in checkpoint["channel_values"].items() if name in versions}
        others = {name: versions[name] for name in values if name not in new_versions}
        wanted = {*new_versions, *(thread.missing_versions(ns, others) if others else ())}
        record: dict[str, Any] = {"type": "checkpoint", "id": checkpoint["id"], "time": checkpoint["ts"]}
        if ns:
            record["ns"] = ns
        if parent := get_checkpoint_id(config):
            record["parent"] = parent
        rest = {name: value for name, value in checkpoint.items() if name not in _OWN}
        record["versions"] = versions
        record["values"] = {name: self._encode(value) for name, value in values.items() if name in wanted}
        record["checkpoint"] = self._encode(rest)
        record["metadata"] = self._encode(get_checkpoint_metadata(config, metadata))
        # A value without a version cannot be shared with other checkpoints.
        loose = {name: value for name, value in checkpoint["channel_values"].items() if name not in versions}
        if loose:
            record["loose"] = self._encode(loose)
        thread.append({"framework": "langgraph"}, [record])
        return _config(thread_id, ns, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores writes of a task that belong to a checkpoint."""
        given = config.get("configurable", {})
        ns = str(given.get("checkpoint_ns", ""))
        record: dict[str, Any] = {
            "type": "writes",
            "checkpoint": str(given["checkpoint_id"]),
            "task": task_id,
            "path": task_path,
            "writes": [
                [WRITES_IDX_MAP.get(channel, number), channel, self._encode(value)]
                for number, (channel, value) in enumerate(writes)
            ],
        }
        if ns:
            record["ns"] = ns
        self.root.thread(str(given["thread_id"])).append({"framework": "langgraph"}, [record])

    def _tuple(self, thread_id: str, found: dict[str, Any]) -> CheckpointTuple:
        record: dict[str, Any] = found["record"]
        ns: str = record.get("ns", "")
        values = {name: self._decode(value) for name, value in found["values"].items()}
        checkpoint: dict[str, Any] = {
            **self._decode(record.get("checkpoint", {})),
            "id": record["id"],
            "ts": record["time"],
            "channel_values": {**values, **self._decode(record.get("loose", {}))},
            "channel_versions": record.get("versions", {}),
        }
        parent = record.get("parent")
        return CheckpointTuple(
            config=_config(thread_id, ns, record["id"]),
            checkpoint=cast(Checkpoint, checkpoint),
            metadata=self._decode(record.get("metadata", {})),
            parent_config=_config(thread_id, ns, parent) if parent else None,
            pending_writes=self._pending(found["writes"]),
        )

    def _pending(self, records: list[dict[str, Any]]) -> list[PendingWrite]:
        stored: dict[tuple[str, int], tuple[str, str, Any]] = {}
        for record in records:
            for number, channel, value in record["writes"]:
                place = (record["task"], number)
                # A write that is sent again is ignored, except for errors, interrupts and the like.
                if number < 0 or place not in stored:
                    stored[place] = (record.get("path", ""), channel, value)
        order = sorted(stored, key=lambda place: writes_sort_key(stored[place][0], *place))
        return [(task, stored[task, number][1], self._decode(stored[task, number][2])) for task, number in order]

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint of the config, or the latest one of its thread."""
        given = config.get("configurable", {})
        thread_id = str(given["thread_id"])
        found = self.root.thread(thread_id).checkpoint(str(given.get("checkpoint_ns", "")), get_checkpoint_id(config))
        return self._tuple(thread_id, found) if found else None

    def _matching(
        self, config: RunnableConfig | None, filter: dict[str, Any] | None, before: RunnableConfig | None
    ) -> Iterator[tuple[str, NativeThread, dict[str, Any]]]:
        given = config.get("configurable", {}) if config else {}
        thread_ids = [str(given["thread_id"])] if "thread_id" in given else self.root.thread_keys()
        wanted = get_checkpoint_id(config) if config else None
        end = get_checkpoint_id(before) if before else None
        for thread_id in thread_ids:
            thread = self.root.thread(thread_id)
            records = thread.checkpoints(given.get("checkpoint_ns"))
            for record in sorted(records, key=lambda record: record["id"], reverse=True):
                if (wanted and record["id"] != wanted) or (end and record["id"] >= end):
                    continue
                metadata: dict[str, Any] = self._decode(record.get("metadata", {})) if filter else {}
                if all(metadata.get(name) == value for name, value in (filter or {}).items()):
                    yield thread_id, thread, record

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, newest first, or those of all threads."""
        count = 0
        for thread_id, thread, record in self._matching(config, filter, before):
            if limit is not None and count >= limit:
                return
            found = thread.checkpoint(record.get("ns", ""), record["id"])
            if found:
                count += 1
                yield self._tuple(thread_id, found)

    def delete_thread(self, thread_id: str) -> None:
        """Moves the thread to the trash of the root. `everturn restore` brings it back, `everturn purge` deletes it."""
        self.root.thread(str(thread_id)).trash()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes the checkpoints of these runs, with their writes."""
        runs = set(run_ids)
        for thread_id in self.root.thread_keys() if runs else ():
            thread = self.root.thread(thread_id)
            gone = [
                (record.get("ns", ""), record["id"])
                for record in thread.checkpoints(None)
                if self._decode(record.get("metadata", {})).get("run_id") in runs
            ]
            if gone:
                thread.remove_checkpoints(gone)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints and writes to a thread that does not exist yet."""
        self.root.thread(str(source_thread_id)).copy_to(str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes the checkpoints of these threads, with `keep_latest` all but the last of each namespace.

        Ancestors from which a delta channel is rebuilt are kept.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"the strategy {strategy!r} is unknown; use 'keep_latest' or 'delete'")
        for thread_id in thread_ids:
            thread = self.root.thread(str(thread_id))
            records = thread.checkpoints(None)
            keep: set[tuple[str, str]] = set()
            if strategy == "keep_latest":
                latest: dict[str, str] = {}
                for record in records:
                    ns = record.get("ns", "")
                    latest[ns] = max(latest.get(ns, ""), record["id"])
                for ns, id in latest.items():
                    keep |= self._needed(thread, ns, id)
            gone = [(record.get("ns", ""), record["id"]) for record in records]
            gone = [place for place in gone if place not in keep]
            if gone:
                thread.remove_checkpoints(gone)

    def _needed(self, thread: NativeThread, ns: str, id: str) -> set[tuple[str, str]]:
        """A checkpoint, and the ancestors from which its delta channels are rebuilt."""
        needed: set[tuple[str, str]] = set()
        missing: set[str] | None = None
        next_id: str | None = id
        while next_id and (missing is None or missing):
            found = thread.checkpoint(ns, next_id)
            if found is None:
                break
            needed.add((ns, next_id))
            if missing is None:
                counters = self._decode(found["record"].get("metadata", {})).get("counters_since_delta_snapshot")
                missing = set(counters or {})
            missing -= set(found["values"])
            next_id = found["record"].get("parent")
        return needed

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple` without blocking the event loop."""
        return await in_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list` without blocking the event loop."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (item := await in_thread(next, found, None)) is not None:
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put` without blocking the event loop."""
        return await in_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`put_writes` without blocking the event loop."""
        await in_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread` without blocking the event loop."""
        await in_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs` without blocking the event loop."""
        await in_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread` without blocking the event loop."""
        await in_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune` without blocking the event loop."""
        await in_thread(self.prune, thread_ids, strategy=strategy)


def _config(thread_id: str, ns: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": id}}
