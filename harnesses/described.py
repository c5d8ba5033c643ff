"""What all harnesses made from a harness file have in common: words, digest, problems, environment."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from harnesses import mcp, placeholders
from harnesses.base import HarnessFile, HarnessTraits, Needs, Terminal, TrialInput, Upstream
from harnesses.definition import (
    definition_digest,
    describe,
    local_files,
    own_value,
    passes_through,
    secret_values,
    secrets_in,
)
from harnesses.errors import HarnessFileError, LaunchError
from harnesses.file import below_home, command_words
from harnesses.logins import secrets_of
from harnesses.mcp import McpServer


class DescribedHarness:
    """A harness as its file describes it; relative names in it are beside the file, in `folder`."""

    needs_solution = False
    records_tools = False
    enforces: frozenset[str] = frozenset()
    #: Whether the `prompt` of its file says how the instruction goes in.
    takes_prompt = False

    def __init__(self, file: HarnessFile, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        if file.prompt is not None and not self.takes_prompt:
            raise HarnessFileError(
                f"prompt: kind {file.kind!r} takes none: it is given its instruction in a way of its own"
            )
        self.file = file
        self.folder = folder
        self._user = os.environ if environment is None else environment
        given = command_words(file.command, "command")
        self.words = self.program(given)
        self._version = command_words(file.version_command, "version_command")
        self.definition: dict[str, Any] = describe(file, given, self._version, folder)
        self.digest: str = definition_digest(self.definition)

    def program(self, given: list[str] | None) -> list[str]:
        """The words that start it, from those of its file. Raises HarnessFileError where they are missing."""
        if given is None:
            raise HarnessFileError(f"kind {self.file.kind!r} needs a 'command'")
        return given

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self.file.name

    @property
    def kind(self) -> str:
        """Which adapter it uses."""
        return self.file.kind

    @property
    def terminal(self) -> Terminal:
        """Whether its output is two pipes or one terminal."""
        return self.file.terminal

    @property
    def upstream(self) -> Upstream | None:
        """The endpoint that the model gateway passes its calls to; a key's file is beside the harness file."""
        upstream = self.file.upstream
        if upstream is None or upstream.key is None or upstream.key.file is None:
            return upstream
        file = str(self.folder.absolute() / Path(upstream.key.file).expanduser())
        return msgspec.structs.replace(upstream, key=msgspec.structs.replace(upstream.key, file=file))

    @property
    def version_argv(self) -> list[str] | None:
        """The command that prints its version, where its file has one."""
        return self.asked_version

    @property
    def asked_version(self) -> list[str] | None:
        """The `version_command` of its file: own files by absolute path, `{python}` filled. No trial is known yet, so
        that no other placeholder can be."""
        if self._version is None:
            return None
        return [placeholders.fill(word, placeholders.WITHOUT_TRIAL) for word in self._absolute(self._version)]

    @property
    def needs(self) -> Needs:
        """What it needs of the machine it runs on: its programs, its own files, and what its file names."""
        words = self._absolute(self.words)
        return Needs(
            programs=(words[0].replace("{python}", sys.executable), sys.executable),
            own_files=tuple(local_files(self.words, self.folder.absolute()).values()),
            read_only=tuple(self.folder.absolute() / Path(name).expanduser() for name in self.file.read_only),
            login_files=tuple((Path(name).expanduser(), below_home(name)) for name in self.file.login_files),
            network=self.file.network,
        )

    @property
    def traits(self) -> HarnessTraits:
        """What its file says of it."""
        return HarnessTraits(needs=self.needs, upstream=self.upstream, strip_tools=self.file.strip_tools)

    def problems(self) -> list[str]:
        """Why it could not run on this machine as it is, one line each."""
        found = self._missing_program(self.words, "command")
        if self._version is not None:
            found += self._missing_program(self._version, "version_command")
            found += placeholders.of_a_trial(self._version, "version_command")
        for name, value in self.file.env.items():
            source = passes_through(value)
            if source is not None and source not in self._user:
                found.append(f"env: {name} takes ${source} from your environment, where it is not set")
        found += self._missing_files()
        found += placeholders.misspelt([*self.words, *(self._version or ()), *self.file.env.values()])
        if self.upstream is None:
            found += placeholders.without_gateway([*self.words, *self.file.env.values()])
        for part in ("command", "version_command", "settings", "upstream"):
            for where in secrets_in(self.definition.get(part), part):
                found.append(
                    f"{where} looks like a credential and would be recorded; pass it by env as $NAME"
                )
        return found

    def without_model(self) -> list[str]:
        """What its file lacks for a model behind the gateway, one line each."""
        found = []
        if self.file.upstream is None:
            found.append(
                "upstream is missing: name the model's endpoint, as in `upstream: {base_url: https://…/v1}`"
            )
        if not self.file.model:
            found.append("model is missing: name the model that it is to ask for")
        return found

    def _missing_files(self) -> list[str]:
        needs = self.needs
        found = [f"read_only: {path} is not there" for path in needs.read_only if not path.exists()]
        return found + [
            f"login_files: {path} is not there; log in first, or take it out"
            for path, _ in needs.login_files
            if not path.is_file()
        ]

    def secrets(self) -> dict[str, str]:
        """What it takes from the user's environment, what its file sets under a secret's name, and what stands
        in its login files."""
        found: dict[str, str] = {}
        for path, _ in self.needs.login_files:
            found |= secrets_of(path)
        return found | secret_values(self.file.env, self._user)

    def _missing_program(self, words: list[str], field: str) -> list[str]:
        program = words[0].replace("{python}", sys.executable)
        if placeholders.names_in([program]):
            return []  # known only when the trial's folders are
        if "/" in program:
            path = self.folder / program
            if not path.is_file():
                return [f"{field}: {program} is not there (looked in {path.parent})"]
            if not os.access(path, os.X_OK):
                return [f"{field}: {path} is not executable; run: chmod +x {shlex.quote(str(path))}"]
        elif shutil.which(program, path=self._user.get("PATH")) is None:
            return [f"{field}: program {program!r} is not on PATH; install it or give its full path"]
        return []

    def _absolute(self, words: list[str]) -> list[str]:
        own = local_files(words, self.folder.absolute())
        return [str(own.get(word, word)) for word in words]

    def argv(self, trial: TrialInput) -> list[str]:
        """The command for this trial: own files by absolute path, placeholders filled."""
        known = placeholders.values(self.file, trial)
        return [placeholders.fill(word, known) for word in self._absolute(self.words)]

    def mcp_file(self, servers: Mapping[str, McpServer]) -> dict[str, bytes]:
        """The file that `{mcp_config}` stands for, where its command or environment has that; by its name."""
        if placeholders.MCP_CONFIG not in placeholders.names_in([*self.words, *self.file.env.values()]):
            return {}
        return {placeholders.MCP_FILE: mcp.config_file(servers)}

    def environment(self, trial: TrialInput) -> dict[str, str]:
        """The environment that its file asks for, with values. Raises LaunchError for one that is not set."""
        known = placeholders.values(self.file, trial)
        values = {}
        for name, value in self.file.env.items():
            source = passes_through(value)
            if source is None:
                values[name] = placeholders.fill(own_value(value), known)
            elif source in self._user:
                values[name] = self._user[source]
            else:
                raise LaunchError(f"harness {self.name}: ${source} is not set in your environment")
        return values
