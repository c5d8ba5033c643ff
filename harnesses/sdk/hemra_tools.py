"""Tools of an agent, really done and recorded as calls: for the reference solutions and checks of tasks.

    from hemra_protocol import Trial
    from hemra_tools import patch

    trial = Trial("solution", "1")
    patch(trial, "add.py", "return a - b", "return a + b")

`Trial` itself has `terminal` and `read_file`. Standard library only.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import re
import subprocess
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from harnesses.sdk.hemra_protocol import Trial


def write_file(trial: Trial, path: str, content: str) -> None:
    """Write a text, as a call of the tool `write_file`."""
    call = trial.call("write_file", {"path": path, "content": content})
    file = pathlib.Path(trial.workspace, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8", newline="\n")
    trial.result(call, True, {"bytes_written": len(content.encode())})


def patch(trial: Trial, path: str, old: str, new: str) -> bool:
    """Replace the only occurrence of a text, as a call of the tool `patch`. Returns whether that worked."""
    call = trial.call("patch", {"mode": "replace", "path": path, "old_string": old, "new_string": new})
    file = pathlib.Path(trial.workspace, path)
    before = file.read_text(encoding="utf-8")
    if before.count(old) != 1:
        trial.result(call, False, {"error": f"old_string occurs {before.count(old)} times"})
        return False
    file.write_text(before.replace(old, new), encoding="utf-8", newline="\n")
    trial.result(call, True, {"success": True, "files_modified": [path]})
    return True


def search_files(trial: Trial, pattern: str) -> list[str]:
    """The files whose text matches, found with grep, as a call of the tool `search_files`."""
    call = trial.call("search_files", {"pattern": pattern, "path": ".", "output_mode": "files_only"})
    command = ["grep", "-rlE", "-e", pattern, "."]
    done = subprocess.run(command, cwd=trial.workspace, capture_output=True, text=True, check=False)
    files = done.stdout.splitlines()
    trial.result(call, done.returncode < 2, {"total_count": len(files), "files": files})
    return files


def execute_code(trial: Trial, code: str) -> str:
    """One call of the tool: a fresh Python runs the code in the workspace. Returns what it printed."""
    call = trial.call("execute_code", {"code": code})
    done = subprocess.run(
        ["python3", "-"], input=code, cwd=trial.workspace, capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    trial.result(
        call, done.returncode == 0, {"status": "error" if done.returncode else "success", "output": output}
    )
    return output


def web_search(trial: Trial, query: str, ok: bool = True) -> list[dict[str, Any]]:
    """One call of the tool: asks the search of the trial's web, whose address the instruction tells. Returns the
    results; `ok` False records the call as failed although it was made."""
    call = trial.call("web_search", {"query": query})
    base = re.findall(r"http://[^\s/]+", trial.instruction)[0]
    address = f"{base}/search?" + urllib.parse.urlencode({"q": query})
    with urllib.request.urlopen(address, timeout=20) as response:
        found = json.load(response)
    trial.result(call, ok, found)
    results: list[dict[str, Any]] = found["results"]
    return results


def web_extract(trial: Trial, url: str, ok: bool = True) -> str:
    """One call of the tool: gets the page. Returns its HTML; `ok` as in `web_search`."""
    call = trial.call("web_extract", {"urls": [url]})
    with urllib.request.urlopen(url, timeout=20) as response:
        page: str = response.read().decode("utf-8")
    trial.result(call, ok, {"results": [{"url": url, "content": page}]})
    return page


def mcp(trial: Trial, server: str, tool: str, arguments: dict[str, Any]) -> str:
    """One call of a tool of an MCP server that the task brings, recorded as `mcp__SERVER__TOOL`. Returns its text.

    The server is started, or reached, for this call alone. Raises KeyError where the task brings no such server and
    RuntimeError where it answers with an error of the protocol.
    """
    given = trial.task["mcp_servers"][server]
    call = trial.call(f"mcp__{server}__{tool}", arguments)
    ask = _by_url if "url" in given else _by_command
    (answer,) = ask(given, trial, [("tools/call", {"name": tool, "arguments": arguments})])
    text = "\n".join(part["text"] for part in answer["content"] if part["type"] == "text")
    trial.result(call, not answer.get("isError"), text)
    return text


_HELLO = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hemra_tools", "version": "1"},
}  # fmt: skip


def _by_command(given: dict[str, Any], trial: Trial, asked: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Results of requests to a server over its stdin and stdout, after the greeting."""
    process = subprocess.Popen(
        [given["command"], *given["args"]], cwd=trial.workspace, env=os.environ | given["env"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin as to, process.stdout as back:

        def post(message: dict[str, Any]) -> Any:
            to.write(json.dumps(message).encode() + b"\n")
            to.flush()
            while "id" in message:
                said = json.loads(back.readline() or b'{"error": "it ended", "id": null}')
                if said.get("id") in (message["id"], None):
                    return said
            return None

        return _conversed(post, asked)


def _by_url(given: dict[str, Any], trial: Trial, asked: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The same over streamable HTTP."""
    session: dict[str, str] = {}

    def post(message: dict[str, Any]) -> Any:
        kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers = kinds | given["headers"] | session
        request = urllib.request.Request(given["url"], json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=20) as response:
            if "Mcp-Session-Id" in response.headers:
                session["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
            lines = response.read().decode("utf-8").splitlines()
        told = [line.removeprefix("data:") for line in lines if line.startswith(("data:", "{"))]
        answers = [json.loads(line) for line in told]
        return next((each for each in answers if each.get("id") == message.get("id")), None)

    return _conversed(post, asked)


def _conversed(post: Callable[[dict[str, Any]], Any], asked: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Greets the server and asks. Raises RuntimeError for an answer that is an error or none."""
    numbers = itertools.count(1)

    def request(method: str, params: Any) -> dict[str, Any]:
        said = post({"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params})
        if not isinstance(said, dict) or "result" not in said:
            raise RuntimeError(f"MCP server: {method}: {said}")
        result: dict[str, Any] = said["result"]
        return result

    request("initialize", _HELLO)
    post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return [request(method, params) for method, params in asked]


class Todo:
    """The todo list of a session: the tool writes it, all of it or by id, and always gives it back."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.items: list[dict[str, Any]] = []

    def write(self, todos: list[dict[str, Any]], merge: bool = False) -> None:
        """One call of the tool."""
        call = self.trial.call("todo", {"todos": todos, "merge": merge})
        kept = {item["id"]: item for item in self.items} if merge else {}
        for item in todos:
            kept[item["id"]] = {**kept.get(item["id"], {}), **item}
        self.items = list(kept.values())
        self.trial.result(call, True, {"todos": [dict(item) for item in self.items]})


class Memory:
    """The memory of a session: entries in a file below HOME, where the next session finds them."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.file = pathlib.Path(trial.task["home"], ".hermes", "memories", "MEMORY.md")

    def entries(self) -> list[str]:
        """What is in it."""
        content = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        return [entry.strip() for entry in content.split("\n§\n") if entry.strip()]

    def change(self, arguments: dict[str, Any], entries: list[str]) -> None:
        """One call of the tool that leaves these entries."""
        call = self.trial.call("memory", arguments)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("\n§\n".join(entries), encoding="utf-8")
        self.trial.result(call, True, {"success": True, "target": "memory", "entries": entries})

    def add(self, content: str) -> None:
        """Save one more entry."""
        arguments = {"action": "add", "target": "memory", "content": content}
        self.change(arguments, [*self.entries(), content])
