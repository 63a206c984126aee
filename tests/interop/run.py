"""Drives real programs against a stand-in for their models, and compares what Everturn reads with what they were asked.

    ./test --interop [--cache DIR] [--only PROGRAM]...

Programs are installed by name into a cache directory. One that cannot be had is "not tried", never passed. The table at
the end is that of docs/foreign.md. The exit status is 1 if Everturn and a program disagree.
"""

import argparse
import datetime
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading

from standin import Standin

NPM = {
    "Claude Code": ("@anthropic-ai/claude-code", "claude"),
    "Codex": ("@openai/codex", "codex"),
    "Gemini CLI": ("@google/gemini-cli", "gemini"),
    "OpenCode": ("opencode-ai", "opencode"),
    "goose": ("@aaif/goose-binary-linux-x64", "goose-binary-linux-x64"),
}

# What every program is asked, in this order; the second one runs a tool.
QUESTIONS = ["Say hello.", "Now use a tool, please.", "And good-bye."]


class NotTried(Exception):
    """A program cannot be had here."""


class Wrong(Exception):
    """Everturn and a program disagree."""


class Program:
    """An installed program with a home and a project of its own."""

    def __init__(self, name, cache, work, standin, everturn):
        self.name, self.standin, self.everturn = name, standin, everturn
        package, binary = NPM[name]
        self.dir = cache / package.replace("/", "_")
        self.binary = self.dir / "node_modules" / ".bin" / binary
        self.package = package
        self.home, self.project = work / "home", work / "project"
        for path in (self.home, self.project):
            path.mkdir(parents=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "dumb", "LANG": "C.UTF-8"}

    def install(self):
        if not self.binary.exists():
            self.dir.mkdir(parents=True, exist_ok=True)
            (self.dir / "package.json").write_text("{}")
            npm = ["npm", "install", "--no-audit", "--no-fund", "--silent", self.package]
            try:
                subprocess.run(npm, cwd=self.dir, check=True, timeout=600, capture_output=True)
            except (OSError, subprocess.SubprocessError) as error:
                raise NotTried(f"cannot be installed: {error}") from error
        own = self.dir / "node_modules" / self.package / "package.json"
        return json.loads(own.read_text())["version"]

    def run(self, *args, timeout=300, check=True):
        done = subprocess.run([str(self.binary), *args], cwd=self.project, env=self.env, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise NotTried(f"{' '.join(args)[:40]} ended with {done.returncode}: {done.stderr[-200:]}")
        return done.stdout

    def ask_everturn(self, *args):
        done = subprocess.run([self.everturn, *args], cwd=self.project, env=self.env, capture_output=True, text=True)
        if done.returncode != 0:
            raise Wrong(f"everturn {' '.join(args)} ended with {done.returncode}: {done.stderr[-300:]}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def sessions(self, layout):
        return [one for one in self.ask_everturn("ls", "--json") if one["layout"] == layout]

    def entries(self, session):
        return self.ask_everturn("show", session, "--json")

    def history(self):
        """The questions in the last request that the stand-in got."""
        _, request = self.standin.requests[-1]
        text = json.dumps(request, ensure_ascii=False)
        return [question for question in QUESTIONS if question in text]


def of_kind(entries, kind):
    return [entry["text"] for entry in entries if entry["kind"] == kind]


def same(what, told, expected):
    if told != expected:
        raise Wrong(f"{what}: {told!r}, not {expected!r}")


def compare(program, layout, questions=QUESTIONS, tools=1):
    """Compares the only session of a program with what it was asked."""
    found = [one for one in program.sessions(layout) if one["status"] != "helper"]
    same("sessions", len(found), 1)
    session, entries = found[0], program.entries(found[0]["id"])
    asked = [text.strip().strip('"') for text in of_kind(entries, "user")]
    same("questions", asked, questions)
    same("turns", session["turns"], len(questions))
    same("calls", len(of_kind(entries, "tool_call")), tools)
    same("results", len(of_kind(entries, "tool_result")), tools)
    replies = [text for text in of_kind(entries, "assistant") if text.startswith("Reply to")]
    same("replies", len(replies), len(questions))
    return session["id"]


def convert(program, session, layout, dest, *more):
    made = program.ask_everturn("convert", session, "--to", layout, str(dest), "--json",
                                "--project", str(program.project), *more)
    return made[0]


def claude_code(program):
    program.env |= {"ANTHROPIC_BASE_URL": program.standin.address, "ANTHROPIC_API_KEY": "sk-ant-none", "IS_SANDBOX": "1",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    flags = ["--dangerously-skip-permissions"]
    program.run("-p", QUESTIONS[0], *flags)
    for question in QUESTIONS[1:]:
        program.run("-p", "--continue", question, *flags)
    session = compare(program, "claude-code")
    yield "read", "3 prompts, a tool, 2 resumes"
    folder = next((program.home / ".claude" / "projects").iterdir())
    other = "00000000-0000-4000-8000-000000000001"
    convert(program, session, "claude-code", folder, "--id", other)
    program.run("-p", "--resume", other, "Go on.", *flags)
    same("history", program.history(), QUESTIONS)
    yield "back", "resumed"


class AppServer:
    """The line protocol of Codex."""

    def __init__(self, program):
        self.process = subprocess.Popen([str(program.binary), "app-server"], cwd=program.project, env=program.env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lines, self.number = queue.Queue(), 0
        threading.Thread(target=self.read, daemon=True).start()
        self.call("initialize", {"clientInfo": {"name": "interop", "title": "interop", "version": "1"}})
        self.send({"method": "initialized"})

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def call(self, method, params):
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        while True:
            line = self.lines.get(timeout=60)
            if line.get("id") == number and "method" not in line:
                if "error" in line:
                    raise NotTried(f"{method}: {line['error'].get('message', '')[:200]}")
                return line["result"]

    def turn(self, thread, text):
        self.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": text}]})
        while self.lines.get(timeout=60).get("method") != "turn/completed":
            pass

    def questions(self, thread):
        turns = self.call("thread/read", {"threadId": thread, "includeTurns": True})["thread"]["turns"]
        items = [item for turn in turns for item in turn["items"] if item["type"] == "userMessage"]
        return ["".join(part.get("text", "") for part in item["content"]) for item in items]

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


def codex(program):
    home = program.home / ".codex"
    home.mkdir()
    program.env["CODEX_HOME"] = str(home)
    (home / "config.toml").write_text(
        'model = "model"\nmodel_provider = "standin"\n[model_providers.standin]\nname = "standin"\n'
        f'base_url = "{program.standin.address}/v1"\nwire_api = "responses"\n')
    server = AppServer(program)
    thread = server.call("thread/start", {"cwd": str(program.project), "approvalPolicy": "never",
                                          "sandbox": "danger-full-access"})["thread"]["id"]
    for question in QUESTIONS:
        server.turn(thread, question)
    fork = server.call("thread/fork", {"threadId": thread})["thread"]["id"]
    server.turn(fork, "In the fork.")
    server.call("thread/name/set", {"threadId": fork, "name": "A fork"})
    turns = server.call("thread/read", {"threadId": thread, "includeTurns": True})["thread"]["turns"]
    server.call("thread/revert", {"threadId": thread, "beforeTurnId": turns[2]["id"]})
    server.turn(thread, "After the revert.")
    expected = {one: server.questions(one) for one in (thread, fork)}
    server.call("thread/archive", {"threadId": fork})
    server.close()
    listed = {one["id"]: one for one in program.sessions("codex")}
    same("sessions", sorted(listed), sorted(expected))
    for one, questions in expected.items():
        same(f"questions of {one}", of_kind(program.entries(one), "user"), questions)
        same("turns", listed[one]["turns"], len(questions))
    same("name", (listed[fork]["title"], listed[fork]["status"]), ("A fork", "archived"))
    yield "read", "3 prompts, a tool, fork, revert, name, archive"
    other = "00000000-0000-4000-8000-000000000002"
    day = home / "sessions" / "2026" / "01" / "01"
    day.mkdir(parents=True)
    convert(program, fork, "codex", day, "--id", other)
    server = AppServer(program)
    server.call("thread/resume", {"threadId": other})
    server.turn(other, "Go on.")
    server.close()
    same("history", program.history(), QUESTIONS)
    yield "back", "resumed in a used home"


def gemini_cli(program):
    program.env |= {"GEMINI_CLI_HOME": str(program.home), "GEMINI_API_KEY": "none",
                    "GOOGLE_GEMINI_BASE_URL": program.standin.address, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    (program.home / ".gemini").mkdir()
    (program.home / ".gemini" / "settings.json").write_text(json.dumps(
        {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
         "general": {"enableAutoUpdate": False}}))
    flags = ["--skip-trust", "-y"]
    program.run(*flags, "-p", QUESTIONS[0])
    for question in QUESTIONS[1:]:
        program.run(*flags, "--resume", "latest", "-p", question)
    compare(program, "gemini-cli")
    same("project", program.sessions("gemini-cli")[0].get("project"), str(program.project))
    yield "read", "3 prompts, a tool, 2 resumes"


def opencode(program):
    program.env |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "standin", "models": {"model": {"tool_call": True}},
                "options": {"baseURL": f"{program.standin.address}/v1", "apiKey": "none"}}
    (program.project / "opencode.json").write_text(json.dumps(
        {"model": "standin/model", "small_model": "standin/model", "autoupdate": False, "share": "disabled",
         "provider": {"standin": provider}}))
    program.run("run", QUESTIONS[0])
    for question in QUESTIONS[1:]:
        program.run("run", "--continue", question)
    session = compare(program, "opencode")
    exported = json.loads(program.run("export", session))
    texts = [part["text"] for message in exported["messages"] for part in message["parts"]
             if part["type"] == "text" and message["info"]["role"] == "assistant"]
    same("answers in the export", of_kind(program.entries(session), "assistant"), texts)
    yield "read", "3 prompts, a tool, 2 resumes; its export"


def goose(program):
    program.env |= {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "model", "OPENAI_API_KEY": "none", "GOOSE_MODE": "auto",
                    "OPENAI_HOST": program.standin.address, "GOOSE_DISABLE_KEYRING": "1"}
    name = ["--name", "interop"]
    program.run("run", *name, "--with-builtin", "developer", "--text", QUESTIONS[0])
    for question in QUESTIONS[1:]:
        program.run("run", *name, "--resume", "--with-builtin", "developer", "--text", question)
    session = compare(program, "goose")
    yield "read", "3 prompts, a tool, 2 resumes"
    made = convert(program, session, "goose", program.project, "--id", "converted")
    program.run("session", "import", made["path"])
    listed = json.loads(program.run("session", "list", "--format", "json"))
    new = next(one["id"] for one in listed if one["id"] != session)
    program.run("run", "--resume", "--session-id", new, "--text", "Go on.")
    same("history", program.history(), QUESTIONS)
    yield "back", "imported and resumed"


DRIVERS = {"Claude Code": claude_code, "Codex": codex, "Gemini CLI": gemini_cli, "OpenCode": opencode, "goose": goose}


def tried(name, cache, everturn):
    """A row of the table, and whether Everturn was right."""
    row = {"program": name, "version": "", "driven": "", "read": "not tried", "back": "not tried"}
    standin, work = Standin(), pathlib.Path(tempfile.mkdtemp(prefix="everturn-interop-"))
    try:
        program = Program(name, cache, work, standin, everturn)
        row["version"] = program.install()
        for column, what in DRIVERS[name](program):
            row[column] = "right"
            row["driven" if column == "read" else "back"] = what
    except NotTried as error:
        print(f"{name}: not tried: {error}", file=sys.stderr)
    except subprocess.TimeoutExpired as error:
        print(f"{name}: not tried: {error.cmd[1:3]} did not end", file=sys.stderr)
    except Wrong as error:
        print(f"{name}: {error}", file=sys.stderr)
        row["read" if row["read"] == "not tried" else "back"] = "wrong"
    finally:
        standin.close()
        shutil.rmtree(work, ignore_errors=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--everturn", required=True, help="the binary")
    parser.add_argument("--cache", type=pathlib.Path, help="where programs are installed")
    parser.add_argument("--only", action="append", choices=sorted(DRIVERS), help="drive this program only")
    args = parser.parse_args()
    cache = args.cache or pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "everturn-interop"
    rows = [tried(name, cache, args.everturn) for name in DRIVERS if not args.only or name in args.only]
    today = datetime.date.today().isoformat()
    print("| program | version | driven | read | write-back | date |\n|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['program']} | {row['version']} | {row['driven']} | {row['read']} | {row['back']} | {today} |")
    return 1 if any("wrong" in (row["read"], row["back"]) for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
