"""A plugin for pytest that runs the session tests of the OpenAI Agents SDK against `EverturnSession`.

The tests of the SDK create their sessions as `SQLiteSession(session_id, db_path)`. The plugin puts a class with the same
arguments in its place, before the tests are imported. Tests about SQLite itself are deselected, by name and with a reason.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import agents
import agents.memory
import pytest

from everturn.openai_agents import EverturnSession

_CONNECTIONS = "about the connections of SQLite"
_ROWS = "writes rows into the database of SQLite"
NOT_ABOUT_SESSIONS = {
    "test_await_mutation_cancellation_hides_later_failure_without_loop_error": "tests a function of the SDK",
    "test_sqlite_session_close_closes_worker_thread_connections": _CONNECTIONS,
    "test_sqlite_session_reaps_connections_from_exited_worker_threads": _CONNECTIONS,
    "test_sqlite_session_closes_retired_connections_before_the_next_allocation": _CONNECTIONS,
    "test_sqlite_session_keeps_connections_of_live_worker_threads": _CONNECTIONS,
    "test_sqlite_session_closed_rejects_empty_add_items": "compares the error message of SQLiteSession",
    "test_sqlite_session_pop_item_skips_corrupt_most_recent": _ROWS,
    "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": _ROWS,
    "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": _ROWS,
    "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": _ROWS,
    "test_sqlite_session_file_lock_is_shared_across_instances": "about the lock of SQLiteSession",
    "test_sqlite_session_failed_add_items_releases_write_lock": "about the lock of SQLiteSession",
    "test_sqlite_session_failed_clear_session_rolls_back": _CONNECTIONS,
    "test_sqlite_session_failed_pop_item_releases_write_lock": "about the lock of SQLiteSession",
    "test_sqlite_session_rollback_failure_evicts_connection": _CONNECTIONS,
    "test_sqlite_session_close_retries_quarantined_connection": _CONNECTIONS,
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": _CONNECTIONS,
}


class StandIn(EverturnSession):
    """`EverturnSession` with the arguments of `SQLiteSession`."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", *tables: str, session_settings: Any = None) -> None:
        path = Path(tempfile.mkdtemp()) if str(db_path) == ":memory:" else Path(db_path).with_suffix(".everturn")
        super().__init__(session_id, path, session_settings=session_settings)


agents.SQLiteSession = StandIn  # type: ignore[misc]
agents.memory.SQLiteSession = StandIn  # type: ignore[misc]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names = {item.originalname for item in items if isinstance(item, pytest.Function)}
    gone = [name for name in NOT_ABOUT_SESSIONS if name not in names]
    assert not gone or "test_session.py" not in str(config.args), f"the SDK has no such tests any more: {gone}"
    kept = [item for item in items if getattr(item, "originalname", "") not in NOT_ABOUT_SESSIONS]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
