"""Reads and writes threads by docs/thread.md alone, without any code of Everturn.

reader.py read FILE   prints the channels of each checkpoint of the main line, one JSON object per line
reader.py write FILE  writes a thread
"""

import json
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def lookup(records, position, namespace, channel, version):
    for earlier in range(position, -1, -1):
        record = records[earlier]
        if record.get("type") != "checkpoint" or record.get("ns", "") != namespace:
            continue
        stored = record.get("values", {}).get(channel)
        if stored is None or stored["version"] != version:
            continue
        if "value" in stored:
            return stored["value"]
        base = lookup(records, earlier - 1, namespace, channel, stored["base"])
        return base[: stored["keep"]] + stored["add"]
    return None


def main_line(records):
    positions = {r["id"]: n for n, r in enumerate(records) if is_checkpoint(r)}
    line, position = [], max(positions.values(), default=None)
    while position is not None:
        line.append(position)
        position = positions.get(records[position].get("parent"))
    return line[::-1]


def is_checkpoint(record):
    return record.get("type") == "checkpoint" and not record.get("ns")


def read(path):
    records = load(path)
    for position in main_line(records):
        versions = records[position]["versions"]
        found = {name: lookup(records, position, "", name, version) for name, version in versions.items()}
        print(json.dumps(found))


def write(path):
    records = [
        {"type": "thread", "id": "t1", "created": "2026-01-01T10:00:00Z"},
        {"type": "function_call", "name": "look", "arguments": "{}", "key": "k1"},
        {"type": "checkpoint", "id": "a", "versions": {"x": "v1"}, "values": {"x": {"version": "v1", "value": [1, 2]}}},
        {
            "type": "checkpoint",
            "id": "b",
            "parent": "a",
            "versions": {"x": "v2"},
            "values": {"x": {"version": "v2", "base": "v1", "keep": 1, "add": ["é", None]}},
        },
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


{"read": read, "write": write}[sys.argv[1]](sys.argv[2])
