"""Installs the Node package with the frameworks it adapts, and runs its tests."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
PACKAGE = TOP / "packages" / "node"
TOOLS = TOP / "target" / "packages" / "node"
# Node looks for packages here, too, when it runs in the directory below.
FRAMEWORKS = TOOLS / "frameworks"
# Its programs for every platform, of hundreds of megabytes, are optional dependencies.
WITHOUT_OPTIONAL = ["@anthropic-ai/claude-agent-sdk@0.3.327", "@anthropic-ai/sdk@1.10.0", "@modelcontextprotocol/sdk@1.32.2", "zod@4.6.7"]
PACKAGES = [
    "@langchain/core@1.2.13", "@langchain/langgraph@1.4.10", "@langchain/langgraph-checkpoint@1.1.5",
    "@langchain/langgraph-checkpoint-validation@1.1.1", "@openai/agents-core@0.20.0", "@openai/agents-openai@0.20.0",
    "@types/node@20.19.43", "openai@7.55.0", "typescript@7.0.2", "zod@4.6.7",
]
BUN = ["bun@1.4.4"]
# For machines whose own Node is older than the first one that the package supports.
OLDEST, NODE = 20, ["node@22"]
STRICT = ["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--types", "node",
          "--target", "es2022", "--lib", "es2023,esnext.disposable", "--module", "nodenext"]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def install(place, packages, *options):
    """Installs packages from npm, once."""
    mark = place / "installed"
    if not mark.exists() or mark.read_text() != str(packages):
        shutil.rmtree(place / "node_modules", ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
        # The peers that packages ask for contradict each other; those that are listed here work together.
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--legacy-peer-deps", *options, *packages, cwd=place)
        mark.write_text(str(packages))


def with_node(environment):
    """The environment, with a Node that the package supports."""
    version = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) >= OLDEST:
        return environment
    install(TOOLS / "runtime", NODE)
    programs = TOOLS / "runtime" / "node_modules" / "node" / "bin"
    return {**environment, "PATH": f"{programs}{os.pathsep}{environment['PATH']}"}


def copy(name):
    place = FRAMEWORKS / name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(PACKAGE / name, place)


def check_types():
    """Checks the declarations and the examples as programs of both kinds of modules see them, and builds the examples."""
    typescript = FRAMEWORKS / "node_modules" / ".bin" / "tsc"
    sources = sorted((FRAMEWORKS / "examples").glob("*.ts")) + sorted((FRAMEWORKS / "tests" / "types").glob("*.*ts"))
    # Declarations of others are not ours to judge.
    found = subprocess.run([typescript, *STRICT, *sources], cwd=FRAMEWORKS, stdout=subprocess.PIPE, text=True).stdout
    ours = [line for line in found.splitlines() if line.startswith(("node_modules/everturn/", "tests/", "examples/"))]
    if ours:
        sys.exit("\n".join(ours))
    build = [word for word in STRICT if word != "--noEmit"]
    shutil.rmtree(FRAMEWORKS / "built", ignore_errors=True)
    run(typescript, *build, "--skipLibCheck", "--outDir", FRAMEWORKS / "built", *sorted((FRAMEWORKS / "examples").glob("*.ts")), cwd=FRAMEWORKS)


def test_module(library, environment):
    """The tests that need no framework, with a module that was built already."""
    environment = with_node(environment)
    place = TOOLS / "module"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(PACKAGE, place / "node_modules" / "everturn", ignore=shutil.ignore_patterns("target", "*.node", "src", "tests"))
    shutil.copytree(PACKAGE / "tests", place / "tests")
    module = place / "everturn.node"
    shutil.copy(library, module)
    words = ["node", "--test", "tests/sessions.test.mjs"]
    return subprocess.run(words, cwd=place, env={**environment, "EVERTURN_NODE_MODULE": str(module)}).returncode


def test_package(library, environment):
    """Packs the module, installs the package beside the frameworks, and runs all tests."""
    environment = with_node(environment)
    install(TOOLS, WITHOUT_OPTIONAL, "--omit=optional")
    install(FRAMEWORKS, PACKAGES)
    install(TOOLS / "bun", BUN)
    environment = {**environment, "EVERTURN_BUN": str(TOOLS / "bun" / "node_modules" / ".bin" / "bun")}
    made = run(PACKAGE / "release", "--module", library, stdout=subprocess.PIPE, text=True, env=environment).stdout.split()[-1]
    installed = FRAMEWORKS / "node_modules" / "everturn"
    shutil.rmtree(installed, ignore_errors=True)
    with tarfile.open(made) as archive:
        archive.extractall(FRAMEWORKS / "unpacked", filter="data")
    shutil.move(FRAMEWORKS / "unpacked" / "package", installed)
    copy("tests")
    copy("examples")
    shutil.copy(TOP / "docs" / "node.md", FRAMEWORKS / "tests")
    check_types()
    tests = sorted(path.name for path in (FRAMEWORKS / "tests").glob("*.test.mjs") if "validation" not in path.name)
    node = subprocess.run(["node", "--test", *(f"tests/{name}" for name in tests)], cwd=FRAMEWORKS, env=environment)
    vitest = [FRAMEWORKS / "node_modules" / ".bin" / "vitest", "run", "--globals", "--reporter=dot", "tests/langgraph_validation.test.mjs"]
    suite = subprocess.run([str(word) for word in vitest], cwd=FRAMEWORKS, env={**environment, "NO_COLOR": "1"})
    return node.returncode or suite.returncode
