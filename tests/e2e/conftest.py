"""The installed `hemra` command, as a user or a script meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HEMRA = Path(sys.executable).with_name("hemra")
#: What one command of the contract may take at most. Seconds.
TIMEOUT_S = 120


@dataclass(frozen=True)
class Command:
    """Runs `hemra` on one store from an empty folder, without a terminal."""

    store: Path
    cwd: Path

    def environment(self, **extra: str) -> dict[str, str]:
        """The environment that commands get."""
        return {**os.environ, "HEMRA_STORE": str(self.store), "TERM": "xterm", **extra}

    def __call__(
        self, *arguments: str | Path, code: int | None = 0, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; `code` is the exit code that it must have, None for any."""
        done = subprocess.run(
            [HEMRA, *arguments], cwd=self.cwd, env=self.environment(**extra), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if code is not None:
            assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
        """What a command prints with --json: all of stdout is one document with a schema."""
        document: dict[str, Any] = json.loads(self(*arguments, "--json", code=code).stdout)
        assert document["schema"].startswith("hemra.")
        return document

    def run(self, *arguments: str | Path, code: int = 0) -> str:
        """`hemra run`; returns the run's id, which is the last line of stdout."""
        return self("run", *arguments, code=code).stdout.splitlines()[-1]

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start a command whose end the test does not wait for here."""
        return subprocess.Popen(
            [HEMRA, *arguments], cwd=self.cwd, env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip


def command_in(folder: Path) -> Command:
    """A command with a store and a working folder below `folder`."""
    cwd = folder / "empty folder"
    cwd.mkdir(parents=True)
    return Command(folder / "a store", cwd)


@pytest.fixture
def hemra(tmp_path: Path) -> Command:
    """A command with a store of its own, whose path has a space in it."""
    return command_in(tmp_path)


@dataclass(frozen=True)
class Recorded:
    """A store with one finished run of oracle and nop on the terminal tasks."""

    hemra: Command
    run: str


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """One run that many tests only look at."""
    hemra = command_in(tmp_path_factory.mktemp("recorded"))
    run = hemra.run(
        "--dataset",
        "hermes",
        "--harness",
        "oracle",
        "--harness",
        "nop",
        "--task",
        "t01*",
        "-j",
        "2",
        "--name",
        "first",
    )
    return Recorded(hemra, run)


@pytest.fixture
def harness_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a harness file of kind `command` that runs a shell script."""

    def write(name: str, script: str) -> Path:
        path = tmp_path / f"{name}.yaml"
        path.write_text(
            json.dumps({"name": name, "kind": "command", "command": ["/bin/sh", "-c", script]}), "utf-8"
        )
        return path

    return write
