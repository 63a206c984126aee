"""`Root`, `Session` and the sessions of each format."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from os import PathLike
from types import TracebackType
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar

from ._everturn import NativeFiles, NativeRoot, NativeSession, NativeThread

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Session")

# Entries are read in pages of this size.
_PAGE = 500


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs `work` in a thread. A write is not abandoned when the task is cancelled: its outcome is awaited first."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()
        raise cancelled
    return task.result()


class Root:
    """A directory of sessions. Any number of processes may have the same directory open.

    >>> with Root(path) as root:
    ...     game = Game.open_or_create(root, "demo")
    ...     turn = game.append({"actor": "player", "narration": "You go in."})
    ...     print(turn["turn"], [session["id"] for session in root.sessions()])
    1 ['demo']
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        mode: Literal["create", "open", "read_only"] = "create",
        wait: float = 5.0,
    ) -> None:
        """Opens a directory. `wait` is how many seconds a write waits for another process."""
        self._native = NativeRoot(path, mode, wait)

    @property
    def path(self) -> str:
        """The directory."""
        return self._native.path

    def sessions(self) -> list[dict[str, Any]]:
        """The sessions of every format, most recently changed first."""
        return self._native.sessions()

    async def asessions(self) -> list[dict[str, Any]]:
        """`sessions` without blocking the event loop."""
        return await in_thread(self.sessions)

    def search(self, query: str, limit: int = 20) -> list[dict[str, Any]]:
        """Searches all sessions, as docs/search.md describes. Returns hits, best match first."""
        return self._native.search(query, limit)

    async def asearch(self, query: str, limit: int = 20) -> list[dict[str, Any]]:
        """`search` without blocking the event loop."""
        return await in_thread(self.search, query, limit)

    def find(self, name: str) -> Session:
        """Opens a session of any format by its ID, its path below the root, or `latest`."""
        native = self._native.open_session(name, None)
        return _CLASSES.get(native.format, Session)(native)

    def trash(self, name: str) -> str:
        """Moves a session to the trash, and returns its name there."""
        return self._native.trash(name)

    def restore(self, name: str) -> str:
        """Restores a session from the trash, and returns its ID."""
        return self._native.restore(name)

    def thread(self, key: str) -> NativeThread:
        """A thread of an agent framework, for adapters. It need not exist."""
        return self._native.thread(key)

    def thread_keys(self) -> list[str]:
        """The keys of all threads."""
        return self._native.thread_keys()

    def files(self, dir: str) -> NativeFiles:
        """Atomic commits of plain files below a directory, for adapters."""
        return self._native.files(dir)

    def close(self) -> None:
        """Closes the root. Sessions that are open stay usable until they are closed."""
        self._native.close()

    def __enter__(self) -> Root:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Root:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(self.close)


