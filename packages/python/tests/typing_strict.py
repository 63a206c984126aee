"""Checked by pyright in strict mode: the package as a program uses it."""

from __future__ import annotations

from typing import Any, assert_type

from everturn import Busy, Campaign, EverturnError, Game, Root, Session


def use(path: str) -> None:
    with Root(path, wait=1.0) as root:
        game = Game.open_or_create(root, "demo")
        assert_type(game, Game)
        assert_type(root.find("demo"), Session)
        assert_type(Campaign.create(root, "c", title="x"), Campaign)
        assert_type(game.append({"actor": "gm"}, key="k"), dict[str, Any])
        for entry in game:
            assert_type(entry, dict[str, Any])
        try:
            game.undo()
        except Busy as error:
            assert_type(error.hint, str | None)
        except EverturnError as error:
            assert_type(error.code, str)


async def use_async(root: Root) -> None:
    async with root, Game.open(root, "demo") as game:
        assert_type(await game.aappend({"actor": "gm"}), dict[str, Any])
        async for entry in game.aentries(1, 2, raw=True):
            assert_type(entry, dict[str, Any])
