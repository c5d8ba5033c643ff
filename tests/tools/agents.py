"""Agents for the tests of the model server: each speaks a dialect and has the tools of one real harness.

They run what they are told to in a workspace, and lay results out for the model as their harness does.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hemra.datasets.toolnames import canonical

Run = Callable[[str], "tuple[bool, str]"]


def _object(required: str, optional: str = "", **types: Any) -> dict[str, Any]:
    """A schema with these fields; strings where no other type is given."""
    names = (required + " " + optional).split()
    listed = {name: types.get(name, {"type": "string"}) for name in names}
    return {"type": "object", "properties": listed, "required": required.split()}


_WHOLE = {"type": "integer", "minimum": 1}
_STATES = {"type": "string", "enum": ["pending", "in_progress", "completed"]}


def _items(required: str, **types: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(required, **types)}


#: The tools of each kind of agent, by name: the schema, or None for a freeform tool.
TOOLS: dict[str, dict[str, dict[str, Any] | None]] = {
    "hermes": {
        "terminal": _object("command", "timeout", timeout=_WHOLE),
        "read_file": _object("path", "offset limit", offset=_WHOLE, limit=_WHOLE),
        "write_file": _object("path content"),
        "patch": _object("mode", "path old_string new_string patch"),
        "search_files": _object(
            "pattern", "path output_mode", output_mode={"enum": ["content", "files_only", "count"]}
        ),
        "todo": _object("", "todos", todos=_items("id content status", status=_STATES)),
        "execute_code": _object("code"),
    },
    "codex": {
        "exec_command": _object("cmd", "yield_time_ms", yield_time_ms=_WHOLE),
        "apply_patch": None,
        "update_plan": _object("plan", "explanation", plan=_items("step status", status=_STATES)),
    },
    "claude": {
        "Bash": _object("command", "description"),
        "Read": _object("file_path", "offset limit", offset=_WHOLE, limit=_WHOLE),
        "Write": _object("file_path content"),
        "Edit": _object("file_path old_string new_string"),
        "Grep": _object(
            "pattern", "path output_mode", output_mode={"enum": ["content", "files_with_matches", "count"]}
        ),
        "TodoWrite": _object("todos", todos=_items("content status activeForm", status=_STATES)),
    },
    "pi": {
        "bash": _object("command", "timeout", timeout=_WHOLE),
        "read": _object("path", "offset limit", offset=_WHOLE, limit=_WHOLE),
        "edit": _object("path edits", edits=_items("oldText newText")),
        "write": _object("path content"),
    },
    "mini": {"bash": _object("command")},
}
DIALECT = {"hermes": "chat", "pi": "chat", "mini": "chat", "codex": "responses", "claude": "messages"}
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@dataclass
class Agent:
    """One conversation about one task. `calls` is what a trace holds of it, `final` its answer."""

    kind: str
    workspace: Path
    home: Path
    instruction: str
    calls: list[dict[str, Any]] = field(default_factory=list)
    final: str | None = None
    turn: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        said = f"Please solve this task:\n\n{self.instruction}\n"
        if self.kind == "mini":
            said += f"\nFinish with `echo {SUBMIT}`."
        self.history.append({"role": "user", "content": said})

    def request(self, **fields: Any) -> dict[str, Any]:
        """The body of the next request."""
        where = "input" if self.kind == "codex" else "messages"
        return {
            "model": "test-model",
            where: self.history,
            "tools": list(map(self._tool, TOOLS[self.kind])),
            **fields,
        }

    def _tool(self, name: str) -> dict[str, Any]:
        schema = TOOLS[self.kind][name]
        if self.kind == "codex":
            kind = "custom" if schema is None else "function"
            return {"type": kind, "name": name} | ({} if schema is None else {"parameters": schema})
        if self.kind == "claude":
            return {"name": name, "input_schema": schema}
        return {"type": "function", "function": {"name": name, "parameters": schema}}

    def take(self, body: Mapping[str, Any]) -> None:
        """Take an answer, run its calls, and put both into the history; without a call it is the final one."""
        self.turn += 1
        taken = {"codex": self._responses, "claude": self._messages}.get(self.kind, self._chat)(body)
        if not taken and self.final is None:
            self.final = self._text(body)

    def _text(self, body: Mapping[str, Any]) -> str:
        if self.kind == "codex":
            return "".join(p["text"] for i in body["output"] if i["type"] == "message" for p in i["content"])
        if self.kind == "claude":
            return "".join(block["text"] for block in body["content"] if block["type"] == "text")
        return str(body["choices"][0]["message"]["content"])

    def _chat(self, body: Mapping[str, Any]) -> int:
        message = body["choices"][0]["message"]
        self.history.append(message)
        calls = message.get("tool_calls") or ()
        for call in calls:
            said = self._run(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            self.history.append({"role": "tool", "tool_call_id": call["id"], "content": said})
        return len(calls)

    def _responses(self, body: Mapping[str, Any]) -> int:
        self.history += body["output"]
        made = [item for item in body["output"] if item["type"].endswith("_call")]
        for item in made:
            given = item["input"] if item["type"] == "custom_tool_call" else json.loads(item["arguments"])
            said = self._run(item["call_id"], item["name"], given)
            self.history.append(
                {"type": item["type"] + "_output", "call_id": item["call_id"], "output": said}
            )
        return len(made)

    def _messages(self, body: Mapping[str, Any]) -> int:
        self.history.append({"role": "assistant", "content": body["content"]})
        results = [
            {
                "type": "tool_result",
                "tool_use_id": block["id"],
                "content": [{"type": "text", "text": self._run(block["id"], block["name"], block["input"])}],
            }
            for block in body["content"]
            if block["type"] == "tool_use"
        ]
        if results:
            self.history.append({"role": "user", "content": results})
        return len(results)

    def _run(self, call: str, name: str, given: Any) -> str:
        """Run a call; returns what the model is shown, records what came out."""
        schema = TOOLS[self.kind][name]
        if schema is not None:
            missing = [each for each in schema["required"] if each not in given]
            unknown = [each for each in given if each not in schema["properties"]]
            assert not missing + unknown, f"{name}: missing {missing}, unknown {unknown}"
        tools = self._tools()
        ok, output = tools[name if name in tools else canonical(name)](given)
        self.calls.append(
            {
                "call": call, "name": name, "tool": canonical(name), "arguments": given,
                "ok": ok, "result": output, "turn": self.turn,
            }
        )  # fmt: skip
        if self.kind == "mini" and output.startswith(SUBMIT):
            self.final = output.removeprefix(SUBMIT).strip()
        return self._laid_out(name, ok, output)

    def _tools(self) -> dict[str, Callable[[Any], tuple[bool, str]]]:
        return {
            "terminal": lambda g: self._shell(g.get("command") or g["cmd"]),
            "execute_code": lambda g: self._shell("python3 -", g["code"]),
            "read_file": self._read,
            "write_file": self._write,
            "Write": self._write,
            "write": self._write,
            "patch": lambda g: self._v4a(g["patch"]) if g["mode"] == "patch" else self._edit(g),
            "Edit": self._edit,
            "edit": lambda g: self._edit({"path": g["path"], **g["edits"][0]}),
            "apply_patch": self._v4a,
            "search_files": lambda g: self._shell(f"grep -rlE -e '{g['pattern']}' ."),
            "Grep": lambda g: self._shell(f"grep -rlE -e '{g['pattern']}' \"$PWD\""),
            "todo": lambda g: (True, json.dumps({"todos": g["todos"]})),
            "TodoWrite": lambda g: (True, "Todos have been modified successfully."),
            "update_plan": lambda g: (True, "Plan updated"),
        }

    def _shell(self, command: str, text: str = "") -> tuple[bool, str]:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.workspace, input=text, text=True, check=False, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
        )  # fmt: skip
        return done.returncode == 0, done.stdout

    def _path(self, given: Mapping[str, Any]) -> Path:
        return self.workspace / (given.get("path") or given["file_path"])

    def _read(self, given: Mapping[str, Any]) -> tuple[bool, str]:
        try:
            lines = self._path(given).read_text(encoding="utf-8").splitlines(keepends=True)
        except OSError as error:
            return False, f"{type(error).__name__}: {error}"
        first = given.get("offset") or 1
        return True, "".join(lines[first - 1 :][: given.get("limit") or 2000])

    def _write(self, given: Mapping[str, Any]) -> tuple[bool, str]:
        self._path(given).write_text(given["content"], encoding="utf-8")
        return True, "written"

    def _edit(self, given: Mapping[str, Any]) -> tuple[bool, str]:
        old = given.get("old_string") or given["oldText"]
        new = given.get("new_string") or given["newText"]
        text = self._path(given).read_text(encoding="utf-8")
        if text.count(old) != 1:
            return False, f"found {text.count(old)} times"
        self._path(given).write_text(text.replace(old, new), encoding="utf-8", newline="\n")
        return True, "edited"

    def _v4a(self, patch: str) -> tuple[bool, str]:
        found = re.search(r"^\*\*\* Update File: (.+)$", patch, re.MULTILINE)
        assert found is not None
        hunk = patch.split("@@\n")[1].split("\n*** End Patch", maxsplit=1)[0].splitlines()
        old = "".join(f"{line[1:]}\n" for line in hunk if line[0] in " -")
        new = "".join(f"{line[1:]}\n" for line in hunk if line[0] in " +")
        return self._edit({"path": found[1], "old_string": old, "new_string": new})

    def _laid_out(self, name: str, ok: bool, output: str) -> str:
        """What the model is shown."""
        if self.kind == "hermes" and name == "read_file" and ok:
            output = "\n".join(f"{n}|{line}" for n, line in enumerate(output.splitlines(), 1))
            return json.dumps({"content": output, "total_lines": 1000})
        if self.kind == "hermes":
            return output if name == "todo" else json.dumps({"output": output, "exit_code": 0, "error": None})
        if self.kind == "codex" and name == "exec_command":
            return f"Chunk ID: 1f\nWall time: 0.01 seconds\nProcess exited with code 0\nOutput:\n{output}"
        if self.kind == "claude" and name == "Read" and ok:
            return "\n".join(f"{n:6}\t{line}" for n, line in enumerate(output.splitlines(), 1))
        if self.kind == "mini":
            return f"<returncode>0</returncode>\n<output>\n{output}\n</output>"
        return output or "(no output)"
