"""A small agent for tests: speaks chat, streamed, has one tool, tries again after a failure, and puts its folder, the
date and a session's id into its prompt as real ones do.

    python little_agent.py BASE_URL TOKEN [WORD]      the task comes on stdin; WORD changes the prompt
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": PARAMETERS}}]
TRIES = 3


def ask(base: str, token: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The assistant's next message. SystemExit where the model refuses for good."""
    body = {"model": "test-model", "messages": messages, "tools": TOOLS, "stream": True}
    content = json.dumps(body | {"stream_options": {"include_usage": True}}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"{base}/chat/completions", content, headers)
            ) as answer:
                return assembled(answer)
        except urllib.error.HTTPError as error:
            said = error.read().decode()
            if error.code == 400 or not left:
                print(said, file=sys.stderr)
                raise SystemExit(3) from error
    raise AssertionError


def assembled(lines: Any) -> dict[str, Any]:
    """The message that a stream tells in pieces."""
    text, calls = "", {}  # type: str, dict[int, dict[str, str]]
    for line in lines:
        if not line.startswith(b"data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            for piece in delta.get("tool_calls") or []:
                call = calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] += piece.get("id") or ""
                for name in ("name", "arguments"):
                    call[name] += piece["function"].get(name) or ""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls.values()
        ]
    return message


def main(base: str, token: str, word: str = "") -> None:
    """One conversation."""
    prompt = (
        f"{word}Work in {os.getcwd()}. It is {datetime.datetime.now():%A, %B %d, %Y %H:%M:%S}. {uuid.uuid4()}"
    )
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": prompt}, {"role": "user", "content": sys.stdin.read()},
    ]  # fmt: skip
    while True:
        messages.append(ask(base, token, messages))
        if "tool_calls" not in messages[-1]:
            print(messages[-1]["content"])
            return
        for call in messages[-1]["tool_calls"]:
            command, began = json.loads(call["function"]["arguments"])["command"], time.monotonic()
            done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
            took = f"exit {done.returncode} after {time.monotonic() - began:.4f} s, pid {os.getpid()}"
            result = f"{done.stdout}{done.stderr}[{took}]"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    main(*sys.argv[1:])
