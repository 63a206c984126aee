"""A session for the OpenAI Agents SDK, over the plain files of Everturn.

>>> import asyncio
>>> session = EverturnSession("user-7", path)
>>> asyncio.run(session.add_items([{"role": "user", "content": "Hello"}]))
>>> asyncio.run(session.get_items())
[{'role': 'user', 'content': 'Hello'}]
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from agents.memory import SessionABC, SessionSettings
from agents.memory.session_settings import coerce_session_settings

from ._errors import BadRequest
from ._everturn import NativeThread
from ._root import Root, in_thread

if TYPE_CHECKING:
    from agents.items import TResponseInputItem


class EverturnSession(SessionABC):
    """Stores the items of a conversation in `threads/<id>/thread.jsonl` of a root.

    All items of one `add_items` are stored together or not at all, and are durable when it returns. Sessions with the same
    ID and root share their items.
    """

    def __init__(
        self,
        session_id: str,
        root: Root | str | PathLike[str],
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or SessionSettings())
        self.root = root if isinstance(root, Root) else Root(root)
        self._thread: NativeThread | None = self.root.thread(session_id)

    def _open(self) -> NativeThread:
        if self._thread is None:
            raise BadRequest(f"the session {self.session_id!r} is closed", "closed")
        return self._thread

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items in order; with a limit, the last ones."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        records = await in_thread(self._open().items)
        items = [record["item"] for record in records if "item" in record]
        if limit is not None and limit >= 0:
            items = items[len(items) - min(limit, len(items)) :]
        return cast("list[TResponseInputItem]", items)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items in one commit."""
        thread = self._open()
        if items:
            records: list[Any] = [{"type": "item", "item": item} for item in items]
            await in_thread(thread.append, {"framework": "openai-agents"}, records)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the last item and returns it."""
        record = await in_thread(self._open().pop_item)
        return None if record is None else cast("TResponseInputItem", record.get("item"))

    async def clear_session(self) -> None:
        """Removes all items."""
        await in_thread(self._open().clear_items)

    def close(self) -> None:
        """Releases the lock, so that another process can write at once. It is also released when it is idle."""
        if self._thread is not None:
            self._thread.release()
            self._thread = None
