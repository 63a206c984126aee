"""Published suites against the real server: schemathesis, the MCP conformance suite, and the official MCP SDK.

    run.py --everturn PROGRAM [--cases NUMBER]

What they need is installed below target/serve. Exits with 1 if anything is found.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parents[1] / "target" / "serve"
PACKAGES = ["schemathesis==4.32.5", "mcp==2.3.0"]
# The suite needs Node 22.
MODULES = ["@modelcontextprotocol/conformance@0.1.16", "node@22"]

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance," \
    "response_schema_conformance,negative_data_rejection,unsupported_method"
# A stream does not end, and a logout ends the run.
NEVER = ["followSession", "followSessions", "logOut"]
# These take the session away from the other operations.
ENDING = ["trashSession", "archiveSession", "pauseSession", "completeSession"]

# The scenarios for servers of every kind. The others call tools, resources and prompts that only a server made for the
# suite has, such as test_simple_text.
SCENARIOS = ["server-initialize", "ping", "tools-list", "server-sse-polling", "server-sse-multiple-streams",
             "resources-list", "prompts-list", "dns-rebinding-protection"]


def install():
    python = TOOLS / "venv" / "bin" / "python"
    marks = [TOOLS / "packages", TOOLS / "modules"]
    if not marks[0].exists() or marks[0].read_text() != str(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", TOOLS / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        marks[0].write_text(str(PACKAGES))
    if not marks[1].exists() or marks[1].read_text() != str(MODULES):
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", TOOLS, *MODULES], check=True)
        marks[1].write_text(str(MODULES))
    return python


class Server:
    """A server with a game and a chat log in a home of its own."""

    def __init__(self, program, *options):
        self.program = program
        self.home = tempfile.mkdtemp(prefix="everturn-serve-")
        self.run("new", "game", "--id", "demo")
        turn = {"actor": "player", "narration": "You take the lantern.",
                "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "gate", "value": "open"}]}]}
        self.run("append", "demo", input=json.dumps(turn))
        self.run("new", "chatlog", "--id", "tale")
        self.run("append", "tale", input=json.dumps({"type": "narrator", "text": "It is night."}))
        self.log = open(Path(self.home, "serve.log"), "w")
        self.process = subprocess.Popen([program, "serve", "--json", *options], cwd=self.home, env=self.environment(),
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        ready = json.loads(self.process.stdout.readline())
        self.base = ready["base"]
        self.token = self.ask("/api/v1/token", {"code": ready["code"]})["token"]

    def environment(self):
        return {"HOME": self.home, "PATH": os.environ["PATH"]}

    def run(self, *words, input=""):
        return subprocess.run([self.program, *words], cwd=self.home, env=self.environment(), input=input, text=True,
                              check=True, stdout=subprocess.PIPE).stdout

    def ask(self, path, body=None):
        headers = {"Content-Type": "application/json"}
        if body is None:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.base + path, data, headers)) as answer:
            return json.load(answer)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        alive = self.process.poll() is None
        self.process.terminate()
        status = self.process.wait(30)
        self.log.close()
        problems = [line for line in Path(self.home, "serve.log").read_text().splitlines() if "panicked" in line]
        if kind is None and (not alive or status != 0 or problems):
            sys.exit(f"the server ended with {status}: {problems}")
        shutil.rmtree(self.home)


def fuzz(python, program, cases):
    """Two passes: one session that is there, and every operation with made-up names."""
    total = 0
    for name, excluded in [("demo", NEVER + ENDING), ("tale", NEVER + ENDING), (None, NEVER)]:
        with Server(program, "--rate", "100000") as server:
            document = Path(server.home, "openapi.json")
            document.write_text(json.dumps(server.ask("/api/v1/openapi.json")))
            settings = Path(server.home, "schemathesis.toml")
            settings.write_text(f'[parameters]\n"path.session" = "{name}"\n' if name else "")
            words = [python.parent / "schemathesis", "--config-file", settings, "run", document, "-u", server.base,
                     "-H", f"Authorization: Bearer {server.token}", "-c", CHECKS, "--phases", "coverage,fuzzing",
                     "-n", str(cases), "--continue-on-failure", "--suppress-health-check", "all", "--seed", "1"]
            for operation in excluded:
                words += ["--exclude-operation-id", operation]
            done = subprocess.run(words, cwd=server.home, stdout=subprocess.PIPE, text=True)
            found = re.search(r"(\d+) generated", done.stdout)
            total += int(found[1]) if found else 0
            if done.returncode != 0 or not found:
                sys.exit(done.stdout)
            # What the requests have written is whole.
            server.run("check")
    print(f"schemathesis: {total} cases, nothing found", flush=True)
    if total < 5000:
        sys.exit("fewer than 5000 cases")


def conform(program):
    node = TOOLS / "node_modules" / "node" / "bin" / "node"
    suite = TOOLS / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    with Server(program) as server:
        # The suite sends no token, so a proxy adds it and leaves the rest as it is.
        proxy = subprocess.Popen([node, HERE / "proxy.mjs", server.base, server.token], stdout=subprocess.PIPE, text=True)
        try:
            url = proxy.stdout.readline().strip() + "/mcp"
            for scenario in SCENARIOS:
                words = [node, suite, "server", "--url", url, "--scenario", scenario]
                done = subprocess.run(words, cwd=server.home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                # A warning about a tool that only the suite's own server has is not a failure.
                passed = re.search(r"Passed: (\d+)/(\d+), 0 failed", done.stdout)
                if not passed or passed[1] != passed[2] or passed[1] == "0":
                    sys.exit(done.stdout)
        finally:
            proxy.terminate()
            proxy.wait()
    print(f"MCP conformance: {len(SCENARIOS)} scenarios passed", flush=True)


def talk(python, program):
    with Server(program, "--allow-agent-writes") as server:
        for words in [["stdio", program], ["http", server.base + "/mcp", server.token]]:
            subprocess.run([python, HERE / "sdk.py", *words], cwd=server.home, env=server.environment(), check=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--everturn", required=True)
    arguments.add_argument("--cases", type=int, default=30, help="cases per operation and pass")
    given = arguments.parse_args()
    TOOLS.mkdir(parents=True, exist_ok=True)
    python = install()
    talk(python, given.everturn)
    conform(given.everturn)
    fuzz(python, given.everturn, given.cases)


main()
