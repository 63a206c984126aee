"""Builds the Python package and packs the Node package, and runs their tests, with the published suites of the frameworks
they adapt.

    run.py --everturn PROGRAM --module LIBRARY --node-module LIBRARY [--wheel] [--only python|node] [-- PYTEST-OPTION...]
    run.py --everturn PROGRAM --module LIBRARY --node-module LIBRARY --smoke

What they need is installed below target/packages. The native modules are built already; with --wheel, a wheel is built
and installed instead, as pip does. With --smoke, only the tests that need no framework run. Exits with 1 if anything is
found.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import node

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
PACKAGE = TOP / "packages" / "python"
TOOLS = TOP / "target" / "packages"
MATURIN = "maturin==1.16.0"
# The frameworks, their suites, and what their tests need.
PACKAGES = [
    "pytest==9.2.0", "pytest-asyncio==1.5.0", "pyright==1.1.414", "pycryptodome", "hatchling", "inline-snapshot",
    "langgraph==1.2.22", "langgraph-checkpoint==4.3.2", "langgraph-checkpoint-conformance==0.0.2",
    "langgraph-checkpoint-sqlite==3.1.2", "openai-agents==0.24.0", "claude-agent-sdk==0.2.184",
]
SMOKE = ["pytest==9.2.0", "pytest-asyncio==1.5.0"]
SDK = "openai-agents==0.24.0"


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def environment_with(name, packages):
    """A virtual environment with these packages, made once."""
    place = TOOLS / name
    python, mark = place / "bin" / "python", place / "installed"
    if not mark.exists() or mark.read_text() != str(packages):
        run(sys.executable, "-m", "venv", "--clear", place)
        run(python, "-m", "pip", "install", "-q", *packages)
        mark.write_text(str(packages))
    return python


def build():
    """Builds the wheel, and returns it."""
    python = environment_with("build", [MATURIN])
    wheels = TOOLS / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    environment = {**os.environ, "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(TOP / "target"))}
    run(python.parent / "maturin", "build", "--locked", "--profile", "dev", "--out", wheels, cwd=PACKAGE, env=environment)
    return next(wheels.glob("everturn-*.whl"))


def sdk_tests(python):
    """The source distribution of the OpenAI Agents SDK, which has its tests."""
    place = TOOLS / "openai-sdk"
    if not (place / "done").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        run(python, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation", "--no-binary", "openai-agents",
            "--dest", place, SDK)
        with tarfile.open(next(place.glob("*.tar.gz"))) as archive:
            archive.extractall(place, filter="data")
        (place / "done").touch()
    return next(path for path in place.iterdir() if path.is_dir())


def test(python, tests, options, environment):
    """Runs tests, outside of the sources, so that the installed package is used."""
    words = [python, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", PACKAGE, "-c", PACKAGE / "pyproject.toml"]
    return subprocess.run([*words, *tests, *options], cwd=TOOLS, env=environment).returncode


def copy_package(library, place):
    """Makes the package of its sources and a module that was built already."""
    shutil.rmtree(place / "everturn", ignore_errors=True)
    shutil.copytree(PACKAGE / "python" / "everturn", place / "everturn", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(library, place / "everturn" / "_everturn.abi3.so")


def smoke(library, environment):
    """The tests that need no framework."""
    python = environment_with("smoke", SMOKE)
    place = TOOLS / "module"
    copy_package(library, place)
    return test(python, [PACKAGE / "tests" / "test_sessions.py"], ["-q"], {**environment, "PYTHONPATH": str(place)})


def test_python(asked, environment):
    python = environment_with("venv", PACKAGES)
    if asked.wheel:
        run(python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", build())
    else:
        copy_package(asked.module, next((TOOLS / "venv" / "lib").glob("python3*/site-packages")))
    run(python.parent / "pyright", "--project", PACKAGE, "--pythonpath", python)
    environment = {**environment, "EVERTURN_OPENAI_SDK": str(sdk_tests(python))}
    return test(python, [PACKAGE / "tests"], ["-rsP", *asked.options], environment)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--everturn", required=True)
    parser.add_argument("--node-module", required=True)
    parser.add_argument("--module", required=True)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--wheel", action="store_true")
    parser.add_argument("--only", choices=["python", "node"])
    parser.add_argument("options", nargs="*")
    asked = parser.parse_args()
    environment = {**os.environ, "EVERTURN_BINARY": asked.everturn, "PYTHONDONTWRITEBYTECODE": "1"}
    if asked.smoke:
        return smoke(asked.module, environment) or node.test_module(asked.node_module, environment)
    failed = 0 if asked.only == "node" else test_python(asked, environment)
    if asked.only != "python":
        environment["EVERTURN_PYTHON"] = str(TOOLS / "venv" / "bin" / "python")
        failed = node.test_package(asked.node_module, environment) or failed
    return failed


if __name__ == "__main__":
    sys.exit(main())
