"""Speak the HEMRA harness protocol from Python. One file, standard library only: copy it where you need it.

    from hemra_protocol import Trial

    trial = Trial("my-agent", "1.0")
    call = trial.call("terminal", {"command": "ls"})
    trial.result(call, True, "README.md")
    trial.final("There is one file.")

Everything that is said is written at once, one line of JSON each, on the standard output that the program was
started with. What the program itself prints goes to standard error, so that a stray `print` breaks nothing.
"""

import itertools
import json
import os
import subprocess
import sys
from typing import Any

PROTOCOL = "hemra/1"


class Trial:
    """One trial: `task` is what is asked (a dict), the methods say what is done. Reads stdin when made."""

    def __init__(self, name: str, version: str) -> None:
        self.task: dict[str, Any] = json.load(sys.stdin)
        self.instruction: str = self.task["instruction"]
        self.workspace: str = self.task["workspace"]
        self._calls = 0
        self._turn = 0
        self._out = os.dup(1)
        os.dup2(2, 1)
        self.say("hello", protocol=PROTOCOL, name=name, version=version)

    def say(self, kind: str, /, **fields: Any) -> None:
        """Write one line of the protocol."""
        line = json.dumps({"type": kind, **fields}).encode("ascii") + b"\n"
        while line:
            line = line[os.write(self._out, line) :]

    def message(self, text: Any, *, role: str = "assistant", reasoning: Any = None) -> None:
        """A message of the conversation. An assistant's message begins a turn."""
        if role == "assistant":
            self._turn += 1
        extra = {} if reasoning is None else {"reasoning": reasoning}
        self.say("message", role=role, text=text, **extra)

    def call(self, name: str, arguments: Any) -> str:
        """A tool is called now. Returns the id to give its result with."""
        self._calls += 1
        call = f"call-{self._calls}"
        turn = {"turn": self._turn} if self._turn else {}
        self.say("tool_call", call=call, name=name, arguments=arguments, **turn)
        return call

    def result(self, call: str, ok: "bool | None", result: Any) -> None:
        """What the tool gave back; `ok` is None when that cannot be told."""
        self.say("tool_result", call=call, ok=ok, result=result)

    def usage(self, model: "str | None" = None, **counts: Any) -> None:
        """Tokens of one model call: input_tokens (cached ones included), cache_read_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, cost_usd. Leave out what is not known."""
        self.say("usage", model=model, **counts)

    def log(self, text: str, level: str = "info") -> None:
        """A remark for whoever reads the record. Levels: debug, info, warning, error."""
        self.say("log", level=level, text=text)

    def error(self, kind: str, text: str) -> None:
        """The work cannot go on; say it in place of `final`. Kinds: `auth`, `quota`, `provider` when the model's
        endpoint did not serve, `harness` for a failure of the program itself."""
        self.say("error", kind=kind, text=text)

    def final(self, text: str) -> None:
        """The final answer; say it once, last, and exit soon after."""
        self.say("final", text=text)

    def terminal(self, command: str, timeout: "float | None" = None) -> str:
        """Run a shell command in the workspace and record it as a call of the tool `terminal`.

        Returns what it printed on both streams. Raises subprocess.TimeoutExpired after `timeout` seconds.
        """
        call = self.call("terminal", {"command": command})
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=self.workspace,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.result(call, False, {"error": f"still running after {timeout} s"})
            raise
        output = done.stdout.decode("utf-8", "replace")
        self.result(call, done.returncode == 0, {"output": output, "exit_code": done.returncode})
        return output

    def read_file(self, path: str, offset: int = 1, limit: "int | None" = None) -> str:
        """Read a file of the workspace and record it as a call of the tool `read_file`.

        Returns `limit` lines (None: all) from line `offset` on, counted from 1, with their newlines. Raises
        OSError for a file that cannot be read and ValueError for an impossible window, both recorded too.
        """
        call = self.call("read_file", {"path": path, "offset": offset, "limit": limit})
        try:
            with open(os.path.join(self.workspace, path), "rb") as file:
                lines = itertools.islice(itertools.islice(file, offset - 1, None), limit)
                content = b"".join(lines).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            self.result(call, False, {"error": str(error)})
            raise
        self.result(call, True, {"content": content})
        return content
