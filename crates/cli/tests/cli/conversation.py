"""A client of `everturn session` that knows only docs/protocol.md, and reads the files by itself.

usage: python3 -c SCRIPT EVERTURN FORMAT SESSION KILLS SEED

Plays turns with a key each, kills the process at random moments, starts it again, and sends what was not answered. At
the end every turn must be in the files once and in order. Prints a summary as JSON.
"""

import glob
import json
import os
import random
import subprocess
import sys
import time

EVERTURN, FORMAT, SESSION, KILLS, SEED = sys.argv[1:]
DICE = random.Random(int(SEED))
# The most requests that are sent before their answers are read.
MOST_AT_ONCE = 4


def turn(number):
    if FORMAT == "game":
        change = {"op": "set", "path": "n", "value": number}
        return {"actor": "player", "narration": f"Step {number}.", "deltas": [{"scope": "world", "deltas": [change]}]}
    if FORMAT == "campaign":
        return {"user_input": f"step {number}", "assistant_text": f"Step {number}."}
    if FORMAT == "chatlog":
        return {"type": "narrator", "text": f"Step {number}."}
    if FORMAT in ("codelia", "thread"):
        return {"role": "user", "content": f"Step {number}."}
    if FORMAT == "linggen":
        return {"content": f"Step {number}."}
    raise SystemExit(f"what is a turn of {FORMAT}?")


def start():
    words = [EVERTURN, "session", SESSION, "--root", "."]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def send(process, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    try:
        process.stdin.write(lines.encode())
        process.stdin.flush()
    except BrokenPipeError:
        pass


def append(number):
    return {"id": number, "request": "append", "key": f"key-{number}", "data": turn(number)}


def lines_of(pattern):
    for path in sorted(glob.glob(pattern, recursive=True)):
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                yield json.loads(line)


def stored_keys():
    if FORMAT == "game":
        rows = list(lines_of(f"sessions/active/{SESSION}/turns/*.jsonl"))
        rows.sort(key=lambda row: row["turnId"])
        return [row["idempotencyKey"] for row in rows]
    if FORMAT == "campaign":
        return [row["idempotency_key"] for row in lines_of(f"campaigns/{SESSION}/turn_log.jsonl")]
    if FORMAT == "chatlog":
        with open(f"chats/{SESSION}.json", encoding="utf-8") as file:
            return [message["id"] for message in json.load(file)["messages"]]
    if FORMAT == "codelia":
        return [row["idempotency_key"] for row in lines_of(f"sessions/messages/{SESSION}.jsonl")]
    if FORMAT == "thread":
        rows = list(lines_of(f"threads/{SESSION}/thread.jsonl"))
        return [row["key"] for row in rows if "key" in row]
    if FORMAT == "linggen":
        return [row["idempotency_key"] for row in lines_of(f"**/{SESSION}/messages.jsonl")]
    raise SystemExit(f"how does {FORMAT} store its keys?")


def main():
    answered, before, kills, number = {}, 0, 0, 0
    pending = []
    process = start()

    def note(answer):
        nonlocal before
        assert "ok" in answer, answer
        ok = answer["ok"]
        assert answered.setdefault(answer["id"], ok["turn"]) == ok["turn"], answer
        before += ok["stored"] == "before"
        pending.remove(answer["id"])

    while kills < int(KILLS):
        while len(pending) < DICE.randint(1, MOST_AT_ONCE):
            number += 1
            pending.append(number)
        send(process, [append(one) for one in pending])
        if DICE.random() < 0.5:
            time.sleep(DICE.random() * 0.004)
            process.kill()
            kills += 1
            # Answers on their way count.
            for line in process.stdout.read().decode().splitlines(keepends=True):
                if line.endswith("\n"):
                    note(json.loads(line))
            process.wait()
            process = start()
        else:
            for _ in list(pending):
                note(json.loads(process.stdout.readline()))
    if not pending:
        # A conversation that only reads writes nothing when it is closed.
        number += 1
        pending.append(number)
    send(process, [append(one) for one in pending] + [{"id": "end", "request": "close"}])
    for line in process.communicate()[0].decode().splitlines():
        answer = json.loads(line)
        if answer["id"] != "end":
            note(answer)
    assert process.returncode == 0 and not pending, (process.returncode, pending)
    keys = stored_keys()
    assert keys == [f"key-{one}" for one in range(1, number + 1)], keys
    assert answered == {one: one for one in range(1, number + 1)}, answered
    print(json.dumps({"turns": number, "kills": kills, "before": before}))


main()
