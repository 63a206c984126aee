"""A session store for the Claude Agent SDK, in the layout of Claude Code's own files.

>>> import asyncio
>>> store = EverturnSessionStore(path)
>>> key = {"project_key": "-srv-site", "session_id": "5b1c"}
>>> asyncio.run(store.append(key, [{"type": "user", "uuid": "u1"}]))
>>> asyncio.run(store.load(key))
[{'type': 'user', 'uuid': 'u1'}]
"""

from __future__ import annotations

import json
import threading
import time
from os import PathLike
from typing import Any, cast
from urllib.parse import quote, unquote

from claude_agent_sdk import SessionStore, fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from ._errors import Conflict, Damaged
from ._everturn import NativeFiles
from ._root import Root, in_thread

_LINES = ".jsonl"
_SIDECAR = "everturn.session.json"
_MAIN = ""
# How often an append starts again after another process has appended.
_TRIES = 100


def _name(text: str) -> str:
    """A text as the name of a file."""
    name = quote(text, safe="")
    return "%2E" + name[1:] if name.startswith(".") else name


class _Places:
    """The paths of a session."""

    def __init__(self, key: SessionKey | SessionListSubkeysKey) -> None:
        self.project = f"projects/{_name(key['project_key'])}"
        self.directory = f"{self.project}/{_name(key['session_id'])}"
        self.sidecar = f"{self.directory}/{_SIDECAR}"

    def transcript(self, subpath: str) -> str:
        parts = [self.directory, *(_name(part) for part in subpath.split("/"))] if subpath else [self.directory]
        return "/".join(parts) + _LINES


class EverturnSessionStore(SessionStore):
    """Stores transcripts in `projects/<project>/<session>.jsonl` of a root, and subagents below `<session>/`.

    A batch of entries is stored as a whole, and is durable when `append` returns. An entry whose `uuid` is stored already is
    not stored again, also when several processes append.
    """

    def __init__(self, root: Root | str | PathLike[str]) -> None:
        self.root = root if isinstance(root, Root) else Root(root)
        self._files: dict[str, NativeFiles] = {}
        self._lock = threading.Lock()
        # For each transcript the sidecar with which its UUIDs were read, and the UUIDs.
        self._uuids: dict[str, tuple[str, set[str]]] = {}

    def _of(self, project: str) -> NativeFiles:
        with self._lock:
            if project not in self._files:
                self._files[project] = self.root.files(project)
            return self._files[project]

    def _entries(self, files: NativeFiles, file: str) -> list[Any] | None:
        text = files.read(file)
        if text is None:
            return None
        entries: list[Any] = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    entries.append(json.loads(line))
                except ValueError as error:
                    raise Damaged(f"{file}:{number} is not JSON", "damaged", file, "run everturn check") from error
        return entries

    def _append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        places, subpath = _Places(key), key.get("subpath", _MAIN)
        file, files = places.transcript(subpath), self._of(places.project)
        for attempt in range(_TRIES):
            before = files.read(places.sidecar)
            sidecar: dict[str, Any] = json.loads(before) if before else {"files": {}}
            known = self._known(files, file, before)
            new: list[SessionStoreEntry] = []
            for entry in entries:
                uuid = entry.get("uuid")
                if uuid is None or uuid not in known:
                    new.append(entry)
                    known |= {uuid} if uuid is not None else set()
            if not new:
                return
            sidecar["files"][subpath] = sidecar["files"].get(subpath, 0) + len(new)
            if subpath == _MAIN:
                previous = self._summary(key, sidecar) if sidecar.get("summary") else None
                mtime = max(time.time_ns() // 1_000_000, sidecar.get("mtime", 0))
                sidecar["mtime"] = mtime
                sidecar["summary"] = {**fold_session_summary(previous, key, new), "mtime": mtime}
            after = json.dumps(sidecar, ensure_ascii=False, separators=(",", ":"))
            lines = "".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n" for entry in new)
            try:
                files.commit([(file, lines)], [(places.sidecar, before, after)], [])
            except Conflict:
                if attempt + 1 == _TRIES:
                    raise
                continue
            with self._lock:
                self._uuids[file] = (after, known)
            return

    def _summary(self, key: SessionKey, sidecar: dict[str, Any]) -> SessionSummaryEntry:
        """The summary. One of the SDK for TypeScript has other data, so it is made again."""
        if "session_id" in sidecar["summary"]:
            return cast("SessionSummaryEntry", sidecar["summary"])
        main: SessionKey = {"project_key": key["project_key"], "session_id": key["session_id"]}
        return {**fold_session_summary(None, main, self._load(main) or []), "mtime": sidecar["mtime"]}

    def _known(self, files: NativeFiles, file: str, sidecar: str | None) -> set[str]:
        """The UUIDs of a transcript. They are read again only if another process has appended."""
        with self._lock:
            cached = self._uuids.get(file)
        if cached is not None and cached[0] == sidecar:
            return set(cached[1])
        entries = self._entries(files, file) or []
        return {entry["uuid"] for entry in entries if "uuid" in entry}

    def _load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        places = _Places(key)
        return self._entries(self._of(places.project), places.transcript(key.get("subpath", _MAIN)))

    def _sidecars(self, project_key: str) -> list[tuple[str, dict[str, Any]]]:
        project = f"projects/{_name(project_key)}"
        files = self._of(project)
        found: list[tuple[str, dict[str, Any]]] = []
        for name in files.list(project):
            text = files.read(f"{project}/{name}{_SIDECAR}") if name.endswith("/") else None
            if text is not None:
                sidecar = json.loads(text)
                if _MAIN in sidecar["files"]:
                    found.append((unquote(name[:-1]), sidecar))
        return found

    def _delete(self, key: SessionKey) -> None:
        places, subpath = _Places(key), key.get("subpath", _MAIN)
        files = self._of(places.project)
        if subpath == _MAIN:
            files.commit([], [], [places.transcript(_MAIN), places.directory])
        else:
            before = files.read(places.sidecar)
            replaced: list[tuple[str, str | None, str]] = []
            if before is not None:
                sidecar = json.loads(before)
                sidecar["files"].pop(subpath, None)
                replaced = [(places.sidecar, before, json.dumps(sidecar, ensure_ascii=False))]
            files.commit([], replaced, [places.transcript(subpath)])
        with self._lock:
            self._uuids.clear()

    def _subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        places = _Places(key)
        text = self._of(places.project).read(places.sidecar)
        return [name for name in json.loads(text)["files"] if name != _MAIN] if text else []

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Appends entries in one commit, except those whose `uuid` is stored already."""
        if entries:
            await in_thread(self._append, key, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The entries in order; `None` if there is no such transcript."""
        return await in_thread(self._load, key)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The sessions of a project."""
        found = await in_thread(self._sidecars, project_key)
        return [{"session_id": id, "mtime": sidecar["mtime"]} for id, sidecar in found]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """The summaries of the sessions of a project."""


        def summaries() -> list[SessionSummaryEntry]:
            found = self._sidecars(project_key)
            return [self._summary({"project_key": project_key, "session_id": id}, sidecar) for id, sidecar in found]

        return await in_thread(summaries)

    async def delete(self, key: SessionKey) -> None:
        """Removes a session with its subagents, or one transcript of a subagent."""
        await in_thread(self._delete, key)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The subpaths of a session."""
        return await in_thread(self._subkeys, key)
