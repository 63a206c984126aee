"""The session store for the Claude Agent SDK: the published contracts, processes, and Everturn's own reader."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk.testing import run_session_store_conformance

from everturn import Damaged, Root
from everturn.claude_agent_sdk import EverturnSessionStore

KEY: Any = {"project_key": "-srv-site", "session_id": "0f0e5d9e-52b2-4b6e-9f59-4a8d3a3f9d11"}


async def test_the_published_contracts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    stores: list[EverturnSessionStore] = []

    def make() -> EverturnSessionStore:
        stores.append(EverturnSessionStore(tempfile.mkdtemp()))
        return stores[-1]

    await run_session_store_conformance(make)
    # One store to look at its methods, and one for each of the 14 contracts.
    print(f"claude_agent_sdk.testing: {len(stores) - 1} contracts passed, 0 failed, 0 skipped")
    assert len(stores) == 15


async def test_an_entry_is_stored_once_by_its_uuid(tmp_path: Path) -> None:
    store = EverturnSessionStore(tmp_path)
    entry: Any = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "hello"}}
    title: Any = {"type": "ai-title", "title": "x"}
    await store.append(KEY, [entry, title])
    await store.append(KEY, [entry, title])
    # A new store knows what is stored.
    again = EverturnSessionStore(tmp_path)
    await again.append(KEY, [entry])
    assert await again.load(KEY) == [entry, title, title]


async def test_concurrent_appends_of_two_processes_are_kept_once(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from everturn.claude_agent_sdk import EverturnSessionStore\n"
        "from everturn import Root\n"
        "store = EverturnSessionStore(Root(sys.argv[1], wait=60))\n"
        "key = {'project_key': 'p', 'session_id': 's'}\n"
        "async def main():\n"
        "    for n in range(20):\n"
        "        await store.append(key, [{'type': 'user', 'uuid': f'shared-{n}'}, {'type': 'user', 'uuid': f'{sys.argv[2]}-{n}'}])\n"
        "asyncio.run(main())\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), name]) for name in "ab"]
    assert [worker.wait(120) for worker in workers] == [0, 0]
    entries = await EverturnSessionStore(tmp_path).load({"project_key": "p", "session_id": "s"})
    assert entries is not None
    found = [entry["uuid"] for entry in entries]
    assert len(found) == len(set(found)) == 60
    for name in "ab":
        assert [uuid for uuid in found if uuid.startswith(name)] == [f"{name}-{n}" for n in range(20)]


async def test_names_cannot_leave_their_directory(tmp_path: Path) -> None:
    store = EverturnSessionStore(tmp_path / "saves")
    for project, session, sub in [("../../x", "..", "../../y"), ("a/b", "c/d", "e"), (".hidden", "s", "subagents/agent-1")]:
        key: Any = {"project_key": project, "session_id": session}
        await store.append(key, [{"type": "x", "n": project}])
        await store.append({**key, "subpath": sub}, [{"type": "x", "n": sub}])
        assert [entry["session_id"] for entry in await store.list_sessions(project)] == [session]
        assert await store.list_subkeys(key) == [sub]
        assert await store.load({**key, "subpath": sub}) == [{"type": "x", "n": sub}]
    assert [path.name for path in tmp_path.iterdir()] == ["saves"]


async def test_a_damaged_transcript_is_an_error(tmp_path: Path) -> None:
    store = EverturnSessionStore(tmp_path)
    await store.append(KEY, [{"type": "user", "uuid": "u1"}])
    store.root.close()
    file = tmp_path / f"projects/-srv-site/{KEY['session_id']}.jsonl"
    file.write_text(file.read_text() + '{"type": "us\n{"type":"x"}\n')
    with pytest.raises(Damaged):
        await EverturnSessionStore(tmp_path).load(KEY)


async def test_everturn_reads_the_files_as_those_of_claude_code(tmp_path: Path, everturn_binary: str | None) -> None:
    if everturn_binary is None:
        pytest.skip("needs the everturn binary: run ./test --packages")
    store = EverturnSessionStore(tmp_path)
    base: Any = {"sessionId": KEY["session_id"], "cwd": "/srv/site", "version": "2.1.0", "timestamp": "2026-01-01T10:00:00.000Z"}
    await store.append(KEY, [{**base, "type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Fix the gate."}}])
    await store.append(KEY, [{**base, "type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"role": "assistant", "content": [{"type": "text", "text": "It is fixed."}]}}])
    store.root.close()
    file = tmp_path / f"projects/-srv-site/{KEY['session_id']}.jsonl"
    shown = subprocess.run([everturn_binary, "show", str(file), "--json"], capture_output=True, text=True, check=True)
    texts = [json.loads(line)["text"] for line in shown.stdout.splitlines()]
    assert texts == ["Fix the gate.", "It is fixed."]


def test_a_root_is_shared(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        store = EverturnSessionStore(root)
        asyncio.run(store.append(KEY, [{"type": "user", "uuid": "u1"}]))
        assert asyncio.run(EverturnSessionStore(root).load(KEY)) == [{"type": "user", "uuid": "u1"}]
