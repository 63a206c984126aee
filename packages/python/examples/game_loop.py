"""A small game that can be killed at any moment: every reported turn is there when it starts again.

    python game_loop.py saves 10
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from everturn import Game, Root


def play(path: str, turns: int | None, report: Callable[[int], object]) -> None:
    """Plays `turns` more turns, or until the process is killed. Each turn is reported when it is durable."""
    with Root(path) as root, Game.open_or_create(root, "demo") as game:
        step = game.info()["turns"] or 0
        end = None if turns is None else step + turns
        while step != end:
            step += 1
            walk = {"op": "set", "path": "steps", "value": step}
            turn = {"actor": "player", "narration": f"step {step}", "deltas": [{"scope": "world", "deltas": [walk]}]}
            game.append(turn, key=f"step-{step}")
            report(step)


if __name__ == "__main__":
    play(sys.argv[1], int(sys.argv[2]), lambda step: print("step", step, flush=True))
