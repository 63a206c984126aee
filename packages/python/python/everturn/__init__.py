"""A crash-safe session store for AI agents and AI-run games, in plain JSON and JSONL files.

>>> root = Root(path)
>>> game = Game.open_or_create(root, "demo")
>>> turn = game.append({"actor": "player", "narration": "You go in."})
>>> [entry["text"] for entry in game]
['You go in.']
>>> game.close()
"""

from ._errors import BadRequest, Busy, Conflict, Damaged, EverturnError, IoFailed, NotFound, Reopen
from ._root import Campaign, ChatLog, Game, Root, Session, Thread

__all__ = [
    "BadRequest",
    "Busy",
    "Campaign",
    "ChatLog",
    "Conflict",
    "Damaged",
    "EverturnError",
    "Game",
    "IoFailed",
    "NotFound",
    "Reopen",
    "Root",
    "Session",
    "Thread",
]