class Session:
    """A session of any format.

    The first write locks the session for this process, until `sync` or `close`. Threads of one process may share it. Answers
    are those of docs/protocol.md.
    """

    FORMAT: ClassVar[str | None] = None

    def __init__(self, native: NativeSession) -> None:
        self._native = native

    @classmethod
    def create(cls: type[S], root: Root, id: str = "", *, title: str | None = None, **fields: Any) -> S:
        """Creates a session. Without an ID, it gets one."""
        return cls(root._native.create_session(cls.FORMAT or "", id, title, fields))  # pyright: ignore[reportPrivateUsage]

    @classmethod
    def open(cls: type[S], root: Root, name: str) -> S:
        """Opens a session by its ID, its path below the root, or `latest`."""
        return cls(root._native.open_session(name, cls.FORMAT))  # pyright: ignore[reportPrivateUsage]

    @classmethod
    def open_or_create(cls: type[S], root: Root, id: str, **fields: Any) -> S:
        """Opens a session, and creates it if it does not exist."""
        from ._errors import Conflict, NotFound

        try:
            return cls.open(root, id)
        except NotFound:
            try:
                return cls.create(root, id, **fields)
            except Conflict:  # Another process was faster.
                return cls.open(root, id)

    @property
    def id(self) -> str:
        """Its ID."""
        return self._native.id

    @property
    def format(self) -> str:
        """The name of its format."""
        return self._native.format

    def request(self, request: str, /, **fields: Any) -> Any:
        """Serves a request of docs/protocol.md, such as `scene_start` or `mark_add`."""
        given = {key: value for key, value in fields.items() if value is not None}
        return self._native.request(request, given)

    async def arequest(self, request: str, /, **fields: Any) -> Any:
        """`request` without blocking the event loop."""
        return await in_thread(lambda: self.request(request, **fields))

    def append(self, turn: dict[str, Any], *, key: str | None = None, after: int | None = None) -> dict[str, Any]:
        """Appends a turn. When it returns, the turn survives a crash of the program and a power cut.

        A turn that is sent again with the same `key` is stored once. `after` is the turn that must be the last one.
        """
        return self.request("append", data=turn, key=key, after=after)

    async def aappend(
        self, turn: dict[str, Any], *, key: str | None = None, after: int | None = None
    ) -> dict[str, Any]:
        """`append` without blocking the event loop."""
        return await in_thread(self.append, turn, key=key, after=after)

    def entries(
        self, first: int | None = None, last: int | None = None, *, raw: bool = False
    ) -> Iterator[dict[str, Any]]:
        """The entries of a range of turns, in order. With `raw`, each has the stored record."""
        fields: dict[str, Any] = {"from": first, "to": last, "limit": _PAGE, "raw": raw}
        while True:
            page = self.request("entries", **fields)
            yield from page["entries"]
            if not page.get("next"):
                return
            fields["cursor"] = page["next"]

    async def aentries(
        self, first: int | None = None, last: int | None = None, *, raw: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """`entries` without blocking the event loop."""
        fields: dict[str, Any] = {"from": first, "to": last, "limit": _PAGE, "raw": raw}
        while True:
            page = await self.arequest("entries", **fields)
            for entry in page["entries"]:
                yield entry
            if not page.get("next"):
                return
            fields["cursor"] = page["next"]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.entries()

    def state(self, turn: int | None = None, *, path: str | list[str] | None = None) -> Any:
        """The state after a turn, or a value in it, such as `world.npcs.luna.trust`."""
        return self.request("state", turn=turn, path=path)["state"]

    def diff(self, first: int, last: int | None = None, *, scope: str | None = None) -> list[dict[str, Any]]:
        """The changes of the state between two turns."""
        return self.request("diff", **{"from": first, "to": last, "scope": scope})["changes"]

    def undo(self, turns: int = 1) -> dict[str, Any]:
        """Undoes the last turns with a new turn."""
        return self.request("undo", turns=turns)

    def rewind(self, turn: int) -> dict[str, Any]:
        """Rewinds to a turn. Everything so far becomes a branch."""
        return self.request("rewind", turn=turn)

    def fork(self, id: str | None = None, *, turn: int | None = None) -> dict[str, Any]:
        """Creates a session from the turns of this one."""
        return self.request("fork", session=id, turn=turn)

    def mark(self, name: str, *, turn: int | None = None, kind: str | None = None) -> dict[str, Any]:
        """Adds a mark."""
        return self.request("mark_add", name=name, turn=turn, kind=kind)["mark"]

    def marks(self) -> list[dict[str, Any]]:
        """The marks."""
        return self.request("mark_list")["marks"]

    def branches(self) -> dict[str, Any]:
        """The branches in the session, and the sessions that were forked from it."""
        return self.request("branches")

    def info(self) -> dict[str, Any]:
        """What is known about the session."""
        return self.request("info")

    def sync(self) -> None:
        """Writes pending derived data, and releases the lock until the next write."""
        self.request("sync")

    def close(self) -> None:
        """Writes pending derived data and releases the lock."""
        self._native.close()

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self: S) -> S:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(self.close)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"


class Game(Session):
    """A game: turns, changes of a state, snapshots, scenes. See docs/game.md."""

    FORMAT = "game"


class Campaign(Session):
    """A tabletop campaign. See docs/campaign.md."""

    FORMAT = "campaign"


class ChatLog(Session):
    """A chat log. See docs/chatlog.md."""

    FORMAT = "chatlog"


class Thread(Session):
    """A thread of an agent framework. See docs/thread.md."""

    FORMAT = "thread"


_CLASSES: dict[str, type[Session]] = {"game": Game, "campaign": Campaign, "chatlog": ChatLog, "thread": Thread}
